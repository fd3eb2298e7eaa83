/** Row 63 of the fault table before there is anything to switch: SIGTERM during the start, at whatever it is waiting for. */

import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { afterwards } from '../doubles/kept.ts';
import { describeWithMosquitto } from '../doubles/mosquitto.ts';
import type { RunningProcess } from '../doubles/process.ts';
import { AVAILABILITY, agentProgram, COMMAND, isOffline, isOnline, openCellar, runAgent, STATE } from './cellar.ts';
import { seeded, times } from './seeded.ts';

const LIVES = times('GRIDTIDE_KILLS', 16);
/** Well beyond the whole start. */
const LONGEST_MS = 900;

const program = agentProgram();

/** SIGTERM, and what came of it. The unit allows ten seconds, the table five. */
async function ended(agent: RunningProcess): Promise<number | null> {
  const from = performance.now();
  const code = await agent.terminate();
  expect(performance.now() - from).toBeLessThan(5_000);
  return code;
}

/** A broker that takes the connection and says nothing, ever. */
async function silentBroker() {
  let came = () => {};
  const connected = new Promise<void>((resolve) => {
    came = resolve;
  });
  const server = createServer((socket) => {
    socket.on('error', () => {});
    afterwards(async () => socket.destroy());
    socket.once('data', came);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  afterwards(async () => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return { url: `mqtt://127.0.0.1:${address.port}`, connected };
}

describeWithMosquitto('63 SIGTERM during the start', () => {
  it('63 while the broker does not answer: it is over at once', async () => {
    const { url, connected } = await silentBroker();
    const house = await openCellar({ brokerUrl: url });
    const agent = runAgent(program, house);
    await connected;
    expect(await ended(agent)).toBe(0);
    expect(agent.lines.filter((line) => /runs 1 load|"level":"error"/.test(line))).toEqual([]);
  }, 30_000);

  it('63 while the plug does not say what it is: it is told its fail-safe level, and the broker the farewell', async () => {
    const house = await openCellar();
    const { spy, mosquitto } = house;
    house.isDeaf = true;
    await spy.publish(STATE, '', { retain: true });
    spy.clear();
    const asked = mosquitto.logs(/Sending SUBACK to gridtide-cellar/);
    const agent = runAgent(program, house);
    await asked;
    expect(await ended(agent)).toBe(0);
    await spy.until(isOffline);
    expect(spy.heard.filter(isOnline)).toEqual([]);
    expect(spy.last(COMMAND)).toBe('off');
  }, 30_000);

  it(`63 at ${LIVES} moments by chance: nothing is left on or online, and the next life reads all it needs`, async () => {
    const random = seeded('process-start');
    const house = await openCellar();
    const { spy } = house;
    let unbegun = 0;
    for (let life = 0; life < LIVES; life += 1) {
      const agent = runAgent(program, house);
      await new Promise((resume) => setTimeout(resume, random.fraction() * LONGEST_MS));
      const code = await ended(agent);
      // Before its first line Node itself ends on the signal.
      if (code === null) unbegun += 1;
      else expect(code, agent.lines.join('\n')).toBe(0);
      expect(agent.lines.filter((line) => /"level":"error"|damaged|cannot be read/.test(line))).toEqual([]);
    }
    console.log(`row 63: ${LIVES} ends during the start, ${unbegun} before it began`);
    await spy.publish('end/of/list', 'x');
    await spy.until(({ topic }) => topic === 'end/of/list');
    expect(spy.last(AVAILABILITY) ?? 'offline').toBe('offline');
    expect(spy.heard.filter(({ topic, text }) => topic === COMMAND && text !== 'off')).toEqual([]);
    expect(unbegun).toBeLessThan(LIVES);
    spy.clear();
    runAgent(program, house);
    await spy.until(isOnline);
  }, 120_000);
});

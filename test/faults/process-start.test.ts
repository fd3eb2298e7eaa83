/** Row 63 of the fault table before there is anything to switch: SIGTERM during the start, at whatever it is waiting for. */

import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { describeWithMosquitto } from '../doubles/mosquitto.ts';
import type { RunningProcess } from '../doubles/running-process.ts';
import { afterTest } from '../doubles/stop-after-test.ts';
import {
  type AgentSetup,
  AVAILABILITY_TOPIC,
  bundleAgentForTests,
  COUNT_TENTHS,
  createAgentSetup,
  isOffline,
  isOnline,
  PLUG_COMMAND_TOPIC,
  PLUG_STATE_TOPIC,
  startAgentProcess,
  terminateCounted,
} from './agent-setup.ts';
import { createTestRandom, readRepetitions } from './test-random.ts';

const LIVES = readRepetitions('GRIDTIDE_KILLS', 16);
const program = bundleAgentForTests();

/** How long a whole start takes on this machine. */
async function measureStart(house: AgentSetup): Promise<number> {
  const from = performance.now();
  const agent = startAgentProcess(program, house, { nodeArguments: COUNT_TENTHS });
  await agent.waitForLine(/runs 1 load/);
  const took = performance.now() - from;
  await ended(agent);
  return took;
}

/** SIGTERM, and what came of it. The unit allows ten seconds, the table five. */
async function ended(agent: RunningProcess): Promise<number | null> {
  const { code, seconds } = await terminateCounted(agent);
  expect(seconds).toBeLessThan(5);
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
    afterTest(async () => socket.destroy());
    socket.once('data', came);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  afterTest(async () => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return { url: `mqtt://127.0.0.1:${address.port}`, connected };
}

describeWithMosquitto('63 SIGTERM during the start', () => {
  it('63 while the broker does not answer: it is over at once', async () => {
    const { url, connected } = await silentBroker();
    const house = await createAgentSetup({ brokerUrl: url });
    const agent = startAgentProcess(program, house, { nodeArguments: COUNT_TENTHS });
    await connected;
    expect(await ended(agent)).toBe(0);
    expect(agent.lines.filter((line) => /runs 1 load|"level":"error"/.test(line))).toEqual([]);
  });

  it('63 while the plug does not say what it is: it is told its fail-safe level, and the broker the farewell', async () => {
    const house = await createAgentSetup();
    const { spy, mosquitto } = house;
    house.isDeaf = true;
    await spy.publish(PLUG_STATE_TOPIC, '', { retain: true });
    spy.clear();
    const asked = mosquitto.nextLogLine(/Sending SUBACK to gridtide-cellar/);
    const agent = startAgentProcess(program, house, { nodeArguments: COUNT_TENTHS });
    await asked;
    expect(await ended(agent)).toBe(0);
    await spy.waitFor(isOffline);
    expect(spy.lastText(PLUG_COMMAND_TOPIC)).toBe('off');
  });

  it(`63 at ${LIVES} moments by chance: nothing is left on or online, and the next life reads all it needs`, async () => {
    const random = createTestRandom('process-start');
    const house = await createAgentSetup();
    const { spy } = house;
    const startMs = await measureStart(house);
    spy.clear();
    let unbegun = 0;
    for (let life = 0; life < LIVES; life += 1) {
      // Every other one has begun, however long a start takes by now.
      const isBegun = life % 2 === 1 ? house.mosquitto.nextLogLine(/New connection from/) : undefined;
      const agent = startAgentProcess(program, house, { nodeArguments: COUNT_TENTHS });
      await isBegun;
      await new Promise((resume) => setTimeout(resume, random.fraction() * (isBegun ? 0.3 : 1.2) * startMs));
      const code = await ended(agent);
      // Before its first line Node itself ends on the signal.
      if (code === null) unbegun += 1;
      else expect(code, agent.lines.join('\n')).toBe(0);
      expect(agent.lines.filter((line) => /"level":"error"|damaged|cannot be read/.test(line))).toEqual([]);
    }
    console.log(`row 63: ${LIVES} ends during the start, ${unbegun} before it began`);
    await spy.publish('end/of/list', 'x');
    await spy.waitFor(({ topic }) => topic === 'end/of/list');
    expect(spy.lastText(AVAILABILITY_TOPIC) ?? 'offline').toBe('offline');
    expect(spy.messages.filter(({ topic, text }) => topic === PLUG_COMMAND_TOPIC && text !== 'off')).toEqual([]);
    // The broker may tell late of the connection of a life before.
    expect(unbegun).toBeLessThan((3 * LIVES) / 4);
    spy.clear();
    startAgentProcess(program, house, { nodeArguments: COUNT_TENTHS });
    await spy.waitFor(isOnline);
  });
});

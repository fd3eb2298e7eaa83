/** The main job over real processes: reference service, mosquitto, the built agent, and a reader who sees only the broker. */

import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mqtt from 'mqtt';
import { afterEach, expect, it } from 'vitest';
import { describeWithMosquitto, type Mosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { type RunningProcess, startProcess } from '../doubles/running-process.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'dist', 'main.js');
const NOW = '2026-03-01T20:00:00Z';
/** A service hour in 1.25 s. How fresh a forecast is after so many steps on a busy machine says nothing: a quarter of an hour is 0.3 s. */
const SPEED = 2_880;

interface ReceivedMessage {
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
}

/** Everything said on the broker, and a wait for the message one is after. */
async function listen(url: string) {
  const client = await mqtt.connectAsync(url);
  const all: ReceivedMessage[] = [];
  let wake = () => {};
  client.on('message', (topic, payload, { retain }) => {
    all.push({ topic, payload: payload.toString(), retain });
    wake();
  });
  await client.subscribeAsync('#');
  return {
    all,
    /** The first message from now on, or before, that fits. */
    async until(fits: (message: ReceivedMessage) => boolean): Promise<ReceivedMessage> {
      for (;;) {
        const found = all.find(fits);
        if (found !== undefined) return found;
        await new Promise<void>((resume) => (wake = resume));
      }
    },
    close: () => client.endAsync(true),
  };
}

const configuration = (service: string, broker: string, directory: string) => `
device: house
state: ${directory}/state
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "${service}", usernameFile: ${directory}/username, passwordFile: ${directory}/password}
mqtt: {url: "${broker}"}
loads:
  car:
    type: ev
    output: {kind: mqtt, preset: switch, topic: garage/car}
    powerKw: 7.2
    goal: {need: 4h, by: "07:00", from: "18:00"}
  heating:
    type: heat-pump
    output: {kind: dry-run, as: sg-ready}
    powerKw: 2
`;

describeWithMosquitto('the main job', () => {
  const undo: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const one of undo.splice(0).reverse()) await one();
  });

  async function house(credentials = { username: 'owner', password: 'clean-grid-1' }) {
    if (!existsSync(MAIN)) throw new Error('dist/main.js is missing: npm run build');
    const directory = await mkdtemp(join(tmpdir(), 'gridtide-house-'));
    undo.push(() => rm(directory, { recursive: true, force: true }));
    const broker: Mosquitto = await startMosquitto();
    undo.push(() => broker.stop());
    const service = startProcess(process.execPath, [
      MAIN,
      ...['reference', '--now', NOW, '--speed', `${SPEED}`, '--account', 'owner:clean-grid-1:analyst'],
    ]);
    undo.push(() => service.stop());
    const { listening } = JSON.parse(await service.waitForLine(/listening/)) as { listening: string };
    await writeFile(join(directory, 'username'), credentials.username);
    await writeFile(join(directory, 'password'), `${credentials.password}\n`, { mode: 0o600 });
    await writeFile(join(directory, 'gridtide.yaml'), configuration(listening, broker.url, directory));
    const reader = await listen(broker.url);
    undo.push(() => reader.close());
    const startAgent = (): RunningProcess => {
      const agent = startProcess(process.execPath, [
        MAIN,
        ...['run', '--config', join(directory, 'gridtide.yaml'), '--now', NOW, '--speed', `${SPEED}`],
      ]);
      undo.push(() => agent.stop());
      return agent;
    };
    return { directory, broker, service, reader, startAgent };
  }

  it('finds its region, plans by a forecast, switches with reasons and is watched', async () => {
    const { directory, reader, startAgent } = await house();
    const agent = startAgent();
    const info = await reader.until(
      ({ topic, payload }) => topic === 'gridtide/house/info' && payload.includes('CAISO_NORTH'),
    );
    expect(JSON.parse(info.payload)).toMatchObject({ region: 'CAISO_NORTH' });
    expect(await readdir(join(directory, 'state'))).toContain('map.co2_moer.idx');
    await reader.until(({ topic, payload }) => topic === 'gridtide/house/availability' && payload === 'online');

    // The car charges within the night: the command on its topic and the reason beside it.
    await reader.until(({ topic, payload }) => topic.startsWith('garage/car') && /on/i.test(payload));
    const state = await reader.until(
      ({ topic, payload }) => topic === 'gridtide/house/loads/car' && JSON.parse(payload).level === 'on',
    );
    const loadState = JSON.parse(state.payload) as { why: string; text: string; basis: string };
    expect(['planned', 'must-run']).toContain(loadState.why);
    expect(loadState.text.length).toBeGreaterThan(10);
    expect(loadState.basis).toMatch(/^(fresh|ageing)-forecast$/);

    await reader.until(
      ({ topic, payload }) => topic === 'gridtide/house/loads/car' && JSON.parse(payload).why === 'goal-done',
    );
    expect(await agent.terminate()).toBe(0);
    expect(reader.all.findLast(({ topic }) => topic === 'gridtide/house/availability')?.payload).toBe('offline');

    const health = JSON.parse(reader.all.findLast(({ topic }) => topic === 'gridtide/house/health')?.payload ?? '{}');
    const signals = reader.all.filter(({ topic }) => topic === 'gridtide/house/signal').length;
    const served = (Date.parse(health.lastForecast) - Date.parse(NOW)) / 3_600_000;
    expect(served).toBeGreaterThan(6);
    const counters = JSON.parse(
      reader.all.findLast(({ topic }) => topic === 'gridtide/house/counters')?.payload ?? '{}',
    );
    expect(counters.logins).toBeLessThanOrEqual(2 * Math.ceil(served) + 1);
    // Of a login, a forecast and an index at least one brings news.
    expect(signals).toBeGreaterThan(counters.requests / 3);
    expect((await readdir(join(directory, 'state'))).some((name) => name.startsWith('ledger-'))).toBe(true);
  });

  it('refused credentials: said once, shown in health, nothing switched; a corrected file is enough', async () => {
    const { directory, reader, startAgent } = await house({ username: 'owner', password: 'wrong-password-1' });
    startAgent();
    await reader.until(
      ({ topic, payload }) =>
        topic === 'gridtide/house/health' && /credentials/.test(JSON.parse(payload).problem ?? ''),
    );
    expect(reader.all.filter(({ topic, payload }) => topic === 'garage/car' && payload !== 'off')).toEqual([]);
    await writeFile(join(directory, 'password'), 'clean-grid-1');
    await reader.until(({ topic, payload }) => topic === 'gridtide/house/info' && payload.includes('CAISO_NORTH'));
  });

  it('without broker and service it still starts, and says why', async () => {
    const { directory, broker, service, startAgent } = await house();
    await broker.kill();
    await service.stop();
    const agent = startAgent();
    const trouble = await agent.waitForLine(/cannot be reached|could not be reached/);
    expect(trouble).toContain('service');
    expect(await agent.terminate()).toBe(0);
    expect(await readFile(join(directory, 'gridtide.yaml'), 'utf8')).toContain('device: house');
  });
});

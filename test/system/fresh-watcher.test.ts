/** A watcher who comes later reads from what the broker has stored: is it working, what does the load do and why, what comes next, what was saved. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as runAgent from '../../src/cli/agent/run.ts';
import { createReferenceService } from '../../src/reference/reference-service.ts';
import { describeWithMosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { startMqttSpy } from '../doubles/mqtt-spy.ts';
import { runCommand } from '../doubles/run-command.ts';
import { afterTest, stopAfterTest } from '../doubles/stop-after-test.ts';

const TREE = 'gridtide/cellar/';
const DAY = 24 * 3_600_000;
/** A Sunday at 12:00 in California: the car's night is ahead. */
const START = '2026-03-01T20:00:00Z';
const OFFSET = Date.parse(START) - Date.now();
const now = () => Date.now() + OFFSET;

/** A house that runs: the reference service, mosquitto, the agent, and a plug that does as it is told. */
async function startHouse(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gridtide-watched-'));
  const account = { username: 'owner', password: 'clean-grid-1', plan: 'pro' } as const;
  const reference = await createReferenceService({ seed: 7, accounts: [account], clock: now });
  const mosquitto = await startMosquitto();
  const device = await startMqttSpy(mosquitto.url, {}, ['plug/set']);
  device.onMessage(({ text }) => void device.publish('plug/state', text, { retain: true }));
  const file = join(folder, 'house.yaml');
  await writeFile(join(folder, 'username'), account.username, { mode: 0o600 });
  await writeFile(join(folder, 'password'), account.password, { mode: 0o600 });
  await writeFile(
    file,
    `device: cellar
state: state
logLevel: error
place: {latitude: 38.5, longitude: -122, timezone: America/Los_Angeles}
service: {url: "${(await reference.listen()).url}", usernameFile: username, passwordFile: password}
mqtt: {url: "${mosquitto.url}"}
loads:
  plug: {type: generic, output: {kind: mqtt, preset: switch, topic: plug/set, stateTopic: plug/state}, minOn: 0s, minOff: 0s}
  car: {type: ev, output: {kind: dry-run}, goal: {need: 4h, by: "07:00", from: "18:00"}}
`,
  );
  const stop = new AbortController();
  const agent = runCommand(runAgent, ['--config', file, '--now', START], { env: { HOME: folder }, stop: stop.signal });
  afterTest(async () => {
    stop.abort();
    await agent;
    await Promise.all([device.stop(), mosquitto.stop(), reference.close()]);
    await rm(folder, { recursive: true });
  });
  return mosquitto.url;
}

describeWithMosquitto('a watcher who subscribes once', () => {
  it('finds every answer among the stored documents', async () => {
    const url = await startHouse();
    const first = stopAfterTest(await startMqttSpy(url, { protocolVersion: 5 }, [`${TREE}#`]));
    const readFirst = (topic: string, fits: (document: never) => boolean) =>
      first.waitFor((message) => message.topic === TREE + topic && fits(JSON.parse(message.text) as never));
    await readFirst(
      'health',
      ({ fresh, lastForecast }: { fresh: boolean; lastForecast: string }) => fresh && !!lastForecast,
    );
    await readFirst(
      'loads/plug',
      ({ told, confirmed }: { told: string; confirmed: string }) => !!told && told === confirmed,
    );
    await readFirst('loads/car', ({ nextStart }: { nextStart: string }) => !!nextStart);
    await readFirst('loads/plug', ({ nextIsExpected }: { nextIsExpected: boolean }) => nextIsExpected);
    await readFirst('loads/car/plan', ({ runs }: { runs: readonly unknown[] }) => runs.length > 0);
    for (const topic of ['totals', 'forecast', 'signal']) await readFirst(topic, () => true);

    const fresh = stopAfterTest(await startMqttSpy(url, { protocolVersion: 5 }, [`${TREE}#`]));
    const read = async (topic: string) => {
      const { text } = await fresh.waitFor((message) => message.retained && message.topic === TREE + topic);
      return topic === 'availability' ? text : JSON.parse(text);
    };
    expect(await read('availability')).toBe('online');
    expect(await read('health')).toMatchObject({ fresh: true });
    const plug = await read('loads/plug');
    expect(plug.text).toMatch(/^index \d+/);
    expect([plug.level, plug.told, plug.confirmed]).toEqual(Array(3).fill(expect.stringMatching(/^(on|off)$/)));
    expect(Date.parse(plug.running ? plug.nextEnd : plug.nextStart)).toBeGreaterThan(Date.parse(START));
    const car = await read('loads/car');
    expect(Date.parse(car.nextStart)).toBeGreaterThan(now());
    expect((await read('loads/car/plan')).runs.length).toBeGreaterThan(0);
    expect((await read('totals')).today.savedKg).toEqual(expect.any(Number));
    expect((await read('signal')).index).toEqual(expect.any(Number));
    const { from, periodSeconds, values } = await read('forecast');
    expect(Date.parse(from) + values.length * periodSeconds * 1_000).toBeGreaterThan(now() + 0.9 * DAY);
  });
});

/** Faults seen on the whole agent as a process of its own, with a real mosquitto and no service: rows 36, 37, 48, 51 and 66 of the fault table. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDocumentStore } from '../../src/agent/document-store.ts';
import { createFileDisk } from '../../src/platform/file-disk.ts';
import { type BundledProgram, bundleProgram } from '../doubles/bundle-program.ts';
import { describeWithMosquitto, freePort, type Mosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { type MqttSpy, startMqttSpy } from '../doubles/mqtt-spy.ts';
import { type RunningProcess, startProcess } from '../doubles/running-process.ts';
import { afterTest, stopAfterTest } from '../doubles/stop-after-test.ts';

const SET = 'gridtide/cellar/loads/plug/set';
const COMMAND = 'home/plug/set';
const STATE = 'home/plug/state';

let program: BundledProgram;
beforeAll(async () => {
  program = await bundleProgram(join(import.meta.dirname, '..', '..', 'src', 'main.ts'), ['onoff', 'pino-pretty']);
});
afterAll(() => program.remove());

interface AgentSetup {
  start(): RunningProcess;
  /** What is saved of control, as text. */
  saved(): Promise<string>;
}

/** A directory with configuration and state; the service it names is not there. */
async function startSetup(mosquitto: Mosquitto): Promise<AgentSetup> {
  const directory = await mkdtemp(join(tmpdir(), 'gridtide-cellar-'));
  afterTest(() => rm(directory, { recursive: true, force: true }));
  await writeFile(join(directory, 'word'), 'owner', { mode: 0o600 });
  await writeFile(
    join(directory, 'gridtide.yaml'),
    `
device: cellar
state: ${directory}/state
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "http://127.0.0.1:${await freePort()}", usernameFile: ${directory}/word, passwordFile: ${directory}/word}
mqtt: {url: "${mosquitto.url}"}
loads:
  plug:
    type: generic
    output: {kind: mqtt, preset: switch, topic: ${COMMAND}, stateTopic: ${STATE}}
    powerKw: 2
    minOn: 0s
    minOff: 0s
    failSafe: "off"
`,
    { mode: 0o600 },
  );
  const store = createDocumentStore(createFileDisk(join(directory, 'state')), () => {});
  return {
    start: () =>
      stopAfterTest(
        startProcess(process.execPath, [program.path, 'run', '--config', join(directory, 'gridtide.yaml')]),
      ),
    saved: async () => JSON.parse(new TextDecoder().decode((await store.load('control'))?.bytes) || '{}').state ?? '',
  };
}

/** The owner's eyes, and a plug that does as it is told and leaves its state on the broker. */
async function eyes(url: string): Promise<MqttSpy> {
  const spy = stopAfterTest(await startMqttSpy(url));
  spy.onMessage(({ topic, text }) => {
    if (topic === COMMAND) void spy.publish(STATE, text, { retain: true });
  });
  await spy.publish(STATE, 'off', { retain: true });
  return spy;
}

const availability = (spy: MqttSpy, wanted: string) =>
  spy.waitFor(({ topic, text }) => topic === 'gridtide/cellar/availability' && text === wanted);
const plugIs = async (spy: MqttSpy, fits: (told: { level: string; why: string; until: string | null }) => boolean) => {
  const { text } = await spy.waitFor(
    ({ topic, text }) => topic === 'gridtide/cellar/loads/plug' && fits(JSON.parse(text)),
  );
  return JSON.parse(text) as { level: string; why: string; until: string | null };
};
const commands = (spy: MqttSpy) => spy.messages.filter(({ topic }) => topic === COMMAND).map(({ text }) => text);

describeWithMosquitto('the agent and its broker', () => {
  it('row 48: killed it is shown as offline by its will, stopped by its own word; online comes after the state', async () => {
    const mosquitto = stopAfterTest(await startMosquitto());
    const { start } = await startSetup(mosquitto);
    const spy = await eyes(mosquitto.url);
    const killed = start();
    await availability(spy, 'online');
    const own = spy.messages.map(({ topic }) => topic).filter((topic) => topic.startsWith('gridtide/cellar/'));
    expect(own.indexOf('gridtide/cellar/loads/plug')).toBeLessThan(own.indexOf('gridtide/cellar/availability'));
    await killed.stop();
    await availability(spy, 'offline');

    spy.clear();
    const stopped = start();
    await availability(spy, 'online');
    expect(await stopped.terminate()).toBe(0);
    await availability(spy, 'offline');
  });

  it('rows 36 and 37: without a broker at the start, and with one that forgot everything, the tree comes by itself', async () => {
    const mosquitto = stopAfterTest(await startMosquitto());
    await mosquitto.kill();
    const agent = (await startSetup(mosquitto)).start();
    await agent.waitForLine(/no broker answers/);
    await mosquitto.restart();
    const first = await eyes(mosquitto.url);
    await availability(first, 'online');
    await plugIs(first, () => true);
    await mosquitto.restart();
    const second = await eyes(mosquitto.url);
    await availability(second, 'online');
    await plugIs(second, () => true);
    expect(second.lastText('gridtide/cellar/health')).toBeDefined();
  });

  it('row 66: an override is kept over a kill, no edge at the plug, and ends by itself', async () => {
    const mosquitto = stopAfterTest(await startMosquitto());
    const { start, saved } = await startSetup(mosquitto);
    const spy = await eyes(mosquitto.url);
    const first = start();
    await availability(spy, 'online');
    await spy.publish(SET, '{"id":"1","command":"override","level":"on","for":"1h"}');
    const before = await plugIs(spy, ({ level, why }) => level === 'on' && why === 'remote-override');
    await spy.waitFor(({ topic, text }) => topic === STATE && text === 'on');
    // Saving holds up neither the plug nor the answer: a kill before it is done comes too early for this row.
    await expect.poll(saved).toContain('"remote":{');
    await first.stop();
    await availability(spy, 'offline');

    spy.clear();
    const second = start();
    await availability(spy, 'online');
    const plugState = await plugIs(spy, () => true);
    expect(plugState).toMatchObject({ level: 'on', why: 'remote-override' });
    const shift = Math.abs(Date.parse(plugState.until ?? '') - Date.parse(before.until ?? ''));
    expect(shift).toBeLessThan(5_000);
    expect(commands(spy)).not.toContain('off');

    await spy.publish(SET, '{"id":"2","command":"override","level":"on","for":"2s"}');
    spy.clear();
    await plugIs(spy, ({ why }) => why !== 'remote-override');
    expect(await second.terminate()).toBe(0);
    await spy.waitFor(({ topic, text }) => topic === STATE && text === 'off');
  });

  it('row 51: under a flood of overrides the plug moves at most as often as the gate lets in', async () => {
    const mosquitto = stopAfterTest(await startMosquitto());
    const { start } = await startSetup(mosquitto);
    const spy = await eyes(mosquitto.url);
    start();
    await availability(spy, 'online');
    const flood = stopAfterTest(await startMqttSpy(mosquitto.url, {}, []));
    for (let n = 0; n < 2_000; n += 1)
      void flood.publish(SET, `{"command":"override","level":"${n % 2 === 0 ? 'on' : 'off'}","for":"1h"}`, { qos: 0 });
    await spy.waitFor(({ topic, text }) => topic.endsWith('/result') && text.includes('too many commands'));
    await flood.publish('flood/over', 'x');
    await spy.waitFor(({ topic }) => topic === 'flood/over');
    expect(commands(spy).length).toBeLessThanOrEqual(15);
  });
});

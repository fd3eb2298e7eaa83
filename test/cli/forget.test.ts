/** `gridtide forget` on a real mosquitto: what the device left is erased, what is another's stays, a running agent is not undone. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import * as forget from '../../src/cli/agent/forget.ts';
import { describeWithMosquitto, type Mosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { type MqttSpy, startMqttSpy } from '../doubles/mqtt-spy.ts';
import { runCommand } from '../doubles/run-command.ts';

/** Of an earlier configuration too: `old` is a load that the present one no longer has. */
const OWN = [
  'gridtide/cellar/availability',
  'gridtide/cellar/health',
  'gridtide/cellar/info',
  'gridtide/cellar/loads/car',
  'gridtide/cellar/loads/old',
  'gridtide/cellar/loads/old/result',
  'homeassistant/device/gridtide_cellar/config',
];
const FOREIGN = [
  'gridtide/cellar-2/health',
  'gridtide-owners/openevse-2/override/set',
  'homeassistant/device/gridtide_cellar-2/config',
];

describeWithMosquitto('gridtide forget', () => {
  let mosquitto: Mosquitto;
  let spy: MqttSpy;
  let directory: string;
  const run = (...words: string[]) =>
    runCommand(forget, ['--config', join(directory, 'gridtide.yaml'), ...words], { env: { HOME: directory } });

  async function readStored(): Promise<string[]> {
    const reader = await startMqttSpy(mosquitto.url);
    // The broker sends what is stored before it carries this message back.
    await reader.publish('end', 'end');
    await reader.waitFor(({ topic }) => topic === 'end');
    await reader.stop();
    return reader.messages
      .filter(({ retained }) => retained)
      .map(({ topic }) => topic)
      .sort();
  }

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'gridtide-forget-'));
    mosquitto = await startMosquitto({});
    spy = await startMqttSpy(mosquitto.url);
    await writeFile(
      join(directory, 'gridtide.yaml'),
      `device: cellar
place: {latitude: 38.5, longitude: -122, timezone: America/Los_Angeles}
service: {url: "http://127.0.0.1:9", usernameFile: user, passwordFile: word}
mqtt: {url: "${mosquitto.url}"}
loads:
  car: {type: ev, output: {kind: mqtt, preset: openevse, topic: openevse-1}}
  other: {type: ev, output: {kind: mqtt, preset: openevse, topic: openevse-2}}
`,
    );
    for (const topic of OWN)
      await spy.publish(topic, topic.endsWith('availability') ? 'offline' : '{}', { retain: true });
    await spy.publish('gridtide-owners/openevse-1/override/set', 'cellar', { retain: true });
    for (const topic of FOREIGN) await spy.publish(topic, 'cellar-2', { retain: true });
  });
  afterEach(async () => {
    await spy.stop();
    await mosquitto.stop();
    await rm(directory, { recursive: true });
  });

  it('erases topics, entities and claims of this agent alone', async () => {
    const { code, out } = await run();
    expect([code, out]).toEqual([0, '8 topics of "cellar" erased at the broker\n']);
    expect(await readStored()).toEqual([...FOREIGN].sort());
    expect((await run()).out).toBe('0 topics of "cellar" erased at the broker\n');
  });

  it('lists with --json what it erased', async () => {
    const { device, erased } = JSON.parse((await run('--json')).out);
    expect([device, erased.sort()]).toEqual(['cellar', [...OWN, 'gridtide-owners/openevse-1/override/set'].sort()]);
  });

  it('erases nothing while the agent runs', async () => {
    await spy.publish('gridtide/cellar/availability', 'online', { retain: true });
    const { code, err } = await run();
    expect([code, err]).toEqual([
      1,
      'the agent of "cellar" is running; stop it first, or it publishes everything again',
    ]);
    expect(await readStored()).toHaveLength(OWN.length + 1 + FOREIGN.length);
  });
});

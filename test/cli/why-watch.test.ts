/** `gridtide why --watch` beside a living agent: each decision as it comes, until it is stopped. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Instant } from '../../src/domain/units.ts';
import { describeWithMosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { startMqttSpy } from '../doubles/mqtt-spy.ts';
import { startProcess } from '../doubles/running-process.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';
import { sampleDecision, startMonitorFixture } from '../mqtt/monitor-fixture.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'dist', 'main.js');

const writeConfig = async (broker: string) => {
  const folder = await mkdtemp(join(tmpdir(), 'gridtide-watch-'));
  stopAfterTest({ stop: () => rm(folder, { recursive: true, force: true }) });
  const lines = [
    'device: cellar',
    'place: {latitude: 38.5, longitude: -122, timezone: America/Los_Angeles}',
    'service: {url: "https://signal.example", usernameFile: none, passwordFile: none}',
    `mqtt: {url: "${broker}"}`,
    'loads: {car: {type: ev, output: {kind: dry-run}}}',
  ];
  await writeFile(join(folder, 'gridtide.yaml'), `${lines.join('\n')}\n`);
  return folder;
};

describeWithMosquitto('gridtide why --watch', () => {
  it.each([[[]], [['--json']]])('prints each decision until it is stopped %j', async (flags) => {
    const mosquitto = stopAfterTest(await startMosquitto());
    const { monitor } = stopAfterTest(startMonitorFixture(mosquitto.url));
    const folder = await writeConfig(mosquitto.url);
    const options = ['--config', join(folder, 'gridtide.yaml'), '--state', join(folder, 'state'), ...flags];
    const watch = stopAfterTest(startProcess(process.execPath, [MAIN, 'why', 'car', '--watch', ...options]));
    await watch.waitForLine(/index 21: clean enough to run/);
    monitor.publishDecision(sampleDecision({ level: 'off', wanted: 'off', why: 'dirty' }), 'index 61: too dirty');
    const line = await watch.waitForLine(/index 61: too dirty/);
    if (flags.length > 0) expect(JSON.parse(line)).toMatchObject({ load: 'car', level: 'off', why: 'dirty' });
    else expect(line).toMatch(/^\d\d:\d\d {2}car off: index 61: too dirty$/);
    expect(await watch.terminate()).toBe(0);
  });

  it('prints the next start that the forecast lets expect, without it', async () => {
    const mosquitto = stopAfterTest(await startMosquitto());
    const { monitor } = stopAfterTest(startMonitorFixture(mosquitto.url));
    const folder = await writeConfig(mosquitto.url);
    const from = (Date.now() + 6 * 3_600_000) as Instant;
    const facts = { job: undefined, plan: undefined, paused: false, thresholds: undefined };
    monitor.publishControl('car', { ...facts, expected: [{ from }] });
    monitor.publishDecision(sampleDecision({ level: 'off', wanted: 'off', why: 'dirty' }), 'index 61: too dirty');
    const spy = stopAfterTest(await startMqttSpy(mosquitto.url));
    await spy.waitFor(({ text }) => text.includes('too dirty'));
    await spy.waitFor(({ text }) => text === 'online');
    const options = ['--config', join(folder, 'gridtide.yaml'), '--state', join(folder, 'state')];
    const why = stopAfterTest(startProcess(process.execPath, [MAIN, 'why', 'car', ...options]));
    expect(await why.exit()).toBe(0);
    expect(why.lines.join('\n')).toMatch(/next: on expected at \S+( \S+)?, by the forecast/);
  });

  it('says so where there is no broker', async () => {
    const folder = await writeConfig('mqtt://127.0.0.1:1');
    const options = ['--config', join(folder, 'gridtide.yaml'), '--state', join(folder, 'state')];
    const watch = stopAfterTest(startProcess(process.execPath, [MAIN, 'why', 'car', '--watch', ...options]));
    expect(await watch.exit()).toBe(1);
    expect(watch.lines.join('\n')).toContain('gridtide why: nothing can be watched: ');
  });
});

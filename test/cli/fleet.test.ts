/** `gridtide fleet` on a real mosquitto: more devices than a broker sends at once, filters, forms, and a broker that refuses. */

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as fleet from '../../src/cli/agent/fleet.ts';
import { describeWithMosquitto, type Mosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { startMqttSpy } from '../doubles/mqtt-spy.ts';
import { runCommand } from '../doubles/run-command.ts';
import { startProcess } from '../doubles/running-process.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'dist', 'main.js');

/** More than the thousand messages that mosquitto queues for a reader who acknowledges them. */
const DEVICES = 1_100;

describe('the address of the broker', () => {
  //  words                                  exit 2 with
  const rows = [
    ['', 'the address of the broker is missing; give --broker URL, such as mqtt://localhost:1883, or --config FILE'],
    ['--broker http://a', '--broker: "http://a" is not an address such as mqtt://localhost:1883 (mqtt or mqtts)'],
    ['--broker mqtt://localhost --json --metrics', '--json and --metrics: expected one of them'],
  ];
  it.each(rows)('%s', async (words, err) =>
    expect(await runCommand(fleet, (words ?? '').split(' ').filter(Boolean))).toMatchObject({ code: 2, err }),
  );
});

describeWithMosquitto('gridtide fleet', () => {
  let mosquitto: Mosquitto;
  const run = (...words: string[]) => runCommand(fleet, ['--broker', mosquitto.url, ...words]);
  const readDevices = async (...words: string[]) =>
    JSON.parse((await run('--json', ...words)).out).devices as { device: string; problem: string }[];

  beforeAll(async () => {
    mosquitto = await startMosquitto({});
    const writer = await startMqttSpy(mosquitto.url, {}, []);
    const publications = Array.from({ length: DEVICES }, (_, i) => {
      const base = `gridtide/house-${String(i).padStart(3, '0')}`;
      const region = i % 2 === 0 ? 'NORTH' : 'SOUTH';
      const problem = i === 7 ? "clock: this machine's clock is not synchronised" : '';
      // At QoS 1, as agents publish.
      return [
        writer.publish(`${base}/availability`, i === 5 ? 'offline' : 'online', { retain: true }),
        writer.publish(`${base}/info`, JSON.stringify({ version: '0.1.0', region }), { retain: true }),
        writer.publish(`${base}/health`, JSON.stringify({ basis: 'fresh-forecast', problem }), { retain: true }),
      ];
    });
    await Promise.all(publications.flat());
    await writer.publish('gridtide/house-001/loads/car', '{"running": true}', { retain: true });
    await writer.stop();
  });
  afterAll(() => mosquitto.stop());

  it('names its own options when the broker cannot be reached', async () => {
    expect(await runCommand(fleet, ['--broker', 'mqtt://127.0.0.1:1'])).toMatchObject({
      code: 1,
      err: 'no broker answers at 127.0.0.1:1 (ECONNREFUSED); start the broker or correct --broker',
    });
    expect((await run('--password-file', 'none')).err).toMatch(
      /^a file for the broker cannot be read; check --username-file, --password-file and --ca$/,
    );
  });
  it('reads every device, those that need a look first', async () => {
    const devices = (await readDevices()).map(({ device }) => device);
    expect(devices).toHaveLength(DEVICES);
    expect(devices.slice(0, 3)).toEqual(['house-005', 'house-007', 'house-000']);
  });
  it('prints a table with its summary', async () => {
    const { code, out } = await run('--problems');
    const lines = out.trimEnd().split('\n');
    expect([code, lines.length, lines.at(-1)]).toEqual([0, 5, '2 agents, 1 offline, 1 with a problem']);
    expect(lines[2]).toMatch(/^house-007 +problem +SOUTH +fresh-forecast +- +- +- +0\.1\.0$/);
    expect(lines[3]).toBe("    clock: this machine's clock is not synchronised");
    expect(lines.filter(({ length }) => length > 80)).toEqual([]);
  });
  it('lets no text of a house command the terminal', async () => {
    const broker = stopAfterTest(await startMosquitto());
    const writer = stopAfterTest(await startMqttSpy(broker.url, {}, []));
    const health = JSON.stringify({ problem: 'clock\u001b[2J\nhouse-1 ok', region: 'X\u001b[2J\u009b31m' });
    await writer.publish('gridtide/cellar/health', health, { retain: true });
    const [table = '', ...others] = await Promise.all(
      [[], ['--json'], ['--metrics']].map(
        async (form) => (await runCommand(fleet, ['--broker', broker.url, ...form])).out,
      ),
    );
    expect(table.split('\n')[2]).toBe('    clock?[2J?house-1 ok');
    for (const out of [table, ...others]) {
      expect(out).toContain('X?[2J?31m');
      expect(out.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    }
  });
  it('selects a region', async () => expect(await readDevices('--region', 'SOUTH')).toHaveLength(DEVICES / 2));
  it('prints OpenMetrics', async () => {
    const { out } = await run('--metrics', '--region', 'SOUTH');
    expect(out).toMatch(/^# TYPE gridtide_online gauge\n# HELP gridtide_online .+\n/);
    expect(out).toContain('gridtide_online{device="house-005",region="SOUTH"} 0\n');
    expect(out).toContain('gridtide_loads_running{device="house-001",region="SOUTH"} 1\n');
    expect(out.endsWith('\n# EOF\n')).toBe(true);
  });
  it('watches on after the broker has begun again', async () => {
    const broker = stopAfterTest(await startMosquitto());
    const watch = stopAfterTest(startProcess(process.execPath, [MAIN, 'fleet', '--watch', '--broker', broker.url]));
    await watch.waitForLine(/^0 agents/);
    await broker.restart();
    const writer = stopAfterTest(await startMqttSpy(broker.url, {}, []));
    await writer.publish('gridtide/cellar/availability', 'online', { retain: true });
    await watch.waitForLine(/^1 agent, 0 offline/);
    await watch.waitForLine(/; the table stays as it is until the link is back$/);
    expect(await watch.terminate()).toBe(0);
    const causes = watch.lines.filter((line) => line.includes('broker'));
    expect(causes).toEqual([...new Set(causes)]);
  });
});

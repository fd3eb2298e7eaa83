/** The night of the go-e charger for each of the ten devices, in one house and virtual time: what it drew, when, and what `report` says of it. */

import { describe, expect, it } from 'vitest';
import { createAgent } from '../../src/agent/agent.ts';
import { parseConfig } from '../../src/config/parse-config.ts';
import { addDuration, hours, type Instant, inHours, seconds } from '../../src/domain/units.ts';
import { listLedgerFiles, readLedgerMonths } from '../../src/ledger/ledger-files.ts';
import { computeTotalsByMonth } from '../../src/ledger/load-totals.ts';
import { createReferenceService } from '../../src/reference/reference-service.ts';
import { createDemoWorld } from '../../src/simulation/demo-world.ts';
import { type EmbeddedBroker, startEmbeddedBroker } from '../../src/simulation/embedded-broker.ts';
import { createVirtualClock, type VirtualClock } from '../../src/simulation/virtual-clock.ts';
import { afterTest } from '../doubles/stop-after-test.ts';
import { chargesNow, DEVICE_SCRIPTS, type DeviceScript, type DeviceState } from './scripted-devices.ts';

const OWNER = { username: 'owner', password: 'clean-grid-1' };
const TIMEZONE = 'America/Los_Angeles';
/** 18:00 in Los Angeles. */
const EVENING = Date.parse('2026-03-03T02:00:00Z') as Instant;
/** Of the scripts; the configuration says a little more. */
const DRAWN_KW = 3.5;
/** Shorter than the time after which a device that repeats its state counts as silent. */
const REPORT_PERIOD = seconds(100);

const waitForTurns = async () => {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resume) => setImmediate(resume));
};
const draws = (script: DeviceScript, state: DeviceState) =>
  script.charger === undefined ? state.mode === 'on' : chargesNow(state);

/** The device of a script, which draws and counts in virtual time. */
async function simulateDevice(script: DeviceScript, broker: EmbeddedBroker, clock: VirtualClock) {
  const start = 12.5;
  let state: DeviceState = { mode: script.afterReboot, isPlugged: false, hasRoom: true, kwh: start };
  let countedAt = clock.now().wall;
  const drawnAt: Instant[] = [];
  const count = (): void => {
    const now = clock.now().wall;
    if (draws(script, state) && now > countedAt) {
      state = { ...state, kwh: state.kwh + DRAWN_KW * inHours((now - countedAt) as never) };
      drawnAt.push(countedAt);
    }
    countedAt = now;
  };
  const report = async (): Promise<void> => {
    count();
    for (const [topic, payload, retain] of script.report(state)) await broker.publish(topic, payload, { retain });
  };
  const repeat = (): void => {
    const resume = clock.pause();
    // The agent has it before time goes on.
    void report()
      .then(waitForTurns)
      .then(() => {
        clock.wakeAt(addDuration(clock.now().uptime, REPORT_PERIOD), script.name, repeat);
        resume();
      });
  };
  broker.onPublish(async (topic, payload) => {
    if (topic === script.queryTopic) return report();
    const mode = topic === script.commandTopic ? script.parse(payload) : undefined;
    if (mode === undefined) return;
    count();
    if (mode !== 'query') state = { ...state, mode };
    await report();
  });
  const { birth } = script;
  if (birth !== undefined) await broker.publish(birth[0], birth[1], { retain: birth[2] });
  await report();
  clock.wakeAt(addDuration(clock.now().uptime, REPORT_PERIOD), script.name, repeat);
  return {
    script,
    drawnAt,
    energy: () => state.kwh - start,
    /** Resolves when the agent has had its answer to a fall to neutral; the clock stands still meanwhile. */
    async plugIn() {
      count();
      state = { ...state, isPlugged: true, mode: script.charger?.afterPlugIn ?? state.mode };
      await report();
      while (draws(script, state)) await waitForTurns();
    },
  };
}

/** Both of OpenEVSE stand in one house, so one has another name. */
function renameDevice(script: DeviceScript): DeviceScript {
  if (script.name !== 'OpenEVSE claim') return script;
  const rename = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value).replaceAll('1a2b', '3c4d'));
  return {
    ...script,
    ...rename({ options: script.options, commandTopic: script.commandTopic }),
    ...(script.birth === undefined ? {} : { birth: rename(script.birth) }),
    report: (state) => rename(script.report(state)),
  };
}

async function playNight() {
  const clock = createVirtualClock(EVENING);
  const accounts = [{ ...OWNER, plan: 'pro' as const }];
  const reference = await createReferenceService({ seed: 7, clock: () => clock.now().wall, accounts });
  afterTest(() => reference.close());
  const { url } = await reference.listen();
  const broker = await startEmbeddedBroker();
  afterTest(() => broker.close());
  const scripts = DEVICE_SCRIPTS.map(renameDevice);
  const goal = { need: '4h', by: '07:00' };
  const loads = scripts.map(({ options, charger }, i) => [
    `d${i}`,
    {
      type: charger === undefined ? 'generic' : 'ev',
      powerKw: 3.6,
      goal,
      output: { kind: 'mqtt', ...options },
      ...{ failSafe: 'off', initialLevel: 'off', minOn: '15m', minOff: '15m' },
    },
  ]);
  const config = {
    ...{ device: 'garage', mqtt: { url: broker.url }, loads: Object.fromEntries(loads) },
    place: { latitude: 38.5, longitude: -122, timezone: TIMEZONE },
    service: { url, usernameFile: 'username', passwordFile: 'password' },
  };
  const read = parseConfig(JSON.stringify(config).replaceAll('"off"', "'off'"));
  if (!read.ok) throw new Error(read.mistakes.join('\n'));
  const devices = await Promise.all(scripts.map((script) => simulateDevice(script, broker, clock)));
  const levels = new Map<string, { readonly at: Instant; readonly level: string }[]>();
  const problems: string[] = [];
  broker.onPublish((topic, payload) => {
    const [, load] = /^gridtide\/garage\/loads\/(d\d)$/.exec(topic) ?? [];
    if (load !== undefined)
      levels.set(load, [
        ...(levels.get(load) ?? []),
        { at: Date.parse(JSON.parse(payload).time) as Instant, level: JSON.parse(payload).level },
      ]);
    if (topic === 'gridtide/garage/health') problems.push(JSON.parse(payload).parts.outputs.problem ?? '');
  });
  const secrets = { read: async (path: string) => (path === 'username' ? OWNER.username : OWNER.password) };
  const world = createDemoWorld({ clock, seed: 7, secrets, log: () => {} });
  await import('../../src/region/import-map.ts');
  const agent = createAgent({ config: read.config, world, version: 'test' });
  await clock.runUntilDone(agent.start());
  await clock.runUntil(addDuration(EVENING, hours(19 / 60)));
  for (const device of devices) if (device.script.charger !== undefined) await device.plugIn();
  await clock.runUntil(addDuration(EVENING, hours(13)));
  await clock.runUntilDone(agent.stop());
  const months = readLedgerMonths(world.disk, listLedgerFiles(await world.disk.list()));
  const { totals } = await computeTotalsByMonth(months, { timezone: TIMEZONE, by: 'all', now: clock.now().wall });
  return { devices, totals, levels, problems };
}

describe('the night of ten devices', () => {
  let night: ReturnType<typeof playNight> | undefined;

  it.each(DEVICE_SCRIPTS.map(({ name, options }, i) => [name, options.preset, `d${i}`, i] as const))(
    '%s draws four hours, at the hours of the plan, and the report says so within 1 %',
    { timeout: 600_000 },
    async (_, preset, load, i) => {
      night ??= playNight();
      const { devices, totals, levels, problems } = await night;
      const device = devices[i];
      const total = totals.find((one) => one.load === load);
      expect((device?.energy() ?? 0) / (4 * DRAWN_KW)).toBeCloseTo(1, 1);
      if (preset === 'esphome') expect([total?.metered, total?.energy]).toEqual([0, expect.closeTo(4 * 3.6, 0)]);
      else {
        expect((total?.energy ?? 0) / (device?.energy() ?? 0)).toBeGreaterThan(0.99);
        expect((total?.energy ?? 0) / (device?.energy() ?? 0)).toBeLessThan(1.01);
        expect(total?.metered).toBeCloseTo(total?.energy ?? 0, 5);
      }
      // A minute for what the device reports after the decision.
      for (const at of device?.drawnAt ?? [])
        expect(
          levels
            .get(load)
            ?.some(
              (one, n, all) =>
                one.level === 'on' && one.at <= at + 60_000 && (all[n + 1]?.at ?? Infinity) >= at - 60_000,
            ),
        ).toBe(true);
      expect(problems.filter((problem) => problem !== '')).toEqual([]);
    },
  );
});

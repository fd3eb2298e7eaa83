/** What the reports of a charger become: events for the control core, running time and counts in the ledger, a problem of its meter. */

import { afterEach, expect, it } from 'vitest';
import { createAgentClock } from '../../src/agent/agent-clock.ts';
import type { AgentContext } from '../../src/agent/agent-context.ts';
import { createReportingOutputs } from '../../src/agent/device-events.ts';
import type { LedgerWriter } from '../../src/agent/ledger-writer.ts';
import { createProblems } from '../../src/agent/problems.ts';
import { buildMqttOutput } from '../../src/config/presets.ts';
import type { ControlEvent } from '../../src/control/control-types.ts';
import type { Level } from '../../src/domain/load-types.ts';
import type { Ports } from '../../src/domain/ports.ts';
import { hours, minutes } from '../../src/domain/units.ts';
import type { Monitor } from '../../src/mqtt/monitor.ts';
import { createBrokerFactory } from '../../src/platform/mqtt-broker.ts';
import { createSystemClock } from '../../src/platform/system-clock.ts';
import { buildMonitorConfig } from '../mqtt/monitor-fixture.ts';
import { buildLoad, createOutputFixture } from '../outputs/output-fixture.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A go-e charger of 7.2 kW on a real broker, and all that its reports are told to. */
async function openCharger() {
  const fixture = await createOutputFixture();
  closers.push(() => fixture.close());
  const { clock, log, embedded, broker } = fixture;
  const charger = buildMqttOutput({ preset: 'go-e', topic: 'goe/1', amps: 32 });
  if (typeof charger === 'string') throw new Error(charger);
  const config = buildMonitorConfig(embedded.url, { loads: [buildLoad(charger, { overrideFor: hours(2) })] });
  const events: ControlEvent[] = [];
  const counters: number[] = [];
  const levels: Level[] = [];
  const proofs: boolean[] = [];
  const statuses: string[] = [];
  const problems = createProblems(clock, log, () => {});
  const ledger: Partial<LedgerWriter> = {
    recordLevel: (_load, level) => void levels.push(level),
    recordProof: (_load, isConfirmed) => void proofs.push(isConfirmed),
    recordCounter: (_load, energy) => void counters.push(energy),
  };
  const monitor: Partial<Monitor> = { publishDeviceStatus: (load) => void statuses.push(load) };
  const factory = createBrokerFactory({ clock: createSystemClock(), random: { fraction: () => 0.5 } });
  const world: Partial<Ports> = { broker: factory };
  const context = { config, world, clock: createAgentClock(clock), log, problems } as AgentContext;
  const parts = { broker, monitor: monitor as Monitor, ledger: ledger as LedgerWriter };
  const outputs = createReportingOutputs(context, parts, (event) => events.push(event));
  closers.push(() => outputs.close());
  fixture.addDevice('goe/1/frc/set', 'goe/1/frc');
  const publish = (topic: string, text: string) => embedded.publish(`goe/1/${topic}`, text, { retain: true });
  await publish('frc', '1');
  await outputs.open();
  return { ...fixture, publish, outputs, events, counters, levels, proofs, statuses, problems };
}

type Charger = Awaited<ReturnType<typeof openCharger>>;
const allowCharging = (charger: Charger) => charger.outputs.byLoad.get('car')?.apply('on');
const names = ({ events }: Charger) =>
  events.map((event) => {
    if (event.kind === 'confirmed') return `confirmed ${event.level}`;
    return event.kind === 'vehicle' ? event.vehicle : event.kind;
  });

it('counts nothing as run before the first command, whatever the charger says', async () => {
  const charger = await openCharger();
  await charger.publish('car', '2');
  await expect.poll(() => names(charger)).toEqual(['connected']);
  expect(charger.levels).toEqual([]);
  expect(charger.proofs.at(-1)).toBe(true);
  expect(charger.statuses.at(-1)).toBe('car');
});

it.each([
  ['has a vehicle that takes nothing', 'car', '3'],
  ['has no vehicle', 'car', '1'],
  ['follows rules of its own', 'frc', '0'],
  ['is gone', 'mcc', 'false'],
])('a charger that charged on command and then %s counts as off', async (_, topic, text) => {
  const charger = await openCharger();
  await charger.publish('car', '2');
  await charger.publish('mcc', 'true');
  await allowCharging(charger);
  await expect.poll(() => charger.levels.at(-1)).toBe('on');
  await charger.publish(topic, text);
  await expect.poll(() => charger.levels.at(-1)).toBe('off');
});

it('a press at the charger is an override for the time of its load, and the level it is at', async () => {
  const charger = await openCharger();
  await allowCharging(charger);
  await expect.poll(() => charger.levels.at(-1)).toBe('on');
  const before = charger.events.length;
  await charger.pass(minutes(1));
  await charger.publish('frc', '1');
  await expect.poll(() => names(charger)).toContain('confirmed off');
  expect(charger.events.slice(before)).toEqual([
    { kind: 'override', load: 'car', level: 'off', for: hours(2), source: 'local' },
    { kind: 'confirmed', load: 'car', level: 'off' },
  ]);
  expect(charger.logLines).toContain('info: car off: switched at the device');
});

it('what the meter cannot have counted is a problem, and neither ledger nor vehicle hears of it', async () => {
  const charger = await openCharger();
  await charger.publish('eto', '5000');
  await expect.poll(() => charger.counters).toEqual([5]);
  await charger.publish('eto', '50000000000');
  await expect.poll(() => charger.problems.list().map(({ subject }) => subject)).toEqual(['outputs:car count']);
  await charger.publish('eto', '6000');
  await expect.poll(() => charger.counters).toEqual([5, 6]);
  expect(charger.problems.list()).toEqual([]);
});

/** Compares what a device's meter reports with the power of its load: a counter in another unit is told by its factor. */

import { formatDuration } from '../domain/duration-text.ts';
import type { LoadConfig } from '../domain/load-types.ts';
import type { Clock } from '../domain/ports.ts';
import { addDuration, type Duration, days, type Kilowatt, type KilowattHour, type Uptime } from '../domain/units.ts';
import { exceedsPower, MAX_POWER_FACTOR } from '../ledger/counter-meter.ts';
import type { MeterReading } from '../outputs/output.ts';
import type { Problems } from './problems.ts';

/** A counter of a house is far below this in kilowatt-hours. */
const MAX_KWH = 10_000_000;

/** A counter that stands still shows no unit: the leap is named this long. */
const LEAP_MEMORY = days(1);

/** Whether the reading may be counted; raises the problem of its load when it may not. */
export type CheckMeter = (load: LoadConfig, reading: MeterReading) => boolean;

export function createMeterCheck(clock: Clock, problems: Problems): CheckMeter {
  const lastCounts = new Map<string, CounterReading>();
  return (load, reading) => {
    if (!checkValues(load, reading, problems)) return false;
    if (reading.energy === undefined) return true;
    const count: CounterReading = { energy: reading.energy, at: clock.now().uptime };
    const before = lastCounts.get(load.name) ?? count;
    lastCounts.set(load.name, { ...count, leapAt: checkGrowth(load, before, count, problems) });
    return true;
  };
}

interface CounterReading {
  readonly energy: KilowattHour;
  readonly at: Uptime;
  /** Of its last leap. */
  readonly leapAt?: Uptime | undefined;
}

/** The ledger counts nothing of a leap; the reading after it is counted from there. Returns the time of the last leap. */
function checkGrowth(
  { name, powerKw }: LoadConfig,
  before: CounterReading,
  { energy, at }: CounterReading,
  problems: Problems,
): Uptime | undefined {
  const subject = `outputs:${name} counter`;
  const [drawn, time] = [energy - before.energy, (at - before.at) as Duration];
  if (exceedsPower(powerKw, drawn, time)) {
    problems.raise(
      subject,
      `load ${name}: its meter counted ${drawn.toFixed(1)} kWh within ${formatDuration(time)}, ${explainUnit(powerKw)}`,
      'meter',
    );
    return at;
  }
  if (drawn > 0 || (before.leapAt !== undefined && at >= addDuration(before.leapAt, LEAP_MEMORY)))
    problems.resolve(subject);
  return before.leapAt;
}

const explainUnit = (powerKw: Kilowatt) =>
  `and its powerKw is ${powerKw}: the meter counts in another unit or powerKw is wrong, so it is not counted; correct energyUnit or powerKw`;

/** Power and count have a problem each, until a possible value is reported. */
function checkValues({ name, powerKw }: LoadConfig, { power, energy }: MeterReading, problems: Problems): boolean {
  const checks = [
    { subject: `outputs:${name} meter`, value: power, most: powerKw * MAX_POWER_FACTOR, unit: 'kW' },
    { subject: `outputs:${name} count`, value: energy, most: MAX_KWH, unit: 'kWh' },
  ];
  const failed = checks.filter(({ value, most }) => value !== undefined && value > most);
  for (const check of checks) if (check.value !== undefined && !failed.includes(check)) problems.resolve(check.subject);
  for (const { subject, value = 0, unit } of failed)
    problems.raise(
      subject,
      `load ${name}: its meter reports ${Math.round(value)} ${unit}, ${explainUnit(powerKw)}`,
      'meter',
    );
  return failed.length === 0;
}

/** Compares what a device's meter reports with the power of its load: a counter in another unit is told by its factor. */

import type { LoadConfig } from '../domain/load-types.ts';
import type { MeterReading } from '../outputs/output.ts';
import type { Problems } from './problems.ts';

/** A load draws less than it is said to, at times; several times as much it never does. */
const MAX_POWER_FACTOR = 5;
/** A counter of a house is far below this in kilowatt-hours. */
const MAX_KWH = 10_000_000;

/** Whether the reading may be counted; raises the problem of its load when it may not. */
export function checkMeter(
  { name, powerKw }: LoadConfig,
  { power, energy }: MeterReading,
  problems: Problems,
): boolean {
  const subject = `outputs:${name} meter`;
  const isTooStrong = power !== undefined && power > powerKw * MAX_POWER_FACTOR;
  const isTooMuch = energy !== undefined && energy > MAX_KWH;
  if (!isTooStrong && !isTooMuch) {
    if (power !== undefined) problems.resolve(subject);
    return true;
  }
  const reported = isTooStrong ? `${Math.round(power)} kW` : `${Math.round(energy ?? 0)} kWh`;
  problems.raise(
    subject,
    `load ${name}: its meter reports ${reported}, and its powerKw is ${powerKw}: the meter counts in another unit or powerKw is wrong, so it is not counted; correct energyUnit or powerKw`,
    'meter',
  );
  return false;
}

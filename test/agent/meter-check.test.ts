/** A meter in another unit than its preset's: one sentence, nothing counted, and well again with the first reading that fits. */

import { expect, it } from 'vitest';
import { checkMeter } from '../../src/agent/meter-check.ts';
import { createProblems } from '../../src/agent/problems.ts';
import type { Instant, Kilowatt, KilowattHour } from '../../src/domain/units.ts';
import type { MeterReading } from '../../src/outputs/output.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { buildLoad } from '../outputs/output-fixture.ts';

const kw = (power: number): MeterReading => ({ power: power as Kilowatt });
const kwh = (energy: number): MeterReading => ({ energy: energy as KilowattHour });

//  reading      counted
const rows: readonly (readonly [MeterReading, boolean])[] = [
  [kw(0), true],
  [kw(6.8), true],
  [kw(11), true],
  [kw(6_800), false],
  [kwh(12_345), true],
  [kwh(44_442_000_000), false],
];

it.each(rows)('%j beside 7.2 kW', (reading, isCounted) => {
  const problems = createProblems(
    createVirtualClock(0 as Instant),
    () => {},
    () => {},
  );
  const load = buildLoad({ kind: 'dry-run', as: 'relay' });
  expect(checkMeter(load, reading, problems)).toBe(isCounted);
  expect(problems.list().map(({ sentence }) => /counts in another unit or powerKw is wrong/.test(sentence))).toEqual(
    isCounted ? [] : [true],
  );
  checkMeter(load, kw(6.8), problems);
  expect(problems.list()).toEqual([]);
});

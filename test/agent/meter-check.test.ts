/** A meter in another unit than its preset's: one sentence, nothing counted, and well again with the first reading that fits. */

import { expect, it } from 'vitest';
import { createMeterCheck } from '../../src/agent/meter-check.ts';
import { createProblems } from '../../src/agent/problems.ts';
import { hours, type Instant, type Kilowatt, type KilowattHour, minutes } from '../../src/domain/units.ts';
import type { MeterReading } from '../../src/outputs/output.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { buildLoad } from '../outputs/output-fixture.ts';

const kw = (power: number): MeterReading => ({ power: power as Kilowatt });
const kwh = (energy: number): MeterReading => ({ energy: energy as KilowattHour });

function createChecked() {
  const clock = createVirtualClock(0 as Instant);
  const problems = createProblems(
    clock,
    () => {},
    () => {},
  );
  const checkMeter = createMeterCheck(clock, problems);
  const load = buildLoad({ kind: 'dry-run', as: 'relay' });
  return { clock, problems, check: (reading: MeterReading) => checkMeter(load, reading) };
}

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
  const { problems, check } = createChecked();
  expect(check(reading)).toBe(isCounted);
  expect(problems.list().map(({ sentence }) => /counts in another unit or powerKw is wrong/.test(sentence))).toEqual(
    isCounted ? [] : [true],
  );
  check({ ...kw(6.8), ...kwh(12_345) });
  expect(problems.list()).toEqual([]);
});

it('a counter without a power beside it is named until it reports what a house can have used', () => {
  const { problems, check } = createChecked();
  expect([check(kwh(1e305)), problems.list().length]).toEqual([false, 1]);
  expect([check(kwh(1_000)), problems.list()]).toEqual([true, []]);
});

it('a counter that grows by more than the load can draw is named until it grows by less', async () => {
  const { clock, problems, check } = createChecked();
  const sentences: string[] = [];
  // In watt-hours, then in kilowatt-hours.
  for (const energy of [1_000_000, 1_000_600, 1_000_600, 1_000, 1_000.6]) {
    check(kwh(energy));
    sentences.push(problems.list()[0]?.sentence.split(', and')[0] ?? '');
    await clock.runUntil((clock.now().wall + minutes(5)) as Instant);
  }
  const named = 'load car: its meter counted 600.0 kWh within 5m';
  expect(sentences).toEqual(['', named, named, named, '']);
});

it('a counter that stands still after a leap is named for a day', async () => {
  const { clock, problems, check } = createChecked();
  const namedAfter: number[] = [];
  for (const hour of [0, 1, 2, 24, 25]) {
    await clock.runUntil(hours(hour) as number as Instant);
    check(kwh(hour === 0 ? 1_000 : 1_600));
    if (problems.list().length > 0) namedAfter.push(hour);
  }
  expect(namedAfter).toEqual([1, 2, 24]);
});

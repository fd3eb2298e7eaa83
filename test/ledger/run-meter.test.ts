/** Levels over time to energy a slot. */

import { describe, expect, it } from 'vitest';
import { type Instant, type Kilowatt, minutes, type Uptime } from '../../src/domain/units.ts';
import { advanceMeter, type RunCause, startMeter } from '../../src/ledger/run-meter.ts';
import { ledgerInstant, ledgerMoment } from './ledger-samples.ts';

const minute = 1 / 60;
const on: RunCause = { level: 'on', why: 'planned', basis: 'fresh-forecast', region: 'CAISO_NORTH', job: 'night' };
const off: RunCause = { ...on, level: 'off', why: 'plan-waits' };
const meter = (cause: RunCause) =>
  startMeter({ name: 'car', powerKw: 6 as Kilowatt }, minutes(5), cause, ledgerMoment(0));

/** Feeds causes at minutes and gives [start minute, kWh, why] of each entry. */
function run(first: RunCause, steps: readonly (readonly [number, RunCause])[]) {
  let runMeter = meter(first);
  return steps.flatMap(([when, cause]) => {
    const next = advanceMeter(runMeter, ledgerMoment(when * minute), cause);
    runMeter = next.meter;
    return next.entries.map((entry) => [
      Math.round((entry.at - ledgerInstant(0)) / 60_000),
      Number(entry.energy.toFixed(6)),
      entry.why,
    ]);
  });
}

describe('the meter', () => {
  //  case                    first  steps                                   entries
  it.each([
    ['off draws nothing', off, [[10, off]], []],
    ['a whole slot', on, [[5, on]], [[0, 0.5, 'planned']]],
    ['an unfinished slot waits', on, [[4, on]], []],
    [
      'read often, one entry',
      on,
      [
        [1, on],
        [3, on],
        [5, on],
      ],
      [[0, 0.5, 'planned']],
    ],
    [
      'off in mid-slot',
      on,
      [
        [2, off],
        [9, off],
      ],
      [[0, 0.2, 'planned']],
    ],
    [
      'on in mid-slot',
      off,
      [
        [3, on],
        [5, on],
      ],
      [[3, 0.2, 'planned']],
    ],
    [
      'over three slots',
      on,
      [[12, off]],
      [
        [0, 0.5, 'planned'],
        [5, 0.5, 'planned'],
        [10, 0.2, 'planned'],
      ],
    ],
    [
      'another reason, another entry',
      on,
      [
        [2, { ...on, why: 'must-run' }],
        [5, off],
      ],
      [
        [0, 0.2, 'planned'],
        [2, 0.3, 'must-run'],
      ],
    ],
    [
      'off and on in one slot',
      on,
      [
        [1, off],
        [3, on],
        [5, off],
      ],
      [
        [0, 0.1, 'planned'],
        [3, 0.2, 'planned'],
      ],
    ],
    ["normal is the heat pump's own affair", { ...on, level: 'normal' }, [[5, off]], []],
    ['recommend runs', { ...on, level: 'recommend' }, [[5, off]], [[0, 0.5, 'planned']]],
  ] as const)('%s', (_, first, steps, entries) => expect(run(first, steps)).toEqual(entries));

  it('a jump of the wall clock does not change the energy', () => {
    const jumped = { wall: ledgerInstant(1000), uptime: (ledgerMoment(0).uptime + 300_000) as Uptime, trusted: true };
    const { entries } = advanceMeter(meter(on), jumped, off);
    expect(entries.reduce((sum, { energy }) => sum + energy, 0)).toBeCloseTo(0.5, 9);
    expect(entries.at(-1)?.at).toBeGreaterThan(ledgerInstant(999) as Instant);
  });
});

/** The counter of a device as rows of the ledger: what it counted, when the load ran, and nothing twice. */

import { describe, expect, it } from 'vitest';
import type { Level } from '../../src/domain/load-types.ts';
import { type Instant, type Kilowatt, type KilowattHour, minutes, type Uptime } from '../../src/domain/units.ts';
import { type CounterMeter, changeCause, readCounter, startCounter } from '../../src/ledger/counter-meter.ts';
import type { SlotEntry } from '../../src/ledger/entries.ts';
import type { RunCause } from '../../src/ledger/run-meter.ts';

const START = Date.UTC(2026, 2, 1, 2);
const at = (minute: number) => ({
  wall: (START + minutes(minute)) as Instant,
  uptime: minutes(minute + 500) as number as Uptime,
  trusted: true,
});
const cause = (level: Level): RunCause => ({ level, why: 'planned', basis: 'fresh-forecast' });
const kwh = (n: number) => n as KilowattHour;

/** minute, then what happens: a level, or a reading of the counter. */
type Happening = readonly [number, Level | number];

/** `minute energy` of each row, with its level where the load was off. */
function record(first: number, happenings: readonly Happening[]): readonly string[] {
  const load = { load: 'car', powerKw: 7.2 as Kilowatt, period: minutes(5) };
  let meter: CounterMeter = startCounter(load, kwh(first), cause('off'), at(0));
  const rows: SlotEntry[] = [];
  for (const [minute, what] of happenings) {
    if (typeof what === 'string') meter = changeCause(meter, cause(what), at(minute));
    else {
      const read = readCounter(meter, kwh(what), at(minute));
      meter = read.meter;
      rows.push(...read.entries);
    }
  }
  if (meter.pending !== undefined) rows.push(meter.pending);
  expect(rows.every(({ metered }) => metered)).toBe(true);
  return rows.map(({ at: from, energy, level }) => {
    const off = level === 'on' ? '' : ` ${level}`;
    return `${(from - START) / minutes(1)} ${energy.toFixed(2)}${off}`;
  });
}

describe('the counter of a device', () => {
  //  what                                         first  happenings, rows
  const rows: readonly (readonly [string, number, readonly Happening[], readonly string[]])[] = [
    [
      'counts what is drawn while it runs',
      100,
      [
        [5, 'on'],
        [10, 100.6],
        [12, 100.8],
        [12, 'off'],
      ],
      ['5 0.60', '10 0.20'],
    ],
    [
      'counts nothing of a leap beyond what the load can draw, and goes on from there',
      100,
      [
        [5, 'on'],
        [10, 5_000],
        [12, 5_000.2],
        [14, 100.4],
        [15, 100.5],
      ],
      ['10 0.20', '14 0.10'],
    ],
    [
      'counts a step of a coarse counter',
      100,
      [
        [5, 'on'],
        [6, 101],
      ],
      ['5 1.00'],
    ],
    [
      'cuts it where a slot ends',
      0,
      [
        [3, 'on'],
        [13, 1],
      ],
      ['3 0.20', '5 0.50', '10 0.30'],
    ],
    [
      'waits while a coarse counter stands still',
      0,
      [
        [0, 'on'],
        [1, 0],
        [2, 0],
        [4, 0.4],
      ],
      ['0 0.40'],
    ],
    [
      'gives the last of a run to the run',
      0,
      [
        [0, 'on'],
        [4, 0.4],
        [5, 'off'],
        [9, 0.5],
      ],
      ['0 0.50'],
    ],
    [
      'begins anew with a counter that does',
      900,
      [
        [0, 'on'],
        [4, 900.4],
        [5, 0],
        [9, 0.4],
      ],
      ['0 0.40', '5 0.40'],
    ],
    [
      'loses nothing of two readings at one moment',
      0,
      [
        [0, 'on'],
        [4, 0.4],
        [4, 1.4],
        [5, 1.5],
      ],
      ['0 1.50'],
    ],
    [
      'counts nothing of a device at rest',
      0,
      [
        [600, 0.04],
        [1_200, 0.08],
      ],
      [],
    ],
    [
      'counts nothing while the counter is silent',
      0,
      [
        [0, 'on'],
        [300, 'off'],
      ],
      [],
    ],
  ];
  it.each(rows)('%s', (_, first, happenings, expected) => expect(record(first, happenings)).toEqual(expected));

  it('counts what a load draws although it is off, with its level', () => {
    const found = record(0, [
      [60, 0.02],
      [90, 3.6],
    ]);
    expect(found.every((row) => row.endsWith(' off'))).toBe(true);
    expect(found.reduce((sum, row) => sum + Number(row.split(' ')[1]), 0)).toBeCloseTo(3.6, 5);
  });
});

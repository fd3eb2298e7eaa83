import { describe, expect, it } from 'vitest';
import type { Decision } from '../../src/control/control-types.ts';
import { explainDecision } from '../../src/control/explain.ts';
import { type Duration, hours, minutes } from '../../src/domain/units.ts';
import { asPercentile, instantFrom, ZONE } from './control-setup.ts';

const signal = {
  index: { value: asPercentile(21), age: minutes(2) },
  rate: { value: 312.4, units: 'lbs_co2_per_mwh' },
};
const base: Decision = {
  load: 'tank',
  at: instantFrom('2026-06-03T08:40:00Z'),
  level: 'on',
  wanted: 'on',
  why: 'clean',
  priority: 8,
  basis: 'live-index',
};
const job = (done: Duration, shortfall: Duration = minutes(0)) => ({
  by: instantFrom('2026-06-03T14:00:00Z'),
  from: instantFrom('2026-06-02T14:00:00Z'),
  need: hours(4),
  done,
  shortfall,
});

const waiting: Partial<Decision> = {
  ...{ level: 'off', wanted: 'off', why: 'plan-waits' },
  next: { level: 'on', at: instantFrom('2026-06-03T11:30:00Z') },
};

describe('a decision in words', () => {
  const rows: readonly (readonly [string, Partial<Decision>])[] = [
    [
      'index 21, 312 lb/MWh: clean, at or below 33; runs until 02:10 at least',
      { ...signal, threshold: asPercentile(33), until: instantFrom('2026-06-03T09:10:00Z') },
    ],
    [
      'index 21: dirty, at or above 20; waits',
      { index: signal.index, level: 'off', wanted: 'off', why: 'dirty', threshold: asPercentile(20) },
    ],
    [
      'index 21, 312 lb/MWh (from an older forecast): between the thresholds, above 33; runs',
      { ...signal, why: 'between', basis: 'ageing-forecast', threshold: asPercentile(33) },
    ],
    [
      'minimum on time until 02:10 (wants to be off: dirty)',
      { why: 'min-on', wantedWhy: 'dirty', wanted: 'off', until: instantFrom('2026-06-03T09:10:00Z') },
    ],
    [
      'planned for the cleanest hours before 07:00; runs until 04:30; 1 h 20 min of 4 h by 07:00',
      { why: 'planned', next: { level: 'off', at: instantFrom('2026-06-03T11:30:00Z') }, job: job(minutes(80)) },
    ],
    // The cleanest hour may lie alone: test/days/43 shows such a plan.
    [
      'index 0: waiting for the hours of its plan; waits until 04:30; 1 h 20 min of 4 h by 07:00',
      { ...waiting, index: { value: asPercentile(0.4), age: minutes(2) }, job: job(minutes(80)) },
    ],
    [
      'index 0: minimum on time until 02:10 (wants to be off: waiting for the hours of its plan)',
      {
        ...{ ...waiting, index: { value: asPercentile(0), age: minutes(2) } },
        ...{ level: 'on', why: 'min-on', wantedWhy: 'plan-waits', until: instantFrom('2026-06-03T09:10:00Z') },
      },
    ],
    [
      'index 1: waiting for cleaner hours; waits until 04:30',
      { ...waiting, index: { value: asPercentile(1), age: minutes(2) } },
    ],
    ['planned for these hours, as recent days were; runs', { why: 'planned', basis: 'own-profile' }],
    [
      'planned for the cleanest hours before 07:00, as recent days were; runs; 1 h of 4 h by 07:00',
      { why: 'planned', basis: 'own-profile', job: job(hours(1)) },
    ],
    [
      'must run now to meet its deadline; runs; 1 h of 4 h by 07:00, 25 min short',
      { why: 'must-run', job: job(hours(1), minutes(25)) },
    ],
    [
      'runs until it is done, its job allows no further pause (wants to be off: dirty); runs; 1 h of 4 h by 07:00',
      { why: 'last-run', wantedWhy: 'dirty', wanted: 'off', job: job(hours(1)) },
    ],
    [
      'set by hand to off until Thu 01:00',
      { why: 'override', level: 'off', wanted: 'off', until: instantFrom('2026-06-04T08:00:00Z') },
    ],
    [
      'paused by its owner; set to its fail-safe level (on: it may run) until resumed',
      { why: 'paused', level: 'on', wanted: 'on' },
    ],
    [
      'paused by its owner; set to its fail-safe level (off) until resumed',
      { why: 'paused', level: 'off', wanted: 'off' },
    ],
    [
      'the output does not confirm; set to its fail-safe level (on: it may run)',
      { why: 'output-fault', level: 'on', wanted: 'on' },
    ],
    ['no signal; set to its fail-safe level (on)', { why: 'no-data', basis: 'fail-safe' }],
    [
      'the clock of this machine is not synchronised; set to off',
      { why: 'untrusted-clock', level: 'off', wanted: 'off' },
    ],
    [
      'start limit reached, next start at 02:10 (wants to be on: clean)',
      { ...waiting, why: 'start-budget', wantedWhy: 'clean', wanted: 'on', until: instantFrom('2026-06-03T09:10:00Z') },
    ],
    [
      'may run from 02:10; waits until 04:30; 0 min of 4 h by 07:00',
      { ...waiting, job: { ...job(minutes(0)), from: instantFrom('2026-06-03T09:10:00Z') } },
    ],
    ['start limit reached', { ...waiting, why: 'start-budget' }],
    ['the vehicle takes no more; waits', { level: 'off', wanted: 'off', why: 'vehicle-full' }],
    [
      'planned for these hours; runs; keeps its plan, a newer one starts 2 times more',
      { why: 'planned', refused: { at: base.at, starts: 2 } },
    ],
    [
      'waits for power that other loads use (wants to be on: planned); waits',
      { why: 'power-budget', wantedWhy: 'planned', level: 'off' },
    ],
    ['a safety input has tripped; waits', { why: 'safety', level: 'off', wanted: 'off' }],
  ];
  it('at index 0 no reason, nor one that a limit delays, claims cleaner hours', () => {
    const index = { value: asPercentile(0.49), age: minutes(2) };
    const reasons = rows.flatMap(([, { why }]) => why ?? []);
    for (const [, over] of rows)
      for (const wantedWhy of [...reasons, undefined])
        expect(explainDecision({ ...base, ...over, index, ...(wantedWhy && { wantedWhy }) }, ZONE)).not.toContain(
          'cleaner',
        );
  });
  it.each(rows)('%s', (words, over) => expect(explainDecision({ ...base, ...over }, ZONE)).toBe(words));
});

/** Which differences make a decision news: those are published, logged and saved. */

import { describe, expect, it } from 'vitest';
import type { Decision } from '../../src/control/control-types.ts';
import { isSameDecision } from '../../src/control/decision.ts';
import { type Duration, hours, type Instant, minutes, seconds } from '../../src/domain/units.ts';
import { asPercentile, instantFrom } from './control-setup.ts';

const AT = instantFrom('2026-06-03T08:40:00Z');
const createNext = (after: Duration) => ({ level: 'off', at: (AT + after) as Instant }) as const;
const job = { by: (AT + hours(5)) as Instant, from: AT, need: hours(4), done: hours(1), shortfall: minutes(0) };
const before: Decision = {
  ...{ load: 'car', at: AT, level: 'on', wanted: 'on', why: 'planned', priority: 7, basis: 'live-index' },
  ...{ job, next: createNext(hours(2)), current: { amps: 16, of: 32 } },
};

describe('a decision is', () => {
  const news: readonly Partial<Decision>[] = [
    { level: 'off' },
    { current: { amps: 10, of: 32 } },
    { wanted: 'off' },
    { why: 'clean' },
    { wantedWhy: 'dirty' },
    { priority: 8 },
    { basis: 'ageing-forecast' },
    { job: { ...job, by: (job.by + hours(24)) as Instant } },
    { job: { ...job, shortfall: minutes(5) } },
    { refused: { at: AT, starts: 1 } },
    { next: { ...createNext(hours(2)), level: 'on' } },
    { next: createNext(hours(3)) },
  ];
  it.each(news)('news with %j', (change) => {
    expect(isSameDecision(before, { ...before, ...change })).toBe(false);
    expect(isSameDecision({ ...before, ...change }, before)).toBe(false);
  });

  const noNews: readonly Partial<Decision>[] = [
    { at: (AT + minutes(5)) as Instant },
    { basis: 'fresh-forecast' },
    { index: { value: asPercentile(3), age: minutes(1) } },
    { job: { ...job, done: hours(2) } },
    { next: createNext((hours(2) + seconds(59)) as Duration) },
  ];
  it.each(noNews)('no news with %j', (change) => {
    expect(isSameDecision(before, { ...before, ...change })).toBe(true);
  });

  it('no news while it lacks more', () => {
    const [short, shorter] = [minutes(5), minutes(9)].map((shortfall) => ({ ...before, job: { ...job, shortfall } }));
    expect(short && shorter && isSameDecision(short, shorter)).toBe(true);
  });

  it('news as the first', () => {
    expect(isSameDecision(undefined, before)).toBe(false);
  });
});

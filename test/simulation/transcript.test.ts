import { describe, expect, it } from 'vitest';
import type { Instant } from '../../src/domain/units.ts';
import {
  createNewsFilter,
  type DemoEvent,
  formatStrip,
  formatSummary,
  type StripCell,
} from '../../src/simulation/transcript.ts';

const NOON = Date.parse('2026-03-01T20:00:00Z') as Instant;
const OPTIONS = { loads: ['car'], from: NOON, timezone: 'America/Los_Angeles', coloured: false };
const day = (length: number): StripCell[] =>
  Array.from({ length }, (_, i) => ({ index: (i * 7) % 101, running: new Set(i >= 4 && i < 8 ? ['car'] : []) }));

describe('the strip of the day', () => {
  //  cells   columns   width of every row
  const rows: readonly (readonly [number, number, number])[] = [
    [96, 200, 103],
    [96, 80, 55],
    [96 * 14, 80, 78],
    [4, 80, 11],
  ];
  it.each(rows)('%d quarters of an hour in %d columns', (cells, columns, width) => {
    const lines = formatStrip(day(cells), { ...OPTIONS, columns }).split('\n');
    expect(lines).toHaveLength(4);
    for (const line of lines.slice(1, 3)) expect([...line].length).toBe(width);
    expect([...(lines[0] ?? '')].length).toBeLessThanOrEqual(columns);
  });

  it('shows when the load ran, below the hours', () => {
    expect(formatStrip(day(12), { ...OPTIONS, columns: 80 }).split('\n')).toEqual([
      '       12          ',
      'index  ▄▄▄▄▄▄▄▄▄▄▄▄',
      'car    ····████····',
      '       █ ran, · did not',
    ]);
  });
});

describe('what people are told', () => {
  const decision = (why: string, switched = false): DemoEvent => ({
    event: 'decision',
    at: '2026-03-01T20:00:00+00:00',
    load: 'car',
    level: 'off',
    switched,
    why,
    text: why,
  });
  it('a switch always, the same reason once, the hovering of an index never', () => {
    const isNews = createNewsFilter();
    const expected = [
      decision('plan-waits'),
      decision('plan-waits'),
      decision('between'),
      decision('clean', true),
      decision('plan-waits'),
    ];
    expect(expected.map(isNews)).toEqual([true, false, false, true, true]);
  });

  it('one is one, and less is said as more', () => {
    const load = {
      load: 'car',
      energyKwh: 1,
      kg: 2,
      insteadKg: 1,
      savedKg: -1,
      comparedWith: 'at-once' as const,
      bill: { paid: 0.31, instead: 0.62, currency: 'USD' },
      switches: 1,
    };
    const deadlines = { met: 0, missed: 0 };
    const text = formatSummary({
      hours: 1,
      seed: 1,
      loads: [load],
      kg: 2,
      savedKg: -1,
      switches: 1,
      requests: 1,
      logins: 1,
      deadlines,
    });
    expect(text).toContain('1 hour: 2.00 kg CO2, 1.00 kg more');
    expect(text).toContain('at once: 1.00 kg more, 0.31 USD instead of 0.62 USD  (1 switch)');
    expect(text).toContain('1 request, 1 login');
  });
});

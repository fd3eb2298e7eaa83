import { describe, expect, it } from 'vitest';
import { buildHealth } from '../../src/agent/health-report.ts';
import type { Duration, Instant, Percentile } from '../../src/domain/units.ts';
import { buildHealthPayload } from '../../src/mqtt/health.ts';
import { createSignalData, type SignalData } from '../../src/signal/signal-store.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z') as Instant;
const QUIET = {
  problems: [],
  view: undefined,
  region: 'PSCO',
  plan: undefined,
  failSafeSince: NOON,
};

const warned = (...messages: string[]): SignalData => ({
  ...createSignalData('PSCO'),
  forecast: {
    region: 'PSCO',
    signalType: 'co2_moer',
    units: 'lbs_co2_per_mwh',
    period: 300_000 as Duration,
    warnings: messages.map((message) => ({ type: 'late', message })),
    refusedPoints: 0,
    generatedAt: NOON,
    generatedPeriod: 300_000 as Duration,
    points: [],
  },
});

describe('the condition of the agent', () => {
  //  what the service warns of, as health tells it
  const rows: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['nothing', [], []],
    ['one thing', ['upstream data are late'], ['upstream data are late']],
    ['the same thing twice', ['late', 'late'], ['late']],
    [
      'more than anybody reads',
      Array.from({ length: 30 }, (_, i) => `w${i}`),
      Array.from({ length: 10 }, (_, i) => `w${i}`),
    ],
  ];
  it.each(rows)('warnings of the service: %s', (_, warnings, expected) => {
    expect(buildHealthPayload(buildHealth({ ...QUIET, signalData: warned(...warnings) }))).toMatchObject({
      warnings: expected,
    });
  });

  it('two problems of one part are one sentence each, since the first', () => {
    const problems = [
      { subject: 'outputs:car', sentence: 'the car does not answer', since: NOON },
      { subject: 'outputs:tank', sentence: 'line 17 is busy', since: (NOON + 60_000) as Instant },
    ];
    const { parts, problem } = buildHealthPayload(buildHealth({ ...QUIET, signalData: undefined, problems }));
    expect(parts.outputs).toEqual({
      ok: false,
      problem: 'the car does not answer; line 17 is busy',
      since: '2026-03-01T12:00:00+00:00',
    });
    expect(problem).toBe('outputs: the car does not answer; line 17 is busy');
  });

  it('with a signal and without problems it is well', () => {
    const until = (NOON + 300_000) as Instant;
    const index = { value: 42 as Percentile, basis: 'live-index', at: NOON, flat: false, quality: 'full' } as const;
    const view = { changesAt: until, index: { ...index, startsUntil: until, validUntil: until } };
    const { ok, problem } = buildHealthPayload(buildHealth({ ...QUIET, view, signalData: undefined }));
    expect([ok, problem]).toEqual([true, '']);
  });

  it('on fail-safe it is never well, whatever the cause', () => {
    const { ok, problem, parts } = buildHealthPayload(buildHealth({ ...QUIET, signalData: undefined, problems: [] }));
    expect(ok).toBe(false);
    expect(problem).toBe('service: no valid signal yet, so the loads are at their fail-safe levels');
    expect(parts.service).toMatchObject({ ok: false, since: '2026-03-01T12:00:00+00:00' });
  });
});

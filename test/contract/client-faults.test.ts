/** Each fault of the service: what the client returns, how many logins it makes, and that it recovers when the fault ends. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FaultRule } from '../../src/reference/fault-rules.ts';
import type { Outcome } from '../../src/service/failure.ts';
import { type Duration, hours, type Instant, minutes } from '../../src/units.ts';
import { selfSigned } from '../doubles/certificate.ts';
import { answer, failure, NOW, type Pair, PSCO, startPair } from './client.ts';

let pair: Pair;
beforeAll(async () => {
  pair = await startPair();
});
afterAll(() => pair.close());

/** What came, in a word: the failure's kind and reason, or the number of values and of those refused. */
function word(outcome: Outcome<{ readonly points: readonly unknown[]; readonly refusedPoints: number }>): string {
  if (outcome.ok) return `${outcome.value.points.length} values, ${outcome.value.refusedPoints} refused`;
  const { failure } = outcome;
  if (failure.kind === 'unreachable') return failure.reason;
  return failure.kind === 'nonsense' ? `nonsense in ${failure.where}` : failure.kind;
}

const FORECAST = '/v3/forecast';

describe('a forecast', () => {
  //  fault                                                      is                               logins
  const rows: readonly (readonly [string, Partial<FaultRule>, string, number])[] = [
    ['401-mid-life', { value: 0, times: 1 }, '288 values, 0 refused', 2],
    ['401-mid-life', { value: 0 }, 'unauthorised', 2],
    ['html-401', { value: 0, times: 1 }, '288 values, 0 refused', 2],
    ['html-403', { value: 0, times: 1 }, '288 values, 0 refused', 2],
    ['html-403', { value: 0 }, 'unauthorised', 2],
    ['429', {}, 'throttled', 1],
    ['429-bare', {}, 'throttled', 1],
    ['500', {}, 'unwell', 1],
    ['502-html', {}, 'unwell', 1],
    ['503', {}, 'unwell', 1],
    ['redirect', {}, 'redirect', 1],
    ['captive-portal', {}, 'captive-portal', 1],
    ['cut-body', {}, 'cut-short', 1],
    ['gzip-bomb', {}, 'too-large', 1],
    ['truncated-json', {}, 'nonsense in body', 1],
    ['text-values', {}, '259 values, 29 refused', 1],
    ['nulls', {}, '259 values, 29 refused', 1],
    ['repeated-points', {}, '288 values, 0 refused', 1],
    ['unsorted-points', {}, '288 values, 0 refused', 1],
    ['missing-points', {}, '216 values, 0 refused', 1],
    ['wrong-units', {}, 'nonsense in meta.units', 1],
    ['wrong-units', { value: 'percentile' }, 'nonsense in meta.units', 1],
    ['wrong-region', {}, 'nonsense in meta.region', 1],
    ['no-warnings-field', {}, '288 values, 0 refused', 1],
    ['warnings', {}, '288 values, 0 refused', 1],
  ];
  it.each(rows)('%s %o: %s', async (fault, more, expected, logins) => {
    const service = pair.client();
    pair.faults({ fault: fault as FaultRule['fault'], path: FORECAST, ...more });
    expect(word(await service.forecast(PSCO))).toBe(expected);
    expect(service.counts().logins).toBe(logins);

    pair.faults();
    await pair.pass(hours(1));
    expect(word(await service.forecast(PSCO))).toBe('288 values, 0 refused');
  });

  it.each(['hang', 'slow-body'] as const)('%s: the deadline of the whole request frees it', async (fault) => {
    const service = pair.client('pro', { deadline: 500 as Duration });
    await service.login();
    pair.faults({ fault, path: FORECAST });
    expect(word(await service.forecast(PSCO))).toBe('deadline');
    pair.faults();
    expect(word(await service.forecast(PSCO))).toBe('288 values, 0 refused');
  });

  it('unsorted values are in order, of repeated ones one is left', async () => {
    const good = answer(await pair.client().forecast(PSCO)).points;
    pair.faults({ fault: 'repeated-points', path: FORECAST });
    expect(answer(await pair.client().forecast(PSCO)).points).toEqual(good);
    pair.faults({ fault: 'unsorted-points', path: FORECAST });
    expect(new Set(answer(await pair.client().forecast(PSCO)).points)).toEqual(new Set(good));
    pair.faults();
  });

  it('warnings are with the answer, and said once', async () => {
    const service = pair.client();
    pair.faults({ fault: 'warnings', value: 'Some inputs were late.' });
    pair.warned.length = 0;
    for (let i = 0; i < 3; i++)
      expect(answer(await service.forecast(PSCO)).warnings).toEqual([
        { type: 'data_quality', message: 'Some inputs were late.' },
      ]);
    expect(pair.warned).toEqual(['the service warns about PSCO: data_quality: Some inputs were late.']);
    pair.faults();
  });

  it('an older generation is handed over as it is: what replaces what is decided elsewhere', async () => {
    pair.faults({ fault: 'older-generated-at', value: 60 });
    const { generatedAt } = answer(await pair.client().forecast(PSCO));
    expect(pair.clock.now().wall - generatedAt).toBeGreaterThanOrEqual(3_600_000);
    pair.faults();
  });

  it('a model that was not asked for is nonsense, one that changes by itself is told', async () => {
    pair.faults({ fault: 'model-switch' });
    expect(answer(await pair.client().forecast(PSCO)).model).toBe('2027-03-01');
    expect(failure(await pair.client().forecast({ ...PSCO, model: '2026-03-01' }))).toMatchObject({
      kind: 'nonsense',
      where: 'meta.model.date',
    });
    pair.faults();
  });

  it('a service on another clock shows in the skew', async () => {
    const service = pair.client();
    pair.faults({ fault: 'clock-skew', value: 600 });
    for (let i = 0; i < 3; i++) await service.forecast(PSCO);
    expect(Math.abs((service.skew() ?? 0) - 600_000)).toBeLessThanOrEqual(1_000);
    pair.faults();
  });
});

describe('other endpoints under a fault', () => {
  const range = { start: (NOW - hours(6)) as Instant, end: (NOW - hours(5)) as Instant };
  it('text and nulls in history and past forecasts are refused and counted', async () => {
    pair.faults({ fault: 'nulls' });
    const service = pair.client();
    expect(word(await service.history({ ...PSCO, ...range }))).toBe('10 values, 2 refused');
    expect(answer(await service.pastForecasts({ ...PSCO, ...range, horizonHours: 1 })).refusedPoints).toBe(12 * 2);
    pair.faults();
  });

  it('an index that is no number is nonsense', async () => {
    pair.faults({ fault: 'text-values' });
    expect(failure(await pair.client().signalIndex(PSCO))).toMatchObject({ kind: 'nonsense', where: 'data.0' });
    pair.faults();
  });

  it('a rate is never taken for the index', async () => {
    pair.faults({ fault: 'wrong-units', value: 'lbs_co2_per_mwh' });
    expect(failure(await pair.client().signalIndex(PSCO))).toMatchObject({ kind: 'nonsense', where: 'meta.units' });
    pair.faults();
  });

  it('a map cut short throws at its reader, a portal in its place is a failure', async () => {
    pair.faults({ fault: 'cut-body', path: '/v3/maps' });
    const { chunks } = answer(await pair.client().map({ signalType: 'co2_moer' }));
    await expect(
      (async () => {
        for await (const chunk of chunks) expect(chunk.length).toBeGreaterThan(0);
      })(),
    ).rejects.toMatchObject({ name: 'HttpError' });
    pair.faults({ fault: 'captive-portal', path: '/v3/maps' });
    expect(failure(await pair.client().map({ signalType: 'co2_moer' }))).toMatchObject({ reason: 'captive-portal' });
    pair.faults();
  });

  it('a fault on one endpoint costs only that one', async () => {
    pair.faults({ fault: '500', path: FORECAST });
    const service = pair.client();
    expect(failure(await service.forecast(PSCO)).kind).toBe('unwell');
    expect(answer(await service.signalIndex(PSCO)).units).toBe('percentile');
    pair.faults();
  });
});

describe('authentication errors as pages', () => {
  it('a whole day on a service that answers 401 with HTML: two logins an hour', async () => {
    const own = await startPair({ authErrors: 'html' });
    try {
      const service = own.client();
      for (let minute = 0; minute < 24 * 60; minute += 5) {
        expect(answer(await service.signalIndex(PSCO)).units).toBe('percentile');
        await own.pass(minutes(5));
      }
      expect(service.counts().logins).toBeLessThanOrEqual(2 * 24 + 1);
      expect(own.reference.counts().statuses['401']).toBe(undefined);
    } finally {
      await own.close();
    }
  });

  it('wrong credentials there are refused as anywhere', async () => {
    const own = await startPair({ authErrors: 'html' });
    try {
      const service = own.client('pro', { credentials: async () => ({ username: 'pro', password: 'wrong-1x' }) });
      for (let i = 0; i < 10; i++) expect(failure(await service.signalIndex(PSCO)).kind).toBe('unauthorised');
      expect(own.reference.counts().refusedLogins).toBe(2);
    } finally {
      await own.close();
    }
  });
});

describe('5 HTTPS', () => {
  it('with the own authority the client works, without it the certificate is refused', async () => {
    const tls = selfSigned();
    const trusting = await startPair({ tls }, tls.cert);
    const careful = await startPair({ tls });
    try {
      expect(trusting.url).toMatch(/^https:/);
      expect(answer(await trusting.client().forecast(PSCO)).points).toHaveLength(288);
      expect(answer(await trusting.client().v1.token()).token).toMatch(/^[0-9a-f]{40}$/);
      expect(failure(await careful.client().forecast(PSCO))).toMatchObject({ kind: 'unreachable', reason: 'tls' });
      expect(careful.reference.counts().requests).toBe(0);
    } finally {
      await trusting.close();
      await careful.close();
    }
  });

  it('a certificate that has run out is refused, though its authority is trusted', async () => {
    const tls = selfSigned({ until: '210101000000Z' });
    const own = await startPair({ tls }, tls.cert);
    try {
      expect(failure(await own.client().forecast(PSCO))).toMatchObject({ kind: 'unreachable', reason: 'tls' });
    } finally {
      await own.close();
    }
  });

  it('plain HTTP off loopback is never asked', async () => {
    const service = pair.client('pro', { url: 'http://192.0.2.1' });
    expect(failure(await service.forecast(PSCO))).toMatchObject({ kind: 'forbidden' });
  });
});

/** Each fault of the service: what the client returns, how many logins it makes, and that it recovers when the fault ends. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Duration, hours, type Instant, minutes } from '../../src/domain/units.ts';
import type { FaultRule } from '../../src/reference/faults/fault-rules.ts';
import type { Outcome } from '../../src/service/failure.ts';
import { createCertificate } from '../doubles/certificate.ts';
import {
  type ClientAndReference,
  expectAnswer,
  expectFailure,
  expectMap,
  NOW,
  PSCO,
  startClientAndReference,
} from './client-and-reference.ts';

let pair: ClientAndReference;
beforeAll(async () => {
  pair = await startClientAndReference();
});
afterAll(() => pair.close());

/** What came, in a word: the failure's kind and reason, or the number of values and of those refused. */
function word(outcome: Outcome<{ readonly points: readonly unknown[]; readonly refusedPoints: number }>): string {
  if (outcome.ok) return `${outcome.value.points.length} values, ${outcome.value.refusedPoints} refused`;
  const { failure } = outcome;
  if (failure.kind === 'unreachable') return failure.reason;
  return failure.kind === 'invalid-response' ? `invalid-response in ${failure.where}` : failure.kind;
}

const FORECAST = '/v3/forecast';

describe('a forecast', () => {
  //  fault                                                      is                               logins
  const rows: readonly (readonly [string, Partial<FaultRule>, string, number])[] = [
    ['401-mid-life', { value: 0, times: 1 }, '288 values, 0 refused', 2],
    ['401-mid-life', { value: 0 }, 'unauthorised', 2],
    ['html-401', { value: 0, times: 1 }, '288 values, 0 refused', 2],
    ['html-403', { value: 0, times: 1 }, '288 values, 0 refused', 2],
    ['html-403', { value: 0 }, 'not-entitled', 2],
    ['429', {}, 'throttled', 1],
    ['429-bare', {}, 'throttled', 1],
    ['500', {}, 'server-error', 1],
    ['502-html', {}, 'server-error', 1],
    ['503', {}, 'server-error', 1],
    ['redirect', {}, 'redirect', 1],
    ['captive-portal', {}, 'captive-portal', 1],
    ['cut-body', {}, 'cut-short', 1],
    ['gzip-bomb', {}, 'too-large', 1],
    ['truncated-json', {}, 'invalid-response in body', 1],
    ['text-values', {}, '259 values, 29 refused', 1],
    ['nulls', {}, '259 values, 29 refused', 1],
    ['repeated-points', {}, '288 values, 0 refused', 1],
    ['unsorted-points', {}, '288 values, 0 refused', 1],
    ['missing-points', {}, '216 values, 0 refused', 1],
    ['wrong-units', {}, 'invalid-response in meta.units', 1],
    ['wrong-units', { value: 'percentile' }, 'invalid-response in meta.units', 1],
    ['wrong-region', {}, 'invalid-response in meta.region', 1],
    ['no-warnings-field', {}, '288 values, 0 refused', 1],
    ['warnings', {}, '288 values, 0 refused', 1],
  ];
  it.each(rows)('%s %o: %s', async (fault, more, expected, logins) => {
    const service = pair.client();
    pair.setFaults({ fault: fault as FaultRule['fault'], path: FORECAST, ...more });
    expect(word(await service.forecast(PSCO))).toBe(expected);
    expect(service.counts().logins).toBe(logins);

    pair.setFaults();
    await pair.pass(hours(1));
    expect(word(await service.forecast(PSCO))).toBe('288 values, 0 refused');
  });

  it.each(['hang', 'slow-body'] as const)('%s: the deadline of the whole request frees it', async (fault) => {
    const service = pair.client('pro', { deadline: 500 as Duration });
    await service.login();
    pair.setFaults({ fault, path: FORECAST });
    expect(word(await service.forecast(PSCO))).toBe('deadline');
    pair.setFaults();
    let answer = 'deadline';
    // A machine that stops for half a second misses it without a fault.
    for (let asked = 0; answer === 'deadline' && asked < 20; asked += 1) answer = word(await service.forecast(PSCO));
    expect(answer).toBe('288 values, 0 refused');
  });

  it('unsorted values are in order, of repeated ones one is left', async () => {
    const good = expectAnswer(await pair.client().forecast(PSCO)).points;
    pair.setFaults({ fault: 'repeated-points', path: FORECAST });
    expect(expectAnswer(await pair.client().forecast(PSCO)).points).toEqual(good);
    pair.setFaults({ fault: 'unsorted-points', path: FORECAST });
    expect(new Set(expectAnswer(await pair.client().forecast(PSCO)).points)).toEqual(new Set(good));
    pair.setFaults();
  });

  it('warnings are with the answer, and said once', async () => {
    const service = pair.client();
    pair.setFaults({ fault: 'warnings', value: 'Some inputs were late.' });
    pair.warnings.length = 0;
    for (let i = 0; i < 3; i++)
      expect(expectAnswer(await service.forecast(PSCO)).warnings).toEqual([
        { type: 'data_quality', message: 'Some inputs were late.' },
      ]);
    expect(pair.warnings).toEqual(['the service warns about PSCO: data_quality: Some inputs were late.']);
    pair.setFaults();
  });

  it('an older generation is handed over as it is: what replaces what is decided elsewhere', async () => {
    pair.setFaults({ fault: 'older-generated-at', value: 60 });
    const { generatedAt } = expectAnswer(await pair.client().forecast(PSCO));
    expect(pair.clock.now().wall - generatedAt).toBeGreaterThanOrEqual(3_600_000);
    pair.setFaults();
  });

  it('a model that was not asked for is an invalid response, one that changes by itself is told', async () => {
    pair.setFaults({ fault: 'model-switch' });
    expect(expectAnswer(await pair.client().forecast(PSCO)).model).toBe('2027-03-01');
    expect(expectFailure(await pair.client().forecast({ ...PSCO, model: '2026-03-01' }))).toMatchObject({
      kind: 'invalid-response',
      where: 'meta.model.date',
    });
    pair.setFaults();
  });

  it('a service on another clock shows in the skew', async () => {
    const service = pair.client();
    pair.setFaults({ fault: 'clock-skew', value: 600 });
    for (let i = 0; i < 3; i++) await service.forecast(PSCO);
    expect(Math.abs((service.skew() ?? 0) - 600_000)).toBeLessThanOrEqual(1_000);
    pair.setFaults();
  });
});

describe('other endpoints under a fault', () => {
  const range = { start: (NOW - hours(6)) as Instant, end: (NOW - hours(5)) as Instant };
  it('text and nulls in history and past forecasts are refused and counted', async () => {
    pair.setFaults({ fault: 'nulls' });
    const service = pair.client();
    expect(word(await service.history({ ...PSCO, ...range }))).toBe('10 values, 2 refused');
    expect(expectAnswer(await service.pastForecasts({ ...PSCO, ...range, horizonHours: 1 })).refusedPoints).toBe(
      12 * 2,
    );
    pair.setFaults();
  });

  it('an index that is no number is an invalid response', async () => {
    pair.setFaults({ fault: 'text-values' });
    expect(expectFailure(await pair.client().signalIndex(PSCO))).toMatchObject({
      kind: 'invalid-response',
      where: 'data.0.value',
    });
    pair.setFaults();
  });

  it('a rate is never taken for the index', async () => {
    pair.setFaults({ fault: 'wrong-units', value: 'lbs_co2_per_mwh' });
    expect(expectFailure(await pair.client().signalIndex(PSCO))).toMatchObject({
      kind: 'invalid-response',
      where: 'meta.units',
    });
    pair.setFaults();
  });

  it('a map cut short throws at its reader, a portal in its place is a failure', async () => {
    pair.setFaults({ fault: 'cut-body', path: '/v3/maps' });
    const { chunks } = expectMap(await pair.client().map({ signalType: 'co2_moer' }));
    await expect(
      (async () => {
        for await (const chunk of chunks) expect(chunk.length).toBeGreaterThan(0);
      })(),
    ).rejects.toMatchObject({ name: 'HttpError' });
    pair.setFaults({ fault: 'captive-portal', path: '/v3/maps' });
    expect(expectFailure(await pair.client().map({ signalType: 'co2_moer' }))).toMatchObject({
      reason: 'captive-portal',
    });
    pair.setFaults();
  });

  it('a fault on one endpoint costs only that one', async () => {
    pair.setFaults({ fault: '500', path: FORECAST });
    const service = pair.client();
    expect(expectFailure(await service.forecast(PSCO)).kind).toBe('server-error');
    expect(expectAnswer(await service.signalIndex(PSCO)).units).toBe('percentile');
    pair.setFaults();
  });
});

describe('authentication errors as pages', () => {
  it('a whole day on a service that answers 401 with HTML: two logins an hour', async () => {
    const own = await startClientAndReference({ authErrors: 'html' });
    try {
      const service = own.client();
      for (let minute = 0; minute < 24 * 60; minute += 5) {
        expect(expectAnswer(await service.signalIndex(PSCO)).units).toBe('percentile');
        await own.pass(minutes(5));
      }
      expect(service.counts().logins).toBeLessThanOrEqual(2 * 24 + 1);
      expect(own.reference.counts().statuses['401']).toBe(undefined);
    } finally {
      await own.close();
    }
  });

  it('wrong credentials there are refused as anywhere', async () => {
    const own = await startClientAndReference({ authErrors: 'html' });
    try {
      const service = own.client('pro', { credentials: async () => ({ username: 'pro', password: 'wrong-1x' }) });
      for (let i = 0; i < 10; i++) expect(expectFailure(await service.signalIndex(PSCO)).kind).toBe('unauthorised');
      expect(own.reference.counts().refusedLogins).toBe(2);
    } finally {
      await own.close();
    }
  });
});

describe('5 HTTPS', () => {
  it('with the own authority the client works, without it the certificate is refused', async () => {
    const tls = createCertificate();
    const trusting = await startClientAndReference({ tls }, tls.cert);
    const careful = await startClientAndReference({ tls });
    try {
      expect(trusting.url).toMatch(/^https:/);
      expect(expectAnswer(await trusting.client().forecast(PSCO)).points).toHaveLength(288);
      expect(expectAnswer(await trusting.client().v1.token()).token).toMatch(/^[0-9a-f]{40}$/);
      expect(expectFailure(await careful.client().forecast(PSCO))).toMatchObject({
        kind: 'unreachable',
        reason: 'certificate-authority',
      });
      expect(careful.reference.counts().requests).toBe(0);
    } finally {
      await trusting.close();
      await careful.close();
    }
  });

  it('a certificate that has run out is refused, though its authority is trusted', async () => {
    const tls = createCertificate({ until: '210101000000Z' });
    const own = await startClientAndReference({ tls }, tls.cert);
    try {
      expect(expectFailure(await own.client().forecast(PSCO))).toMatchObject({
        kind: 'unreachable',
        reason: 'certificate-date',
      });
    } finally {
      await own.close();
    }
  });

  it('plain HTTP off loopback is never asked', async () => {
    const service = pair.client('pro', { url: 'http://192.0.2.1' });
    expect(expectFailure(await service.forecast(PSCO))).toMatchObject({ kind: 'forbidden' });
  });
});

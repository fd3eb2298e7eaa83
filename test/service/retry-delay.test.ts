/** How long each failure is waited out. */

import { describe, expect, it } from 'vitest';
import { type Duration, days, hours, milliseconds, minutes, seconds } from '../../src/domain/units.ts';
import type { Failure } from '../../src/service/failure.ts';
import { computeCooldown, computeRetryDelay } from '../../src/service/limits/retry-delay.ts';

const NONE: Failure = { kind: 'unreachable', reason: 'no-connection', cause: 'x' };
const throttled = (retryAfter: Duration): Failure => ({ kind: 'throttled', retryAfter });
const serverError = (retryAfter?: Duration): Failure => ({
  kind: 'server-error',
  status: 503,
  message: 'x',
  ...(retryAfter === undefined ? {} : { retryAfter }),
});
const invalidResponse: Failure = { kind: 'invalid-response', where: 'data', expected: 'a list', received: '5' };
const refusedLogin = (retryAfter?: Duration): Failure => ({
  kind: 'unauthorised',
  cause: 'x',
  ...(retryAfter === undefined ? {} : { retryAfter }),
});

//  failure                          in a row  chance  wait
const rows: readonly (readonly [string, Failure, number, number, Duration])[] = [
  ['no connection, least', NONE, 1, 0, seconds(1)],
  ['no connection, most', NONE, 1, 1, seconds(10)],
  ['no connection, third', NONE, 3, 1, seconds(40)],
  ['no connection, for long', NONE, 1_000, 1, minutes(5)],
  ['no connection, for long, least', NONE, 1_000, 0, seconds(1)],
  ['server error', serverError(), 2, 1, seconds(20)],
  ['server error with Retry-After', serverError(minutes(2)), 9, 1, minutes(2)],
  ['server error with an absurd Retry-After', serverError(days(900)), 1, 0, hours(1)],
  ['invalid response', invalidResponse, 1, 1, minutes(1)],
  ['invalid responses for long', invalidResponse, 99, 1, hours(1)],
  ['throttled', throttled(seconds(30)), 1, 0, seconds(30)],
  ['throttled, not spread once more', throttled(seconds(33)), 1, 1, seconds(33)],
  ['throttled, Retry-After -1', throttled(milliseconds(-1_000)), 1, 0.5, seconds(1)],
  ['throttled, Retry-After 1e9', throttled(seconds(1e9)), 1, 0.5, hours(1)],
  ['credentials refused', refusedLogin(), 1, 0, minutes(5)],
  ['credentials refused, breaker open', refusedLogin(minutes(12)), 4, 0, minutes(5)],
  ['credentials refused, breaker nearly closed', refusedLogin(seconds(20)), 4, 0, seconds(20)],
  ['no credentials: looked for again', { kind: 'no-credentials' }, 9, 0, minutes(5)],
  ['not in the plan', { kind: 'not-entitled', message: 'x' }, 1, 0.5, days(1)],
  ['wrong request', { kind: 'rejected', status: 400, message: 'x' }, 1, 0.5, hours(1)],
  ['never sent', { kind: 'invalid', field: 'end', message: 'x' }, 1, 0.5, hours(1)],
  ['open sea', { kind: 'outside-coverage' }, 1, 0.5, days(1)],
  ['plain http', { kind: 'forbidden', cause: 'x' }, 1, 0.5, days(1)],
  ['stopped', { kind: 'stopped' }, 1, 0.5, days(1)],
];

describe('after a 429', () => {
  //  told                              in a row  chance  silent for
  const silences: readonly (readonly [string, Duration | undefined, number, number, Duration])[] = [
    ['30 s', seconds(30), 1, 0, seconds(30)],
    ['30 s, spread', seconds(30), 1, 1, seconds(33)],
    ['Retry-After -1', milliseconds(-1_000), 1, 0.5, seconds(1)],
    ['Retry-After -1, tenth', milliseconds(-1_000), 10, 1, minutes(10)],
    ['30 s, told again', seconds(30), 2, 0, seconds(30)],
    ['Retry-After 1e9', seconds(1e9), 1, 0.5, hours(1)],
    ['nothing, first', undefined, 1, 1, seconds(15)],
    ['nothing, third', undefined, 3, 1, minutes(1)],
    ['nothing, for long', undefined, 99, 1, minutes(10)],
  ];
  it.each(silences)('%s', (_, retryAfter, inARow, fraction, wait) => {
    expect(computeCooldown(retryAfter, inARow, fraction)).toBe(wait);
  });
});

describe('after a failure', () => {
  it.each(rows)('%s', (_, failure, inARow, fraction, wait) => {
    expect(computeRetryDelay(failure, inARow, fraction)).toBe(wait);
  });

  it('is at least a second and whole milliseconds, whatever came', () => {
    for (const [, failure] of rows)
      for (let inARow = 0; inARow < 40; inARow++)
        for (const fraction of [0, 0.123_456_789, 0.999_999]) {
          const wait = computeRetryDelay(failure, inARow, fraction);
          expect(wait).toBeGreaterThanOrEqual(1_000);
          expect(Number.isInteger(wait)).toBe(true);
        }
  });
});

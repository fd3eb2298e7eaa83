/** Each failure as a person reads it: what happened, what it means, what to do, in one sentence. */

import { describe, expect, it } from 'vitest';
import { hours, minutes, seconds } from '../../src/domain/units.ts';
import type { Failure, UnreachableReason } from '../../src/service/failure.ts';
import { failureText } from '../../src/service/failure-text.ts';

const away = (reason: UnreachableReason): Failure => ({ kind: 'unreachable', reason, cause: 'why' });

//  failure                                                           says
const rows: readonly (readonly [Failure, RegExp])[] = [
  [away('no-connection'), /not reached \(why\); check the network/],
  [away('deadline'), /slow; try again/],
  [away('too-large'), /ask for less/],
  [away('cut-short'), /try again/],
  [away('tls'), /clock/],
  [away('no-tls'), /check its port, and https/],
  [away('redirect'), /address it leads to/],
  [away('captive-portal'), /sign in to the network/],
  [{ kind: 'unauthorised', cause: 'wrong password' }, /\(wrong password\); check user name and password$/],
  [{ kind: 'no-credentials' }, /nothing was asked; give both/],
  [{ kind: 'unauthorised', cause: 'x', retryAfter: minutes(12) }, /next login is tried in 12 min/],
  [{ kind: 'gated', message: 'Invalid scope.' }, /plan does not include this \(Invalid scope\.\); another plan may$/],
  [
    { kind: 'gated', message: 'x', path: '/v3/historical' },
    /; a subscription does; region CAISO_NORTH may be had without$/,
  ],
  [{ kind: 'gated', message: 'x', path: '/v3/maps' }, /; an analyst or pro subscription does; the region of one place/],
  [{ kind: 'gated', message: 'x', path: '/api/v1/marginal/' }, /; a pro account does$/],
  [{ kind: 'throttled', retryAfter: seconds(30) }, /nothing is asked for 30 s/],
  [{ kind: 'throttled', retryAfter: hours(3) }, /nothing is asked for 3 h/],
  [{ kind: 'refused', status: 400, message: 'bad region' }, /400: bad region/],
  [
    { kind: 'invalid', field: 'horizon_hours', message: '73 is too many' },
    /^horizon_hours 73 is too many; nothing was sent$/,
  ],
  [{ kind: 'outside-coverage' }, /no region .* signs$/],
  [{ kind: 'unwell', status: 503, message: 'down' }, /503: down/],
  [
    { kind: 'nonsense', where: 'meta.units', expected: 'percentile', received: 'kg' },
    /meta\.units is kg, expected percentile/,
  ],
  [
    { kind: 'forbidden', cause: 'http://192.0.2.1 is not https' },
    /^this may not be asked: http:\/\/192\.0\.2\.1 is not https$/,
  ],
  [{ kind: 'stopped' }, /stopped/],
];

describe('a failure in words', () => {
  it.each(rows)('%o', (failure, words) => {
    const sentence = failureText(failure);
    expect(sentence).toMatch(words);
    expect(sentence).not.toMatch(/[.\n]$|undefined|NaN|\[object/);
  });
});

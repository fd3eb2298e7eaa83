/** Each failure as a person reads it: what happened, what it means, what to do, in one sentence. */

import { describe, expect, it } from 'vitest';
import { hours, minutes, seconds } from '../../src/domain/units.ts';
import type { Failure, UnreachableReason } from '../../src/service/failure.ts';
import { failureText } from '../../src/service/failure-text.ts';

const away = (reason: UnreachableReason): Failure => ({ kind: 'unreachable', reason, cause: 'why' });

//  failure                                                           says
const rows: readonly (readonly [Failure, RegExp])[] = [
  [away('no-connection'), /could not be reached: why; check the network/],
  [away('deadline'), /slow; try again/],
  [away('too-large'), /request a shorter range/],
  [away('cut-short'), /try again/],
  [away('certificate-date'), /clock/],
  [away('certificate-name'), /host name of the certificate/],
  [away('certificate-authority'), /service\.ca/],
  [away('tls'), /address of the service and the authority/],
  [away('no-tls'), /check the port, and https/],
  [away('redirect'), /configure the new address/],
  [away('captive-portal'), /sign in to the network/],
  [
    { kind: 'unauthorised', cause: 'wrong password' },
    /\(wrong password\); check user name and password, and restart an installed agent after a change$/,
  ],
  [{ kind: 'no-credentials' }, /nothing was sent; give both/],
  [{ kind: 'unauthorised', cause: 'x', rejected: 'fresh-token' }, /a token that it has just issued \(x\)/],
  [{ kind: 'unauthorised', cause: 'x', retryAfter: minutes(12) }, /next login in 12 min/],
  [
    { kind: 'not-entitled', message: 'Invalid scope.' },
    /plan does not include this \(Invalid scope\.\); another plan does$/,
  ],
  [
    { kind: 'not-entitled', message: 'x', path: '/v3/historical' },
    /; a subscription does; region CAISO_NORTH needs none$/,
  ],
  [
    { kind: 'not-entitled', message: 'x', path: '/v3/maps' },
    /; an analyst or pro subscription does; the region of a single place/,
  ],
  [{ kind: 'not-entitled', message: 'x', path: '/api/v1/marginal/' }, /; a pro account does$/],
  [{ kind: 'throttled', retryAfter: seconds(30) }, /the next is sent in 30 s/],
  [{ kind: 'throttled', retryAfter: hours(3) }, /the next is sent in 3 h/],
  [{ kind: 'rejected', status: 400, message: 'bad region' }, /400: bad region/],
  [
    { kind: 'invalid', field: 'horizon_hours', message: '73 is too many' },
    /^horizon_hours 73 is too many; nothing was sent$/,
  ],
  [{ kind: 'outside-coverage' }, /no region .* signs$/],
  [{ kind: 'server-error', status: 503, message: 'down' }, /returned a server error \(503: down\)/],
  [
    { kind: 'invalid-response', where: 'meta.units', expected: 'percentile', received: 'kg' },
    /meta\.units is kg, expected percentile/,
  ],
  [
    { kind: 'forbidden', cause: 'http://192.0.2.1 is not https' },
    /^this request is not allowed: http:\/\/192\.0\.2\.1 is not https$/,
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

/** What the network layer says of a connection that failed, as people are told it. */

import { expect, it } from 'vitest';
import type { HttpFailure } from '../../src/domain/ports.ts';
import { classifyHttpFailure } from '../../src/service/transport/classify-response.ts';

//  kind           the network layer's words                                     reason           said
const rows: readonly (readonly [HttpFailure['kind'], string, string, string])[] = [
  [
    'unreachable',
    'connect ECONNREFUSED 127.0.0.1:1 (ECONNREFUSED)',
    'no-connection',
    'connection refused (ECONNREFUSED)',
  ],
  ['unreachable', 'getaddrinfo ENOTFOUND nosuch.invalid (ENOTFOUND)', 'no-connection', 'unknown host name (ENOTFOUND)'],
  ['unreachable', 'read ECONNRESET', 'no-connection', 'the server closed the connection without an answer'],
  ['unreachable', 'connect EHOSTUNREACH 192.0.2.1:443', 'no-connection', 'no route to host'],
  ['unreachable', 'something new\nwith a second line', 'no-connection', 'something new'],
  ['tls', 'TLS: wrong version number (EPROTO)', 'no-tls', 'the server does not use TLS (EPROTO)'],
  [
    'tls',
    'certificate has expired (CERT_HAS_EXPIRED)',
    'certificate-date',
    'its certificate has expired (CERT_HAS_EXPIRED)',
  ],
  [
    'tls',
    'self-signed certificate (DEPTH_ZERO_SELF_SIGNED_CERT)',
    'certificate-authority',
    'its certificate is signed by an unknown authority (DEPTH_ZERO_SELF_SIGNED_CERT)',
  ],
  [
    'tls',
    "Hostname/IP does not match certificate's altnames (ERR_TLS_CERT_ALTNAME_INVALID)",
    'certificate-name',
    'its certificate is for another name (ERR_TLS_CERT_ALTNAME_INVALID)',
  ],
  ['tls', 'TLS: bad certificate (EPROTO)', 'tls', 'TLS: bad certificate (EPROTO)'],
  ['deadline', 'no whole answer within 30 s', 'deadline', 'no whole answer within 30 s'],
  ['bad-encoding', 'content-encoding br was not asked for', 'cut-short', 'content-encoding br was not asked for'],
];
it.each(rows)('%s: %s', (kind, cause, reason, text) => {
  expect(classifyHttpFailure({ kind, cause })).toEqual({ kind: 'unreachable', reason, cause: text });
});

/** Explains in plain words why a connection failed, from the error of the network layer. */

import { toSafeText } from './text-format.ts';

/** What is wrong with the TLS of a server. */
export type TlsReason = 'certificate-date' | 'certificate-name' | 'certificate-authority' | 'tls' | 'no-tls';

const MAX_QUOTE_LENGTH = 80;

//  code in the text                                      words                                            reason
const KNOWN_NETWORK_ERRORS: readonly (readonly [RegExp, string, TlsReason?])[] = [
  [/wrong version number/, 'the server does not use TLS', 'no-tls'],
  [/ECONNREFUSED/, 'connection refused'],
  [/ENOTFOUND/, 'unknown host name'],
  [/EAI_AGAIN/, 'no answer from the name server'],
  [/ENETUNREACH|EHOSTUNREACH/, 'no route to host'],
  [/ETIMEDOUT/, 'connection timed out'],
  [/ECONNRESET|EPIPE|socket hang up/, 'the server closed the connection without an answer'],
  [/CERT_HAS_EXPIRED/, 'its certificate has expired', 'certificate-date'],
  [/CERT_NOT_YET_VALID/, 'its certificate is not valid yet', 'certificate-date'],
  [/ALTNAME_INVALID/, 'its certificate is for another name', 'certificate-name'],
  [
    /SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)/,
    'its certificate is signed by an unknown authority',
    'certificate-authority',
  ],
];

const findKnownError = (cause: string) => KNOWN_NETWORK_ERRORS.find(([code]) => code.test(cause));

export const getTlsReason = (cause: string): TlsReason => findKnownError(cause)?.[2] ?? 'tls';

export function formatNetworkError(cause: string): string {
  const text = findKnownError(cause)?.[1];
  if (text === undefined) return toSafeText(cause.split('\n')[0] ?? '', MAX_QUOTE_LENGTH);
  const code = /\(([A-Z][A-Z0-9_]+)\)\s*$/.exec(cause)?.[1];
  return code === undefined ? text : `${text} (${code})`;
}

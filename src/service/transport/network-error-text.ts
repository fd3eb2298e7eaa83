/** Says in plain words why a connection failed, from the text of the network layer, which repeats itself and quotes library internals. */

import { quoteValue } from '../api/decode-body.ts';

//  code in the text                                      words
const KNOWN_NETWORK_ERRORS: readonly (readonly [RegExp, string])[] = [
  [/ECONNREFUSED/, 'nothing listens at its address'],
  [/ENOTFOUND/, 'its name is not known'],
  [/EAI_AGAIN/, 'no name server answers'],
  [/ENETUNREACH|EHOSTUNREACH/, 'no way leads there'],
  [/ETIMEDOUT/, 'nobody answers at its address'],
  [/ECONNRESET|EPIPE|socket hang up/, 'the connection was closed without an answer'],
  [/CERT_HAS_EXPIRED/, 'its certificate has run out'],
  [/CERT_NOT_YET_VALID/, 'its certificate is not valid yet'],
  [/ALTNAME_INVALID/, 'its certificate is for another name'],
  [/SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)/, 'its certificate is signed by nobody known here'],
];

/** What a server that speaks no TLS looks like to one that does. */
export const isMissingTls = (cause: string) => /wrong version number/.test(cause);

export function formatNetworkError(cause: string): string {
  const words = isMissingTls(cause)
    ? 'no TLS is spoken there'
    : KNOWN_NETWORK_ERRORS.find(([code]) => code.test(cause))?.[1];
  if (words === undefined) return quoteValue(cause.split('\n')[0]);
  const code = /\(([A-Z][A-Z0-9_]+)\)\s*$/.exec(cause)?.[1];
  return code === undefined ? words : `${words}, ${code}`;
}

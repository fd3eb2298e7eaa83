/** Translates an error of the network, of TLS or of an encoding into a failure of the request. */

import { HttpError, type HttpFailure } from '../domain/ports.ts';

const CERTIFICATE_CODES = /CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|ERR_TLS|ERR_SSL|EPROTO/;
/** See `silence` of a request. */
const SILENCE_CODES = ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'];
const OPENSSL_REASON = /SSL routines:[^:]*:([^:]+)/;

/** The client's own codes as those of the network, which people and `formatNetworkError` know. */
const NETWORK_CODES: Readonly<Record<string, string>> = {
  UND_ERR_CONNECT_TIMEOUT: 'ETIMEDOUT',
  UND_ERR_SOCKET: 'ECONNRESET',
};

function getErrorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  return NETWORK_CODES[code] ?? code;
}

/** One clause: every address of a name may have failed in its own way, and OpenSSL adds its source files. */
function formatCause(error: unknown, code: string): string {
  const one = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const message = one instanceof Error ? one.message : String(one);
  const reason = OPENSSL_REASON.exec(message)?.[1];
  if (reason !== undefined) return `TLS: ${reason} (${code})`;
  return message.includes(code) ? message : `${message} (${code})`;
}

/** `hasHead`: the answer had begun. What has no code is no failure of the network but a defect, and is thrown again. */
export function toHttpFailure(error: unknown, hasHead: boolean): HttpFailure {
  if (error instanceof HttpError) return error.failure;
  const code = getErrorCode(error);
  if (code === '') throw error;
  if (SILENCE_CODES.includes(code)) return { kind: 'deadline', cause: 'no byte of the answer came for too long' };
  const cause = formatCause(error, code);
  if (CERTIFICATE_CODES.test(code)) return { kind: 'tls', cause };
  if (code === 'Z_BUF_ERROR') return { kind: 'cut-short', cause: 'the compressed body ends too early' };
  if (code.startsWith('Z_')) return { kind: 'bad-encoding', cause };
  return { kind: hasHead ? 'cut-short' : 'unreachable', cause };
}

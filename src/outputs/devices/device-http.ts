/** Requests to one device over HTTP: its token, a deadline, bounds of its answers, and each failure as a sentence. */

import type { HttpAccess, HttpCall } from '../../domain/load-types.ts';
import { formatNetworkError } from '../../domain/network-error-text.ts';
import type { Clock, Http, HttpFailure, Secrets } from '../../domain/ports.ts';
import { toSafeText } from '../../domain/text-format.ts';
import { addDuration, type Duration, hours, type Uptime } from '../../domain/units.ts';
import type { OutputFailure } from '../output.ts';

export interface DeviceHttpParts {
  readonly http: Http;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly access: HttpAccess;
  readonly deadline: Duration;
  readonly headers?: Readonly<Record<string, string>>;
  readonly tokenHeader?: string | undefined;
  /** The failure of an answer that the device's own program has a sentence for; undefined: the general one. */
  readonly explainRefusal?: (status: number, call: HttpCall, body: Uint8Array) => string | undefined;
}

export interface DeviceHttp {
  /** The body of an answer that accepts the call. */
  request(call: HttpCall, signal: AbortSignal): Promise<Uint8Array | OutputFailure>;
}

/** Home Assistant answers a call with every state that it changed. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** A service that counts refused tokens bans their sender. */
const REFUSED_TOKEN_PAUSE = hours(1);

export function createDeviceHttp(parts: DeviceHttpParts): DeviceHttp {
  const { http, clock, access, deadline, explainRefusal } = parts;
  let refusal: { readonly token: string; readonly until: Uptime; readonly failure: OutputFailure } | undefined;

  return {
    async request(call, signal) {
      const token = await readToken(parts);
      if (typeof token !== 'string') return token;
      if (refusal?.token === token && clock.now().uptime < refusal.until) return refusal.failure;
      const answer = await http.request(
        {
          ...call,
          allowsPlainHttp: access.allowsPlainHttp,
          headers: { ...buildContentHeaders(call), ...parts.headers, ...buildTokenHeaders(parts, token) },
          deadline,
          maxBytes: MAX_ANSWER_BYTES,
        },
        signal,
      );
      if ('kind' in answer) return toOutputFailure(answer, call);
      const { status, body } = answer;
      if (status >= 200 && status < 300) return body;
      const failure = buildStatusFailure(status, call, parts, explainRefusal?.(status, call, body));
      if (status === 401 || status === 403)
        refusal = { token, until: addDuration(clock.now().uptime, REFUSED_TOKEN_PAUSE), failure };
      return failure;
    },
  };
}

/** Empty where none is configured. */
async function readToken({ access: { tokenFile }, secrets }: DeviceHttpParts): Promise<string | OutputFailure> {
  if (tokenFile === undefined) return '';
  const token = (await secrets.read(tokenFile))?.trim() ?? '';
  if (/^[\x21-\x7e][\x20-\x7e]*$/.test(token)) return token;
  return {
    kind: 'forbidden',
    detail: `the token file ${tokenFile} cannot be read, is empty or holds more than one line: write the token into it, readable by the agent`,
  };
}

function buildTokenHeaders({ tokenHeader }: DeviceHttpParts, token: string): Readonly<Record<string, string>> {
  if (token === '') return {};
  return tokenHeader === undefined ? { authorization: `Bearer ${token}` } : { [tokenHeader.toLowerCase()]: token };
}

function buildContentHeaders({ body }: HttpCall): Readonly<Record<string, string>> {
  if (body === undefined) return {};
  return { 'content-type': /^\s*[[{]/.test(body) ? 'application/json' : 'text/plain; charset=utf-8' };
}

/** Without query and path, which may hold a secret. */
const formatAddress = ({ method, url }: HttpCall) => `${method} to ${new URL(url).origin}`;

function toOutputFailure({ kind, cause }: HttpFailure, call: HttpCall): OutputFailure {
  const address = formatAddress(call);
  if (kind === 'insecure')
    return { kind: 'forbidden', detail: `${address} was not sent: ${cause}; write https://, or allowPlainHttp: true` };
  if (kind === 'too-large')
    return { kind: 'io', detail: `the answer of ${address} is too large (${cause}): check the address` };
  return {
    kind: 'offline',
    detail: `${address} failed: ${formatNetworkError(cause)}; check the address, the power of the device and the network`,
  };
}

function buildStatusFailure(
  status: number,
  call: HttpCall,
  { access: { tokenFile } }: DeviceHttpParts,
  explained: string | undefined,
): OutputFailure {
  const address = formatAddress(call);
  if (status === 401 || status === 403) {
    const cure =
      tokenFile === undefined
        ? 'it wants a token: give tokenFile'
        : `write a valid token into ${toSafeText(tokenFile, 200)} and restart an installed agent, which reads it at its start; the same token is sent again after an hour`;
    return { kind: 'forbidden', detail: `${address} was refused (${status}): ${cure}` };
  }
  if (explained !== undefined) return { kind: 'missing', detail: explained };
  if (status >= 500) return { kind: 'io', detail: `${address} failed at the device (${status}): see its log` };
  const cure = status < 400 ? 'it redirects, which is not followed: write the final address' : 'check address and body';
  return { kind: 'io', detail: `${address} was answered with ${status}: ${cure}` };
}

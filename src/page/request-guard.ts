/** Decides which HTTP requests the page answers: by Host, Origin, method and password. */

import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { isLoopback } from '../domain/loopback.ts';
import { type Duration, minutes } from '../domain/units.ts';

export interface GuardedRequest {
  readonly method: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Of the socket: the address that the client reached, and the client's own. */
  readonly localAddress: string;
  readonly remoteAddress: string;
}

export interface Refusal {
  readonly status: 400 | 401 | 403 | 405 | 421 | 429;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface RequestGuardOptions {
  /** Names under which the page may be reached, beside loopback and the addresses of this machine. */
  readonly names: readonly string[];
  /** Absent: everybody who reaches the address may read and command. */
  readonly password?: string;
  readonly now: () => number;
}

/** Wrong passwords from one address before it has to wait. */
const MAX_WRONG_PASSWORDS = 10;
const WRONG_PASSWORD_WAIT: Duration = minutes(1);
const MAX_REMEMBERED_ADDRESSES = 1_000;

const getHeader = (headers: GuardedRequest['headers'], name: string): string => {
  const value = headers[name];
  return typeof value === 'string' ? value : '';
};

/** `192.0.2.7` of `::ffff:192.0.2.7`. */
const toPlainAddress = (address: string) => address.replace(/^::ffff:(?=\d+\.)/, '');

/** The host of a Host header without its port; undefined when it is none. */
function parseHost(text: string): string | undefined {
  const parts = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?$/.exec(text);
  return parts?.[1]?.toLowerCase();
}

/** A page of another site can make a browser ask for a name of its own that leads here: only known names are answered. */
function checkHost({ headers, localAddress }: GuardedRequest, names: readonly string[]): Refusal | undefined {
  const host = parseHost(getHeader(headers, 'host'));
  const bare = host?.replace(/^\[(.*)\]$/, '$1');
  const isKnown =
    host !== undefined &&
    bare !== undefined &&
    (isLoopback(host) || names.includes(host) || (isIP(bare) > 0 && bare === toPlainAddress(localAddress)));
  return isKnown
    ? undefined
    : { status: 421, text: `this page does not answer to "${(host ?? '').slice(0, 80)}"; name it with --host` };
}

/** Only the page itself may change something. */
function checkOrigin({ method, headers }: GuardedRequest): Refusal | undefined {
  if (method === 'GET' || method === 'HEAD') return undefined;
  if (method !== 'POST')
    return { status: 405, text: `${method.slice(0, 20)} is not used here`, headers: { allow: 'GET, HEAD, POST' } };
  const origin = getHeader(headers, 'origin');
  const host = getHeader(headers, 'host');
  if (origin !== `http://${host}` && origin !== `https://${host}`)
    return { status: 403, text: 'a command comes from this page alone, with its Origin' };
  const site = getHeader(headers, 'sec-fetch-site');
  if (site !== '' && site !== 'same-origin') return { status: 403, text: 'a command comes from this page alone' };
  if (!/^application\/json\b/.test(getHeader(headers, 'content-type')))
    return { status: 400, text: 'expected a body of application/json' };
  return undefined;
}

const digest = (text: string) => createHash('sha256').update(text).digest();

export function createRequestGuard({ names, password, now }: RequestGuardOptions) {
  const expected = password === undefined ? undefined : digest(password);
  const failures = new Map<string, { readonly count: number; readonly since: number }>();

  const countFailure = (address: string): void => {
    const { count = 0, since = now() } = failures.get(address) ?? {};
    failures.delete(address);
    failures.set(address, { count: count + 1, since });
    const [oldest] = failures.keys();
    if (failures.size > MAX_REMEMBERED_ADDRESSES && oldest !== undefined) failures.delete(oldest);
  };
  const checkPassword = ({ headers, remoteAddress }: GuardedRequest): Refusal | undefined => {
    if (expected === undefined) return undefined;
    const failed = failures.get(remoteAddress);
    if (failed !== undefined && now() - failed.since > WRONG_PASSWORD_WAIT) failures.delete(remoteAddress);
    else if (failed !== undefined && failed.count >= MAX_WRONG_PASSWORDS)
      return {
        ...{ status: 429, text: 'too many wrong passwords from this address; try again in a minute' },
        headers: { 'retry-after': '60' },
      };
    const given = /^Basic ([A-Za-z0-9+/=]{1,400})$/.exec(getHeader(headers, 'authorization'))?.[1];
    const text = given === undefined ? undefined : Buffer.from(given, 'base64').toString();
    if (text !== undefined && timingSafeEqual(digest(text.slice(text.indexOf(':') + 1)), expected)) return undefined;
    if (given !== undefined) countFailure(remoteAddress);
    return {
      ...{ status: 401, text: 'this page needs its password; any user name will do' },
      headers: { 'www-authenticate': 'Basic realm="gridtide", charset="UTF-8"' },
    };
  };

  return {
    /** Undefined when the request may go on. */
    check: (request: GuardedRequest): Refusal | undefined =>
      checkHost(request, names) ?? checkPassword(request) ?? checkOrigin(request),
  };
}

/** Decides what an answer means by its status, type and body (specification 7); never sends anything. */

import { counted, type Duration, type Instant, seconds } from '../units.ts';
import type { HttpFailure, HttpHead, HttpReply } from '../world.ts';
import { causeInWords, isNoTls } from './cause.ts';
import { quoted } from './decoding.ts';
import type { Failure } from './failure.ts';

export type Verdict =
  | { readonly kind: 'answer'; readonly body: unknown }
  /** 401, or a 401 or 403 that a front-end server answered with a page: once, a new login may help. */
  | { readonly kind: 'token-refused'; readonly cause: string }
  | { readonly kind: 'throttled'; readonly retryAfter?: Duration }
  | { readonly kind: 'failed'; readonly failure: Failure };

const fail = (failure: Failure): Verdict => ({ kind: 'failed', failure });

/** What a failed transfer means. */
export function failureOfTransfer({ kind, cause }: HttpFailure): Failure {
  switch (kind) {
    case 'unreachable':
      return { kind: 'unreachable', reason: 'no-connection', cause: causeInWords(cause) };
    case 'tls':
      return { kind: 'unreachable', reason: isNoTls(cause) ? 'no-tls' : 'tls', cause: causeInWords(cause) };
    case 'deadline':
    case 'too-large':
    case 'cut-short':
      return { kind: 'unreachable', reason: kind, cause: causeInWords(cause) };
    case 'bad-encoding':
      return { kind: 'unreachable', reason: 'cut-short', cause: causeInWords(cause) };
    case 'insecure':
      return { kind: 'forbidden', cause };
    case 'stopped':
      return { kind: 'stopped' };
  }
}

export const isJson = ({ headers }: HttpHead) => /\bjson\b|\+json\b/i.test(headers['content-type'] ?? '');

const textOf = (body: Uint8Array) => new TextDecoder().decode(body);

/** The JSON of a body; undefined when it is none. */
function jsonOf(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The texts of a word, or of a list of words or of `{loc, msg}`. */
function sentences(value: unknown, isInList = false): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return isInList ? [] : value.slice(0, 5).flatMap((one) => sentences(one, true));
  if (!isRecord(value)) return [];
  const { loc, msg } = value;
  const where = Array.isArray(loc) ? `${String(loc.at(-1))}: ` : '';
  return typeof msg === 'string' ? [`${where}${msg}`] : [];
}

/** Keys under which services put their words, the most telling first. */
const WORDS = ['message', 'msg', 'detail', 'non_field_errors', 'error'];

/** The service's own words in an error body, of whichever of the known shapes. */
export function messageOf(body: unknown): string {
  if (!isRecord(body)) return '';
  for (const key of WORDS) {
    const [first] = sentences(body[key]);
    if (first !== undefined && first !== '') return quoted(first);
  }
  // v1 lists what is wrong with each field under its name.
  const fields = Object.entries(body)
    .slice(0, 5)
    .flatMap(([key, value]) => (Array.isArray(value) ? sentences(value).map((said) => `${key}: ${said}`) : []));
  return quoted(fields.join(' '));
}

function retryAfterOf({ headers, date }: HttpHead, words: string, now: Instant): Duration | undefined {
  const said =
    headers['retry-after'] ?? headers['x-throttle-wait-seconds'] ?? /available in (\d+) second/.exec(words)?.[1];
  if (said === undefined) return undefined;
  if (/^\s*[+-]?\d+(\.\d+)?\s*$/.test(said)) return seconds(Number(said));
  const until = Date.parse(said);
  return Number.isNaN(until) ? undefined : ((until - (date ?? now)) as Duration);
}

const OUTSIDE = /coordinates not found|no coverage/i;

/** What `reply` means. `now` is only for a `Retry-After` that names a date. */
export function judge(reply: HttpReply, now: Instant): Verdict {
  const { status } = reply;
  const text = textOf(reply.body);
  // An error is JSON by its body: some services send it under another type.
  const isLabelled = isJson(reply) || reply.headers['content-type'] === undefined;
  const json = isLabelled || status >= 400 ? jsonOf(text) : undefined;
  const words = json === undefined ? '' : messageOf(json.value);

  if (status >= 200 && status < 300) {
    if (!isJson(reply) && json === undefined)
      return fail({
        kind: 'unreachable',
        reason: 'captive-portal',
        cause: `the answer is ${quoted(reply.headers['content-type'] ?? 'no JSON')}, expected JSON: something else answers in the service's place`,
      });
    if (json !== undefined) return { kind: 'answer', body: json.value };
    if (text.trimStart().startsWith('<'))
      return fail({ kind: 'unreachable', reason: 'captive-portal', cause: 'the answer is a page, expected JSON' });
    // Not quoted: the half answer to a login holds most of a token.
    return fail({
      kind: 'nonsense',
      where: 'body',
      expected: 'whole JSON',
      received: `${counted(reply.body.length, 'byte')} that cannot be read as such`,
    });
  }
  if (status >= 300 && status < 400)
    return fail({
      kind: 'unreachable',
      reason: 'redirect',
      cause: `a redirect (${status}) to ${quoted(reply.headers.location ?? 'nowhere')}, which is not followed`,
    });
  const message = words === '' ? `status ${status}` : words;
  if (status === 401) return { kind: 'token-refused', cause: message };
  if (status === 403)
    return json === undefined || !isRecord(json.value)
      ? { kind: 'token-refused', cause: 'status 403 with a page instead of JSON' }
      : fail({ kind: 'gated', message });
  const retryAfter = retryAfterOf(reply, words, now);
  if (status === 429) return { kind: 'throttled', ...(retryAfter === undefined ? {} : { retryAfter }) };
  if (status >= 500)
    return fail({ kind: 'unwell', status, message, ...(retryAfter === undefined ? {} : { retryAfter }) });
  if (status >= 400)
    return OUTSIDE.test(text) ? fail({ kind: 'outside-coverage' }) : fail({ kind: 'refused', status, message });
  return fail({ kind: 'nonsense', where: 'status', expected: '200', received: String(status) });
}

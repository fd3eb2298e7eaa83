/** Classifies an answer by its status, type and body (specification 7). */

import { formatNetworkError, getTlsReason } from '../../domain/network-error-text.ts';
import type { HttpFailure, HttpResponse, HttpResponseHead } from '../../domain/ports.ts';
import { type Duration, formatCount, type Instant, seconds } from '../../domain/units.ts';
import { quoteReceived } from '../api/decode-body.ts';
import type { Failure, UnreachableReason } from '../failure.ts';

export type ResponseVerdict =
  | { readonly kind: 'answer'; readonly body: unknown }
  /** 401, or a 403 that a front-end server answered with a page: once, a new login may help. */
  | { readonly kind: 'token-refused'; readonly status: 401 | 403; readonly cause: string }
  | { readonly kind: 'throttled'; readonly retryAfter?: Duration }
  | { readonly kind: 'failed'; readonly failure: Failure };

export const toFailedVerdict = (failure: Failure) => ({ kind: 'failed', failure }) as const;

/** What a failed transfer means. */
export function classifyHttpFailure({ kind, cause }: HttpFailure): Failure {
  if (kind === 'insecure') return { kind: 'forbidden', cause };
  if (kind === 'stopped') return { kind: 'stopped' };
  return { kind: 'unreachable', reason: getUnreachableReason(kind, cause), cause: formatNetworkError(cause) };
}

function getUnreachableReason(
  kind: Exclude<HttpFailure['kind'], 'insecure' | 'stopped'>,
  cause: string,
): UnreachableReason {
  switch (kind) {
    case 'unreachable':
      return 'no-connection';
    case 'tls':
      return getTlsReason(cause);
    case 'deadline':
    case 'too-large':
    case 'cut-short':
      return kind;
    case 'bad-encoding':
      return 'cut-short';
  }
}

export const isJsonResponse = ({ headers }: HttpResponseHead) =>
  /\bjson\b|\+json\b/i.test(headers['content-type'] ?? '');

const decodeText = (body: Uint8Array) => new TextDecoder().decode(body);

/** A megabyte of brackets alone becomes up to 75 MB of values, more than the unit has room for. True answers are nine deep at most, and a value takes ten bytes and more with its name. */
const MAX_DEPTH = 32;
const LEAST_BYTES_A_VALUE = 10;
const FREE_VALUES = 4_096;

/** Of each byte, what it does to the depth; a comma does not. Other bytes are not looked at, those in texts are counted too. */
const COMMA = 2;
const STEPS = new Int8Array(256);
for (const [marks, step] of [
  ['[{', 1],
  [']}', -1],
  [',', COMMA],
] as const)
  for (const mark of marks) STEPS[mark.charCodeAt(0)] = step;

/** Whether a body holds more values than an answer of its length can, or holds them deeper. */
function isOvercrowded(body: Uint8Array): boolean {
  let room = FREE_VALUES + body.length / LEAST_BYTES_A_VALUE;
  let depth = 0;
  for (let i = 0; i < body.length; i++) {
    const step = STEPS[body[i] as number] as number;
    if (step === 0) continue;
    if (step !== COMMA) depth += step;
    if (step > 0) room -= 1;
    if (room < 0 || depth > MAX_DEPTH) return true;
  }
  return false;
}

/** The JSON of a body; undefined when it is none. */
function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

const isJsonObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The texts of a word, or of a list of words or of `{loc, msg}`. */
function extractMessages(value: unknown, isInList = false): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return isInList ? [] : value.slice(0, 5).flatMap((one) => extractMessages(one, true));
  if (!isJsonObject(value)) return [];
  const { loc, msg } = value;
  const where = Array.isArray(loc) ? `${String(loc.at(-1))}: ` : '';
  return typeof msg === 'string' ? [`${where}${msg}`] : [];
}

/** Keys under which services put their words, the most telling first. */
const MESSAGE_KEYS = ['message', 'msg', 'detail', 'non_field_errors', 'error'];

/** The service's own words in an error body, of whichever of the known shapes. */
export function extractErrorMessage(body: unknown): string {
  if (!isJsonObject(body)) return '';
  for (const key of MESSAGE_KEYS) {
    const [first] = extractMessages(body[key]);
    if (first !== undefined && first !== '') return quoteReceived(first);
  }
  // v1 lists what is wrong with each field under its name.
  const fields = Object.entries(body)
    .slice(0, 5)
    .flatMap(([key, value]) => (Array.isArray(value) ? extractMessages(value).map((said) => `${key}: ${said}`) : []));
  return quoteReceived(fields.join(' '));
}

function parseRetryAfter({ headers, date }: HttpResponseHead, errorText: string, now: Instant): Duration | undefined {
  const header =
    headers['retry-after'] ?? headers['x-throttle-wait-seconds'] ?? /available in (\d+) second/.exec(errorText)?.[1];
  if (header === undefined) return undefined;
  if (/^\s*[+-]?\d+(\.\d+)?\s*$/.test(header)) return seconds(Number(header));
  const until = Date.parse(header);
  return Number.isNaN(until) ? undefined : ((until - (date ?? now)) as Duration);
}

const OUTSIDE_COVERAGE_PATTERN = /coordinates not found|no coverage/i;

/** An answer of a status that promises data. */
function classifyData(
  reply: HttpResponse,
  text: string,
  json: { readonly value: unknown } | undefined,
): ResponseVerdict {
  if (!isJsonResponse(reply) && json === undefined)
    return toFailedVerdict({
      kind: 'unreachable',
      reason: 'captive-portal',
      cause: `the answer is ${quoteReceived(reply.headers['content-type'] ?? 'no JSON')}, expected JSON: something else answers in the service's place`,
    });
  if (json !== undefined) return { kind: 'answer', body: json.value };
  if (text.trimStart().startsWith('<'))
    return toFailedVerdict({
      kind: 'unreachable',
      reason: 'captive-portal',
      cause: 'the answer is a page, expected JSON',
    });
  if (isOvercrowded(reply.body))
    return toFailedVerdict({
      kind: 'invalid-response',
      where: 'body',
      expected: `at least ${LEAST_BYTES_A_VALUE} bytes a value, at most ${MAX_DEPTH} deep`,
      received: `${formatCount(reply.body.length, 'byte')} with more values or deeper ones`,
    });
  // Not quoted: a partial answer to a login contains most of a token.
  return toFailedVerdict({
    kind: 'invalid-response',
    where: 'body',
    expected: 'whole JSON',
    received: `${formatCount(reply.body.length, 'byte')} that cannot be read as such`,
  });
}

/** What `reply` means. `now` is only for a `Retry-After` that names a date. */
export function classifyResponse(reply: HttpResponse, now: Instant): ResponseVerdict {
  const { status } = reply;
  const text = decodeText(reply.body);
  // An error is JSON by its body: some services send it under another type.
  const mayBeJson = isJsonResponse(reply) || reply.headers['content-type'] === undefined;
  const json = (mayBeJson || status >= 400) && !isOvercrowded(reply.body) ? parseJson(text) : undefined;
  const errorText = json === undefined ? '' : extractErrorMessage(json.value);

  if (status >= 200 && status < 300) return classifyData(reply, text, json);
  if (status >= 300 && status < 400)
    return toFailedVerdict({
      kind: 'unreachable',
      reason: 'redirect',
      cause: `a redirect (${status}) to ${quoteReceived(reply.headers.location ?? 'nowhere')}, which is not followed`,
    });
  const message = errorText === '' ? `status ${status}` : errorText;
  if (status === 401) return { kind: 'token-refused', status, cause: message };
  if (status === 403)
    return json === undefined || !isJsonObject(json.value)
      ? { kind: 'token-refused', status, cause: 'status 403 with a page instead of JSON' }
      : toFailedVerdict({ kind: 'not-entitled', message });
  const retryAfter = parseRetryAfter(reply, errorText, now);
  if (status === 429) return { kind: 'throttled', ...(retryAfter === undefined ? {} : { retryAfter }) };
  if (status >= 500)
    return toFailedVerdict({
      kind: 'server-error',
      status,
      message,
      ...(retryAfter === undefined ? {} : { retryAfter }),
    });
  if (status >= 400)
    return OUTSIDE_COVERAGE_PATTERN.test(text)
      ? toFailedVerdict({ kind: 'outside-coverage' })
      : toFailedVerdict({ kind: 'rejected', status, message });
  return toFailedVerdict({ kind: 'invalid-response', where: 'status', expected: '200', received: String(status) });
}

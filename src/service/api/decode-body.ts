/** Checks the body of an answer against a schema and names the first place where it differs. */

import * as v from 'valibot';
import { parseInstant } from '../../domain/iso-time.ts';
import { toSafeText } from '../../domain/text-format.ts';
import { type Duration, type Instant, seconds } from '../../domain/units.ts';
import type { Failure, Outcome } from '../failure.ts';

export const ok = <Value>(value: Value): Outcome<Value> => ({ ok: true, value });
export const failed = (failure: Failure): { readonly ok: false; readonly failure: Failure } => ({ ok: false, failure });

const MAX_QUOTE_LENGTH = 80;

/** A received value as an error quotes it. Lists and objects are only named, because they may be nested very deep. */
export function quoteReceived(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  return toSafeText(String(value), MAX_QUOTE_LENGTH);
}

export const invalidResponse = (where: string, expected: string, received: unknown) =>
  failed({ kind: 'invalid-response', where, expected, received: quoteReceived(received) });

/** The body as `schema` reads it, or the first place where it differs. */
export function parseBody<Schema extends v.GenericSchema>(
  schema: Schema,
  body: unknown,
): Outcome<v.InferOutput<Schema>> {
  const result = v.safeParse(schema, body, { abortEarly: true });
  if (result.success) return ok(result.output);
  const [issue] = result.issues;
  const where = v.getDotPath(issue) ?? 'body';
  if (issue.input === undefined) return invalidResponse(where, 'a value', 'not there');
  return invalidResponse(where, issue.expected ?? issue.message, issue.received);
}

const textSchema = v.pipe(v.string(), v.maxLength(2_000));
export const nonEmptyTextSchema = v.pipe(textSchema, v.minLength(1));
/** Absent, null and of another type count alike as missing. */
export const optionalTextSchema = v.fallback(
  v.optional(
    v.union([
      textSchema,
      v.pipe(
        v.null(),
        v.transform(() => undefined),
      ),
    ]),
  ),
  undefined,
);
export const finiteSchema = v.pipe(v.number(), v.finite());

/** A period in whole seconds, up to a day (specification 2.6). */
export const periodSchema = v.pipe(
  v.number(),
  v.integer(),
  v.minValue(1),
  v.maxValue(86_400),
  v.transform((n): Duration => seconds(n)),
);

export const instantSchema = v.pipe(
  v.unknown(),
  v.check((value) => parseInstant(value) !== undefined, 'a date-time with a zone'),
  v.transform((value) => parseInstant(value) as Instant),
);

/** `{ key: value }`, or nothing when there is no value: optional fields stay absent. */
export const optionalField = <Key extends string, Value>(key: Key, value: Value | undefined | null) =>
  (value === undefined || value === null ? {} : { [key]: value }) as { readonly [K in Key]?: Value };

/** Decodes what the account and region endpoints answer (specification 2.2 to 2.4, 2.7); keeps texts as sent. */

import * as v from 'valibot';
import type { Access, RegionAnswer, Registered } from './answers.ts';
import { checked, given, maybeText, nonsense, ok, period, someText } from './decoding.ts';
import type { Outcome } from './failure.ts';
import type { PlaceQuery } from './queries.ts';

/** A token is sent in a header: visible ASCII only. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/;
const MOST_REGIONS = 2_000;

const tokenAnswer = v.object({ token: v.pipe(v.string(), v.regex(TOKEN)) });

/** Never quotes what was received: it may be a token in part. */
export function decodeToken(body: unknown): Outcome<{ readonly token: string }> {
  const read = v.safeParse(tokenAnswer, body);
  return read.success ? ok(read.output) : nonsense('token', 'a token of visible characters', 'something else');
}

export const decodeRegistered = (body: unknown): Outcome<Registered> =>
  checked(v.object({ ok: v.string(), user: v.string() }), body);

export const decodeReset = (body: unknown): Outcome<{ readonly ok: string }> =>
  checked(v.object({ ok: v.string() }), body);

export function decodeRegion(body: unknown, asked: PlaceQuery): Outcome<RegionAnswer> {
  const read = checked(v.object({ region: someText, region_full_name: maybeText, signal_type: maybeText }), body);
  if (!read.ok) return read;
  const { region, region_full_name: fullName = region, signal_type: signalType = asked.signalType } = read.value;
  if (signalType !== asked.signalType) return nonsense('signal_type', asked.signalType, signalType);
  return ok({ region, regionFullName: fullName, signalType });
}

/** Absent and null lists are empty ones. */
const listOf = <Item extends v.GenericSchema>(item: Item) =>
  v.nullish(v.pipe(v.array(item), v.maxLength(MOST_REGIONS)), []);

const model = v.object({
  model: someText,
  type: maybeText,
  data_start: maybeText,
  data_end: maybeText,
  train_start: maybeText,
  train_end: maybeText,
});
const endpoint = v.object({ endpoint: someText, models: listOf(model) });
const region = v.object({
  region: someText,
  region_full_name: maybeText,
  parent: maybeText,
  data_point_period_seconds: v.fallback(v.optional(period), undefined),
  endpoints: listOf(endpoint),
});
const access = v.object({ signal_types: v.array(v.object({ signal_type: someText, regions: listOf(region) })) });

const modelOf = (one: v.InferOutput<typeof model>) => ({
  model: one.model,
  ...given('type', one.type),
  ...given('dataStart', one.data_start),
  ...given('dataEnd', one.data_end),
  ...given('trainStart', one.train_start),
  ...given('trainEnd', one.train_end),
});

const regionOf = (one: v.InferOutput<typeof region>) => ({
  region: one.region,
  regionFullName: one.region_full_name ?? one.region,
  ...given('parent', one.parent),
  ...given('period', one.data_point_period_seconds),
  endpoints: (one.endpoints ?? []).map(({ endpoint, models }) => ({
    // Some documents write the path with its leading slash.
    endpoint: endpoint.replace(/^\/+/, ''),
    models: (models ?? []).map(modelOf),
  })),
});

export function decodeAccess(body: unknown): Outcome<Access> {
  const read = checked(access, body);
  if (!read.ok) return read;
  const signalTypes = read.value.signal_types.map(({ signal_type, regions }) => ({
    signalType: signal_type,
    regions: (regions ?? []).map(regionOf),
  }));
  return ok({ signalTypes });
}

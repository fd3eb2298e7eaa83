/** Decodes the answers of the account and region endpoints (specification 2.2 to 2.4, 2.7). */

import * as v from 'valibot';
import type { Outcome } from '../failure.ts';
import {
  invalidResponse,
  nonEmptyTextSchema,
  ok,
  optionalField,
  optionalTextSchema,
  parseBody,
  periodSchema,
} from './decode-body.ts';
import type { PlaceQuery } from './query-types.ts';
import type { Access, RegionResponse, RegistrationResponse } from './response-types.ts';

/** A token is sent in a header: visible ASCII only. */
const TOKEN_PATTERN = /^[\x21-\x7e]{1,8192}$/;
const MAX_REGIONS = 2_000;

const tokenSchema = v.object({ token: v.pipe(v.string(), v.regex(TOKEN_PATTERN)) });

/** Never quotes what was received: it may be a token in part. */
export function decodeToken(body: unknown): Outcome<{ readonly token: string }> {
  const parsed = v.safeParse(tokenSchema, body);
  return parsed.success
    ? ok(parsed.output)
    : invalidResponse('token', 'a token of visible characters', 'something else');
}

export const decodeRegistration = (body: unknown): Outcome<RegistrationResponse> =>
  parseBody(v.object({ ok: v.string(), user: v.string() }), body);

export const decodePasswordReset = (body: unknown): Outcome<{ readonly ok: string }> =>
  parseBody(v.object({ ok: v.string() }), body);

export function decodeRegion(body: unknown, query: PlaceQuery): Outcome<RegionResponse> {
  const parsed = parseBody(
    v.object({ region: nonEmptyTextSchema, region_full_name: optionalTextSchema, signal_type: optionalTextSchema }),
    body,
  );
  if (!parsed.ok) return parsed;
  const { region, region_full_name: fullName = region, signal_type: signalType = query.signalType } = parsed.value;
  if (signalType !== query.signalType) return invalidResponse('signal_type', query.signalType, signalType);
  return ok({ region, regionFullName: fullName, signalType });
}

/** Absent and null lists are empty ones. */
const listSchema = <Item extends v.GenericSchema>(item: Item) =>
  v.nullish(v.pipe(v.array(item), v.maxLength(MAX_REGIONS)), []);

const modelSchema = v.object({
  model: nonEmptyTextSchema,
  type: optionalTextSchema,
  data_start: optionalTextSchema,
  data_end: optionalTextSchema,
  train_start: optionalTextSchema,
  train_end: optionalTextSchema,
});
const endpointSchema = v.object({ endpoint: nonEmptyTextSchema, models: listSchema(modelSchema) });
const regionSchema = v.object({
  region: nonEmptyTextSchema,
  region_full_name: optionalTextSchema,
  parent: optionalTextSchema,
  data_point_period_seconds: v.fallback(v.optional(periodSchema), undefined),
  endpoints: listSchema(endpointSchema),
});
const accessSchema = v.object({
  signal_types: v.array(v.object({ signal_type: nonEmptyTextSchema, regions: listSchema(regionSchema) })),
});

const toAccessModel = (one: v.InferOutput<typeof modelSchema>) => ({
  model: one.model,
  ...optionalField('type', one.type),
  ...optionalField('dataStart', one.data_start),
  ...optionalField('dataEnd', one.data_end),
  ...optionalField('trainStart', one.train_start),
  ...optionalField('trainEnd', one.train_end),
});

const toAccessRegion = (one: v.InferOutput<typeof regionSchema>) => ({
  region: one.region,
  regionFullName: one.region_full_name ?? one.region,
  ...optionalField('parent', one.parent),
  ...optionalField('period', one.data_point_period_seconds),
  endpoints: (one.endpoints ?? []).map(({ endpoint, models }) => ({
    // Some documents write the path with its leading slash.
    endpoint: endpoint.replace(/^\//, ''),
    models: (models ?? []).map(toAccessModel),
  })),
});

export function decodeAccess(body: unknown): Outcome<Access> {
  const parsed = parseBody(accessSchema, body);
  if (!parsed.ok) return parsed;
  const signalTypes = parsed.value.signal_types.map(({ signal_type, regions }) => ({
    signalType: signal_type,
    regions: (regions ?? []).map(toAccessRegion),
  }));
  return ok({ signalTypes });
}

/** Decodes the earlier interface (specification 2.9), with the nulls it allows. */

import * as v from 'valibot';
import type { Outcome } from '../failure.ts';
import {
  finiteSchema,
  instantSchema,
  nonEmptyTextSchema,
  ok,
  optionalField,
  optionalTextSchema,
  parseBody,
} from './decode-body.ts';
import { parseItems } from './decode-points.ts';
import type { Authority, FuelShare, V1DataPoint, V1MarginalPoint, V1Page } from './response-types.ts';

const nullishSchema = <Schema extends v.GenericSchema>(schema: Schema) => v.fallback(v.nullish(schema), undefined);

const authoritySchema = v.object({
  abbrev: nonEmptyTextSchema,
  name: optionalTextSchema,
  ba_type: optionalTextSchema,
  url: optionalTextSchema,
  link: optionalTextSchema,
  states: v.fallback(v.nullish(v.array(v.string()), []), []),
  notes: optionalTextSchema,
});

export function decodeAuthorities(body: unknown): Outcome<readonly Authority[]> {
  const parsed = parseBody(v.array(authoritySchema), body);
  if (!parsed.ok) return parsed;
  return ok(
    parsed.value.map(({ abbrev, name, ba_type, url, link, states, notes }) => ({
      abbrev,
      name: name ?? abbrev,
      ...optionalField('type', ba_type),
      ...optionalField('url', url),
      ...optionalField('link', link),
      states: states ?? [],
      ...optionalField('notes', notes),
    })),
  );
}

const commonFields = {
  timestamp: instantSchema,
  ba: nonEmptyTextSchema,
  market: nonEmptyTextSchema,
  freq: optionalTextSchema,
  url: optionalTextSchema,
  genmix: nullishSchema(v.array(v.object({ fuel: nonEmptyTextSchema, gen_MW: finiteSchema }))),
};
const dataPointSchema = v.object({
  ...commonFields,
  created_at: nullishSchema(instantSchema),
  carbon: nullishSchema(finiteSchema),
});
const marginalPointSchema = v.object({
  ...commonFields,
  marginal_carbon: nullishSchema(
    v.object({ value: finiteSchema, units: nonEmptyTextSchema, structural_model: optionalTextSchema }),
  ),
  load: nullishSchema(finiteSchema),
});

type CommonFields = Pick<v.InferOutput<typeof dataPointSchema>, keyof typeof commonFields>;

const toCommonFields = ({ timestamp, ba, market, freq, url, genmix }: CommonFields) => ({
  at: timestamp,
  authority: ba,
  market,
  ...optionalField('frequency', freq),
  ...optionalField(
    'generation',
    genmix?.map(({ fuel, gen_MW }): FuelShare => ({ fuel, megawatts: gen_MW })),
  ),
  ...optionalField('url', url),
});

function parseDataPoint(item: unknown): V1DataPoint | undefined {
  const read = v.safeParse(dataPointSchema, item);
  if (!read.success) return undefined;
  const { created_at, carbon } = read.output;
  return {
    ...toCommonFields(read.output),
    ...optionalField('createdAt', created_at),
    ...optionalField('carbon', carbon),
  };
}

function parseMarginalPoint(item: unknown): V1MarginalPoint | undefined {
  const read = v.safeParse(marginalPointSchema, item);
  if (!read.success) return undefined;
  const { marginal_carbon: carbon, load } = read.output;
  const marginalCarbon =
    carbon == null
      ? undefined
      : { value: carbon.value, units: carbon.units, ...optionalField('structuralModel', carbon.structural_model) };
  return {
    ...toCommonFields(read.output),
    ...optionalField('marginalCarbon', marginalCarbon),
    ...optionalField('load', load),
  };
}

const pageSchema = v.object({
  count: v.pipe(v.number(), v.integer(), v.minValue(0)),
  next: v.nullish(v.string()),
  previous: optionalTextSchema,
  results: v.array(v.unknown()),
});

function decodePage<P>(body: unknown, parseItem: (item: unknown) => P | undefined): Outcome<V1Page<P>> {
  const parsed = parseBody(pageSchema, body);
  if (!parsed.ok) return parsed;
  const { count, next, previous, results } = parsed.value;
  const list = parseItems(results, 'results', parseItem);
  if (!list.ok) return list;
  return ok({
    count,
    isLast: next == null,
    ...optionalField('next', next),
    ...optionalField('previous', previous),
    results: list.value.kept,
    refusedPoints: list.value.refused,
  });
}

export const decodeDataPage = (body: unknown) => decodePage(body, parseDataPoint);
export const decodeMarginalPage = (body: unknown) => decodePage(body, parseMarginalPoint);

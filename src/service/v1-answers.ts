/** Decodes the earlier interface (specification 2.9), with the nulls it allows; keeps texts as sent. */

import * as v from 'valibot';
import type { Authority, FuelShare, V1DataPoint, V1MarginalPoint, V1Page } from './answers.ts';
import { checked, finite, given, instant, maybeText, ok, someText } from './decoding.ts';
import type { Outcome } from './failure.ts';
import { sifted } from './points.ts';

const maybe = <Schema extends v.GenericSchema>(schema: Schema) => v.fallback(v.nullish(schema), undefined);

const authority = v.object({
  abbrev: someText,
  name: maybeText,
  ba_type: maybeText,
  url: maybeText,
  link: maybeText,
  states: v.fallback(v.nullish(v.array(v.string()), []), []),
  notes: maybeText,
});

export function decodeAuthorities(body: unknown): Outcome<readonly Authority[]> {
  const read = checked(v.array(authority), body);
  if (!read.ok) return read;
  return ok(
    read.value.map(({ abbrev, name, ba_type, url, link, states, notes }) => ({
      abbrev,
      name: name ?? abbrev,
      ...given('type', ba_type),
      ...given('url', url),
      ...given('link', link),
      states: states ?? [],
      ...given('notes', notes),
    })),
  );
}

const common = {
  timestamp: instant,
  ba: someText,
  market: someText,
  freq: maybeText,
  url: maybeText,
  genmix: maybe(v.array(v.object({ fuel: someText, gen_MW: finite }))),
};
const dataPoint = v.object({ ...common, created_at: maybe(instant), carbon: maybe(finite) });
const marginalPoint = v.object({
  ...common,
  marginal_carbon: maybe(v.object({ value: finite, units: someText, structural_model: maybeText })),
  load: maybe(finite),
});

type Common = Pick<v.InferOutput<typeof dataPoint>, keyof typeof common>;

const commonOf = ({ timestamp, ba, market, freq, url, genmix }: Common) => ({
  at: timestamp,
  authority: ba,
  market,
  ...given('frequency', freq),
  ...given(
    'generation',
    genmix?.map(({ fuel, gen_MW }): FuelShare => ({ fuel, megawatts: gen_MW })),
  ),
  ...given('url', url),
});

function dataPointOf(item: unknown): V1DataPoint | undefined {
  const read = v.safeParse(dataPoint, item);
  if (!read.success) return undefined;
  const { created_at, carbon } = read.output;
  return { ...commonOf(read.output), ...given('createdAt', created_at), ...given('carbon', carbon) };
}

function marginalPointOf(item: unknown): V1MarginalPoint | undefined {
  const read = v.safeParse(marginalPoint, item);
  if (!read.success) return undefined;
  const { marginal_carbon: carbon, load } = read.output;
  const marginalCarbon =
    carbon == null
      ? undefined
      : { value: carbon.value, units: carbon.units, ...given('structuralModel', carbon.structural_model) };
  return { ...commonOf(read.output), ...given('marginalCarbon', marginalCarbon), ...given('load', load) };
}

const page = v.object({
  count: v.pipe(v.number(), v.integer(), v.minValue(0)),
  next: v.nullish(v.string()),
  previous: maybeText,
  results: v.array(v.unknown()),
});

function decodePage<P>(body: unknown, pointOf: (item: unknown) => P | undefined): Outcome<V1Page<P>> {
  const read = checked(page, body);
  if (!read.ok) return read;
  const { count, next, previous, results } = read.value;
  const list = sifted(results, 'results', pointOf);
  if (!list.ok) return list;
  return ok({
    count,
    isLast: next == null,
    ...given('next', next),
    ...given('previous', previous),
    results: list.value.kept,
    refusedPoints: list.value.refused,
  });
}

export const decodeDataPage = (body: unknown) => decodePage(body, dataPointOf);
export const decodeMarginalPage = (body: unknown) => decodePage(body, marginalPointOf);

/** What a request for values wants: its region, model and range, or the refusal it earns; and the `meta` that tells of it. Reads no values. */

import type { Account } from './accounts.ts';
import { type Answer, invalid, outOfScope } from './answer.ts';
import type { DataPath, Place, Signal } from './catalogue.ts';
import { defaultModel, type Model, modelsAt } from './models.ts';
import { opensData } from './plans.ts';
import type { Asking } from './query.ts';
import { writeTime } from './times.ts';

const DAY = 86_400_000;
/** Specification 8, for history. */
export const MOST_HISTORY = { length: 32 * DAY, words: '32 days' };
/** Specification 8, for past forecasts by the time they were generated at. */
export const MOST_PAST_FORECASTS = { length: DAY, words: '24 hours' };

export interface Wanted {
  readonly signal: Signal;
  readonly place: Place;
  readonly model: Model;
}

export interface Scope {
  readonly path: DataPath | 'v3/fuel-mix';
  readonly account: Account;
  readonly now: number;
}

/** The region and model of a request for a signal, or the refusal it earns: validity first, then the plan. */
export function wantedOf(ask: Asking, signal: Signal, { path, account, now }: Scope): Wanted | Answer {
  const region = ask.text('region');
  // The index is told of the default model alone (specification 4.4).
  const asked = path === 'v3/signal-index' ? undefined : ask.optional('model');
  const place = signal.places.get(region);
  if (ask.problems.length === 0 && place === undefined)
    ask.object('region', `"${region.slice(0, 40)}" is not a region of ${signal.type}`);
  const models = modelsAt(signal.monthDay, now);
  const model = asked === undefined ? defaultModel(models) : models.find(({ date }) => date === asked);
  if (ask.problems.length === 0 && model === undefined)
    ask.object('model', `"${asked?.slice(0, 40)}" is not one of ${models.map(({ date }) => date).join(', ')}`);
  if (ask.problems.length > 0 || place === undefined || model === undefined) return invalid(...ask.problems);
  if (path !== 'v3/signal-index' && !opensData(account.plan, region)) return outOfScope(`/${path}`, region);
  return { signal, place, model };
}

export const isRefusal = (value: Wanted | Answer): value is Answer => 'status' in value;

/** Reads an inclusive range no longer than `most`. */
export function rangeOf(ask: Asking, most: { readonly length: number; readonly words: string }) {
  const start = ask.time('start');
  const end = ask.time('end');
  if (end < start) ask.object('end', 'must not be before start');
  if (end - start > most.length) ask.object('end', `must be at most ${most.words} after start`);
  return { start, end };
}

export interface Meta {
  readonly generatedAt?: number;
  readonly generatedPeriod?: number;
  /** Others than the signal's own. */
  readonly units?: string;
  readonly signalType?: string;
  /** The model's type, where it is told (specification 2.6). */
  readonly modelType?: string;
}

export const metaOf = (
  { signal, place, model }: Wanted,
  { generatedAt, generatedPeriod, units = signal.units, signalType = signal.type, modelType }: Meta,
) => ({
  data_point_period_seconds: signal.period / 1_000,
  ...(generatedAt === undefined ? {} : { generated_at: writeTime(generatedAt) }),
  ...(generatedPeriod === undefined ? {} : { generated_at_period_seconds: generatedPeriod / 1_000 }),
  model: { date: model.date, ...(modelType === undefined ? {} : { type: modelType }) },
  region: place.region,
  signal_type: signalType,
  units,
  warnings: [],
});

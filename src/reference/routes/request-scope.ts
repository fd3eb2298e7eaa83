/** The region, model and range of a request for values, or its refusal, and the `meta` of its answer. */

import type { Account } from '../accounts/account-store.ts';
import { hasDataAccess } from '../accounts/plans.ts';
import type { Profile, ZoneText } from '../http/profile.ts';
import { type QueryReader, quoteInput } from '../http/query-parameters.ts';
import { type ApiResponse, badRequest, outOfScope } from '../http/response.ts';
import { formatServiceTime } from '../http/service-times.ts';
import type { CatalogueRegion, DataPath, Signal } from '../world/catalogue.ts';
import { findDefaultModel, listModels, type Model } from '../world/model-timetable.ts';

const DAY = 86_400_000;
/** Specification 8, for history. */
export const MAX_HISTORY = { length: 32 * DAY, words: '32 days' };
/** Specification 8, for past forecasts by the time they were generated at. */
export const MAX_PAST_FORECASTS = { length: DAY, words: '24 hours' };

export interface RequestScope {
  readonly signal: Signal;
  readonly region: CatalogueRegion;
  readonly model: Model;
  /** How the answer's times end. */
  readonly zone: ZoneText;
}

interface ScopeOptions {
  readonly path: DataPath | 'v3/fuel-mix';
  readonly account: Account;
  readonly now: number;
  readonly profile: Profile;
}

/** The region and model of a request for a signal, or its refusal: validity first, then the plan. */
export function resolveScope(
  query: QueryReader,
  signal: Signal,
  { path, account, now, profile }: ScopeOptions,
): RequestScope | ApiResponse {
  const regionName = query.text('region');
  // The index is always that of the default model (specification 4.4).
  const modelDate = path === 'v3/signal-index' ? undefined : query.optionalText('model');
  const region = signal.regions.get(regionName);
  if (query.problems.length === 0 && region === undefined)
    query.reject('region', `${quoteInput(regionName)} is not a region of ${signal.type}`);
  const models = listModels(signal.monthDay, now);
  const model = modelDate === undefined ? findDefaultModel(models) : models.find(({ date }) => date === modelDate);
  if (query.problems.length === 0 && model === undefined)
    query.reject('model', `${quoteInput(modelDate ?? '')} is not one of ${models.map(({ date }) => date).join(', ')}`);
  if (query.problems.length > 0 || region === undefined || model === undefined) return badRequest(query.problems);
  if (path !== 'v3/signal-index' && !hasDataAccess(account.plan, regionName))
    return outOfScope(profile, `/${path}`, regionName);
  return { signal, region, model, zone: profile.zone };
}

export const isRefusal = (value: RequestScope | ApiResponse): value is ApiResponse => 'status' in value;

/** Reads an inclusive range no longer than the limit. */
export function readTimeRange(query: QueryReader, limit: { readonly length: number; readonly words: string }) {
  const start = query.time('start');
  const end = query.time('end');
  if (end < start) query.reject('end', 'must not be before start');
  if (end - start > limit.length) query.reject('end', `must be at most ${limit.words} after start`);
  return { start, end };
}

interface MetaOptions {
  readonly generatedAt?: number;
  readonly generatedPeriod?: number;
  /** In place of the signal's own. */
  readonly units?: string;
  readonly signalType?: string;
  /** The model's type, where the specification has it in `meta` (2.6). */
  readonly modelType?: string;
}

export const buildMeta = (
  { signal, region, model, zone }: RequestScope,
  { generatedAt, generatedPeriod, units = signal.units, signalType = signal.type, modelType }: MetaOptions,
) => ({
  data_point_period_seconds: signal.period / 1_000,
  ...(generatedAt === undefined ? {} : { generated_at: formatServiceTime(generatedAt, zone) }),
  ...(generatedPeriod === undefined ? {} : { generated_at_period_seconds: generatedPeriod / 1_000 }),
  model: { date: model.date, ...(modelType === undefined ? {} : { type: modelType }) },
  region: region.name,
  signal_type: signalType,
  units,
  warnings: [],
});

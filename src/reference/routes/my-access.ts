/** `/v3/my-access`: what an account's plan opens, with the models behind it (specification 2.7). */

import type { Account } from '../accounts/account-store.ts';
import { hasDataAccess, hasMapAccess, type PlanName } from '../accounts/plans.ts';
import type { Profile } from '../http/profile.ts';
import { QueryReader, quoteInput } from '../http/query-parameters.ts';
import { badRequest, okResponse } from '../http/response.ts';
import type { AuthorizedRoute } from '../http/route-types.ts';
import { type CatalogueRegion, type DataPath, type Signal, signalTypes } from '../world/catalogue.ts';
import { describeModel, listModels, omitOldModels } from '../world/model-timetable.ts';
import { FUEL_MIX, FUEL_MIX_MODEL, FUEL_MIX_PATH } from './fuel-mix.ts';

function listOpenPaths(signal: Signal, region: string, plan: PlanName): readonly string[] {
  const isGated = (path: DataPath) => path !== 'v3/signal-index';
  const data = signal.paths.filter((path) => !isGated(path) || hasDataAccess(plan, region));
  const maps = hasMapAccess(plan) ? ['v3/maps'] : [];
  return data.length === 0 ? [] : [...data, 'v3/region-from-loc', ...maps];
}

/** One signal type of the answer, and what is open in each of its regions. */
interface AccessRow {
  readonly type: string;
  readonly signal: Signal;
  readonly modelType: (place: CatalogueRegion) => string;
  readonly openPaths: (place: CatalogueRegion) => readonly string[];
}

function listAccessRows(signals: readonly Signal[], { plan }: Account, profile: Profile): readonly AccessRow[] {
  const keepListed = (paths: readonly string[]) =>
    paths.filter((path) => profile.listedEndpoints?.includes(path) ?? true);
  const rows = signals.map((signal) => ({
    type: signal.type,
    signal,
    modelType: ({ modelType }: CatalogueRegion) => modelType,
    openPaths: ({ name: region }: CatalogueRegion) => keepListed(listOpenPaths(signal, region, plan)),
  }));
  const fuelMix = signals
    .filter(({ type }) => profile.extras && type === 'co2_moer')
    .map((signal) => ({
      type: FUEL_MIX,
      signal,
      modelType: () => FUEL_MIX_MODEL,
      openPaths: ({ name: region }: CatalogueRegion) => keepListed(hasDataAccess(plan, region) ? [FUEL_MIX_PATH] : []),
    }));
  return [...rows, ...fuelMix];
}

function describeRegion({ signal, modelType, openPaths }: AccessRow, region: CatalogueRegion, now: number) {
  const { since, until } = region.source();
  const models = listModels(signal.monthDay, now);
  const listModelsOf = (endpoint: string) => {
    if (endpoint === 'v3/maps' || endpoint === 'v3/region-from-loc') return [];
    const ofEndpoint = /historical|fuel-mix/.test(endpoint) ? models : omitOldModels(models);
    return ofEndpoint.map((model) => describeModel(model, { type: modelType(region), since, until }, now));
  };
  return {
    region: region.name,
    region_full_name: region.fullName,
    parent: region.parent,
    data_point_period_seconds: signal.period / 1_000,
    endpoints: openPaths(region).map((endpoint) => ({ endpoint, models: listModelsOf(endpoint) })),
  };
}

export const myAccess: AuthorizedRoute = ({ catalogue, profile }, request, account) => {
  const query = new QueryReader(request.query);
  const regionName = query.optionalText('region');
  const requestedType = query.optionalText('signal_type');
  const signals = signalTypes.map((type) => catalogue[type]);
  const rows = listAccessRows(signals, account, profile);
  if (requestedType !== undefined && !rows.some(({ type }) => type === requestedType))
    query.reject(
      'signal_type',
      `${quoteInput(requestedType)} is not one of ${rows.map(({ type }) => type).join(', ')}`,
    );
  if (regionName !== undefined && !signals.some(({ regions: places }) => places.has(regionName)))
    query.reject('region', `${quoteInput(regionName)} is not a known region`);
  if (query.problems.length > 0) return badRequest(query.problems);

  const openTypes = rows
    .filter(({ type }) => (requestedType ?? type) === type)
    .map((row) => ({
      signal_type: row.type,
      regions: [...row.signal.regions.values()]
        .filter((place) => (regionName ?? place.name) === place.name && row.openPaths(place).length > 0)
        .map((place) => describeRegion(row, place, request.now)),
    }));
  return okResponse({ signal_types: openTypes.filter(({ regions }) => regions.length > 0) });
};

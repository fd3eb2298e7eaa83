/** `/v3/my-access`: what an account's plan opens, with the models behind it (specification 2.7). Opens nothing itself. */

import type { Account } from './accounts.ts';
import { invalid, ok } from './answer.ts';
import { type DataPath, type Place, type Signal, signalTypes } from './catalogue.ts';
import { FUEL_MIX, FUEL_MIX_MODEL, FUEL_MIX_PATH } from './extras.ts';
import { describeModel, modelsAt } from './models.ts';
import { opensData, opensMaps, type PlanName } from './plans.ts';
import { asking } from './query.ts';
import type { AccountPath } from './service.ts';

function openPaths(signal: Signal, region: string, plan: PlanName): readonly string[] {
  const gated = (path: DataPath) => path !== 'v3/signal-index';
  const data = signal.paths.filter((path) => !gated(path) || opensData(plan, region));
  const maps = opensMaps(plan) ? ['v3/maps'] : [];
  return data.length === 0 ? [] : [...data, 'v3/region-from-loc', ...maps];
}

/** A row of the description: a signal type, the places behind it, and what is open in each of them. */
interface Row {
  readonly type: string;
  readonly signal: Signal;
  readonly modelType: (place: Place) => string;
  readonly open: (place: Place) => readonly string[];
}

function rowsOf(signals: readonly Signal[], { plan }: Account, extras: boolean): readonly Row[] {
  const rows = signals.map((signal) => ({
    type: signal.type,
    signal,
    modelType: ({ modelType }: Place) => modelType,
    open: ({ region }: Place) => openPaths(signal, region, plan),
  }));
  const fuelMix = signals
    .filter(({ type }) => extras && type === 'co2_moer')
    .map((signal) => ({
      type: FUEL_MIX,
      signal,
      modelType: () => FUEL_MIX_MODEL,
      open: ({ region }: Place) => (opensData(plan, region) ? [FUEL_MIX_PATH] : []),
    }));
  return [...rows, ...fuelMix];
}

function describe({ signal, modelType, open }: Row, place: Place, now: number) {
  const { since, until } = place.source();
  const models = modelsAt(signal.monthDay, now).map((model) =>
    describeModel(model, { type: modelType(place), since, until }, now),
  );
  const withModels = (endpoint: string) => endpoint !== 'v3/maps' && endpoint !== 'v3/region-from-loc';
  return {
    region: place.region,
    region_full_name: place.fullName,
    parent: place.parent ?? null,
    data_point_period_seconds: signal.period / 1_000,
    endpoints: open(place).map((endpoint) => ({ endpoint, models: withModels(endpoint) ? models : [] })),
  };
}

export const myAccess: AccountPath = ({ catalogue, extras }, call, account) => {
  const ask = asking(call.query);
  const region = ask.optional('region');
  const asked = ask.optional('signal_type');
  const signals = signalTypes.map((type) => catalogue[type]);
  const rows = rowsOf(signals, account, extras);
  if (asked !== undefined && !rows.some(({ type }) => type === asked))
    ask.object('signal_type', `"${asked.slice(0, 40)}" is not one of ${rows.map(({ type }) => type).join(', ')}`);
  if (region !== undefined && !signals.some(({ places }) => places.has(region)))
    ask.object('region', `"${region.slice(0, 40)}" is not a known region`);
  if (ask.problems.length > 0) return invalid(...ask.problems);

  const opened = rows
    .filter(({ type }) => (asked ?? type) === type)
    .map((row) => ({
      signal_type: row.type,
      regions: [...row.signal.places.values()]
        .filter((place) => (region ?? place.region) === place.region && row.open(place).length > 0)
        .map((place) => describe(row, place, call.now)),
    }));
  return ok({ signal_types: opened.filter(({ regions }) => regions.length > 0) });
};

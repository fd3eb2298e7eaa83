/** `/v3/my-access`: what an account's plan opens, with the models behind it (specification 2.7). Opens nothing itself. */

import type { Account } from './accounts.ts';
import { invalid, ok } from './answer.ts';
import type { DataPath, Place, Signal } from './catalogue.ts';
import { signalTypes } from './catalogue.ts';
import { FUEL_MIX, fuelMixAccess } from './extras.ts';
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

interface Scope {
  readonly account: Account;
  readonly now: number;
}

function describe(signal: Signal, place: Place, { account, now }: Scope) {
  const { since, until } = place.source();
  const models = modelsAt(signal.monthDay, now).map((model) =>
    describeModel(model, { type: place.modelType, since, until }, now),
  );
  const withModels = (endpoint: string) => endpoint !== 'v3/maps' && endpoint !== 'v3/region-from-loc';
  return {
    region: place.region,
    region_full_name: place.fullName,
    parent: place.parent ?? null,
    data_point_period_seconds: signal.period / 1_000,
    endpoints: openPaths(signal, place.region, account.plan).map((endpoint) => ({
      endpoint,
      models: withModels(endpoint) ? models : [],
    })),
  };
}

export const myAccess: AccountPath = ({ catalogue, extras }, call, account) => {
  const ask = asking(call.query);
  const region = ask.optional('region');
  const type = ask.optional('signal_type');
  const types = extras ? [...signalTypes, FUEL_MIX] : signalTypes;
  if (type !== undefined && !(types as readonly string[]).includes(type))
    ask.object('signal_type', `"${type.slice(0, 40)}" is not one of ${types.join(', ')}`);
  if (region !== undefined && !signalTypes.some((name) => catalogue[name].places.has(region)))
    ask.object('region', `"${region.slice(0, 40)}" is not a known region`);
  if (ask.problems.length > 0) return invalid(...ask.problems);

  const opened = signalTypes
    .filter((name) => type === undefined || name === type)
    .map((name) => ({
      signal_type: name,
      regions: [...catalogue[name].places.values()]
        .filter((place) => region === undefined || place.region === region)
        .map((place) => describe(catalogue[name], place, { account, now: call.now }))
        .filter(({ endpoints }) => endpoints.length > 0),
    }))
    .filter(({ regions }) => regions.length > 0);
  const wantsMix = extras && (type === undefined || type === FUEL_MIX);
  const mix = wantsMix ? fuelMixAccess(catalogue.co2_moer, account, { now: call.now, region }) : [];
  return ok({ signal_types: [...opened, ...mix] });
};

/** Decides from the access description what may be asked for one region, and says what has changed since the last look. Asks nothing. */

import type { Access, AccessModel } from './answers.ts';

/** `unknown`: the description does not say; one request tells, and a gate it meets holds for a day. */
export type Gate = 'open' | 'closed' | 'unknown';

/** What the account opens for a region and a signal (specification 1.4, 2.7). Read once a day. */
export interface Plan {
  readonly region: string;
  readonly signalType: string;
  readonly forecast: Gate;
  readonly pastForecasts: Gate;
  readonly history: Gate;
  readonly index: Gate;
  readonly map: Gate;
  /** Models of the forecast, or of whatever else is open. */
  readonly models: readonly AccessModel[];
  /** False when the description does not name the region at all: it may have been renamed. */
  readonly isListed: boolean;
}

type Region = Access['signalTypes'][number]['regions'][number];

const endpointOf = (region: Region | undefined, path: string) =>
  region?.endpoints.find(({ endpoint }) => endpoint === path);

/** Some services list no maps at all: only a list that names them for one region tells of the others. */
function mapGate(regions: readonly Region[]): Gate {
  return regions.some((region) => endpointOf(region, 'v3/maps') !== undefined) ? 'open' : 'unknown';
}

export function planOf(
  access: Access,
  { region, signalType }: { readonly region: string; readonly signalType: string },
): Plan {
  const regions = access.signalTypes.find((one) => one.signalType === signalType)?.regions ?? [];
  const own = regions.find((one) => one.region === region);
  const gate = (path: string): Gate => (endpointOf(own, path) === undefined ? 'closed' : 'open');
  const models = (own?.endpoints ?? []).find((one) => one.endpoint === 'v3/forecast') ?? own?.endpoints[0];
  return {
    region,
    signalType,
    forecast: gate('v3/forecast'),
    pastForecasts: gate('v3/forecast/historical'),
    history: gate('v3/historical'),
    // Free to all in every covered region, and of this signal alone (specification 1.4, 4.4).
    index: signalType === 'co2_moer' ? 'open' : 'closed',
    map: mapGate(regions),
    models: models?.models ?? [],
    isListed: own !== undefined,
  };
}

/** Before the first description: everything may be tried. */
export const unknownPlan = (region: string, signalType: string): Plan => ({
  region,
  signalType,
  forecast: 'unknown',
  pastForecasts: 'unknown',
  history: 'unknown',
  index: signalType === 'co2_moer' ? 'open' : 'closed',
  map: 'unknown',
  models: [],
  isListed: true,
});

/** Parts of a plan that may be gated. */
export type GatedPart = 'forecast' | 'pastForecasts' | 'history' | 'map';

const PARTS: Readonly<Record<GatedPart, string>> = {
  forecast: 'the forecast',
  pastForecasts: 'past forecasts',
  history: 'history',
  map: 'the map',
};

/** One sentence for each gate that opened or closed; none while a gate only becomes known as open. */
export function planChanges(before: Plan, now: Plan): readonly string[] {
  if (before.region !== now.region || before.signalType !== now.signalType) return [];
  return (Object.keys(PARTS) as GatedPart[]).flatMap((part) => {
    if (before[part] === now[part] || now[part] === 'unknown') return [];
    if (now[part] === 'open')
      return before[part] === 'closed' ? [`the account now includes ${PARTS[part]} of ${now.region}`] : [];
    return [`the account does not include ${PARTS[part]} of ${now.region}; a subscription would`];
  });
}

/**
 * The plan after a new description, `read`; `described` is the one before it. A gate that is described as before stays as
 * the last request met it: some services open other than they list, and each day would tell of a change that is none.
 */
export function withDescription(plan: Plan, described: Plan | undefined, read: Plan): Plan {
  const isKept = (part: GatedPart) =>
    described === undefined ? plan[part] !== 'unknown' : read[part] === described[part];
  const kept = (Object.keys(PARTS) as GatedPart[]).filter(isKept);
  return { ...read, ...Object.fromEntries(kept.map((part) => [part, plan[part]])) };
}

/** A request met a gate, or passed it: the plan as that tells it. */
export const withGate = (plan: Plan, part: GatedPart, gate: 'open' | 'closed'): Plan =>
  plan[part] === gate ? plan : { ...plan, [part]: gate };

/** What the account opens for the region, for people; undefined before the first description. */
export function planWords(plan: Plan): string | undefined {
  const parts = Object.keys(PARTS) as GatedPart[];
  if (plan.forecast === 'unknown' && parts.every((part) => plan[part] === 'unknown')) return undefined;
  const index = plan.index === 'open' ? ['the live index'] : [];
  const open = [...index, ...parts.filter((part) => plan[part] === 'open').map((part) => PARTS[part])];
  const closed = parts.filter((part) => plan[part] === 'closed').map((part) => PARTS[part]);
  const included = `${plan.region}: ${open.length === 0 ? 'nothing' : open.join(', ')}`;
  return closed.length === 0 ? included : `${included}; not included: ${closed.join(', ')}`;
}

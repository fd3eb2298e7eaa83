/** Decides from the access description what may be asked for one region, and says what has changed since the last look. Asks nothing. */

import type { Access, AccessModel } from '../api/response-types.ts';

/** `unknown`: the description does not say; one request tells, and a gate it meets holds for a day. */
export type Gate = 'open' | 'closed' | 'unknown';

/** What the account opens for a region and a signal (specification 1.4, 2.7). Read once a day. */
export interface Entitlements {
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

type AccessRegion = Access['signalTypes'][number]['regions'][number];

const findEndpoint = (region: AccessRegion | undefined, path: string) =>
  region?.endpoints.find(({ endpoint }) => endpoint === path);

/** Some services list no maps at all: only a list that names them for one region tells of the others. */
function deriveMapGate(regions: readonly AccessRegion[]): Gate {
  return regions.some((region) => findEndpoint(region, 'v3/maps') !== undefined) ? 'open' : 'unknown';
}

export function deriveEntitlements(
  access: Access,
  { region, signalType }: { readonly region: string; readonly signalType: string },
): Entitlements {
  const regions = access.signalTypes.find((one) => one.signalType === signalType)?.regions ?? [];
  const accessRegion = regions.find((one) => one.region === region);
  const gate = (path: string): Gate => (findEndpoint(accessRegion, path) === undefined ? 'closed' : 'open');
  const models =
    (accessRegion?.endpoints ?? []).find((one) => one.endpoint === 'v3/forecast') ?? accessRegion?.endpoints[0];
  return {
    region,
    signalType,
    forecast: gate('v3/forecast'),
    pastForecasts: gate('v3/forecast/historical'),
    history: gate('v3/historical'),
    // Free to all in every covered region, and of this signal alone (specification 1.4, 4.4).
    index: signalType === 'co2_moer' ? 'open' : 'closed',
    map: deriveMapGate(regions),
    models: models?.models ?? [],
    isListed: accessRegion !== undefined,
  };
}

/** Before the first description: everything may be tried. */
export const createUnknownEntitlements = (region: string, signalType: string): Entitlements => ({
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

const GATED_PART_NAMES: Readonly<Record<GatedPart, string>> = {
  forecast: 'the forecast',
  pastForecasts: 'past forecasts',
  history: 'history',
  map: 'the map',
};

/** One sentence for each gate that opened or closed; none while a gate only becomes known as open. */
export function formatEntitlementChanges(before: Entitlements, now: Entitlements): readonly string[] {
  if (before.region !== now.region || before.signalType !== now.signalType) return [];
  return (Object.keys(GATED_PART_NAMES) as GatedPart[]).flatMap((part) => {
    if (before[part] === now[part] || now[part] === 'unknown') return [];
    if (now[part] === 'open')
      return before[part] === 'closed' ? [`the account now includes ${GATED_PART_NAMES[part]} of ${now.region}`] : [];
    return [`the account does not include ${GATED_PART_NAMES[part]} of ${now.region}; a subscription would`];
  });
}

/**
 * The plan after a new description, `read`; `described` is the one before it. A gate that is described as before stays as
 * the last request met it: some services open other than they list, and each day would tell of a change that is none.
 */
export function applyDescription(
  current: Entitlements,
  described: Entitlements | undefined,
  description: Entitlements,
): Entitlements {
  const isKept = (part: GatedPart) =>
    described === undefined ? current[part] !== 'unknown' : description[part] === described[part];
  const kept = (Object.keys(GATED_PART_NAMES) as GatedPart[]).filter(isKept);
  return { ...description, ...Object.fromEntries(kept.map((part) => [part, current[part]])) };
}

/** A request met a gate, or passed it: the plan as that tells it. */
export const applyGate = (entitlements: Entitlements, part: GatedPart, gate: 'open' | 'closed'): Entitlements =>
  entitlements[part] === gate ? entitlements : { ...entitlements, [part]: gate };

/** What the account opens for the region, for people; undefined before the first description. */
export function formatEntitlements(entitlements: Entitlements): string | undefined {
  const parts = Object.keys(GATED_PART_NAMES) as GatedPart[];
  if (entitlements.forecast === 'unknown' && parts.every((part) => entitlements[part] === 'unknown')) return undefined;
  const index = entitlements.index === 'open' ? ['the live index'] : [];
  const open = [
    ...index,
    ...parts.filter((part) => entitlements[part] === 'open').map((part) => GATED_PART_NAMES[part]),
  ];
  const closed = parts.filter((part) => entitlements[part] === 'closed').map((part) => GATED_PART_NAMES[part]);
  const included = `${entitlements.region}: ${open.length === 0 ? 'nothing' : open.join(', ')}`;
  return closed.length === 0 ? included : `${included}; not included: ${closed.join(', ')}`;
}

/** The endpoints that an account may request for one region, from the access description and from refused requests. */

import type { Access, AccessModel } from '../api/response-types.ts';
import { findIncludingPlan } from '../failure-text.ts';

/** `unknown`: not listed, which proves nothing because no list is complete; the first request decides, and a refusal counts for a day. */
type Gate = 'open' | 'closed' | 'unknown';

/** Parts of a plan that the service may refuse. */
export type GatedPart = 'forecast' | 'pastForecasts' | 'history' | 'map';

/** What the account opens for a region and a signal (specification 1.4, 2.7). Read once a day. */
export interface Entitlements extends Readonly<Record<GatedPart | 'index', Gate>> {
  readonly region: string;
  readonly signalType: string;
  /** Models of the forecast, or of another open endpoint. */
  readonly models: readonly AccessModel[];
  /** Whether the description names the region: one that it named before may have been renamed. */
  readonly isListed: boolean;
}

const PARTS: Readonly<Record<GatedPart, { readonly path: string; readonly name: string }>> = {
  forecast: { path: 'v3/forecast', name: 'the forecast' },
  pastForecasts: { path: 'v3/forecast/historical', name: 'past forecasts' },
  history: { path: 'v3/historical', name: 'history' },
  map: { path: 'v3/maps', name: 'the map' },
};
const PART_KEYS = Object.keys(PARTS) as readonly GatedPart[];

/** Before the first description: everything may be tried. */
export const createUnknownEntitlements = (region: string, signalType: string): Entitlements =>
  deriveEntitlements({ signalTypes: [] }, { region, signalType });

export function deriveEntitlements(
  access: Access,
  { region, signalType }: { readonly region: string; readonly signalType: string },
): Entitlements {
  const regions = access.signalTypes.filter((one) => one.signalType === signalType).flatMap((one) => one.regions);
  const own = regions.find((one) => one.region === region);
  const gate = (part: GatedPart, listings: typeof regions): Gate =>
    listings.some(({ endpoints }) => endpoints.some(({ endpoint }) => endpoint === PARTS[part].path))
      ? 'open'
      : 'unknown';
  const ownListing = own === undefined ? [] : [own];
  const endpoint = own?.endpoints.find((one) => one.endpoint === PARTS.forecast.path) ?? own?.endpoints[0];
  return {
    region,
    signalType,
    forecast: gate('forecast', ownListing),
    pastForecasts: gate('pastForecasts', ownListing),
    history: gate('history', ownListing),
    // Free to all in every covered region, and of this signal alone (specification 1.4, 4.4).
    index: signalType === 'co2_moer' ? 'open' : 'closed',
    // One map covers all regions.
    map: gate('map', regions),
    models: endpoint?.models ?? [],
    isListed: own !== undefined,
  };
}

/** One sentence for each gate that opened or closed; none while a gate only becomes known as open. */
export function formatEntitlementChanges(before: Entitlements, now: Entitlements): readonly string[] {
  const { region } = now;
  if (before.region !== region || before.signalType !== now.signalType) return [];
  return PART_KEYS.flatMap((part) => {
    const { name, path } = PARTS[part];
    if (before[part] === now[part]) return [];
    if (now[part] === 'closed')
      return [`the account does not include ${name} of ${region}; ${findIncludingPlan(`/${path}`)} does`];
    return before[part] === 'closed' && now[part] === 'open' ? [`the account now includes ${name} of ${region}`] : [];
  });
}

/**
 * The plan after a new description; `described` is the one before it. A gate that is described as before stays as the last
 * request left it: some services open other paths than they list, and each day would report a change that is none.
 */
export function applyDescription(
  current: Entitlements,
  described: Entitlements | undefined,
  description: Entitlements,
): Entitlements {
  const isKept = (part: GatedPart) =>
    described === undefined ? current[part] !== 'unknown' : description[part] === described[part];
  return { ...description, ...Object.fromEntries(PART_KEYS.filter(isKept).map((part) => [part, current[part]])) };
}

/** The plan after a request of `part` was refused as not included, or answered. */
export const applyGate = (entitlements: Entitlements, part: GatedPart, gate: 'open' | 'closed'): Entitlements =>
  entitlements[part] === gate ? entitlements : { ...entitlements, [part]: gate };

/** The endpoints that the account may use for the region, for people; undefined while all are unknown. */
export function formatEntitlements(entitlements: Entitlements): string | undefined {
  const listParts = (gate: Gate) =>
    PART_KEYS.filter((part) => entitlements[part] === gate).map((part) => PARTS[part].name);
  if (listParts('unknown').length === PART_KEYS.length && !entitlements.isListed) return undefined;
  const open = [...(entitlements.index === 'open' ? ['the live index'] : []), ...listParts('open')];
  const closed = listParts('closed');
  const included = `${entitlements.region}: ${open.join(', ') || 'nothing'}`;
  return closed.length === 0 ? included : `${included}; not included: ${closed.join(', ')}`;
}

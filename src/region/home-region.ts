/** Decides in which region the device's place lies: from the disk at a start, from a new map, or from the service when the account has no maps. */

import { type Disk, DiskError, type Log } from '../domain/ports.ts';
import { formatInstant, type Instant, type Place } from '../domain/units.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Failure, Outcome } from '../service/failure.ts';
import { readHome, saveHome } from './home-store.ts';
import type { MapOutcome } from './import-map.ts';
import { readIndexHeader, readMapInfo } from './index/index-reader.ts';
import { buildDamagedError, toMapFailure } from './map-failure.ts';
import { readMapVersion, saveMapVersion } from './map-version.ts';
import type {
  FoundRegion,
  HomeRegion,
  ImportedMap,
  ImportOptions,
  ImportResult,
  MapSource,
  RegionChange,
  RegionName,
} from './region-types.ts';

const formatRegion = ({ region, regionFullName }: RegionName) => `${region} (${regionFullName})`;

/** What a newly found region means: another region replaces the one in use only once the service knows it (`confirmRegion`). */
export function compareRegions(
  place: Place,
  current: HomeRegion | undefined,
  found: FoundRegion | undefined,
): RegionChange | undefined {
  if (current === undefined) return found === undefined ? undefined : { kind: 'first', home: { place, ...found } };
  if (found === undefined) {
    const message = `the place lies in no region any more; ${formatRegion(current)} stays in use; check the place's latitude and longitude`;
    return { kind: 'vanished', home: current, message };
  }
  const { region, regionFullName, source, mapLastUpdated } = found;
  if (region === current.region) return { kind: 'same', home: { place, ...found } };
  const { mapLastUpdated: _, ...kept } = current;
  return {
    kind: 'changed',
    home: {
      ...kept,
      source,
      ...(mapLastUpdated === undefined ? {} : { mapLastUpdated }),
      proposed: { region, regionFullName },
    },
    message: `the place now lies in ${formatRegion(found)} instead of ${formatRegion(current)}, which stays in use until the service answers for the new one`,
  };
}

/** Puts the proposed region into use: when the service knows it (my-access lists it, region-from-loc names it) or refuses the old one. */
export function confirmRegion(home: HomeRegion): HomeRegion {
  const { proposed, ...rest } = home;
  return { ...rest, ...proposed };
}

/** The region of a place by the stored map; undefined when no map can be used. Rejects with `DiskError`. */
async function findInStoredMap(disk: Disk, signalType: string, place: Place) {
  const { openMap } = await import('./lookup.ts');
  const map = await openMap(disk, signalType);
  if (map === undefined || 'kind' in map) return undefined;
  try {
    const match = await map.findRegion(place);
    if (match === undefined) return { found: undefined };
    const { region, regionFullName } = match;
    const { lastUpdated } = map.info;
    const age = lastUpdated === undefined ? {} : { mapLastUpdated: lastUpdated };
    return { found: { region, regionFullName, source: 'map', ...age } satisfies FoundRegion };
  } finally {
    await map.close();
  }
}

/**
 * The region of the device's place without a request: the stored one while place and index are those it was stored for, else looked
 * up in the index and stored. Undefined when neither file has one. Rejects with `DiskError`.
 */
export async function resolveHome(disk: Disk, signalType: string, place: Place): Promise<HomeRegion | undefined> {
  const stored = await readHome(disk, signalType, place);
  if (stored?.home.source === 'service') return stored.home;
  const header = await readIndexHeader(disk, signalType);
  if (header === undefined || stored?.indexIdentity === header.identity) return stored?.home;
  try {
    const match = await findInStoredMap(disk, signalType, place);
    if (match === undefined) return stored?.home;
    const change = compareRegions(place, stored?.home, match.found);
    if (change !== undefined) await saveHome(disk, signalType, change.home);
    return change?.home;
  } catch (error) {
    // The stored region is better than none, though it comes from another index.
    if (!(error instanceof DiskError) || stored === undefined) throw error;
    return stored.home;
  }
}

/** What a map means for the place, if one is given; stores it. */
async function applyMap(
  { disk, signalType, homePlace: place, log }: Omit<ImportOptions, 'chunks'>,
  { found: foundOnTheWay, ...result }: MapOutcome,
  current: HomeRegion | undefined,
): Promise<ImportedMap> {
  if (place === undefined) return result;
  const found = result.unchanged ? (await findInStoredMap(disk, signalType, place))?.found : foundOnTheWay;
  const change = compareRegions(place, current, found);
  if (change === undefined) return result;
  if ('message' in change) log?.('warn', change.message);
  await saveHome(disk, signalType, change.home);
  return { ...result, home: change.home, change: change.kind };
}

/** Imports a map, decides what it means for the place, if one is given, and stores that. Rejects only for a broken law. */
export async function importHomeMap(options: ImportOptions): Promise<ImportResult> {
  const { disk, signalType, homePlace: place } = options;
  const { importMap } = await import('./import-map.ts');
  try {
    const current = place && (await readHome(disk, signalType, place))?.home;
    const outcome = await importMap(options, current?.source === 'map' ? current.region : undefined);
    await saveMapVersion(disk, signalType, options.mapVersion);
    return await applyMap(options, outcome, current);
  } catch (error) {
    return { ok: false, failure: toMapFailure(error) };
  }
}

/** As `importHomeMap`, when the service calls the stored map the newest. */
async function keepHomeMap(options: Omit<ImportOptions, 'chunks'>): Promise<ImportResult> {
  const { disk, signalType, homePlace: place } = options;
  try {
    const info = await readMapInfo(disk, signalType);
    if (info === undefined || 'kind' in info) throw buildDamagedError('the stored map is missing; try again');
    options.log?.(
      'info',
      `the service has no newer map than that of ${formatInstant(info.lastUpdated ?? info.importedAt)}`,
    );
    const current = place && (await readHome(disk, signalType, place))?.home;
    return await applyMap(options, { ok: true, info, unchanged: true }, current);
  } catch (error) {
    return { ok: false, failure: toMapFailure(error) };
  }
}

export type DownloadOptions = Omit<ImportOptions, 'chunks' | 'mapVersion' | 'onProgress'> & {
  /** Called when a map begins to arrive, with the bytes to come where they are known; returns what `importHomeMap` calls. */
  readonly onStart?: (total: number | undefined) => ImportOptions['onProgress'];
};

/** Asks the service for its map and imports it, unless the stored one is the newest. Rejects only for a broken law. */
export async function downloadHomeMap(
  service: MapSource,
  { onStart, ...options }: DownloadOptions,
): Promise<Outcome<ImportResult>> {
  const { disk, signalType, force } = options;
  const knownVersion = force ? undefined : await readMapVersion(disk, signalType).catch(ignoreDiskError);
  const answer = await service.map({ signalType, knownVersion });
  if (!answer.ok) return answer;
  if ('unchanged' in answer.value) return { ok: true, value: await keepHomeMap(options) };
  const { chunks, version, contentLength, isRelayed } = answer.value;
  const onProgress = onStart?.(contentLength);
  return {
    ok: true,
    value: await importHomeMap({
      ...options,
      chunks,
      mapVersion: version,
      ...(isRelayed === true && { isRelayed }),
      ...(onProgress === undefined ? {} : { onProgress }),
    }),
  };
}

/** The import reports a disk that cannot be read. */
function ignoreDiskError(error: unknown): undefined {
  if (!(error instanceof DiskError)) throw error;
}

export interface HomeSearch {
  readonly service: MapSource & Pick<ServiceClient, 'regionFromLoc'>;
  readonly disk: Disk;
  readonly signalType: ImportOptions['signalType'];
  readonly place: Place;
  readonly now: Instant;
  /** The region in use. */
  readonly current: HomeRegion | undefined;
  /** The search before this one failed. */
  readonly isRetry: boolean;
  readonly log: Log;
  readonly stop: AbortSignal;
}

export interface HomeSearchResult {
  readonly home?: HomeRegion;
  /** What is wrong, for people. */
  readonly problem?: string;
  /** The service's, where it is the cause of the problem. */
  readonly failure?: Failure;
  /** Whether to try again before the next regular refresh. */
  readonly failed: boolean;
}

const OUTSIDE = 'Coordinates not found: no region covers this place; check latitude and longitude and their signs';

export const formatUnconfirmed = ({ proposed }: HomeRegion) =>
  `the map now puts the place into ${proposed?.region}, which the service does not confirm`;

/** Asks for the region: the map where the plan has it, else the one question that discloses the place. */
export async function searchHome(search: HomeSearch): Promise<HomeSearchResult> {
  const { service, disk, signalType, place, now, log, stop } = search;
  // A path that answered 429 uses up the rate limit of all: where it failed before, the region comes first.
  if (search.isRetry && search.current === undefined) {
    const { home } = await askService(search);
    if (home !== undefined) return { home, problem: 'no new map yet', failed: true };
  }
  const answer = await downloadHomeMap(service, { disk, signalType, now, homePlace: place, log, stop });
  if (!answer.ok) {
    const { failure } = answer;
    if (failure.kind === 'not-entitled') return askService(search);
    const problem = { problem: 'no new map', failure, failed: true };
    return mayAnswerElsewhere(failure) ? askWithoutMap(search, problem) : problem;
  }
  const result = answer.value;
  if (!result.ok) {
    const { kind, message } = result.failure;
    const problem = { problem: `no new map: ${message}`, failed: kind !== 'suspicious' };
    return kind === 'stopped' ? problem : askWithoutMap(search, problem);
  }
  const { home, change } = result;
  if (home === undefined) return { problem: OUTSIDE, failed: false };
  if (home.proposed !== undefined) return confirmProposal(search, home);
  if (change === 'vanished') return { home, problem: 'the place lies in no region of the new map', failed: false };
  return { home, failed: false };
}

/** Whether the service may answer on another path: it was reached. A login that was refused lets no second request out. */
function mayAnswerElsewhere(failure: Failure): boolean {
  switch (failure.kind) {
    case 'unreachable':
      return failure.reason !== 'no-connection';
    case 'server-error':
    case 'throttled':
    case 'rejected':
    case 'invalid-response':
    case 'outside-coverage':
    case 'not-entitled':
    case 'unauthorised':
      return true;
    case 'no-credentials':
    case 'invalid':
    case 'forbidden':
    case 'no-relayed-signal':
    case 'stopped':
      return false;
  }
}

/** A device without a map still finds its region: it asks the service. */
async function askWithoutMap(search: HomeSearch, problem: HomeSearchResult): Promise<HomeSearchResult> {
  if (search.current !== undefined) return problem;
  const { home } = await askService(search);
  return home === undefined ? problem : { ...problem, home };
}

/** A newer map names another region: it comes into use once the service names it for the place too. */
async function confirmProposal(search: HomeSearch, home: HomeRegion): Promise<HomeSearchResult> {
  const { service, place, signalType } = search;
  const answer = await service.regionFromLoc({ place, signalType });
  if (answer.ok && answer.value.region === home.proposed?.region) return storeConfirmed(search, home);
  const problem = formatUnconfirmed(home);
  if (answer.ok || answer.failure.kind === 'outside-coverage') return { home, problem, failed: false };
  return { home, problem, failure: answer.failure, failed: true };
}

async function askService(search: HomeSearch): Promise<HomeSearchResult> {
  const { service, place, signalType, current } = search;
  const answer = await service.regionFromLoc({ place, signalType });
  if (!answer.ok && answer.failure.kind !== 'outside-coverage')
    return { problem: 'the region was not found', failure: answer.failure, failed: true };
  const found = answer.ok ? toServiceRegion(answer.value) : undefined;
  const change = compareRegions(place, current, found);
  if (change === undefined) return { problem: OUTSIDE, failed: false };
  if (change.kind === 'vanished') return { home: change.home, problem: change.message, failed: false };
  return storeConfirmed(search, change.home);
}

const toServiceRegion = ({ region, regionFullName }: RegionName): FoundRegion => ({
  region,
  regionFullName,
  source: 'service',
});

async function storeConfirmed({ disk, signalType }: HomeSearch, proposal: HomeRegion): Promise<HomeSearchResult> {
  const home = confirmRegion(proposal);
  try {
    await saveHome(disk, signalType, home);
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    return { home, problem: `the region could not be stored (${error.message})`, failed: false };
  }
  return { home, failed: false };
}

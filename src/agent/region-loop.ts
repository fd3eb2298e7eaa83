/** Keeps the device's region known: from disk at once, from a new map each month, from the service where the plan has no maps. Decides no change (renewal does). */

import type { SignalType } from '../domain/load-types.ts';
import { type Cancel, type Clock, type Disk, DiskError, type Log, type Random } from '../domain/ports.ts';
import { addDuration, durationBetween, hours, type Instant, milliseconds, type Place } from '../domain/units.ts';
import { resolveHome, saveHome } from '../region/home-region.ts';
import { readMapInfo } from '../region/index/index-reader.ts';
import {
  compareRegions,
  confirmRegion,
  type EarlyReason,
  type RefreshState,
  scheduleMapRefresh,
} from '../region/refresh-policy.ts';
import type { HomeRegion, MapFailure } from '../region/region-types.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Failure, Outcome } from '../service/failure.ts';
import { computeRetryDelay } from '../service/limits/retry-delay.ts';
import type { DocumentStore } from './document-store.ts';
import { formatServiceFailure, getFailureKind } from './health-report.ts';
import type { Problems } from './problems.ts';

export interface RegionLoopParts {
  readonly service: Pick<ServiceClient, 'map' | 'regionFromLoc'>;
  readonly disk: Disk;
  readonly store: DocumentStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly problems: Problems;
  readonly signalType: SignalType;
  readonly device: string;
  readonly place: Place;
  /** The region in use, at the first finding and whenever it, its name or the age of its map is another. */
  readonly onRegion: (home: HomeRegion) => void;
}

export interface RegionLoop {
  /** Resolves when the disk has been asked; the service is asked in the background. */
  start(): Promise<void>;
  requestEarlyRefresh(why: EarlyReason): void;
  home(): HomeRegion | undefined;
  stop(): void;
}

const REGION_DOCUMENT = 'region';
const MAP_SUBJECT = 'map';
/** A timer by the wall clock is looked at again at least this often, for the clock may be set. */
const MAX_TIMER_WAIT = hours(6);

type RefreshResult = {
  readonly home?: HomeRegion;
  readonly problem?: string;
  readonly failed: boolean;
  /** Of the service, where it is what failed. */
  readonly failure?: Failure;
};

export function createRegionLoop(parts: RegionLoopParts): RegionLoop {
  const { service, disk, store, clock, random, log, problems, signalType, device, place } = parts;
  const stop = new AbortController();
  let home: HomeRegion | undefined;
  let state: Omit<RefreshState, 'device' | 'now'> = { failures: 0 };
  let refreshing = false;
  let timer: Cancel | undefined;

  const formatFailureNow = (failure: Failure) => formatServiceFailure(failure, clock.now().trusted);

  const schedule = (): void => {
    timer?.();
    if (stop.signal.aborted || refreshing) return;
    const now = clock.now();
    const { at } = scheduleMapRefresh({ device, now: now.wall, ...state });
    const wait = milliseconds(Math.min(MAX_TIMER_WAIT, Math.max(0, durationBetween(now.wall, at))));
    timer = clock.wakeAt(addDuration(now.uptime, wait), 'region', () =>
      at <= clock.now().wall ? void refresh() : schedule(),
    );
  };

  const refresh = async (): Promise<void> => {
    refreshing = true;
    const { home: found, problem: trouble, failed, failure } = await fetchRegion();
    refreshing = false;
    if (stop.signal.aborted) return;
    const now = clock.now().wall;
    state = failed ? { ...state, failures: state.failures + 1, failedAt: now } : { failures: 0, checkedAt: now };
    if (!failed) void store.save(REGION_DOCUMENT, new TextEncoder().encode(JSON.stringify({ checkedAt: now })));
    if (trouble === undefined) problems.resolve(MAP_SUBJECT);
    else
      problems.raise(
        MAP_SUBJECT,
        `${trouble}; ${formatRegionInUse(found ?? home)}`,
        failure === undefined ? trouble : getFailureKind(failure),
      );
    setHome(found);
    // Without a region nothing can be driven: then it is asked for as often as any other answer.
    if (home === undefined && failure !== undefined) {
      const wait = computeRetryDelay(failure, state.failures, random.fraction());
      timer?.();
      timer = clock.wakeAt(addDuration(clock.now().uptime, wait), 'region', () => void refresh());
    } else schedule();
  };

  const formatRegionInUse = (current: HomeRegion | undefined) =>
    current === undefined
      ? 'no region is known, so the loads stay at their fail-safe level'
      : `region ${current.region} stays in use`;

  const setHome = (found: HomeRegion | undefined): void => {
    if (found === undefined) return;
    const before = home;
    home = found;
    if (found.region !== before?.region)
      log('info', `region ${found.region} (${found.regionFullName})`, { source: found.source });
    if (!hasSameInfo(found, before)) parts.onRegion(found);
  };

  /** The map where the plan has it, else the one question that costs the place. */
  const fetchRegion = async (): Promise<RefreshResult> => {
    const answer = await service.map({ signalType });
    if (!answer.ok) {
      if (answer.failure.kind === 'gated') return fetchRegionFromService();
      return { problem: `no new map: ${formatFailureNow(answer.failure)}`, failed: true, failure: answer.failure };
    }
    // Geometry code is loaded here alone: a start with a stored region never needs it.
    const { importMap } = await import('../region/import-map.ts');
    const { chunks } = answer.value;
    const now = clock.now().wall;
    const result = await importMap({ chunks, disk, signalType, now, homePlace: place, log, stop: stop.signal });
    if (!result.ok) return handleMapFailure(result.failure);
    if (result.home === undefined)
      return {
        problem: 'Coordinates not found: the place lies in no region of the map; check latitude and longitude',
        failed: false,
      };
    if (result.home.proposed !== undefined) return confirmProposal(result.home);
    if (result.change === 'vanished')
      return { home: result.home, problem: 'the place lies in no region of the new map', failed: false };
    return { home: result.home, failed: false };
  };

  /** A map that cannot be used keeps no device from its region: one that knows none asks the service. */
  const handleMapFailure = async ({ kind, message }: MapFailure): Promise<RefreshResult> => {
    const attempt = { problem: `no new map: ${message}`, failed: kind !== 'suspicious' };
    const fallback = home === undefined && kind !== 'stopped' ? await fetchRegionFromService() : undefined;
    return fallback?.home === undefined ? attempt : { ...attempt, home: fallback.home };
  };

  /** A newer map names another region: it is taken once the service itself names it for the place. */
  const confirmProposal = async (proposal: HomeRegion): Promise<RefreshResult> => {
    const answer = await service.regionFromLoc({ place, signalType });
    if (answer.ok && answer.value.region === proposal.proposed?.region) return storeHome(confirmRegion(proposal));
    if (answer.ok || answer.failure.kind === 'outside-coverage')
      return { home: proposal, problem: formatUnconfirmed(proposal), failed: false };
    const { failure } = answer;
    const trouble = `${formatUnconfirmed(proposal)}: ${formatFailureNow(failure)}`;
    return { home: proposal, problem: trouble, failed: true, failure };
  };

  const fetchRegionFromService = async (): Promise<RefreshResult> => {
    const answer = await service.regionFromLoc({ place, signalType });
    if (!answer.ok && answer.failure.kind !== 'outside-coverage')
      return {
        problem: `the region was not found: ${formatFailureNow(answer.failure)}`,
        failed: true,
        failure: answer.failure,
      };
    const change = compareRegions(place, home, toServiceRegion(answer));
    if (change === undefined) return { problem: formatFailureNow({ kind: 'outside-coverage' }), failed: false };
    if (change.kind === 'vanished') return { home: change.home, problem: change.message, failed: false };
    return storeHome(confirmRegion(change.home));
  };

  const storeHome = async (confirmedHome: HomeRegion): Promise<RefreshResult> => {
    try {
      await saveHome(disk, signalType, confirmedHome);
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      return { home: confirmedHome, problem: `the region could not be stored (${error.message})`, failed: false };
    }
    return { home: confirmedHome, failed: false };
  };

  const requestEarlyRefresh = (why: EarlyReason): void => {
    if (state.early !== undefined) return;
    state = { ...state, early: { since: clock.now().wall, why } };
    schedule();
  };

  /** The stored region outlives its index, but what else is asked of that index finds none: a month is too long for it. */
  const checkStoredMap = async (): Promise<void> => {
    if (home?.source !== 'map') return;
    const info = await readMapInfo(disk, signalType);
    if (info !== undefined && !('kind' in info)) return;
    log('warn', `${info?.message ?? 'the map is gone'}; a new one is fetched within a day; ${formatRegionInUse(home)}`);
    requestEarlyRefresh('map-unusable');
  };

  return {
    async start() {
      const checkedAt = await loadRegionCheckedAt(store);
      if (checkedAt !== undefined) state = { ...state, checkedAt };
      try {
        setHome(await resolveHome(disk, signalType, place));
        if (home?.proposed !== undefined)
          problems.raise(MAP_SUBJECT, `${formatUnconfirmed(home)}; ${formatRegionInUse(home)}`);
        await checkStoredMap();
      } catch (error) {
        if (!(error instanceof DiskError)) throw error;
        problems.raise(MAP_SUBJECT, `the stored map cannot be read (${error.message}); a new one is fetched`);
      }
      if (home === undefined) state = { failures: 0 };
      schedule();
    },
    requestEarlyRefresh,
    home: () => home,
    stop() {
      stop.abort();
      timer?.();
    },
  };
}

const toServiceRegion = (answer: Outcome<{ readonly region: string; readonly regionFullName: string }>) =>
  answer.ok
    ? { region: answer.value.region, regionFullName: answer.value.regionFullName, source: 'service' as const }
    : undefined;

/** What is told of the one tells the same of the other. */
const hasSameInfo = (one: HomeRegion, other: HomeRegion | undefined) =>
  one.region === other?.region &&
  one.regionFullName === other.regionFullName &&
  one.mapLastUpdated === other.mapLastUpdated;

const formatUnconfirmed = ({ proposed }: HomeRegion) =>
  `the map now puts the place into ${proposed?.region}, which the service does not confirm`;

/** When the map, or the service in its stead, was last asked with success. */
export async function loadRegionCheckedAt(store: Pick<DocumentStore, 'load'>): Promise<Instant | undefined> {
  const stored = await store.load(REGION_DOCUMENT);
  if (stored === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(stored.bytes));
    const at = typeof value === 'object' && value !== null && 'checkedAt' in value ? value.checkedAt : undefined;
    return typeof at === 'number' && Number.isFinite(at) ? (at as Instant) : undefined;
  } catch {
    return undefined;
  }
}

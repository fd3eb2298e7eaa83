/** Keeps the machine's region up to date: at the start, every four weeks, and early after a problem. `region/home-region` decides which region it is. */

import type { SignalType } from '../domain/load-types.ts';
import { createPoller } from '../domain/poller.ts';
import { type Clock, type Disk, DiskError, type Log, type Random } from '../domain/ports.ts';
import { type Duration, durationBetween, type Instant, milliseconds, minutes, type Place } from '../domain/units.ts';
import {
  formatUnconfirmed,
  type HomeSearch,
  type HomeSearchResult,
  resolveHome,
  searchHome,
} from '../region/home-region.ts';
import { readIndexHeader, readMapInfo } from '../region/index/index-reader.ts';
import { type EarlyReason, type RefreshState, scheduleMapRefresh } from '../region/refresh-policy.ts';
import type { HomeRegion } from '../region/region-types.ts';
import { computeRetryDelay } from '../service/limits/retry-delay.ts';
import type { DocumentStore } from './document-store.ts';
import { formatServiceFailure, getFailureKind } from './health-report.ts';
import type { Problems } from './problems.ts';

export interface RegionLoopParts {
  readonly service: HomeSearch['service'];
  /** Without an account maps are those of a relay, or imported by hand. */
  readonly hasAccount: boolean;
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
  /** Resolves when the disk has been read; the service is requested in the background. */
  start(): Promise<void>;
  requestEarlyRefresh(why: EarlyReason): void;
  home(): HomeRegion | undefined;
  stop(): void;
}

const REGION_DOCUMENT = 'region';
const MAP_SUBJECT = 'map';
/** A map that somebody imports beside the agent is in use within this. */
const MAX_TIMER_WAIT = minutes(15);

function createRegionLoop(parts: RegionLoopParts): RegionLoop {
  const { service, hasAccount, disk, store, clock, random, log, problems, signalType, device, place } = parts;
  let home: HomeRegion | undefined;
  let mapIdentity: number | undefined;
  let state: Omit<RefreshState, 'device' | 'now'> = { failures: 0 };

  const getWait = () => computeRefreshWait({ device, now: clock.now().wall, ...state });

  const poller = createPoller({
    clock,
    name: 'region',
    async poll() {
      if (getWait() > 0 || !hasAccount) await adoptImportedMap();
      const wait = getWait();
      if (wait > 0) return wait;
      const { signal: stop } = poller;
      const now = clock.now().wall;
      const isRetry = state.failures > 0;
      const result = await searchHome({ service, disk, signalType, place, current: home, isRetry, log, stop, now });
      mapIdentity = await readMapIdentity(parts);
      return stop.aborted ? undefined : applyResult(result);
    },
  });

  const reportMissingRegion = (): void => {
    if (home === undefined)
      problems.raise(
        MAP_SUBJECT,
        'no region is known, so the loads stay at their fail-safe level: set service.region, or import a map with gridtide map import, or let the relay publish one',
      );
    else problems.resolve(MAP_SUBJECT);
  };

  /** Looks the region up anew when the index is another than the agent's own last one. */
  const adoptImportedMap = async (): Promise<void> => {
    const identity = await readMapIdentity(parts);
    if (identity === undefined || identity === mapIdentity) return;
    mapIdentity = identity;
    log('info', 'another map was imported beside the agent');
    await restoreHome(parts, setHome);
    if (home?.proposed !== undefined) requestEarlyRefresh('map-imported');
    else problems.resolve(MAP_SUBJECT);
  };

  /** Returns the wait until the next search. */
  const applyResult = (result: HomeSearchResult): Duration => {
    const { home: found, failed, failure } = result;
    const { wall, trusted } = clock.now();
    state = failed ? { ...state, failures: state.failures + 1, failedAt: wall } : { failures: 0, checkedAt: wall };
    if (!failed) void store.save(REGION_DOCUMENT, new TextEncoder().encode(JSON.stringify({ checkedAt: wall })));
    // A relay need not publish maps.
    if (failure?.kind === 'no-relayed-signal' && failure.isAbsent) reportMissingRegion();
    else reportResult(problems, result, found ?? home, trusted);
    setHome(found);
    if (home !== undefined || failure === undefined) return getWait();
    // Without a region no load runs by the signal: the agent asks for it as often as for any other answer.
    state = { failures: state.failures };
    return computeRetryDelay(failure, state.failures, random.fraction());
  };

  const setHome = (found: HomeRegion | undefined): void => {
    const before = home;
    home = found ?? home;
    if (found !== undefined) reportHome(parts, found, before);
  };

  const requestEarlyRefresh = (why: EarlyReason): void => {
    if (state.early !== undefined) return;
    state = { ...state, early: { since: clock.now().wall, why } };
    poller.pollAfter(getWait());
  };

  return {
    async start() {
      const checkedAt = await loadRegionCheckedAt(store);
      if (checkedAt !== undefined) state = { ...state, checkedAt };
      mapIdentity = await readMapIdentity(parts);
      if (await restoreHome(parts, setHome)) requestEarlyRefresh('map-unusable');
      if (home === undefined) state = { failures: 0 };
      poller.pollAfter(getWait());
    },
    requestEarlyRefresh,
    home: () => home,
    stop: poller.stop,
  };
}

/** The region of the configuration, else that of the place. */
export const createHomeRegion = (parts: RegionLoopParts, configured?: string): RegionLoop =>
  configured === undefined ? createRegionLoop(parts) : createFixedRegion(parts, configured);

/** The region of the configuration, which no map and no service is asked for. */
function createFixedRegion(
  { log, place, onRegion }: Pick<RegionLoopParts, 'log' | 'place' | 'onRegion'>,
  region: string,
): RegionLoop {
  const home: HomeRegion = { place, region, regionFullName: region, source: 'configuration' };
  return {
    async start() {
      log('info', `region ${region}`, { source: home.source });
      onRegion(home);
    },
    requestEarlyRefresh() {},
    home: () => home,
    stop() {},
  };
}

/** A timer by the wall clock is shorter than its wait may be, because the clock may be set. */
function computeRefreshWait(state: RefreshState): Duration {
  const { at } = scheduleMapRefresh(state);
  return milliseconds(Math.min(MAX_TIMER_WAIT, Math.max(0, durationBetween(state.now, at))));
}

/** Undefined without an index that can be read. */
async function readMapIdentity({ disk, signalType }: RegionLoopParts): Promise<number | undefined> {
  try {
    return (await readIndexHeader(disk, signalType))?.identity;
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    return undefined;
  }
}

function reportHome({ log, onRegion }: RegionLoopParts, home: HomeRegion, before: HomeRegion | undefined): void {
  if (home.region !== before?.region)
    log('info', `region ${home.region} (${home.regionFullName})`, { source: home.source });
  if (!hasSameInfo(home, before)) onRegion(home);
}

function reportResult(
  problems: Problems,
  { problem, failure }: HomeSearchResult,
  inUse: HomeRegion | undefined,
  trusted: boolean,
): void {
  if (problem === undefined) {
    problems.resolve(MAP_SUBJECT);
    return;
  }
  const text = failure === undefined ? problem : `${problem}: ${formatServiceFailure(failure, trusted)}`;
  const kind = failure === undefined ? text : getFailureKind(failure);
  problems.raise(MAP_SUBJECT, `${text}; ${formatRegionInUse(inUse)}`, kind);
}

/** Hands the stored region to `onHome`; true when the map it was found on can no longer be used. */
async function restoreHome(
  { hasAccount, disk, signalType, place, problems, log }: RegionLoopParts,
  onHome: (home: HomeRegion | undefined) => void,
): Promise<boolean> {
  try {
    const home = await resolveHome(disk, signalType, place);
    onHome(home);
    if (home?.proposed !== undefined)
      problems.raise(MAP_SUBJECT, `${formatUnconfirmed(home)}; ${formatRegionInUse(home)}`);
    if (home?.source !== 'map') return false;
    const info = await readMapInfo(disk, signalType);
    if (info !== undefined && !('kind' in info)) return false;
    // The stored region outlives its index, but every other lookup in that index fails: four weeks are too long for it.
    const cause = info?.message ?? 'the map is missing';
    const cure = hasAccount ? 'a new one is fetched within a day' : 'import one with gridtide map import';
    log('warn', `${cause}; ${cure}; ${formatRegionInUse(home)}`);
    return true;
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    problems.raise(MAP_SUBJECT, `the stored map cannot be read (${error.message}); a new one is fetched`);
    return false;
  }
}

const formatRegionInUse = (home: HomeRegion | undefined) =>
  home === undefined
    ? 'no region is known, so the loads stay at their fail-safe level'
    : `region ${home.region} stays in use`;

/** Whether subscribers would see no difference. */
const hasSameInfo = (one: HomeRegion, other: HomeRegion | undefined) =>
  one.region === other?.region &&
  one.regionFullName === other.regionFullName &&
  one.mapLastUpdated === other.mapLastUpdated;

/** The time of the last successful check of the map, or of the service in its stead. */
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

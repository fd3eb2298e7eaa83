/** Keeps the device's region known over time: asks for it at the start, each month and when a problem calls for it. `region/home-region` decides which it is. */

import type { SignalType } from '../domain/load-types.ts';
import { type Cancel, type Clock, type Disk, DiskError, type Log, type Random } from '../domain/ports.ts';
import { addDuration, durationBetween, hours, type Instant, milliseconds, type Place } from '../domain/units.ts';
import { formatUnconfirmed, type HomeSearch, resolveHome, searchHome } from '../region/home-region.ts';
import { readMapInfo } from '../region/index/index-reader.ts';
import { type EarlyReason, type RefreshState, scheduleMapRefresh } from '../region/refresh-policy.ts';
import type { HomeRegion } from '../region/region-types.ts';
import { computeRetryDelay } from '../service/limits/retry-delay.ts';
import type { DocumentStore } from './document-store.ts';
import { formatServiceFailure, getFailureKind } from './health-report.ts';
import type { Problems } from './problems.ts';

export interface RegionLoopParts {
  readonly service: HomeSearch['service'];
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

export function createRegionLoop(parts: RegionLoopParts): RegionLoop {
  const { service, disk, store, clock, random, log, problems, signalType, device, place } = parts;
  const stop = new AbortController();
  let home: HomeRegion | undefined;
  let state: Omit<RefreshState, 'device' | 'now'> = { failures: 0 };
  let refreshing = false;
  let timer: Cancel | undefined;

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
    const search = { service, disk, signalType, place, current: home, log, stop: stop.signal };
    const { home: found, problem, failed, failure } = await searchHome({ ...search, now: clock.now().wall });
    refreshing = false;
    if (stop.signal.aborted) return;
    const now = clock.now().wall;
    state = failed ? { ...state, failures: state.failures + 1, failedAt: now } : { failures: 0, checkedAt: now };
    if (!failed) void store.save(REGION_DOCUMENT, new TextEncoder().encode(JSON.stringify({ checkedAt: now })));
    if (problem === undefined) problems.resolve(MAP_SUBJECT);
    else {
      const text =
        failure === undefined ? problem : `${problem}: ${formatServiceFailure(failure, clock.now().trusted)}`;
      const kind = failure === undefined ? text : getFailureKind(failure);
      problems.raise(MAP_SUBJECT, `${text}; ${formatRegionInUse(found ?? home)}`, kind);
    }
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

/** What is told of the one tells the same of the other. */
const hasSameInfo = (one: HomeRegion, other: HomeRegion | undefined) =>
  one.region === other?.region &&
  one.regionFullName === other.regionFullName &&
  one.mapLastUpdated === other.mapLastUpdated;

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

/** Keeps the device's region known: from disk at once, from a new map each month, from the service where the plan has no maps. Decides no change (renewal does). */

import type { SignalType } from '../config/config.ts';
import { mapInfo } from '../region/held.ts';
import { homeRegion, saveHome } from '../region/home.ts';
import type { HomeRegion, MapFailure } from '../region/map.ts';
import { adopt, type EarlyReason, nextMapRefresh, type RefreshState, regionChange } from '../region/renewal.ts';
import { afterFailure } from '../service/after-failure.ts';
import type { Failure, Outcome } from '../service/failure.ts';
import type { Service } from '../service/service.ts';
import { after, between, hours, type Instant, milliseconds, type Place } from '../units.ts';
import { type Cancel, type Clock, type Disk, DiskError, type Log, type Random } from '../world.ts';
import type { Store } from './store.ts';
import type { Troubles } from './troubles.ts';
import { failureKind, failureWords } from './words.ts';

export interface RegionKeeperParts {
  readonly service: Pick<Service, 'map' | 'regionFromLoc'>;
  readonly disk: Disk;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly troubles: Troubles;
  readonly signalType: SignalType;
  readonly device: string;
  readonly place: Place;
  /** The region in use, at the first finding and whenever it, its name or the age of its map is another. */
  readonly found: (home: HomeRegion) => void;
}

export interface RegionKeeper {
  /** Resolves when the disk has been asked; the service is asked in the background. */
  start(): Promise<void>;
  lookEarly(why: EarlyReason): void;
  home(): HomeRegion | undefined;
  stop(): void;
}

const DOCUMENT = 'region';
const SUBJECT = 'map';
/** A timer by the wall clock is looked at again at least this often, for the clock may be set. */
const LONGEST_SLEEP = hours(6);

type Attempt = {
  readonly home?: HomeRegion;
  readonly trouble?: string;
  readonly failed: boolean;
  /** Of the service, where it is what failed. */
  readonly failure?: Failure;
};

export function createRegionKeeper(parts: RegionKeeperParts): RegionKeeper {
  const { service, disk, store, clock, random, log, troubles, signalType, device, place } = parts;
  const stop = new AbortController();
  let home: HomeRegion | undefined;
  let state: Omit<RefreshState, 'device' | 'now'> = { failures: 0 };
  let refreshing = false;
  let timer: Cancel | undefined;

  const words = (failure: Failure) => failureWords(failure, clock.now().trusted);

  const schedule = (): void => {
    timer?.();
    if (stop.signal.aborted || refreshing) return;
    const now = clock.now();
    const { at } = nextMapRefresh({ device, now: now.wall, ...state });
    const wait = milliseconds(Math.min(LONGEST_SLEEP, Math.max(0, between(now.wall, at))));
    timer = clock.wakeAt(after(now.uptime, wait), 'region', () =>
      at <= clock.now().wall ? void refresh() : schedule(),
    );
  };

  const refresh = async (): Promise<void> => {
    refreshing = true;
    const { home: found, trouble, failed, failure } = await attempt();
    refreshing = false;
    if (stop.signal.aborted) return;
    const now = clock.now().wall;
    state = failed ? { ...state, failures: state.failures + 1, failedAt: now } : { failures: 0, checkedAt: now };
    if (!failed) void store.save(DOCUMENT, new TextEncoder().encode(JSON.stringify({ checkedAt: now })));
    if (trouble === undefined) troubles.clear(SUBJECT);
    else
      troubles.raise(
        SUBJECT,
        `${trouble}; ${inUse(found ?? home)}`,
        failure === undefined ? trouble : failureKind(failure),
      );
    take(found);
    // Without a region nothing can be driven: then it is asked for as often as any other answer.
    if (home === undefined && failure !== undefined) {
      const wait = afterFailure(failure, state.failures, random.fraction());
      timer?.();
      timer = clock.wakeAt(after(clock.now().uptime, wait), 'region', () => void refresh());
    } else schedule();
  };

  const inUse = (held: HomeRegion | undefined) =>
    held === undefined
      ? 'no region is known, so the loads stay at their fail-safe level'
      : `region ${held.region} stays in use`;

  const take = (found: HomeRegion | undefined): void => {
    if (found === undefined) return;
    const before = home;
    home = found;
    if (found.region !== before?.region)
      log('info', `region ${found.region} (${found.regionFullName})`, { source: found.source });
    if (!isToldAlike(found, before)) parts.found(found);
  };

  /** The map where the plan has it, else the one question that costs the place. */
  const attempt = async (): Promise<Attempt> => {
    const answer = await service.map({ signalType });
    if (!answer.ok) {
      if (answer.failure.kind === 'gated') return fromService();
      return { trouble: `no new map: ${words(answer.failure)}`, failed: true, failure: answer.failure };
    }
    // Geometry code is loaded here alone: a start with a stored region never needs it.
    const { importMap } = await import('../region/import.ts');
    const { chunks } = answer.value;
    const now = clock.now().wall;
    const result = await importMap({ chunks, disk, signalType, now, home: place, log, stop: stop.signal });
    if (!result.ok) return withoutMap(result.failure);
    if (result.home === undefined)
      return {
        trouble: 'Coordinates not found: the place lies in no region of the map; check latitude and longitude',
        failed: false,
      };
    if (result.home.proposed !== undefined) return settleProposal(result.home);
    if (result.change === 'vanished')
      return { home: result.home, trouble: 'the place lies in no region of the new map', failed: false };
    return { home: result.home, failed: false };
  };

  /** A map that cannot be used keeps no device from its region: one that knows none asks the service. */
  const withoutMap = async ({ kind, message }: MapFailure): Promise<Attempt> => {
    const attempt = { trouble: `no new map: ${message}`, failed: kind !== 'suspicious' };
    const asked = home === undefined && kind !== 'stopped' ? await fromService() : undefined;
    return asked?.home === undefined ? attempt : { ...attempt, home: asked.home };
  };

  /** A newer map names another region: it is taken once the service itself names it for the place. */
  const settleProposal = async (proposing: HomeRegion): Promise<Attempt> => {
    const answer = await service.regionFromLoc({ place, signalType });
    if (answer.ok && answer.value.region === proposing.proposed?.region) return kept(adopt(proposing));
    if (answer.ok || answer.failure.kind === 'outside-coverage')
      return { home: proposing, trouble: unconfirmed(proposing), failed: false };
    const { failure } = answer;
    const trouble = `${unconfirmed(proposing)}: ${words(failure)}`;
    return { home: proposing, trouble, failed: true, failure };
  };

  const fromService = async (): Promise<Attempt> => {
    const answer = await service.regionFromLoc({ place, signalType });
    if (!answer.ok && answer.failure.kind !== 'outside-coverage')
      return {
        trouble: `the region was not found: ${words(answer.failure)}`,
        failed: true,
        failure: answer.failure,
      };
    const change = regionChange(place, home, answered(answer));
    if (change === undefined) return { trouble: words({ kind: 'outside-coverage' }), failed: false };
    if (change.kind === 'vanished') return { home: change.home, trouble: change.message, failed: false };
    return kept(adopt(change.home));
  };

  const kept = async (settled: HomeRegion): Promise<Attempt> => {
    try {
      await saveHome(disk, signalType, settled);
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      return { home: settled, trouble: `the region could not be stored (${error.message})`, failed: false };
    }
    return { home: settled, failed: false };
  };

  const lookEarly = (why: EarlyReason): void => {
    if (state.early !== undefined) return;
    state = { ...state, early: { since: clock.now().wall, why } };
    schedule();
  };

  /** The stored region outlives its index, but what else is asked of that index finds none: a month is too long for it. */
  const replaceUnusable = async (): Promise<void> => {
    if (home?.source !== 'map') return;
    const held = await mapInfo(disk, signalType);
    if (held !== undefined && !('kind' in held)) return;
    log('warn', `${held?.message ?? 'the map is gone'}; a new one is fetched within a day; ${inUse(home)}`);
    lookEarly('map-unusable');
  };

  return {
    async start() {
      const checkedAt = await regionCheckedAt(store);
      if (checkedAt !== undefined) state = { ...state, checkedAt };
      try {
        take(await homeRegion(disk, signalType, place));
        if (home?.proposed !== undefined) troubles.raise(SUBJECT, `${unconfirmed(home)}; ${inUse(home)}`);
        await replaceUnusable();
      } catch (error) {
        if (!(error instanceof DiskError)) throw error;
        troubles.raise(SUBJECT, `the stored map cannot be read (${error.message}); a new one is fetched`);
      }
      if (home === undefined) state = { failures: 0 };
      schedule();
    },
    lookEarly,
    home: () => home,
    stop() {
      stop.abort();
      timer?.();
    },
  };
}

const answered = (answer: Outcome<{ readonly region: string; readonly regionFullName: string }>) =>
  answer.ok
    ? { region: answer.value.region, regionFullName: answer.value.regionFullName, source: 'service' as const }
    : undefined;

/** What is told of the one tells the same of the other. */
const isToldAlike = (one: HomeRegion, other: HomeRegion | undefined) =>
  one.region === other?.region &&
  one.regionFullName === other.regionFullName &&
  one.mapLastUpdated === other.mapLastUpdated;

const unconfirmed = ({ proposed }: HomeRegion) =>
  `the map now puts the place into ${proposed?.region}, which the service does not confirm`;

/** When the map, or the service in its stead, was last asked with success. */
export async function regionCheckedAt(store: Pick<Store, 'load'>): Promise<Instant | undefined> {
  const stored = await store.load(DOCUMENT);
  if (stored === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(stored.bytes));
    const at = typeof value === 'object' && value !== null && 'checkedAt' in value ? value.checkedAt : undefined;
    return typeof at === 'number' && Number.isFinite(at) ? (at as Instant) : undefined;
  } catch {
    return undefined;
  }
}

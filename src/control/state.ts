/** What the core remembers between two steps, and its form on disk; decides nothing. */

import type { Level } from '../config/config.ts';
import type { SignalView } from '../signal/view.ts';
import type { Duration, Instant, Uptime } from '../units.ts';
import type { Moment } from '../world.ts';
import type { Decision, Site } from './control.ts';
import type { Run } from './schedule.ts';
import { isState } from './state-shape.ts';

export const VERSION = 1;

export interface Override {
  readonly level: Level;
  readonly until: Uptime;
}

/** Told and not yet confirmed. */
export interface Pending {
  readonly level: Level;
  readonly at: Uptime;
  /** Replaced a command to run that may have been carried out. */
  readonly mayDraw: boolean;
}

export interface Job {
  readonly by: Instant;
  /** Not before. */
  readonly from: Instant;
  readonly need: Duration;
  /** Running time counted so far, from confirmed levels, on the monotonic clock. */
  readonly done: Duration;
  readonly starts: number;
  /** The deadline guard has taken over: it runs until done or until the deadline. */
  readonly latched: boolean;
  readonly source: 'schedule' | 'command';
}

export interface Plan {
  /** Of the outlook it was made from; a plan is made once for each. */
  readonly generatedAt: Instant;
  readonly profile: boolean;
  readonly by: Instant;
  readonly madeAt: Instant;
  /** The job's progress when it was made. */
  readonly doneThen: Duration;
  /** Empty when no plan could be made: the deadline guard will see to it. */
  readonly runs: readonly Run[];
  /** Value times hours. */
  readonly cost: number;
  /** By what share the plans made together cost more than if each had the power budget to itself; 0 when it has. */
  readonly gap: number;
}

/** Every key is always there, in this order: the same state is the same bytes. */
export interface LoadState {
  readonly name: string;
  /** The last confirmed level; undefined until one is known. */
  readonly level: Level | undefined;
  readonly pending: Pending | undefined;
  /** Since when it runs, or does not. A boot counts as a change. */
  readonly runSince: Uptime;
  readonly levelSince: Uptime;
  /** Of the last 24 h, ascending. */
  readonly starts: readonly Uptime[];
  readonly blocks: readonly Uptime[];
  readonly local: Override | undefined;
  readonly remote: Override | undefined;
  /** Its present level is that of an override which is over, and nothing has wanted it since. */
  readonly leftOver: boolean;
  readonly tripped: boolean;
  readonly retryAt: Uptime | undefined;
  readonly faultUntil: Uptime | undefined;
  /** An `arm` that waits for a clock to be trusted. */
  readonly asked: { readonly need: Duration | undefined; readonly by: Instant | undefined } | undefined;
  readonly job: Job | undefined;
  /** The job before, should the clock step back into it. */
  readonly past: Job | undefined;
  readonly plan: Plan | undefined;
  /** Since when the signal has wanted a start: the spread counts from here. */
  readonly edgeAt: Uptime | undefined;
  /** The last one made; the owner may show it at any time. */
  readonly decision: Decision | undefined;
}

export interface State {
  readonly version: typeof VERSION;
  /** The moment of the last step. */
  readonly last: Moment | undefined;
  /** How the first step after a start must treat the times kept here. */
  readonly fresh: 'no' | 'same-boot' | 'other-boot';
  readonly startedAt: Uptime;
  /** A signal event has come since the start. */
  readonly heard: boolean;
  /** The wall clock has been vouched for since the start. */
  readonly vouched: boolean;
  readonly untrustedSince: Uptime | undefined;
  readonly view: SignalView | undefined;
  /** In the order of the configuration. */
  readonly loads: readonly LoadState[];
}

export interface Unreadable {
  readonly kind: 'unreadable';
  readonly detail: string;
}

const ORIGIN = 0 as Uptime;

const newLoad = (name: string): LoadState => ({
  name,
  level: undefined,
  pending: undefined,
  runSince: ORIGIN,
  levelSince: ORIGIN,
  starts: [],
  blocks: [],
  local: undefined,
  remote: undefined,
  leftOver: false,
  tripped: false,
  retryAt: undefined,
  faultUntil: undefined,
  asked: undefined,
  job: undefined,
  past: undefined,
  plan: undefined,
  edgeAt: undefined,
  decision: undefined,
});

const newState = (loads: readonly LoadState[]): State => ({
  version: VERSION,
  last: undefined,
  fresh: 'no',
  startedAt: ORIGIN,
  heard: false,
  vouched: false,
  untrustedSince: undefined,
  view: undefined,
  loads,
});

/**
 * The state a start begins with. `sameBoot` is true only when it is proven that the kernel has not restarted: then the
 * uptimes of `saved` go on; else every load counts as just switched, and budgets keep what the wall clock cannot excuse.
 */
export function initialState(site: Site, saved: State | undefined, sameBoot: boolean): State {
  const known = new Map(saved?.loads.map((load) => [load.name, load]));
  const kept = sameBoot && saved !== undefined;
  const loads = site.loads.map(({ name }) => {
    const load = known.get(name);
    if (load === undefined) return newLoad(name);
    return {
      ...load,
      level: kept ? load.level : undefined,
      retryAt: undefined,
      decision: undefined,
    };
  });
  return { ...newState(loads), last: saved?.last, fresh: kept ? 'same-boot' : 'other-boot', view: saved?.view };
}

const NAN_TEXT = 'NaN';

/** JSON text; the same state gives the same bytes. */
export const saveState = (state: State): string =>
  JSON.stringify(state, (_key, value: unknown) =>
    typeof value === 'number' && Number.isNaN(value) ? NAN_TEXT : value,
  );

/** The state of a text written by `saveState`. Anything else is `unreadable`, never an exception. */
export function loadState(text: string): State | Unreadable {
  let read: unknown;
  try {
    read = JSON.parse(text, (_key, value: unknown) => (value === NAN_TEXT ? Number.NaN : value));
  } catch {
    return unreadable('it is not JSON');
  }
  const complaint = isState(read);
  if (complaint !== undefined) return unreadable(complaint);
  const state = read as State;
  return { ...newState([]), ...state, loads: state.loads.map((load) => ({ ...newLoad(load.name), ...load })) };
}

const unreadable = (what: string): Unreadable => ({
  kind: 'unreadable',
  detail: `the saved control state cannot be read (${what}); minimum times start anew and jobs are armed again`,
});

/** The record of what a load is told: reason, rung, data and what comes next; and whether it says anything new. */

import type { LoadConfig } from '../config/config.ts';
import type { Basis } from '../signal/view.ts';
import { type Duration, energy, type Uptime } from '../units.ts';
import {
  type Context,
  type Draft,
  levelSince,
  minOffOf,
  minOnOf,
  presentLevel,
  runningSince,
  wakeAtUptime,
  wallOf,
} from './context.ts';
import type { Decision, Priority } from './control.ts';
import type { Settled } from './guards.ts';
import { shortfall } from './jobs.ts';
import { isRunning, isSgReady } from './levels.ts';

export function decided(context: Context, load: LoadConfig, draft: Draft, settled: Settled): Decision {
  const { wish, level, guard } = settled;
  const until = settled.until ?? wish.until ?? leastEnd(context, load, draft);
  const { index, rate } = signalOf(context);
  const { job } = draft;
  return {
    load: load.name,
    at: context.now.wall,
    level,
    wanted: wish.level,
    why: guard ?? wish.why,
    priority: guard === undefined ? wish.priority : rungOf(guard),
    basis: wish.basis,
    ...(guard === undefined ? {} : { wish: wish.why }),
    ...(index === undefined ? {} : { index }),
    ...(wish.limit === undefined ? {} : { limit: wish.limit }),
    ...(rate === undefined ? {} : { rate }),
    ...(until === undefined ? {} : { until }),
    ...(wish.next === undefined ? {} : { next: wish.next }),
    ...(job === undefined
      ? {}
      : {
          job: {
            by: job.by,
            from: job.from,
            need: job.need,
            done: job.done,
            shortfall: shortfall(context, load, draft, job),
          },
          energy: energy(load.power, job.done),
        }),
  };
}

const rungOf = (guard: Decision['why']): Priority => (guard === 'power-budget' ? 3 : guard === 'ageing' ? 8 : 2);

/** Until when the least time of the present level holds, while it does. */
function leastEnd(context: Context, load: LoadConfig, draft: Draft) {
  const present = presentLevel(draft);
  if (present === undefined) return undefined;
  const least = isRunning(present) ? minOnOf(load) : minOffOf(load);
  const held = isSgReady(load) ? levelSince(draft) + load.hold : 0;
  const end = Math.max(runningSince(draft) + least, held) as Uptime;
  if (end <= context.now.uptime) return undefined;
  wakeAtUptime(context, end);
  return wallOf(context, end);
}

/** What the signal says now, for people: only what is valid, only on a clock that is trusted. */
function signalOf({ view, now }: Context): Pick<Decision, 'index' | 'rate'> {
  if (view === undefined || !now.trusted) return {};
  const { index, rate } = view;
  return {
    ...(index === undefined || now.wall >= index.validUntil
      ? {}
      : { index: { value: index.value, age: Math.max(0, now.wall - index.at) as Duration } }),
    ...(rate === undefined || now.wall >= rate.until ? {} : { rate: { value: rate.value, units: 'lbs_co2_per_mwh' } }),
  };
}

/** Moments that differ by less than this are one moment to people. */
const SAME_TIME = 60_000;

const near = (a: number | undefined, b: number | undefined) =>
  a === b || (a !== undefined && b !== undefined && Math.abs(a - b) < SAME_TIME);

const isShort = ({ job }: Decision) => job !== undefined && job.shortfall > 0;

/** A fresh forecast stands in for a live index that is late: no news to people. */
const sameStanding = (a: Basis, b: Basis) => a === b || (isFresh(a) && isFresh(b));
const isFresh = (basis: Basis) => basis === 'live-index' || basis === 'fresh-forecast';

export function sameDecision(a: Decision | undefined, b: Decision): boolean {
  return (
    a !== undefined &&
    a.level === b.level &&
    a.wanted === b.wanted &&
    a.why === b.why &&
    a.wish === b.wish &&
    a.priority === b.priority &&
    sameStanding(a.basis, b.basis) &&
    a.job?.by === b.job?.by &&
    a.next?.level === b.next?.level &&
    near(a.next?.at, b.next?.at) &&
    isShort(a) === isShort(b)
  );
}

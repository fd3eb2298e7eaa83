/** What each load would do if nothing held it back: the rungs that express a wish, the first that speaks wins. Never how to get there. */

import type { Level, LoadConfig } from '../config/config.ts';
import type { Basis, IndexNow } from '../signal/view.ts';
import { type Instant, minutes, type Percentile } from '../units.ts';
import { windowAt } from './calendar.ts';
import {
  bestBasis,
  type Context,
  indexNow,
  outlookNow,
  presentLevel,
  wakeAtUptime,
  wakeAtWall,
  wallOf,
} from './context.ts';
import type { Priority, Why } from './control.ts';
import { isDone } from './jobs.ts';
import { idleLevel, isRunning, nearest, runLevel } from './levels.ts';
import { planNow } from './planning.ts';
import type { LoadState, Override, Plan } from './state.ts';

export interface Wish {
  readonly level: Level;
  readonly why: Why;
  readonly priority: Priority;
  readonly basis: Basis;
  readonly until?: Instant;
  readonly limit?: Percentile;
  /** From here on the data behind it may keep a level but start nothing. */
  readonly startsUntil?: Instant;
  readonly next?: { readonly level: Level; readonly at: Instant };
}

/** How long a start waits for news, and an untrusted clock for its time source, before the fail-safe level. */
const PATIENCE = minutes(10);

/** The wish of the first rung that speaks. */
export function wishOf(context: Context, load: LoadConfig, state: LoadState): Wish {
  return (
    safety(context, load, state) ??
    override(context, load, state.local, { why: 'override', priority: 4 }) ??
    override(context, load, state.remote, { why: 'remote-override', priority: 5 }) ??
    mustRun(context, load, state) ??
    untrusted(context, load, state) ??
    fault(context, load, state) ??
    unheard(context, load, state) ??
    planned(context, load, state) ??
    threshold(context, load, state) ??
    window(context, load, state) ?? { level: load.failSafe, why: 'no-data', priority: 10, basis: 'fail-safe' }
  );
}

/** The safe level of a trip is the one in which the load does nothing, whatever its fail-safe. */
function safety(context: Context, load: LoadConfig, { tripped }: LoadState): Wish | undefined {
  if (!tripped) return undefined;
  return { level: idleLevel(load), why: 'safety', priority: 1, basis: bestBasis(context, load) };
}

type Speaker = Pick<Wish, 'why' | 'priority'>;

function override(context: Context, load: LoadConfig, said: Override | undefined, speaker: Speaker): Wish | undefined {
  if (said === undefined) return undefined;
  wakeAtUptime(context, said.until);
  const until = wallOf(context, said.until);
  return { level: nearest(load, said.level), ...speaker, basis: bestBasis(context, load), until };
}

function mustRun(context: Context, load: LoadConfig, { job }: LoadState): Wish | undefined {
  if (job?.latched !== true) return undefined;
  return { level: runLevel(load), why: 'must-run', priority: 6, basis: bestBasis(context, load) };
}

/** Without a clock no datum can be placed: the boot level at first, then the fail-safe level. */
function untrusted(context: Context, load: LoadConfig, state: LoadState): Wish | undefined {
  if (context.now.trusted) return undefined;
  const { since, vouched } = context.doubt;
  const patienceEnds = (since + PATIENCE) as typeof since;
  const waiting = !vouched && context.now.uptime < patienceEnds;
  if (waiting) wakeAtUptime(context, patienceEnds);
  const level = waiting ? bootLevel(load, state) : load.failSafe;
  return { level, why: 'untrusted-clock', priority: 10, basis: 'fail-safe' };
}

/** A restart within the same boot keeps what it finds, but for what an override left; otherwise the boot level. */
const bootLevel = (load: LoadConfig, state: LoadState) =>
  state.leftOver ? load.boot : (presentLevel(state) ?? load.boot);

function fault(context: Context, load: LoadConfig, { faultUntil }: LoadState): Wish | undefined {
  if (faultUntil === undefined || context.now.uptime >= faultUntil) return undefined;
  wakeAtUptime(context, faultUntil);
  const until = wallOf(context, faultUntil);
  return { level: load.failSafe, why: 'output-fault', priority: 10, basis: 'fail-safe', until };
}

/** After a start nothing is concluded from silence until a first word, or the end of patience. */
function unheard(context: Context, load: LoadConfig, state: LoadState): Wish | undefined {
  const { heard, startedAt } = context.doubt;
  if (heard || outlookNow(context) !== undefined || indexNow(context) !== undefined) return undefined;
  const patienceEnds = (startedAt + PATIENCE) as typeof startedAt;
  if (context.now.uptime >= patienceEnds) return undefined;
  wakeAtUptime(context, patienceEnds);
  return { level: bootLevel(load, state), why: 'boot', priority: 10, basis: 'fail-safe' };
}

function planned(context: Context, load: LoadConfig, state: LoadState): Wish | undefined {
  const { job, plan } = state;
  const idle = idleLevel(load);
  if (job === undefined) {
    if (load.goal?.armedBy !== 'command') return undefined;
    return { level: idle, why: 'not-armed', priority: 7, basis: bestBasis(context, load) };
  }
  if (isDone(job)) return { level: idle, why: 'goal-done', priority: 7, basis: bestBasis(context, load) };
  const outlook = outlookNow(context);
  if (outlook === undefined || plan === undefined) return undefined;
  return shaded(context, load, state, planWish(context, load, plan, outlook.basis));
}

function planWish(context: Context, load: LoadConfig, plan: Plan, basis: Basis): Wish {
  const { run, changesAt } = planNow(plan, context.now.wall);
  const other = run ? idleLevel(load) : runLevel(load);
  return {
    level: run ? runLevel(load) : idleLevel(load),
    why: run ? 'planned' : 'plan-waits',
    priority: 7,
    basis,
    ...(changesAt === undefined ? {} : { next: { level: other, at: changesAt } }),
  };
}

function threshold(context: Context, load: LoadConfig, state: LoadState): Wish | undefined {
  const { job } = state;
  // Without a plan a job takes what the index calls clean; the deadline guard sees to the rest.
  if (job === undefined && load.goal !== undefined) return undefined;
  if (job !== undefined && context.now.wall < job.from) {
    wakeAtWall(context, job.from);
    return undefined;
  }
  const index = indexNow(context);
  if (index === undefined) return undefined;
  const running = isRunning(presentLevel(state));
  const speak = (run: boolean, why: Why, limit?: Percentile): Wish => ({
    level: run ? runLevel(load) : idleLevel(load),
    why,
    priority: 8,
    basis: index.basis,
    ...(limit === undefined ? {} : { limit }),
  });
  if (index.flat) return speak(running, 'flat');
  if (index.value >= load.offAbove && index.value > load.onBelow)
    return shaded(context, load, state, speak(false, 'dirty', load.offAbove));
  if (index.value > load.onBelow) return shaded(context, load, state, speak(running, 'between', load.onBelow));
  const clean = { ...speak(true, 'clean', load.onBelow), startsUntil: index.startsUntil };
  return shaded(context, load, state, clean);
}

/** SG-Ready: a running load is ordered to start below `forceBelow`, an idle one blocked above `blockAbove`. */
function shaded(context: Context, load: LoadConfig, state: LoadState, wish: Wish): Wish {
  if (load.blockAbove === undefined && load.forceBelow === undefined) return wish;
  const index = indexNow(context);
  if (index === undefined || index.flat) return wish;
  const level = shade(load, index, wish.level);
  const mayEnter = context.now.wall < index.startsUntil || presentLevel(state) === level;
  if (!mayEnter || level === wish.level) return wish;
  const limit = level === 'force' ? load.forceBelow : load.blockAbove;
  return { ...wish, level, ...(limit === undefined ? {} : { limit }) };
}

function shade(load: LoadConfig, { value }: IndexNow, level: Level): Level {
  if (level === 'recommend' && load.forceBelow !== undefined && value <= load.forceBelow) return 'force';
  if (level === 'normal' && load.blockAbove !== undefined && value >= load.blockAbove) return 'block';
  return level;
}

function window(context: Context, load: LoadConfig, { job }: LoadState): Wish | undefined {
  if (load.window === undefined) return undefined;
  const { wall } = context.now;
  const { inside, changesAt } = windowAt(context.site.timezone, load.window, wall);
  wakeAtWall(context, changesAt);
  const early = job !== undefined && wall < job.from;
  const run = inside && !early;
  return {
    level: run ? runLevel(load) : idleLevel(load),
    why: run ? 'window' : 'outside-window',
    priority: 9,
    basis: 'default-window',
    next: { level: run ? idleLevel(load) : runLevel(load), at: changesAt },
  };
}

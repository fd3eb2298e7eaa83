/** By when each job must be done for the others to have their turn, where the site's power does not suffice for all; never which load runs. */

import type { LoadConfig } from '../config/config.ts';
import type { Instant } from '../units.ts';
import { type Drawn, peakWithin } from './allot.ts';
import { type Context, DEFAULT_SLOT, type Draft, minOnOf, presentLevel } from './context.ts';
import { isDone, MARGIN, remaining } from './jobs.ts';
import { isRunning } from './levels.ts';
import type { Job } from './state.ts';

interface Turn {
  readonly load: LoadConfig;
  readonly job: Job;
  /** Has its turn now and keeps it. */
  readonly first: boolean;
  readonly index: number;
}

const ROUNDING = 1e-9;

/**
 * The jobs laid as late as they all fit under the power budget, the last deadline last. A job's end there, less what a load that
 * has just begun may keep the power for, takes the place of its deadline.
 */
export function endsOf(context: Context, states: readonly Draft[]): ReadonlyMap<string, Instant> {
  const ends = new Map<string, Instant>();
  const { budget, loads } = context.site;
  const all = loads.filter(({ shadow }) => !shadow);
  const power = all.reduce((sum, load) => sum + load.power, 0);
  if (budget === undefined || power <= budget + ROUNDING) return ends;

  const slot = context.view?.outlook?.period ?? DEFAULT_SLOT;
  // What runs without a job is not laid here: it may have just begun when a turn comes.
  const wait = Math.max(0, ...all.filter(({ goal }) => goal === undefined).map(minOnOf));
  const placed: Drawn[] = [];
  for (const { load, job } of turnsOf(all, states)) {
    const length = remaining(job) * MARGIN + slot + wait;
    // Before the first crowd, not in the best gap: as jobs shrink, gaps open and close, and a turn must never come sooner than was said.
    const crowds = placed.filter(({ from }) => peakWithin(placed, from, from + 1) + load.power > budget + ROUNDING);
    const to = Math.min(job.by, ...crowds.map(({ from }) => from)) as Instant;
    placed.push({ from: (to - length) as Instant, to, power: load.power });
    ends.set(load.name, (to - wait) as Instant);
  }
  return ends;
}

/** Those that come last first. */
function turnsOf(loads: readonly LoadConfig[], states: readonly Draft[]): readonly Turn[] {
  const turns = loads.flatMap((load, index): Turn[] => {
    const state = states.find(({ name }) => name === load.name);
    if (state?.job === undefined || isDone(state.job)) return [];
    return [{ load, job: state.job, index, first: state.job.latched || isRunning(presentLevel(state)) }];
  });
  return turns.sort((a, b) => b.job.by - a.job.by || Number(a.first) - Number(b.first) || b.index - a.index);
}

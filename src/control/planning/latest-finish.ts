/** The latest finish of each job that leaves power and time for the other jobs. */

import { isRunning } from '../../domain/levels.ts';
import type { LoadConfig } from '../../domain/load-types.ts';
import type { Instant } from '../../domain/units.ts';
import { computeRemainingNeed, DEADLINE_MARGIN, isDone, isSuspended } from '../rules/jobs.ts';
import { DEFAULT_SLOT, getEffectiveMinOn, getPresentLevel, type StepContext } from '../rules/step-context.ts';
import type { Job, LoadState } from '../state/control-state.ts';
import { computePeakPowerWithin, type PoweredRun } from './site-planner.ts';

interface JobTurn {
  readonly load: LoadConfig;
  readonly job: Job;
  /** Has its turn now and keeps it. */
  readonly hasTurn: boolean;
  readonly index: number;
}

const POWER_TOLERANCE = 1e-9;

/**
 * The jobs laid as late as they all fit under the power budget, the last deadline last. A job's end there, less what a load that
 * has just begun may keep the power for, takes the place of its deadline.
 */
export function computeLatestFinishes(
  context: StepContext,
  states: readonly LoadState[],
): ReadonlyMap<string, Instant> {
  const latestFinish = new Map<string, Instant>();
  const { budget, loads } = context.site;
  const all = loads.filter(({ observeOnly }) => !observeOnly);
  const power = all.reduce((sum, load) => sum + load.powerKw, 0);
  if (budget === undefined || power <= budget + POWER_TOLERANCE) return latestFinish;

  const slot = context.view?.horizon?.period ?? DEFAULT_SLOT;
  // What runs without a job is not laid here: it may have just begun when a turn comes.
  const wait = Math.max(0, ...all.filter(({ goal }) => goal === undefined).map(getEffectiveMinOn));
  const placed: PoweredRun[] = [];
  for (const { load, job } of listTurns(all, states)) {
    const length = computeRemainingNeed(job) * DEADLINE_MARGIN + slot + wait;
    // Before the first crowd, not in the best gap: as jobs shrink, gaps open and close, and a turn must never come sooner than was said.
    const overloads = placed.filter(
      ({ from }) => computePeakPowerWithin(placed, from, from + 1) + load.powerKw > budget + POWER_TOLERANCE,
    );
    const to = Math.min(job.by, ...overloads.map(({ from }) => from)) as Instant;
    placed.push({ from: (to - length) as Instant, to, power: load.powerKw });
    latestFinish.set(load.name, (to - wait) as Instant);
  }
  return latestFinish;
}

/** Those that come last first. */
function listTurns(loads: readonly LoadConfig[], states: readonly LoadState[]): readonly JobTurn[] {
  const turns = loads.flatMap((load, index): JobTurn[] => {
    const state = states.find(({ name }) => name === load.name);
    if (state?.job === undefined || isDone(state.job) || isSuspended(state)) return [];
    return [{ load, job: state.job, index, hasTurn: state.job.forcedByDeadline || isRunning(getPresentLevel(state)) }];
  });
  return turns.sort((a, b) => b.job.by - a.job.by || Number(a.hasTurn) - Number(b.hasTurn) || b.index - a.index);
}

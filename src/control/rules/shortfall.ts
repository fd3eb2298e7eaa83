/** Finds what of a job will be missing at its deadline. */

import { getPowerPortion } from '../../domain/currents.ts';
import { isRunning } from '../../domain/levels.ts';
import type { LoadConfig } from '../../domain/load-types.ts';
import type { Duration } from '../../domain/units.ts';
import type { Job, LoadState } from '../state/control-state.ts';
import { computeRemainingNeed, computeStartWait } from './jobs.ts';
import { getPresentCurrent, getPresentLevel, type StepContext } from './step-context.ts';

/** Even if the load runs from now on. */
export function computeShortfall(context: StepContext, load: LoadConfig, state: LoadState, job: Job): Duration {
  if (!context.now.trusted) return 0 as Duration;
  const { wall } = context.now;
  const start = isRunning(getPresentLevel(state)) ? wall : wall + computeStartWait(context, load, state);
  const portion = getPowerPortion(getPresentCurrent(state));
  return Math.max(0, computeRemainingNeed(job) - portion * Math.max(0, job.by - Math.max(job.from, start))) as Duration;
}

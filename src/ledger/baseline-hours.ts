/** Finds the hours in which a job would have drawn its energy without the agent: at once, or by a plain timer. */

import type { LocalWindow } from '../domain/load-types.ts';
import { checkWindow } from '../domain/local-time.ts';
import type { Instant, KilowattHour } from '../domain/units.ts';
import type { JobEntry } from './entries.ts';

/** A stretch of time; a plain number, because parts of slots are no instants of the ledger. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** The timer that a report compares the jobs of a load with. */
export interface TimerWindow {
  readonly window: LocalWindow;
  readonly timezone: string;
}

/** When the energy after the first `before` of a job would have been drawn, at the job's power: from its arming on, or in the hours of the timer after it. */
export function listBaselineHours(
  { armedAt, power }: JobEntry,
  { before, energy }: { readonly before: number; readonly energy: KilowattHour },
  timer: TimerWindow | undefined,
): readonly Stretch[] {
  const timeOf = (drawn: number) => (drawn / power) * 3_600_000;
  const [skipped, until] = [timeOf(before), timeOf(before + energy)];
  if (timer === undefined) return [{ from: armedAt + skipped, to: armedAt + until }];
  const stretches: Stretch[] = [];
  if (!Number.isFinite(until)) return stretches;
  for (let [at, ran] = [armedAt as number, 0]; ran < until; ) {
    const { inside, changesAt } = checkWindow(timer.timezone, timer.window, at as Instant);
    const length = inside ? Math.min(changesAt - at, until - ran) : 0;
    if (ran + length > skipped) stretches.push({ from: at + Math.max(0, skipped - ran), to: at + length });
    ran += length;
    at = changesAt;
  }
  return stretches;
}

/** The mean of a value that each stretch has one of, by their lengths; undefined where one is not known. */
export function computeMeanOverStretches(
  stretches: readonly Stretch[],
  meanOf: (from: number, to: number) => number | undefined,
): number | undefined {
  let [sum, length] = [0, 0];
  for (const { from, to } of stretches) {
    const mean = meanOf(from, to);
    if (mean === undefined) return undefined;
    sum += mean * (to - from);
    length += to - from;
  }
  return length > 0 ? sum / length : undefined;
}

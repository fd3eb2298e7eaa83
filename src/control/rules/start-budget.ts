/** Counts the remaining starts of a load and finds the time of the next allowed start. */

import type { LoadConfig } from '../../domain/load-types.ts';
import { type Duration, days, hours, type Uptime } from '../../domain/units.ts';
import type { LoadState } from '../state/control-state.ts';

const DAY = days(1);
const HOUR = hours(1);

/** The times of the last 24 h. */
export const keepLastDay = (times: readonly Uptime[], now: Uptime): readonly Uptime[] =>
  times.length > 0 && (times[0] as number) <= now - DAY ? times.filter((at) => at > now - DAY) : times;

/** From when on one more is allowed, when at most `most` fall within `span`. Not later than `now` means at once. */
function findNextAllowed(times: readonly Uptime[], most: number, span: Duration): Uptime {
  if (most < 1) return Infinity as Uptime;
  const blocking = times[times.length - most];
  return blocking === undefined ? (-Infinity as Uptime) : ((blocking + span) as Uptime);
}

/** The time from which the hourly and daily start limits allow a start, with `reserved` of the day's starts kept back. */
export const findStartAllowedFrom = (load: LoadConfig, { starts }: LoadState, reserved = 0): Uptime =>
  Math.max(
    findNextAllowed(starts, load.maxStartsPerHour, HOUR),
    findNextAllowed(starts, load.maxStartsPerDay - reserved, DAY),
  ) as Uptime;

/** From when on the day's budget of blocks allows one more. */
export const findBlockAllowedFrom = (load: LoadConfig, { blocks }: LoadState): Uptime =>
  findNextAllowed(blocks, load.maxBlocksPerDay, DAY);

/** How many starts a plan may use. One of the day's is reserved for the deadline rule, except when it is the last; a job's may all be planned. */
interface StartAllowance {
  /** Whenever they are. */
  readonly guaranteed: number;
  /** At the most, where `fit` holds. */
  readonly maximum: number;
  /** Whether these planned ones leave one start free in any 24 h, as those of the last day grow old. */
  readonly fits: (planned: readonly Uptime[]) => boolean;
}

export function computeStartAllowance(
  load: LoadConfig,
  state: LoadState,
  now: Uptime,
  pending: boolean,
): StartAllowance {
  const past = pending ? [...state.starts, now] : state.starts;
  const day = load.maxStartsPerDay - past.length;
  const used = (state.job?.starts ?? 0) + (pending ? 1 : 0);
  const job = load.maxInterruptions === undefined ? Infinity : load.maxInterruptions + 1 - used;
  const within = load.maxStartsPerDay - 1;
  return {
    guaranteed: Math.max(0, Math.min(day >= 2 ? day - 1 : day, job)),
    maximum: Math.max(0, Math.min(within, job)),
    fits: (planned) => {
      const all = [...past, ...planned];
      return planned.every((at, i) => at - (all[past.length + i - within] ?? -Infinity) >= DAY);
    },
  };
}

/** Pause after a run that keeps any plan within the starts an hour. */
export const pauseForHourlyStarts = (load: LoadConfig, minOn: Duration) =>
  Math.max(0, HOUR / Math.max(1, load.maxStartsPerHour) - minOn) as Duration;

/** Checks what was done against the rules of the loads, from the edges alone; knows nothing of why. */

import type { Site } from '../../control/control-types.ts';
import type { LoadConfig } from '../../domain/load-types.ts';
import { days, hours, type Instant } from '../../domain/units.ts';
import type { BacktestJob } from './backtest-loads.ts';
import type { RunInterval, SimulatedTrack, Transition } from './simulate.ts';

export type ViolationRule =
  | 'min-on'
  | 'min-off'
  | 'starts-an-hour'
  | 'starts-a-day'
  | 'starts-a-job'
  | 'repeated-command'
  | 'power-budget'
  | 'deadline';

export interface FoundViolation {
  readonly rule: ViolationRule;
  readonly load: string;
  readonly at: Instant;
}

/** Rounding of milliseconds. */
const TOLERANCE = 1;

function findMinTimeViolations(
  load: LoadConfig,
  edges: readonly Transition[],
): readonly (Omit<FoundViolation, 'at'> & { readonly at: number })[] {
  return edges.slice(1).flatMap((edge, i) => {
    const before = edges[i];
    if (before === undefined || before.on === edge.on) return [];
    const least = edge.on ? load.minOff : load.minOn;
    const rule = edge.on ? ('min-off' as const) : ('min-on' as const);
    return edge.at - before.at < least - TOLERANCE ? [{ rule, load: load.name, at: edge.at }] : [];
  });
}

function findStartLimitViolations(
  load: LoadConfig,
  edges: readonly Transition[],
  limit: number,
  span: number,
  rule: ViolationRule,
) {
  const starts = edges.filter(({ on }) => on).map(({ at }) => at);
  return starts.flatMap((at, i) => {
    const earlier = starts[i - limit];
    return earlier !== undefined && at - earlier < span - TOLERANCE ? [{ rule, load: load.name, at }] : [];
  });
}

/** Every breach of a rule the load itself sets; `origin` is the uptime's zero. */
export function findLoadViolations(
  load: LoadConfig,
  { transitions: edges, repeatedCommands: repeated }: SimulatedTrack,
  origin: Instant,
): readonly FoundViolation[] {
  const found = [
    ...findMinTimeViolations(load, edges),
    ...findStartLimitViolations(load, edges, load.maxStartsPerHour, hours(1), 'starts-an-hour'),
    ...findStartLimitViolations(load, edges, load.maxStartsPerDay, days(1), 'starts-a-day'),
    ...Array.from({ length: repeated }, () => ({ rule: 'repeated-command' as const, load: load.name, at: 0 })),
  ];
  return found.map(({ at, ...rest }) => ({ ...rest, at: (origin + at) as Instant }));
}

/** Starts of a job beyond its interruptions and one. */
export function countStarts(job: BacktestJob, { transitions: edges }: SimulatedTrack, origin: Instant): number {
  return edges.filter(({ on, at }) => on && origin + at >= job.from && origin + at < job.by).length;
}

/** Moments at which all loads together draw more than the site may. */
export function findBudgetViolations(
  { budget, loads }: Site,
  tracks: readonly SimulatedTrack[],
): readonly FoundViolation[] {
  if (budget === undefined) return [];
  const changes = tracks
    .flatMap(({ runIntervals: stretches }, i) =>
      stretches.flatMap(({ from, to }: RunInterval) => {
        const power = loads[i]?.powerKw ?? 0;
        return [
          { at: from, by: power },
          { at: to, by: -power },
        ];
      }),
    )
    .sort((a, b) => a.at - b.at || a.by - b.by);
  let drawn = 0;
  return changes.flatMap(({ at, by: delta }) => {
    drawn += delta;
    return drawn > budget + 1e-6 && delta > 0 ? [{ rule: 'power-budget' as const, load: 'site', at }] : [];
  });
}

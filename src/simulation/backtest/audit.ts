/** Checks a simulated run against the limits of the loads, from its starts and stops alone. */

import type { Site } from '../../control/control-types.ts';
import type { LoadConfig } from '../../domain/load-types.ts';
import { type Duration, days, hours, type Instant, type Uptime } from '../../domain/units.ts';
import type { BacktestJob } from './backtest-loads.ts';
import type { SimulatedTrack, Transition } from './simulate.ts';

type ViolationRule =
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

/** When a rule was broken, by the monotonic clock. */
type Breach = readonly [ViolationRule, Uptime];

const findMinTimeBreaches = (load: LoadConfig, transitions: readonly Transition[]): readonly Breach[] =>
  transitions.slice(1).flatMap(({ on, at }, i) => {
    const before = transitions[i];
    if (before === undefined || before.on === on) return [];
    const least = on ? load.minOff : load.minOn;
    return at - before.at < least - TOLERANCE ? [[on ? 'min-off' : 'min-on', at]] : [];
  });

/** Starts that came sooner than `span` after the one `limit` starts before. */
const findStartLimitBreaches = (
  transitions: readonly Transition[],
  { rule, limit, span }: { readonly rule: ViolationRule; readonly limit: number; readonly span: Duration },
): readonly Breach[] => {
  const starts = transitions.filter(({ on }) => on).map(({ at }) => at);
  return starts.flatMap((at, i) => {
    const earlier = starts[i - limit];
    return earlier !== undefined && at - earlier < span - TOLERANCE ? [[rule, at]] : [];
  });
};

/** Every breach of a rule the load itself sets; `origin` is the uptime's zero. */
export function findLoadViolations(
  load: LoadConfig,
  { transitions, repeatedCommands }: SimulatedTrack,
  origin: Instant,
): readonly FoundViolation[] {
  const found: readonly Breach[] = [
    ...findMinTimeBreaches(load, transitions),
    ...findStartLimitBreaches(transitions, { rule: 'starts-an-hour', limit: load.maxStartsPerHour, span: hours(1) }),
    ...findStartLimitBreaches(transitions, { rule: 'starts-a-day', limit: load.maxStartsPerDay, span: days(1) }),
    ...new Array<Breach>(repeatedCommands).fill(['repeated-command', 0 as Uptime]),
  ];
  return found.map(([rule, at]) => ({ rule, load: load.name, at: (origin + at) as Instant }));
}

/** Starts within a job. */
export const countStarts = (job: BacktestJob, { transitions }: SimulatedTrack, origin: Instant): number =>
  transitions.filter(({ on, at }) => on && origin + at >= job.from && origin + at < job.by).length;

/** Moments at which all loads together draw more than the site may. */
export function findBudgetViolations(
  { budget, loads }: Site,
  tracks: readonly SimulatedTrack[],
): readonly FoundViolation[] {
  if (budget === undefined) return [];
  const changes = tracks
    .flatMap(({ runSpans }, i) => {
      const power = loads[i]?.powerKw ?? 0;
      return runSpans.flatMap(({ from, to }) => [
        { at: from, by: power },
        { at: to, by: -power },
      ]);
    })
    .sort((a, b) => a.at - b.at || a.by - b.by);
  let drawn = 0;
  return changes.flatMap(({ at, by }) => {
    drawn += by;
    return drawn > budget + 1e-6 && by > 0 ? [{ rule: 'power-budget' as const, load: 'site', at }] : [];
  });
}

/** The three built-in loads of a backtest, and the jobs that a load's goal makes of a history. */

import type { LoadConfig, LocalTime } from '../../domain/load-types.ts';
import { findNextDeadline, findPreviousDeadline, findPreviousOccurrence } from '../../domain/local-time.ts';
import { buildWeekTimes } from '../../domain/text-format.ts';
import {
  type Duration,
  days,
  hours,
  type Instant,
  type Kilowatt,
  minutes,
  type Percentile,
} from '../../domain/units.ts';
import { findWholeRows, getRowTime, type RecordedSeries, TEACHING_DAYS } from './recorded-series.ts';

const repeatDaily = (time: LocalTime) => buildWeekTimes(() => time);

const commonOptions = {
  output: { kind: 'dry-run', as: 'relay' },
  onBelow: 33 as Percentile,
  offAbove: 43 as Percentile,
  minStateTime: minutes(10),
  maxBlock: hours(2),
  maxBlocksPerDay: 3,
  startSpread: minutes(0),
  initialLevel: 'off',
  onStop: 'failsafe',
  overrideFor: hours(4),
  observeOnly: false,
} as const;

/** At most 4 starts a job. Two jobs touch within 24 hours: a day's budget of 9 never binds and leaves the deadline guard its own. */
const chargerOptions = {
  ...commonOptions,
  type: 'ev',
  powerKw: 7.2 as Kilowatt,
  minOn: minutes(0),
  minOff: minutes(0),
  maxStartsPerHour: 9,
  maxStartsPerDay: 9,
  maxInterruptions: 3,
  window: { from: 60, to: 300 },
  failSafe: 'on',
} as const;

const fourHours = { kind: 'time', time: hours(4) } as const;

export const builtInLoads: readonly LoadConfig[] = [
  {
    ...chargerOptions,
    name: 'ev-overnight',
    goal: { need: fourHours, by: repeatDaily(7 * 60), from: 18 * 60, armedBy: 'schedule' },
  },
  {
    ...chargerOptions,
    name: 'ev-day',
    goal: { need: fourHours, by: repeatDaily(18 * 60), from: 18 * 60, armedBy: 'schedule' },
  },
  {
    ...commonOptions,
    name: 'heat-pump',
    type: 'heat-pump',
    powerKw: 2 as Kilowatt,
    minOn: minutes(30),
    minOff: minutes(15),
    maxStartsPerHour: 2,
    maxStartsPerDay: 6,
    window: { from: 600, to: 900 },
    failSafe: 'off',
    goal: { need: { kind: 'time', time: hours(3) }, by: repeatDaily(0), from: 0, armedBy: 'schedule' },
  },
];

export interface BacktestJob {
  readonly from: Instant;
  readonly by: Instant;
  readonly need: Duration;
  /** Rows of the record, all there. */
  readonly first: number;
  readonly end: number;
}

const computeJobLength = ({ powerKw, goal }: LoadConfig): Duration | undefined => {
  if (goal === undefined) return undefined;
  return goal.need.kind === 'time' ? goal.need.time : (((hours(1) * goal.need.energy) / powerKw) as Duration);
};

export interface JobRange {
  readonly from?: Instant;
  readonly to?: Instant;
}

/** The scheduled jobs that lie wholly inside the record, after the days that only teach. */
export function listJobs(
  load: LoadConfig,
  timezone: string,
  record: RecordedSeries,
  range: JobRange,
): readonly BacktestJob[] {
  const { goal } = load;
  const need = computeJobLength(load);
  if (goal === undefined || need === undefined || record.rows === 0) return [];
  const start = Math.max(getRowTime(record, 0) + days(TEACHING_DAYS), range.from ?? 0);
  const last = Math.min(getRowTime(record, record.rows - 1), range.to ?? Number.POSITIVE_INFINITY);
  const jobs: BacktestJob[] = [];
  for (let by = findNextDeadline(timezone, goal.by, start as Instant); by !== undefined && by <= last + 300_000; ) {
    const from =
      goal.from === undefined
        ? findPreviousDeadline(timezone, goal.by, by)
        : findPreviousOccurrence(timezone, goal.from, by);
    const rows = from === undefined || from < start ? undefined : findWholeRows(record, from, by);
    if (from !== undefined && rows !== undefined) jobs.push({ from, by, need, ...rows });
    by = findNextDeadline(timezone, goal.by, by);
  }
  return jobs;
}

/** The three loads every backtest knows, and the jobs a load's goal makes of a history. */

import type { Goal, LoadConfig } from '../../config/config.ts';
import { lastAt, lastDeadline, nextDeadline } from '../../control/calendar.ts';
import { type Duration, days, hours, type Instant, type Kilowatt, minutes, type Percentile } from '../../units.ts';
import { type Record, TEACHING_DAYS, timeOf, wholeRows } from './record.ts';

const daily = (time: number): Goal['by'] => [time, time, time, time, time, time, time];

const common = {
  output: { kind: 'dry-run', as: 'relay' },
  onBelow: 33 as Percentile,
  offAbove: 43 as Percentile,
  hold: minutes(10),
  maxBlock: hours(2),
  maxBlocksPerDay: 3,
  jitter: minutes(0),
  boot: 'off',
  onStop: 'failsafe',
  overrideFor: hours(4),
  shadow: false,
} as const;

/** At most 4 starts a job. Two jobs touch within 24 hours: a day's budget of 9 never binds and leaves the deadline guard its own. */
const charger = {
  ...common,
  type: 'ev',
  power: 7.2 as Kilowatt,
  minOn: minutes(0),
  minOff: minutes(0),
  maxStartsPerHour: 9,
  maxStartsPerDay: 9,
  maxInterruptions: 3,
  window: { from: 60, to: 300 },
  failSafe: 'on',
} as const;

const fourHours = { kind: 'time', time: hours(4) } as const;

export const builtIn: readonly LoadConfig[] = [
  {
    ...charger,
    name: 'ev-overnight',
    goal: { need: fourHours, by: daily(7 * 60), from: 18 * 60, armedBy: 'schedule' },
  },
  {
    ...charger,
    name: 'ev-day',
    goal: { need: fourHours, by: daily(18 * 60), from: 18 * 60, armedBy: 'schedule' },
  },
  {
    ...common,
    name: 'heat-pump',
    type: 'heat-pump',
    power: 2 as Kilowatt,
    minOn: minutes(30),
    minOff: minutes(15),
    maxStartsPerHour: 2,
    maxStartsPerDay: 6,
    window: { from: 600, to: 900 },
    failSafe: 'off',
    goal: { need: { kind: 'time', time: hours(3) }, by: daily(0), from: 0, armedBy: 'schedule' },
  },
];

export interface Job {
  readonly from: Instant;
  readonly by: Instant;
  readonly need: Duration;
  /** Rows of the record, all there. */
  readonly first: number;
  readonly end: number;
}

export const needOf = ({ power, goal }: LoadConfig): Duration | undefined => {
  if (goal === undefined) return undefined;
  return goal.need.kind === 'time' ? goal.need.time : (((hours(1) * goal.need.energy) / power) as Duration);
};

export interface Range {
  readonly from?: Instant;
  readonly to?: Instant;
}

/** The scheduled jobs that lie wholly inside the record, after the days that only teach. */
export function jobsOf(load: LoadConfig, timezone: string, record: Record, range: Range): readonly Job[] {
  const { goal } = load;
  const need = needOf(load);
  if (goal === undefined || need === undefined || record.rows === 0) return [];
  const start = Math.max(timeOf(record, 0) + days(TEACHING_DAYS), range.from ?? 0);
  const last = Math.min(timeOf(record, record.rows - 1), range.to ?? Number.POSITIVE_INFINITY);
  const jobs: Job[] = [];
  for (let by = nextDeadline(timezone, goal.by, start as Instant); by !== undefined && by <= last + 300_000; ) {
    const from = goal.from === undefined ? lastDeadline(timezone, goal.by, by) : lastAt(timezone, goal.from, by);
    const rows = from === undefined || from < start ? undefined : wholeRows(record, from, by);
    if (from !== undefined && rows !== undefined) jobs.push({ from, by, need, ...rows });
    by = nextDeadline(timezone, goal.by, by);
  }
  return jobs;
}

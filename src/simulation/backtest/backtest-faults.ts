/** The faults of a backtest and their times. */

import { type Duration, days, hours, type Instant, minutes } from '../../domain/units.ts';
import { TEACHING_DAYS } from './recorded-series.ts';

export interface BacktestFaults {
  /** Whether the service answers at this slot. */
  readonly isAnswered: (at: Instant) => boolean;
  /** How old its answer is when it comes. */
  readonly answerDelay: Duration;
  /** How far the device's wall clock is off. */
  readonly clockError: (at: Instant) => Duration;
  /** Whether the program is started anew at this slot. */
  readonly isRestart: (at: Instant) => boolean;
}

const NO_FAULTS: BacktestFaults = {
  isAnswered: () => true,
  answerDelay: minutes(0),
  clockError: () => minutes(0),
  isRestart: () => false,
};

/** The last part of each cycle, counted from the end of the teaching days. */
const isInFaultWindow = (at: Instant, start: Instant, cycle: Duration, length: Duration) => {
  const since = at - start - days(TEACHING_DAYS);
  return since >= 0 && since % cycle >= cycle - length;
};

const BACKTEST_FAULTS = {
  outage: {
    description: 'no answer for 2 days out of every 4',
    createFaults: (start) => ({ ...NO_FAULTS, isAnswered: (at) => !isInFaultWindow(at, start, days(4), days(2)) }),
  },
  'long-outage': {
    description: 'no answer for 7 days out of every 14',
    createFaults: (start) => ({ ...NO_FAULTS, isAnswered: (at) => !isInFaultWindow(at, start, days(14), days(7)) }),
  },
  sparse: {
    description: 'an answer every half hour only',
    createFaults: () => ({ ...NO_FAULTS, isAnswered: (at) => at % minutes(30) === 0 }),
  },
  late: {
    description: 'each answer comes half an hour late',
    createFaults: () => ({ ...NO_FAULTS, answerDelay: minutes(30) }),
  },
  restart: {
    description: 'the program is started anew every 5 hours',
    createFaults: () => ({ ...NO_FAULTS, isRestart: (at) => at % hours(5) === 0 }),
  },
  'clock-jump': {
    description: 'the clock is an hour ahead for 3 hours out of every 2 days',
    createFaults: (start) => ({
      ...NO_FAULTS,
      clockError: (at) => (isInFaultWindow(at, start, days(2), hours(3)) ? hours(1) : minutes(0)),
    }),
  },
} satisfies Record<string, { readonly description: string; readonly createFaults: (start: Instant) => BacktestFaults }>;

export type BacktestFaultName = keyof typeof BACKTEST_FAULTS;

export const backtestFaultNames = Object.keys(BACKTEST_FAULTS) as readonly BacktestFaultName[];
export const describeBacktestFault = (name: BacktestFaultName): string => BACKTEST_FAULTS[name].description;

/** All faults named, at once, and answers that come `latency` after they were made. */
export function combineBacktestFaults(
  names: readonly BacktestFaultName[],
  start: Instant,
  latency: Duration = minutes(0),
): BacktestFaults {
  const all = names.map((name) => BACKTEST_FAULTS[name].createFaults(start));
  return {
    isAnswered: (at) => all.every((fault) => fault.isAnswered(at)),
    answerDelay: all.reduce((sum, { answerDelay }) => sum + answerDelay, latency as number) as Duration,
    clockError: (at) => all.reduce((sum, fault) => sum + fault.clockError(at), 0) as Duration,
    isRestart: (at) => all.some((fault) => fault.isRestart(at)),
  };
}

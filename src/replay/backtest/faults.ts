/** What goes wrong in a backtest and when, by the record's time alone. Repairs nothing. */

import { type Duration, days, hours, type Instant, minutes } from '../../units.ts';
import { TEACHING_DAYS } from './record.ts';

export interface Faults {
  /** Whether the service answers at this slot. */
  readonly heard: (at: Instant) => boolean;
  /** How old its answer is when it comes. */
  readonly lateness: Duration;
  /** How far the device's wall clock is off. */
  readonly clockError: (at: Instant) => Duration;
  /** Whether the program is started anew at this slot. */
  readonly restarts: (at: Instant) => boolean;
}

const NONE: Faults = { heard: () => true, lateness: minutes(0), clockError: () => minutes(0), restarts: () => false };

/** The last part of each cycle, counted from the end of the teaching days. */
const within = (at: Instant, start: Instant, cycle: Duration, length: Duration) => {
  const since = at - start - days(TEACHING_DAYS);
  return since >= 0 && since % cycle >= cycle - length;
};

const FAULTS = {
  outage: {
    says: 'no answer for 2 days out of every 4',
    make: (start) => ({ ...NONE, heard: (at) => !within(at, start, days(4), days(2)) }),
  },
  'long-outage': {
    says: 'no answer for 7 days out of every 14',
    make: (start) => ({ ...NONE, heard: (at) => !within(at, start, days(14), days(7)) }),
  },
  sparse: {
    says: 'an answer every half hour only',
    make: () => ({ ...NONE, heard: (at) => at % minutes(30) === 0 }),
  },
  late: {
    says: 'each answer comes half an hour late',
    make: () => ({ ...NONE, lateness: minutes(30) }),
  },
  restart: {
    says: 'the program is started anew every 5 hours',
    make: () => ({ ...NONE, restarts: (at) => at % hours(5) === 0 }),
  },
  'clock-jump': {
    says: 'the clock is an hour ahead for 3 hours out of every 2 days',
    make: (start) => ({ ...NONE, clockError: (at) => (within(at, start, days(2), hours(3)) ? hours(1) : minutes(0)) }),
  },
} satisfies Record<string, { readonly says: string; readonly make: (start: Instant) => Faults }>;

export type FaultName = keyof typeof FAULTS;

export const faultNames = Object.keys(FAULTS) as readonly FaultName[];
export const isFault = (name: string): name is FaultName => name in FAULTS;
export const faultWords = (name: FaultName): string => FAULTS[name].says;

/** All faults named, at once. */
export function faultsOf(names: readonly FaultName[], start: Instant): Faults {
  const all = names.map((name) => FAULTS[name].make(start));
  return {
    heard: (at) => all.every((fault) => fault.heard(at)),
    lateness: all.reduce((sum, { lateness }) => sum + lateness, 0) as Duration,
    clockError: (at) => all.reduce((sum, fault) => sum + fault.clockError(at), 0) as Duration,
    restarts: (at) => all.some((fault) => fault.restarts(at)),
  };
}

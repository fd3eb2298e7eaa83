/** The signal data held for one region as an immutable value: decides what an answer of the service may replace. Never asks for data. */

import type { Forecast, History, LiveIndex } from '../service/answers.ts';
import { type Duration, floorTo, type Instant, iso, minutes } from '../units.ts';
import type { Moment } from '../world.ts';
import { valueAt } from './archive.ts';
import { type Course, newCourse, withSaid, withSeen } from './course.ts';
import { slotValues } from './slots.ts';
import { STRETCHED, stretched } from './stretched.ts';

export interface Held {
  readonly region: string;
  readonly signalType: string;
  readonly forecast?: Forecast;
  /** `inTime`: it came within its own period. */
  readonly live?: LiveIndex & { readonly inTime: boolean };
  /** Rates as seen and expected, in the unit of the forecast; undefined before the first. */
  readonly rates?: Course;
  /** Live percentiles as seen and expected, stretched. */
  readonly indexes?: Course;
}

/** Something the owner should know; `message` is for people. */
export interface Note {
  readonly kind: 'clock-behind' | 'older' | 'wrong-region' | 'wrong-signal' | 'wrong-units' | 'empty' | 'model-seam';
  readonly message: string;
}

export interface Taken {
  readonly held: Held;
  readonly accepted: boolean;
  readonly note?: Note;
}

/** Nothing known of the region yet. */
export const emptyHeld = (region: string, signalType = 'co2_moer'): Held => ({ region, signalType });

/** What is held, re-keyed at once: another region starts with nothing (specification 2.4). */
export const forRegion = (held: Held, region: string): Held =>
  held.region === region ? held : emptyHeld(region, held.signalType);

/** A generation time this far ahead of our clock proves the clock wrong. */
const CLOCK_TOLERANCE = minutes(5);

const refused = (held: Held, kind: Note['kind'], message: string): Taken => ({
  held,
  accepted: false,
  note: { kind, message },
});

function foreign(held: Held, answer: { readonly region: string; readonly signalType: string }): Taken | undefined {
  if (answer.region !== held.region)
    return refused(held, 'wrong-region', `the service answered for region ${answer.region}; expected ${held.region}`);
  if (answer.signalType !== held.signalType)
    return refused(
      held,
      'wrong-signal',
      `the service answered with signal ${answer.signalType}; expected ${held.signalType}`,
    );
  return undefined;
}

const courseFor = (held: Course | undefined, units: string, period: Duration): Course =>
  held?.units === units && held.archive.period === period ? held : newCourse(units, period);

/**
 * A forecast replaces the held one when it is strictly newer (specification 2.6). One generated more than 5 minutes in the future is refused:
 * our clock is wrong. A change of the data model is accepted and noted.
 */
export function withForecast(held: Held, forecast: Forecast, now: Moment): Taken {
  const stranger = foreign(held, forecast);
  if (stranger) return stranger;
  if (forecast.points.length === 0) return refused(held, 'empty', 'the forecast holds no value; the one held is kept');
  const ahead = forecast.generatedAt - now.wall;
  if (ahead > CLOCK_TOLERANCE)
    return refused(
      held,
      'clock-behind',
      `the forecast was generated at ${iso(forecast.generatedAt)}, ${Math.round(ahead / 60_000)} min after our clock: the clock of this device is behind; set it`,
    );
  const before = held.forecast;
  if (before !== undefined && forecast.generatedAt <= before.generatedAt)
    return refused(held, 'older', `the forecast of ${iso(forecast.generatedAt)} is not newer than the one held`);

  const base = courseFor(held.rates, forecast.units, forecast.period);
  const same = before?.units === forecast.units && before.period === forecast.period;
  // What the old forecast said of the slots since the newest one seen stands in for them.
  const missed = same ? before.points.filter(({ at }) => Math.floor(at / forecast.period) > base.archive.newest) : [];
  const seen = withSeen(withSeen(base, missed, now.wall), forecast.points, now.wall);
  const rates = withSaid(seen, slotValues(forecast, floorTo(now.wall, forecast.period)), now.wall);
  const next: Held = { ...held, forecast, rates };
  if (before?.model === undefined || forecast.model === undefined || before.model === forecast.model)
    return { held: next, accepted: true };
  const message = `the data model changed from ${before.model} to ${forecast.model}; values before and after may differ in level`;
  return { held: next, accepted: true, note: { kind: 'model-seam', message } };
}

/** A live index replaces the held one when its point is newer. Units other than `percentile` are refused. */
export function withLiveIndex(held: Held, live: LiveIndex, now: Moment): Taken {
  const stranger = foreign(held, live);
  if (stranger) return stranger;
  if (live.units !== 'percentile')
    return refused(held, 'wrong-units', `the index came in ${live.units}; expected percentile`);
  if (live.point.at - now.wall > CLOCK_TOLERANCE)
    return refused(
      held,
      'clock-behind',
      `the index is of ${iso(live.point.at)}: the clock of this device is behind; set it`,
    );
  if (held.live !== undefined && live.point.at <= held.live.point.at)
    return refused(held, 'older', `the index of ${iso(live.point.at)} is not newer than the one held`);
  const point = { at: live.point.at, value: stretched(live.point.value) };
  const seen = withSeen(courseFor(held.indexes, STRETCHED, live.period), [point], now.wall);
  const isNow = point.at === floorTo(now.wall, live.period);
  const indexes = isNow ? withSaid(seen, [point.value], now.wall) : seen;
  const inTime = now.wall < point.at + live.period;
  return { held: { ...held, live: { ...live, inTime }, indexes }, accepted: true };
}

/** Without a forecast that reaches to now, the values ahead go on from the last one measured. */
function anchored({ forecast }: Held, course: Course, now: Moment): Course {
  const { period, newest } = course.archive;
  const last = forecast?.points.at(-1);
  const isCovered = forecast !== undefined && last !== undefined && now.wall < last.at + forecast.period;
  if (isCovered || now.wall - newest * period > 3 * period) return course;
  return withSaid(course, [valueAt(course.archive, newest)], (newest * period) as Instant);
}

/** Measured values enter the archive and replace what a forecast had said of their slots (specification 4.4). */
export function withHistory(held: Held, history: History, now: Moment): Taken {
  const stranger = foreign(held, history);
  if (stranger) return stranger;
  if (history.points.length === 0) return { held, accepted: false };
  if (held.rates !== undefined && held.rates.units !== history.units)
    return refused(held, 'wrong-units', `the history came in ${history.units}; expected ${held.rates.units}`);
  const seen = withSeen(courseFor(held.rates, history.units, history.period), history.points, now.wall);
  return { held: { ...held, rates: anchored(held, seen, now) }, accepted: true };
}

/** Decides which held data may drive a load at one moment and on which rung of the freshness ladder. Never drives a load with data of another region. */

import type { Forecast, LiveIndex } from '../service/answers.ts';
import { after, type Duration, floorTo, hours, type Instant, type LbsPerMwh, minutes } from '../units.ts';
import type { Moment } from '../world.ts';
import { slotOf } from './archive.ts';
import { AHEAD, type Ahead, type Course, expected } from './course.ts';
import type { Held } from './held.ts';
import { type LocalIndex, localIndex, type Ties } from './local-index.ts';
import { usableUntil } from './profile.ts';
import { slotValues, valueNow } from './slots.ts';
import type { IndexNow, Outlook, SignalView } from './view.ts';

export interface ViewOptions {
  readonly ties: Ties;
  /** Where the device is; data of any other region are for looking at. Undefined: not known yet, nothing drives. */
  readonly ownRegion: string | undefined;
}

/** With nothing held a view stays as it is until news come. */
const NO_CHANGE = hours(24);
const RATE_UNITS = 'lbs_co2_per_mwh';

/** A forecast is fresh for three of its issues, at least a quarter of an hour. */
export const freshUntil = ({ generatedAt, generatedPeriod }: Forecast): Instant =>
  after(generatedAt, Math.max(3 * generatedPeriod, minutes(15)) as Duration);

/** End of the last value. */
export const coveredUntil = ({ points, period }: Forecast): Instant => {
  const last = points.at(-1);
  return last === undefined ? (0 as Instant) : after(last.at, period);
};

const basisOf = (forecast: Forecast, now: Instant) =>
  now < freshUntil(forecast) ? 'fresh-forecast' : 'ageing-forecast';

/** What was said, corrected and continued where the archive allows it. */
function continuedBy(course: Course | undefined, said: readonly number[], now: Instant): Ahead {
  if (course === undefined || usableUntil(course.archive, now) === undefined) return { values: said };
  const slot = slotOf(course.archive, now);
  const count = Math.max(said.length, Math.round(AHEAD / course.archive.period));
  if (course.ahead !== undefined) return expected(course, slot, count);
  return { values: [...said, ...expected(course, slot + said.length, count - said.length).values] };
}

function outlookOfForecast(held: Held, forecast: Forecast, now: Instant): Outlook | undefined {
  const { period, units, generatedAt, model } = forecast;
  const from = floorTo(now, period);
  const said = slotValues(forecast, from);
  if (said.length === 0) return undefined;
  const continued = continuedBy(held.rates, said, now);
  // A gap at this moment stays one, whatever is expected: nothing is driven by what was not said.
  const values = continued.values.map((value, i) => (Number.isNaN(said[i] ?? 0) ? Number.NaN : value));
  return {
    basis: basisOf(forecast, now),
    from,
    period,
    values,
    ...(continued.spread === undefined ? {} : { spread: continued.spread }),
    ...(values.length <= said.length ? {} : { profileFrom: after(from, (said.length * period) as Duration) }),
    units,
    generatedAt,
    ...(model === undefined ? {} : { model }),
    validUntil: coveredUntil(forecast),
  };
}

/** Rates where three days of them are known, else stretched percentiles: enough to order slots. */
function outlookOfProfile({ rates, indexes }: Held, now: Instant): Outlook | undefined {
  for (const course of [rates, indexes]) {
    const validUntil = course === undefined ? undefined : usableUntil(course.archive, now);
    if (course === undefined || validUntil === undefined) continue;
    const { period, newest } = course.archive;
    return {
      basis: 'own-profile',
      from: floorTo(now, period),
      period,
      ...expected(course, slotOf(course.archive, now), Math.round(AHEAD / period)),
      units: course.units,
      generatedAt: (newest * period) as Instant,
      validUntil,
    };
  }
  return undefined;
}

/** Valid for its period; one more period it may keep a level but start nothing. */
function ofLive({ point, period }: LiveIndex, now: Instant, flat: boolean): IndexNow | undefined {
  const startsUntil = after(point.at, period);
  const validUntil = after(startsUntil, period);
  if (now < point.at || now >= validUntil) return undefined;
  return { value: point.value, basis: 'live-index', at: point.at, startsUntil, validUntil, flat, quality: 'full' };
}

function ofLocal(local: LocalIndex, forecast: Forecast, ties: Ties, now: Instant): IndexNow | undefined {
  const value = local[ties];
  if (value === undefined || local.quality === 'none') return undefined;
  const end = after(local.pointTime, forecast.period);
  const { pointTime: at, flat, quality } = local;
  return { value, basis: basisOf(forecast, now), at, startsUntil: end, validUntil: end, flat, quality };
}

/** The live index goes before our own, and one that came in time holds one period more, until its successor has come: two sources never take turns. */
function indexNow({ live }: Held, forecast: Forecast | undefined, now: Instant, ties: Ties): IndexNow | undefined {
  const local = forecast === undefined ? undefined : localIndex(forecast.points, forecast.period, now);
  const mine = forecast === undefined || local === undefined ? undefined : ofLocal(local, forecast, ties, now);
  // An old forecast does not know what the live index was counted among.
  const flat = mine?.basis === 'fresh-forecast' && mine.flat;
  const theirs = live === undefined ? undefined : ofLive(live, now, flat);
  return live?.inTime === true ? (theirs ?? mine) : (mine ?? theirs);
}

/** The next moment at which time alone makes the view another one. */
function nextChange(held: Held, view: Omit<SignalView, 'changesAt'>, now: Instant): Instant {
  const { forecast } = held;
  const candidates: number[] = [after(now, NO_CHANGE)];
  const add = (at: Instant | undefined) => {
    if (at !== undefined && at > now) candidates.push(at);
  };
  const period = view.outlook?.period ?? forecast?.period;
  if (period !== undefined) add(after(floorTo(now, period), period));
  add(view.index?.startsUntil);
  add(view.index?.validUntil);
  add(view.outlook?.validUntil);
  if (forecast !== undefined) add(freshUntil(forecast));
  if (held.live !== undefined) add(held.live.point.at);
  return Math.min(...candidates) as Instant;
}

/** What the held data say at `now`: the rungs R0 to R3; nothing while the wall clock is not trusted or the region is not our own. */
export function viewAt(held: Held, now: Moment, { ties, ownRegion }: ViewOptions): SignalView {
  const at = now.wall;
  if (ownRegion === undefined || held.region !== ownRegion || !now.trusted)
    return { ...(ownRegion === undefined ? {} : { region: ownRegion }), changesAt: after(at, NO_CHANGE) };
  const forecast = held.forecast !== undefined && at < coveredUntil(held.forecast) ? held.forecast : undefined;
  const index = indexNow(held, forecast, at, ties);
  const outlook =
    (forecast === undefined ? undefined : outlookOfForecast(held, forecast, at)) ?? outlookOfProfile(held, at);
  const rate = forecast?.units === RATE_UNITS ? valueNow(forecast, at) : undefined;
  const view = {
    region: held.region,
    ...(index === undefined ? {} : { index }),
    ...(forecast === undefined || rate === undefined ? {} : { rate: rateNow(forecast, rate, at) }),
    ...(outlook === undefined ? {} : { outlook }),
  };
  return { ...view, changesAt: nextChange(held, view, at) };
}

function rateNow({ period }: Forecast, value: number, now: Instant): NonNullable<SignalView['rate']> {
  const at = floorTo(now, period);
  return { value: value as LbsPerMwh, at, until: after(at, period) };
}

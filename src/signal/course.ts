/** The values of one kind as the device has seen them, and the course it expects them to take. Knows nothing of forecasts as documents. */

import type { Point } from '../service/answers.ts';
import { type Duration, hours, type Instant } from '../units.ts';
import { type Archive, emptyArchive, remember, slotOf, valueAt } from './archive.ts';
import {
  type Experience,
  experienced,
  foretold,
  foretoldSpread,
  LEARNED_PERIOD,
  meanOf,
  noExperience,
} from './experience.ts';
import { usableUntil, usualAt, usualDay } from './profile.ts';

export interface Course {
  readonly units: string;
  readonly archive: Archive;
  readonly experience: Experience;
  /** The values expected when something was said last, from a slot on. */
  readonly ahead?: Ahead & { readonly slot: number; readonly said: number };
}

/** Values of the slots from one on, and how far each may turn out lower: the last holds for all further ones. */
export interface Ahead {
  readonly values: readonly number[];
  readonly spread?: readonly number[];
}

/** How far a forecast is continued. */
export const AHEAD = hours(48);

export const newCourse = (units: string, period: Duration): Course => ({
  units,
  archive: emptyArchive(period),
  experience: noExperience(),
});

/** Values seen, without anything said about the next ones. */
export const withSeen = (course: Course, points: readonly Point[], now: Instant): Course => ({
  ...course,
  archive: remember(course.archive, points, now),
});

/** One day repeated: beyond a day the profile knows no more. */
function repeated(day: Float64Array, count: number): Float64Array {
  const values = new Float64Array(count);
  for (let from = 0; from < count; from += day.length)
    values.set(day.subarray(0, Math.min(day.length, count - from)), from);
  return values;
}

/** Takes up the values said from the slot of `now` on, where NaN is a gap; those of now and before are in the archive already. */
export function withSaid(course: Course, said: readonly number[], now: Instant): Course {
  const { archive, experience, ahead: _, ...rest } = course;
  if (usableUntil(archive, now) === undefined) return { ...rest, archive, experience };
  const slot = slotOf(archive, now);
  const count = Math.max(said.length, Math.round(AHEAD / archive.period));
  const day = usualDay(archive, slot);
  const moment = { slot, said, profile: repeated(day, count) };
  const learned =
    archive.period !== LEARNED_PERIOD
      ? experience
      : experienced(experience, moment, () => ({
          value: (at) => valueAt(archive, at),
          profile: (at) => usualAt(archive, at),
          level: meanOf(day, day.length),
        }));
  return {
    ...rest,
    archive,
    experience: learned,
    ahead: {
      slot,
      said: said.length,
      values: foretold(learned, moment, count),
      spread: foretoldSpread(learned, said.length),
    },
  };
}

/** The values expected from a slot on, at least `count`: those ahead where there are any, then the profile. */
export function expected({ archive, ahead }: Course, slot: number, count: number): Ahead {
  const known = ahead === undefined || slot < ahead.slot ? undefined : ahead;
  const passed = slot - (known?.slot ?? slot);
  const values = known?.values.slice(passed) ?? [];
  const day = values.length >= count ? undefined : usualDay(archive, slot);
  if (day !== undefined) for (let i = values.length; i < count; i++) values.push(day[i % day.length] ?? Number.NaN);
  const spread = known?.spread ?? [];
  return { values, ...(spread.length === 0 ? {} : { spread: spread.slice(Math.min(passed, spread.length - 1)) }) };
}

/** The timetable of data models: the labels at a moment of the service's clock, their phases and training (specification 3, 9). */

import { formatServiceDate } from '../http/service-times.ts';

const DAY = 86_400_000;
/** Days after its label's date at which a model leaves each phase, as in the README. */
const PREVIEW_DAYS = 30;
const OVERLAP_DAYS = 14;
const RETRAIN_DAYS = 180;
/** The year of the first label; every label since then answers for its history. */
const FIRST_YEAR = 2023;
/** A clock in the year 9999 must not make a list of 8,000 labels. */
const MOST_LABELS = 20;
export const BACKFILL_FROM = Date.UTC(2019, 0, 1);

type ModelPhase = 'preview' | 'default' | 'overlap' | 'discontinued';

export interface Model {
  readonly date: string;
  readonly phase: ModelPhase;
  /** When the model and its backfill appeared: label's date, start of the preview. */
  readonly released: number;
  /** New data end here, exclusive; infinite while that is not known. */
  readonly until: number;
  readonly trainStart: string;
  readonly trainEnd: string;
}

/** When the label of a year appears; `monthDay` is that of each year's label, as `03-01`. */
function findReleaseTime(monthDay: string, year: number): number {
  const [month = 1, day = 1] = monthDay.split('-').map(Number);
  return Date.UTC(year, month - 1, day);
}

function buildModel(monthDay: string, year: number, now: number): Model {
  const released = findReleaseTime(monthDay, year);
  const superseded = findReleaseTime(monthDay, year + 1) + PREVIEW_DAYS * DAY;
  const until = superseded + OVERLAP_DAYS * DAY;
  const phase =
    now < released + PREVIEW_DAYS * DAY
      ? 'preview'
      : now < superseded
        ? 'default'
        : now < until
          ? 'overlap'
          : 'discontinued';
  const retrained = now >= released + RETRAIN_DAYS * DAY;
  return {
    date: `${year}-${monthDay}`,
    phase,
    released,
    // The end is known once the next model has taken over.
    until: now < superseded ? Number.POSITIVE_INFINITY : until,
    trainStart: retrained ? `${year - 3}-07-01` : `${year - 3}-01-01`,
    trainEnd: retrained ? `${year}-06-30` : `${year - 1}-12-31`,
  };
}

/** The models of a day, which are the same all day. */
const modelsOfDay = new Map<string, { readonly day: number; readonly models: readonly Model[] }>();

/** All models of a signal that answer at `now`, newest label first. Before the first label's time there is one default. */
export function listModels(monthDay: string, now: number): readonly Model[] {
  const day = Math.floor(now / DAY);
  const kept = modelsOfDay.get(monthDay);
  if (kept?.day === day) return kept.models;
  const year = new Date(now).getUTCFullYear();
  const oldest = Math.max(Math.min(FIRST_YEAR, year - 2), year - MOST_LABELS);
  const models = Array.from({ length: year - oldest + 1 }, (_, i) => buildModel(monthDay, year - i, now)).filter(
    ({ released }) => released <= now,
  );
  modelsOfDay.set(monthDay, { day, models });
  return models;
}

/** What my-access lists where only new data count: the live labels and the last that ended. */
export const omitOldModels = (models: readonly Model[]) =>
  models.slice(0, models.findIndex(({ phase }) => phase === 'discontinued') + 1 || models.length);

/** The model of a request that names none. */
export function findDefaultModel(models: readonly Model[]): Model {
  const found = models.find(({ phase }) => phase === 'default');
  if (found === undefined) throw new Error('no default model in the timetable');
  return found;
}

/** When the newest label appeared. */
export function findNewestRelease(monthDay: string, now: number): number {
  const year = new Date(now).getUTCFullYear();
  const release = findReleaseTime(monthDay, year);
  return release <= now ? release : findReleaseTime(monthDay, year - 1);
}

/** What a place's values come from: the model's type, and the first and last time of its data. */
interface ModelSource {
  readonly type: string;
  readonly since: number;
  readonly until: number;
}

/** A model in my-access, with bare dates, `data_end` that of its last point (specification 2.7). */
export const describeModel = (model: Model, { type, since, until }: ModelSource, now: number) => ({
  model: model.date,
  data_start: formatServiceDate(since),
  data_end: formatServiceDate(Math.min(now, until, model.until - 1)),
  train_start: model.trainStart,
  train_end: model.trainEnd,
  type,
});

/** Reads what commands of the service have in common from their flags: times, places, a saved forecast. Asks nothing. */

import { readFile } from 'node:fs/promises';
import { placeOf } from '../region/place.ts';
import type { Forecast } from '../service/answers.ts';
import { sentenceOf } from '../service/describe.ts';
import { decodeSavedForecast } from '../service/envelopes.ts';
import { instantOf } from '../service/times.ts';
import type { Instant, Place } from '../units.ts';
import { type Arguments, JobError, UsageError } from './command.ts';

const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** A time with a zone, or a bare date for its midnight UTC. Undefined when not given; throws `UsageError`. */
export function timeAsked<Row extends string>(args: Arguments<Row>, row: Row): Instant | undefined {
  const said = args.text(row);
  if (said === undefined) return undefined;
  const at = instantOf(DATE.test(said) ? `${said}T00:00:00Z` : said);
  if (at === undefined)
    throw new UsageError(`--${row} ${said}: expected a time with a zone, such as 2026-03-01T07:05:00Z, or a date`);
  return at;
}

/** The place of `--latitude` and `--longitude`; undefined when neither is given. */
export function placeAsked(args: Arguments<'latitude' | 'longitude'>): Place | undefined {
  const north = args.number('latitude');
  const east = args.number('longitude');
  if (north === undefined && east === undefined) return undefined;
  if (north === undefined || east === undefined)
    throw new UsageError(`--${north === undefined ? 'latitude' : 'longitude'} is missing: a place needs both`);
  const place = placeOf(north, east);
  if (typeof place === 'string') throw new UsageError(place);
  return place;
}

/** A saved answer of `/v3/forecast`, checked; throws `JobError`. */
export async function savedForecast(file: string): Promise<Forecast> {
  let body: unknown;
  try {
    body = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    const cause = error instanceof SyntaxError ? 'it is not JSON' : 'it cannot be read';
    throw new JobError(`${file}: ${cause}; save an answer of /v3/forecast there`);
  }
  const forecast = decodeSavedForecast(body);
  if (!forecast.ok) throw new JobError(`${file}: ${sentenceOf(forecast.failure)}`);
  return forecast.value;
}

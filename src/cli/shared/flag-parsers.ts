/** Parses the flags that commands share: times, durations, places, a saved forecast. */

import { findNearestWord } from '../../domain/did-you-mean.ts';
import { parseDuration } from '../../domain/duration-text.ts';
import { parseInstant } from '../../domain/iso-time.ts';
import type { LocalTime } from '../../domain/load-types.ts';
import { toPlace } from '../../domain/place.ts';
import { parseLocalTime } from '../../domain/text-format.ts';
import { isTimeZone } from '../../domain/time-zone.ts';
import type { Duration, Instant, Place } from '../../domain/units.ts';
import { readFile } from '../../platform/files.ts';
import type { Forecast } from '../../service/api/response-types.ts';
import { type Arguments, explainReadError, JobError, type OptionRow, UsageError } from './command.ts';

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TIME_EXPECTS = 'a time with a zone, such as 2026-03-01T07:05:00Z, or a date';
const parseTime = (text: string) => parseInstant(DATE.test(text) ? `${text}T00:00:00Z` : text);

/** A time with a zone, or a date, which means its midnight UTC. Undefined when not given; throws `UsageError`. */
export function parseTimeFlag<Row extends string>(args: Arguments<Row>, row: Row): Instant | undefined {
  const given = args.text(row);
  if (given === undefined) return undefined;
  const at = parseTime(given);
  if (at === undefined) throw new UsageError(`--${row} ${given}: expected ${TIME_EXPECTS}`);
  return at;
}

/** Names of the ledger's files end with the year 9999; a clock that runs fast needs years before it. */
const LATEST_START = '9000-01-01T00:00:00Z';

/** Where a clock of the agent starts, as `parseTimeFlag` reads it; throws `UsageError`. */
export function parseClockFlag<Row extends string>(args: Arguments<Row>, row: Row): Instant | undefined {
  const start = parseTimeFlag(args, row);
  if (start !== undefined && start >= Date.parse(LATEST_START))
    throw new UsageError(
      `--${row} ${args.text(row)}: expected a time before ${LATEST_START}, because the clock runs on and a ledger ends with the year 9999`,
    );
  return start;
}

/** A time of day, which the caller places, or a time as `parseTimeFlag` reads it. */
export type Moment = { readonly at: Instant } | { readonly timeOfDay: LocalTime };

/** Undefined when not given; throws `UsageError`. */
export function parseMomentFlag<Row extends string>(args: Arguments<Row>, row: Row): Moment | undefined {
  const given = args.text(row);
  if (given === undefined) return undefined;
  const timeOfDay = parseLocalTime(given);
  if (timeOfDay !== undefined) return { timeOfDay };
  const at = parseTime(given);
  if (at === undefined)
    throw new UsageError(`--${row} ${given}: expected ${TIME_EXPECTS}, or a time of day such as 07:00`);
  return { at };
}

/** Undefined when not given; throws `UsageError`. */
export function parseDurationFlag<Row extends string>(args: Arguments<Row>, row: Row): Duration | undefined {
  const given = args.text(row);
  if (given === undefined) return undefined;
  const length = parseDuration(given);
  if (length === undefined)
    throw new UsageError(`--${row} ${given}: expected a duration such as 10s, 90m, 4h or 1h30m`);
  return length;
}

/** Undefined when not given; throws `UsageError`. */
export function parseZoneFlag<Row extends string>(args: Arguments<Row>, row: Row): string | undefined {
  const given = args.text(row);
  if (given === undefined || isTimeZone(given)) return given;
  const suggestion = findNearestWord(given, Intl.supportedValuesOf('timeZone'));
  const hint = suggestion === undefined ? '' : ` (${suggestion}?)`;
  throw new UsageError(`--${row} ${given}: expected a zone such as Europe/Berlin${hint}`);
}

/** The words between commas. */
export const splitList = (text: string): readonly string[] =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');

/** The results of all `reads`, or one `UsageError` with all their mistakes. */
export function parseAllFlags<Reads extends Readonly<Record<string, () => unknown>>>(reads: Reads) {
  const mistakes: string[] = [];
  const values = Object.entries(reads).map(([name, read]) => {
    try {
      return [name, read()];
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      mistakes.push(...error.mistakes);
      return [name, undefined];
    }
  });
  if (mistakes.length > 0) throw new UsageError(...mistakes);
  return Object.fromEntries(values) as { readonly [Name in keyof Reads]: ReturnType<Reads[Name]> };
}

export type PlaceRow = 'latitude' | 'longitude';

export const placeOptions: Readonly<Record<PlaceRow, OptionRow>> = {
  latitude: {
    value: 'DEGREES',
    range: {},
    help: 'north of the equator, with --longitude; default: the place of --config',
  },
  longitude: { value: 'DEGREES', range: {}, help: 'east of Greenwich' },
};

/** The place of `--latitude` and `--longitude`, else `fallback`. Throws `UsageError` for one without the other, or outside the range. */
export function parsePlaceFlags(args: Arguments<PlaceRow>, fallback?: Place): Place | undefined {
  const north = args.number('latitude');
  const east = args.number('longitude');
  if (north === undefined && east === undefined) return fallback;
  if (north === undefined || east === undefined)
    throw new UsageError(`--${north === undefined ? 'latitude' : 'longitude'} is missing: a place needs both`);
  const place = toPlace(north, east);
  if (typeof place === 'string') throw new UsageError(place);
  return place;
}

/** A saved answer of `/v3/forecast`, checked; throws `JobError`. */
export async function readSavedForecast(file: string): Promise<Forecast> {
  let body: unknown;
  try {
    body = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    const cause = error instanceof SyntaxError ? 'not JSON' : explainReadError(error);
    throw new JobError(`${file}: ${cause}; gridtide signal forecast --json > FILE saves one`);
  }
  // Imported only here: a command that needs a place alone does not load the decoders.
  const { decodeSavedForecast } = await import('../../service/api/decode-data.ts');
  const { failureText } = await import('../../service/failure-text.ts');
  const forecast = decodeSavedForecast(body);
  if (!forecast.ok) {
    const { failure } = forecast;
    const why =
      failure.kind === 'invalid-response'
        ? `${failure.where} is ${failure.received}, expected ${failure.expected}`
        : failureText(failure);
    throw new JobError(
      `${file}: not an answer of /v3/forecast (${why}); gridtide signal forecast --json > FILE saves one`,
    );
  }
  return forecast.value;
}

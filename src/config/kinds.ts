/** The kinds of values the configuration is made of. Each says what it takes; none knows which option it serves. */

import {
  type Duration,
  days,
  hours,
  type Kilowatt,
  type KilowattHour,
  type Latitude,
  type Longitude,
  latitude,
  longitude,
  type Percentile,
  percentile,
  seconds,
} from '../units.ts';
import { isZone } from '../zone.ts';
import type { Goal, LocalTime, LocalWindow, WeekTimes } from './config.ts';
import { type JsonSchema, type Kind, kindOf, type Raw, type Report, shown, shownKey } from './kind.ts';
import { nearest } from './nearest.ts';
import { isMap } from './sections.ts';
import {
  DAY_KEY,
  DURATION,
  daysOf,
  durationOf,
  durationText,
  TIME,
  timeOf,
  WINDOW,
  weekOf,
  windowOf,
} from './written.ts';

const textOf = (raw: Raw) => (typeof raw === 'string' ? raw : undefined);

interface Range {
  readonly from: number;
  readonly to: number;
  readonly whole?: true;
}

/** A number of the range as `make` brands it. `hint` adds to the sentence when the number lies outside. */
function numberWithin<T>(
  range: Range,
  make: (n: number) => T | undefined,
  hint: (n: number) => string = () => '',
): Kind<T> {
  const { from, to, whole = false } = range;
  const noun = whole ? 'a whole number' : 'a number';
  const within = from < 0 ? `within ${from} to ${to}` : `within ${from}-${to}`;
  const expects = `${noun} ${within}`;
  return {
    expects,
    schema: { type: whole ? 'integer' : 'number', minimum: from, maximum: to },
    read: (raw, report) => {
      const isNumber = typeof raw === 'number' && Number.isFinite(raw) && (!whole || Number.isInteger(raw));
      const value = isNumber && raw >= from && raw <= to ? make(raw) : undefined;
      if (value !== undefined) return value;
      const quoted = typeof raw === 'string' && raw.trim() !== '' && Number.isFinite(Number(raw));
      if (isNumber) report(`${raw} is not ${within}${hint(raw)}`);
      else report(`${shown(raw)} is not ${expects}${quoted ? '; write it without quotes' : ''}`);
      return undefined;
    },
  };
}

export const count = (from: number, to: number): Kind<number> => numberWithin({ from, to, whole: true }, (n) => n);
export const kilowatts: Kind<Kilowatt> = numberWithin({ from: 0.01, to: 1000 }, (n) => n as Kilowatt);
export const index: Kind<Percentile> = numberWithin({ from: 0, to: 100 }, percentile);
export const degreesNorth: Kind<Latitude> = numberWithin({ from: -90, to: 90 }, latitude, (n) =>
  Math.abs(n) <= 180 ? '; are latitude and longitude swapped?' : '',
);
export const degreesEast: Kind<Longitude> = numberWithin({ from: -180, to: 180 }, longitude);

/** Lines 0 and 1 of the 40-pin header belong to the identity chip of an add-on board. */
const FIRST_PIN = 2;
const LAST_PIN = 27;
export const pin: Kind<number> = {
  ...numberWithin(
    { from: FIRST_PIN, to: LAST_PIN, whole: true },
    (n) => n,
    (n) =>
      n === 0 || n === 1
        ? '; lines 0 and 1 belong to the identity chip of add-on boards'
        : ' (GPIO numbers, not header positions)',
  ),
};

export const pinPair: Kind<readonly [number, number]> = {
  expects: 'a list of two GPIO numbers, such as [17, 27]',
  schema: { type: 'array', items: pin.schema, minItems: 2, maxItems: 2, uniqueItems: true },
  read(raw, report) {
    if (!Array.isArray(raw) || raw.length !== 2) {
      report(`${Array.isArray(raw) ? `a list of ${raw.length}` : shown(raw)} is not ${this.expects}`);
      return undefined;
    }
    const [a, b] = raw.map((one, i) => pin.read(one, (says) => report(says, String(i))));
    if (a === undefined || b === undefined) return undefined;
    if (a !== b) return [a, b];
    report(`GPIO ${a} is there twice; each of the two contacts needs a line of its own`);
    return undefined;
  },
};

export const flag: Kind<boolean> = kindOf('true or false', { type: 'boolean' }, (raw) =>
  typeof raw === 'boolean' ? raw : undefined,
);

export function oneOf<const T extends string>(...words: readonly T[]): Kind<T> {
  const expects = `one of ${words.join(', ')}`;
  return {
    expects,
    schema: { enum: words },
    read: (raw, report) => {
      const found = words.find((word) => word === raw);
      if (found !== undefined) return found;
      const near = typeof raw === 'string' ? nearest(raw, words) : undefined;
      report(`${shown(raw)} is not ${expects}${near === undefined ? '' : `; did you mean ${near}?`}`);
      return undefined;
    },
  };
}

/** Names become topics, file names and identifiers: a small alphabet that needs quoting nowhere. */
export const NAME = /^[a-z0-9_-]{1,64}$/;
export const name: Kind<string> = kindOf(
  'a name of 1 to 64 small letters a-z, digits, _ and -',
  { type: 'string', pattern: NAME.source },
  (raw) => (typeof raw === 'string' && NAME.test(raw) ? raw : undefined),
);

const VISIBLE = '^[^\\u0000-\\u001f\\u007f]+$';
function lineOfText(expects: string, longest: number): Kind<string> {
  const visible = new RegExp(VISIBLE, 'u');
  return kindOf(expects, { type: 'string', minLength: 1, maxLength: longest, pattern: VISIBLE }, (raw) =>
    typeof raw === 'string' && raw.length <= longest && visible.test(raw) ? raw : undefined,
  );
}
export const path = lineOfText('the path of a file or directory', 4096);
export const word = lineOfText('a line of text', 128);
/** An empty message would delete a retained value, and some devices take it for a question. */
export const payload = lineOfText('a line of text that is not empty', 1024);

const TOPIC = '^[^#+$\\u0000-\\u001f\\u007f][^#+\\u0000-\\u001f\\u007f]*$';
const LONGEST_TOPIC = 512;
export const topic: Kind<string> = kindOf(
  `an MQTT topic of at most ${LONGEST_TOPIC} characters without + # and control characters`,
  { type: 'string', maxLength: LONGEST_TOPIC, pattern: TOPIC },
  (raw) =>
    typeof raw === 'string' && raw.length <= LONGEST_TOPIC && new RegExp(TOPIC, 'u').test(raw) ? raw : undefined,
);

export function duration(from: Duration = seconds(0), to: Duration = days(7)): Kind<Duration> {
  const within = `within ${durationText(from)} to ${durationText(to)}`;
  const expects = `a duration such as 90s, 30m, 4h or 1h30m, ${within}`;
  return {
    expects,
    schema: { type: 'string', pattern: DURATION.source },
    read: (raw, report) => {
      const value = typeof raw === 'string' ? durationOf(raw) : undefined;
      if (value !== undefined && value >= from && value <= to) return value;
      if (value !== undefined) report(`${shown(raw)} is not ${within}`);
      else report(`${shown(raw)} is not ${expects}${typeof raw === 'number' ? '; write the unit' : ''}`);
      return undefined;
    },
  };
}

export const timeOfDay: Kind<LocalTime> = kindOf(
  'a local time such as "07:00", from 00:00 to 23:59',
  { type: 'string', pattern: TIME.source },
  (raw) => timeOf(textOf(raw) ?? ''),
);

export const dailyWindow: Kind<LocalWindow> = kindOf(
  'a daily window such as 01:00-05:00 that is not empty',
  { type: 'string', pattern: WINDOW.source },
  (raw) => windowOf(textOf(raw) ?? ''),
);

const ENERGY = /^(\d+(?:\.\d+)?)\s?kWh$/;
const needExpects = 'a duration such as 4h, up to 24h, or an energy such as 12kWh';
export const need: Kind<Goal['need']> = kindOf(
  needExpects,
  {
    anyOf: [
      { type: 'string', pattern: DURATION.source },
      { type: 'string', pattern: ENERGY.source },
    ],
  },
  (raw) => {
    const text = textOf(raw) ?? '';
    const energy = Number(ENERGY.exec(text)?.[1] ?? 0);
    if (energy > 0 && energy <= 10_000) return { kind: 'energy', energy: energy as KilowattHour };
    const time = durationOf(text);
    return time === undefined || time <= 0 || time > hours(24) ? undefined : { kind: 'time', time };
  },
);

function readWeek(raw: ReadonlyMap<string, Raw>, report: Report): WeekTimes | undefined {
  const times = new Map<number, LocalTime>();
  const saidBy = new Map<number, string>();
  let mistakes = 0;
  const wrong: Report = (...mistake) => {
    mistakes++;
    report(...mistake);
  };
  for (const [key, value] of raw) {
    const named = daysOf(key);
    const time = timeOfDay.read(value, (says) => wrong(says, shownKey(key)));
    if (named === undefined)
      wrong('unknown days; expected mon to sun, a range such as mon-fri, or daily', shownKey(key));
    for (const day of named ?? []) {
      const before = saidBy.get(day);
      if (before !== undefined) {
        wrong(`names a day that ${before} names too; give each day once`, shownKey(key));
        break;
      }
      saidBy.set(day, key);
      if (time !== undefined) times.set(day, time);
    }
  }
  if (raw.size === 0) wrong('names no day; expected at least one');
  return mistakes > 0 ? undefined : weekOf((day) => times.get(day));
}

/** One time for every day, or times by days. */
export const week: Kind<WeekTimes> = {
  expects: 'a local time such as "07:00", or times by days such as {mon-fri: "07:00", sat-sun: "09:00"}',
  schema: {
    anyOf: [
      timeOfDay.schema,
      {
        type: 'object',
        propertyNames: { pattern: DAY_KEY.source },
        additionalProperties: timeOfDay.schema,
        minProperties: 1,
      },
    ],
  },
  read(raw, report) {
    if (isMap(raw)) return readWeek(raw, report);
    const time = timeOf(textOf(raw) ?? '');
    if (time === undefined) report(`${shown(raw)} is not ${this.expects}`);
    return time === undefined ? undefined : weekOf(() => time);
  },
};

export const timezone: Kind<string> = {
  expects: 'a time zone such as America/Los_Angeles',
  schema: { type: 'string', pattern: '^[A-Za-z]' } satisfies JsonSchema,
  read(raw, report) {
    if (typeof raw === 'string' && isZone(raw)) return raw;
    const near = typeof raw === 'string' ? nearest(raw, Intl.supportedValuesOf('timeZone')) : undefined;
    report(`${shown(raw)} is not ${this.expects}${near === undefined ? '' : `; did you mean ${near}?`}`);
    return undefined;
  },
};

/** The value types of the configuration: numbers, names, durations, times, topics. */

import { findNearestWord } from '../domain/did-you-mean.ts';
import { DURATION_PATTERN, formatDuration, parseDuration } from '../domain/duration-text.ts';
import { FIRST_LINE, findLineAtPosition, LAST_LINE } from '../domain/gpio-header.ts';
import type { Goal, LocalTime, LocalWindow, WeekTimes } from '../domain/load-types.ts';
import {
  buildWeekTimes,
  DAY_KEY_PATTERN,
  hintDecimalPoint,
  LOCAL_TIME_PATTERN,
  LOCAL_WINDOW_PATTERN,
  MONTH_KEY_PATTERN,
  NAME_PATTERN,
  parseLocalTime,
  parseLocalWindow,
  parseMonths,
  parseWeekdays,
} from '../domain/text-format.ts';
import { isTimeZone } from '../domain/time-zone.ts';
import {
  type Duration,
  days,
  hours,
  type Kilowatt,
  type KilowattHour,
  type Latitude,
  type Longitude,
  type Percentile,
  seconds,
  toLatitude,
  toLongitude,
  toPercentile,
} from '../domain/units.ts';
import { isRawMap } from './read-section.ts';
import {
  createValueType,
  type JsonSchema,
  quoteKey,
  quoteValue,
  type RawValue,
  type ReportMistake,
  type ValueType,
} from './value-type.ts';

const toText = (raw: RawValue) => (typeof raw === 'string' ? raw : undefined);

interface NumberRange {
  readonly from: number;
  readonly to: number;
  readonly whole?: true;
}

/** A number of the range, branded by `make`. `hint` is appended to the error of a number outside the range. */
function createNumberType<T>(
  range: NumberRange,
  make: (n: number) => T | undefined,
  hint: (n: number) => string = () => '',
): ValueType<T> {
  const { from, to, whole = false } = range;
  const noun = whole ? 'a whole number' : 'a number';
  const rangeText = from < 0 ? `within ${from} to ${to}` : `within ${from}-${to}`;
  const expects = `${noun} ${rangeText}`;
  return {
    expects,
    schema: { type: whole ? 'integer' : 'number', minimum: from, maximum: to },
    read: (raw, report) => {
      const isNumber = typeof raw === 'number' && Number.isFinite(raw) && (!whole || Number.isInteger(raw));
      const value = isNumber && raw >= from && raw <= to ? make(raw) : undefined;
      if (value !== undefined) return value;
      const isQuotedNumber = typeof raw === 'string' && raw.trim() !== '' && Number.isFinite(Number(raw));
      if (isNumber) report(`${raw} is not ${rangeText}${hint(raw)}`);
      else
        report(
          `${quoteValue(raw)} is not ${expects}${isQuotedNumber ? '; write it without quotes' : hintDecimalPoint(toText(raw) ?? '')}`,
        );
      return undefined;
    },
  };
}

export const integerType = (from: number, to: number): ValueType<number> =>
  createNumberType({ from, to, whole: true }, (n) => n);
/** The currents of chargers, in amperes. */
export const ampsType = integerType(6, 32);
export const kilowattsType: ValueType<Kilowatt> = createNumberType({ from: 0.01, to: 1000 }, (n) => n as Kilowatt);
export const percentileType: ValueType<Percentile> = createNumberType({ from: 0, to: 100 }, toPercentile);
export const latitudeType: ValueType<Latitude> = createNumberType({ from: -90, to: 90 }, toLatitude, (n) =>
  Math.abs(n) <= 180 ? '; are latitude and longitude swapped?' : '',
);
export const longitudeType: ValueType<Longitude> = createNumberType({ from: -180, to: 180 }, toLongitude);

export const gpioLineType: ValueType<number> = {
  ...createNumberType(
    { from: FIRST_LINE, to: LAST_LINE, whole: true },
    (n) => n,
    (n) => (n === 0 || n === 1 ? '; lines 0 and 1 belong to the identity chip of add-on boards' : describePosition(n)),
  ),
};

function describePosition(n: number): string {
  const line = findLineAtPosition(n);
  return ` (GPIO numbers, not header positions${line === undefined ? '' : `: header pin ${n} is GPIO ${line}`})`;
}

/** Two values of one type. */
export const pairType = <T>(one: ValueType<T>): ValueType<readonly [T, T]> => ({
  expects: `a list of two: ${one.expects}`,
  schema: { type: 'array', items: one.schema, minItems: 2, maxItems: 2 },
  read(raw, report) {
    if (!Array.isArray(raw) || raw.length !== 2) {
      report(`${Array.isArray(raw) ? `a list of ${raw.length}` : quoteValue(raw)} is not ${this.expects}`);
      return undefined;
    }
    const [a, b] = raw.map((item, i) => one.read(item, (text, ...under) => report(text, String(i), ...under)));
    return a === undefined || b === undefined ? undefined : [a, b];
  },
});

export const gpioPairType: ValueType<readonly [number, number]> = {
  expects: 'a list of two GPIO numbers, such as [17, 27]',
  schema: { type: 'array', items: gpioLineType.schema, minItems: 2, maxItems: 2, uniqueItems: true },
  read(raw, report) {
    const pair = pairType(gpioLineType).read.call(this, raw, report);
    if (pair === undefined || pair[0] !== pair[1]) return pair;
    report(`GPIO ${pair[0]} is given twice; each contact needs its own line`);
    return undefined;
  },
};

export const booleanType: ValueType<boolean> = createValueType('true or false', { type: 'boolean' }, (raw) =>
  typeof raw === 'boolean' ? raw : undefined,
);

export function enumType<const T extends string>(...words: readonly T[]): ValueType<T> {
  const expects = `one of ${words.join(', ')}`;
  return {
    expects,
    schema: { enum: words },
    read: (raw, report) => {
      const found = words.find((word) => word === raw);
      if (found !== undefined) return found;
      const near = typeof raw === 'string' ? findNearestWord(raw, words) : undefined;
      report(`${quoteValue(raw)} is not ${expects}${near === undefined ? '' : `; did you mean ${near}?`}`);
      return undefined;
    },
  };
}

export const nameType: ValueType<string> = createValueType(
  'a name of 1 to 64 small letters a-z, digits, _ and -',
  { type: 'string', pattern: NAME_PATTERN.source },
  (raw) => (typeof raw === 'string' && NAME_PATTERN.test(raw) ? raw : undefined),
);

const VISIBLE_PATTERN = '^[^\\u0000-\\u001f\\u007f]+$';
function createTextType(expects: string, longest: number): ValueType<string> {
  const visible = new RegExp(VISIBLE_PATTERN, 'u');
  return createValueType(
    expects,
    { type: 'string', minLength: 1, maxLength: longest, pattern: VISIBLE_PATTERN },
    (raw) => (typeof raw === 'string' && raw.length <= longest && visible.test(raw) ? raw : undefined),
  );
}
export const pathType = createTextType('the path of a file or directory', 4096);
export const textType = createTextType('a line of text', 128);
/** An empty message would delete a retained value, and some devices read it as a query. */
export const payloadType = createTextType('a line of text that is not empty', 1024);

/** A state of a device; YAML reads some of them as a number or a boolean. */
export const stateTextType: ValueType<string> = createValueType(
  'a state, such as on, 16 or true',
  { anyOf: [textType.schema, { type: 'number' }, { type: 'boolean' }] },
  (raw) => {
    const isPlain = typeof raw === 'boolean' || (typeof raw === 'number' && Number.isFinite(raw));
    return textType.read(isPlain ? `${raw}` : raw, () => {});
  },
);

const ENTITY_PATTERN = /^(?!.{256})[a-z0-9_]+\.[a-z0-9_]+$/;
export const entityType: ValueType<string> = createValueType(
  'an entity such as switch.car_charger',
  { type: 'string', pattern: ENTITY_PATTERN.source },
  (raw) => (typeof raw === 'string' && ENTITY_PATTERN.test(raw) ? raw : undefined),
);

const HEADER_PATTERN = /^[A-Za-z0-9-]{1,64}$/;
export const headerNameType: ValueType<string> = createValueType(
  'the name of a header, such as X-Api-Key',
  { type: 'string', pattern: HEADER_PATTERN.source },
  (raw) => (typeof raw === 'string' && HEADER_PATTERN.test(raw) ? raw : undefined),
);

const MAX_HEADERS = 16;
/** Those of the connection are the client's own, and a token belongs into a file. */
const OWN_HEADERS = ['authorization', 'connection', 'content-length', 'cookie', 'host', 'transfer-encoding'];
export const headersType: ValueType<Readonly<Record<string, string>>> = {
  expects: `a section of at most ${MAX_HEADERS} headers, each a line of text`,
  schema: {
    type: 'object',
    propertyNames: { pattern: HEADER_PATTERN.source },
    additionalProperties: textType.schema,
    maxProperties: MAX_HEADERS,
  },
  read(raw, report) {
    if (!isRawMap(raw) || raw.size > MAX_HEADERS) {
      report(`${isRawMap(raw) ? `a section of ${raw.size}` : quoteValue(raw)} is not ${this.expects}`);
      return undefined;
    }
    const headers = [...raw].flatMap(([name, text]) => {
      const key = headerNameType.read(name, (mistake) => report(mistake, quoteKey(name)))?.toLowerCase();
      const value = textType.read(text, (mistake) => report(mistake, quoteKey(name)));
      const isOwn = key !== undefined && OWN_HEADERS.includes(key);
      if (isOwn) report('is not for the configuration; remove it, and give a token in tokenFile', quoteKey(name));
      return key === undefined || value === undefined || isOwn ? [] : [[key, value] as const];
    });
    return headers.length === raw.size ? Object.fromEntries(headers) : undefined;
  },
};

const TOPIC_PATTERN = '^[^#+$\\u0000-\\u001f\\u007f][^#+\\u0000-\\u001f\\u007f]*$';
const MAX_TOPIC_LENGTH = 512;
export const topicType: ValueType<string> = createValueType(
  `an MQTT topic of at most ${MAX_TOPIC_LENGTH} characters without + # and control characters`,
  { type: 'string', maxLength: MAX_TOPIC_LENGTH, pattern: TOPIC_PATTERN },
  (raw) =>
    typeof raw === 'string' && raw.length <= MAX_TOPIC_LENGTH && new RegExp(TOPIC_PATTERN, 'u').test(raw)
      ? raw
      : undefined,
);

/** A level of an MQTT topic too: names of the service are of this alphabet. */
const REGION_PATTERN = /^[A-Za-z0-9_-]{1,64}$/;
export const regionType: ValueType<string> = createValueType(
  'a region such as CAISO_NORTH',
  { type: 'string', pattern: REGION_PATTERN.source },
  (raw) => (typeof raw === 'string' && REGION_PATTERN.test(raw) ? raw : undefined),
);

/** The 32 bytes of an Ed25519 key in base64url. */
const PUBLIC_KEY_PATTERN = /^[A-Za-z0-9_-]{43}$/;
const MAX_PUBLIC_KEYS = 4;
const PUBLIC_KEY_SCHEMA = { type: 'string', pattern: PUBLIC_KEY_PATTERN.source } as const;
/** One key, or a list of them. */
export const publicKeyType: ValueType<readonly string[]> = createValueType(
  'a key of 43 characters as gridtide relay --new-key prints it, or a list of at most 4',
  { anyOf: [PUBLIC_KEY_SCHEMA, { type: 'array', items: PUBLIC_KEY_SCHEMA, minItems: 1, maxItems: MAX_PUBLIC_KEYS }] },
  (raw) => {
    const keys = Array.isArray(raw) ? raw : [raw];
    const areKeys = keys.every((key) => typeof key === 'string' && PUBLIC_KEY_PATTERN.test(key));
    return areKeys && keys.length > 0 && keys.length <= MAX_PUBLIC_KEYS ? keys : undefined;
  },
);

export function durationType(from: Duration = seconds(0), to: Duration = days(7)): ValueType<Duration> {
  const rangeText = `within ${formatDuration(from)} to ${formatDuration(to)}`;
  const expects = `a duration such as 90s, 30m, 4h or 1h30m, ${rangeText}`;
  return {
    expects,
    schema: { type: 'string', pattern: DURATION_PATTERN.source },
    read: (raw, report) => {
      const value = typeof raw === 'string' ? parseDuration(raw) : undefined;
      if (value !== undefined && value >= from && value <= to) return value;
      if (value !== undefined) report(`${quoteValue(raw)} is not ${rangeText}`);
      else
        report(
          `${quoteValue(raw)} is not ${expects}${typeof raw === 'number' ? '; write the unit' : hintDecimalPoint(toText(raw) ?? '')}`,
        );
      return undefined;
    },
  };
}

export const timeOfDayType: ValueType<LocalTime> = createValueType(
  'a local time such as "07:00", from 00:00 to 23:59',
  { type: 'string', pattern: LOCAL_TIME_PATTERN.source },
  (raw) => parseLocalTime(toText(raw) ?? ''),
);

export const dailyWindowType: ValueType<LocalWindow> = createValueType(
  'a daily window such as 01:00-05:00 that is not empty',
  { type: 'string', pattern: LOCAL_WINDOW_PATTERN.source },
  (raw) => parseLocalWindow(toText(raw) ?? ''),
);

const ENERGY_PATTERN = /^(\d+(?:\.\d+)?)\s?kWh$/;
const NEED_EXPECTS = 'a duration such as 4h, up to 24h, or an energy such as 12kWh';
export const needType: ValueType<Goal['need']> = createValueType(
  NEED_EXPECTS,
  {
    anyOf: [
      { type: 'string', pattern: DURATION_PATTERN.source },
      { type: 'string', pattern: ENERGY_PATTERN.source },
    ],
  },
  (raw) => {
    const text = toText(raw) ?? '';
    const energy = Number(ENERGY_PATTERN.exec(text)?.[1] ?? 0);
    if (energy > 0 && energy <= 10_000) return { kind: 'energy', energy: energy as KilowattHour };
    const time = parseDuration(text);
    return time === undefined || time <= 0 || time > hours(24) ? undefined : { kind: 'time', time };
  },
);

function readWeekTimes(raw: ReadonlyMap<string, RawValue>, report: ReportMistake): WeekTimes | undefined {
  const times = new Map<number, LocalTime>();
  const keyByDay = new Map<number, string>();
  let mistakes = 0;
  const reportWeekMistake: ReportMistake = (...mistake) => {
    mistakes++;
    report(...mistake);
  };
  for (const [key, value] of raw) {
    const weekdays = parseWeekdays(key);
    const time = timeOfDayType.read(value, (complaint) => reportWeekMistake(complaint, quoteKey(key)));
    if (weekdays === undefined)
      reportWeekMistake('unknown days; expected mon to sun, a range such as mon-fri, or daily', quoteKey(key));
    for (const day of weekdays ?? []) {
      const earlierKey = keyByDay.get(day);
      if (earlierKey !== undefined) {
        reportWeekMistake(`names a day that ${earlierKey} names too; give each day once`, quoteKey(key));
        break;
      }
      keyByDay.set(day, key);
      if (time !== undefined) times.set(day, time);
    }
  }
  if (raw.size === 0) reportWeekMistake('names no day; expected at least one');
  return mistakes > 0 ? undefined : buildWeekTimes((day) => times.get(day));
}

/** One time for every day, or times by days. */
export const weekTimesType: ValueType<WeekTimes> = {
  expects: 'a local time such as "07:00", or times by days such as {mon-fri: "07:00", sat-sun: "09:00"}',
  schema: {
    anyOf: [
      timeOfDayType.schema,
      {
        type: 'object',
        propertyNames: { pattern: DAY_KEY_PATTERN.source },
        additionalProperties: timeOfDayType.schema,
        minProperties: 1,
      },
    ],
  },
  read(raw, report) {
    if (isRawMap(raw)) return readWeekTimes(raw, report);
    const time = parseLocalTime(toText(raw) ?? '');
    if (time === undefined) report(`${quoteValue(raw)} is not ${this.expects}`);
    return time === undefined ? undefined : buildWeekTimes(() => time);
  },
};

export const timezoneType: ValueType<string> = {
  expects: 'a time zone such as America/Los_Angeles',
  schema: { type: 'string', pattern: '^[A-Za-z]' } satisfies JsonSchema,
  read(raw, report) {
    if (typeof raw === 'string' && isTimeZone(raw)) return raw;
    const near = typeof raw === 'string' ? findNearestWord(raw, Intl.supportedValuesOf('timeZone')) : undefined;
    report(`${quoteValue(raw)} is not ${this.expects}${near === undefined ? '' : `; did you mean ${near}?`}`);
    return undefined;
  },
};

const CURRENCY_PATTERN = /^[A-Z]{3}$/;
export const currencyType: ValueType<string> = createValueType(
  'the code of a currency in three capital letters, such as USD',
  { type: 'string', pattern: CURRENCY_PATTERN.source },
  (raw) => (typeof raw === 'string' && CURRENCY_PATTERN.test(raw) ? raw : undefined),
);

/** Of one kilowatt-hour; whether it is one of the currency's is a question of the whole tariff. */
export const priceType: ValueType<number> = createNumberType({ from: -10_000, to: 10_000 }, (n) => n);
export const carbonPriceType: ValueType<number> = createNumberType({ from: 0.01, to: 1e7 }, (n) => n);

const PERCENT_PATTERN = /^(\d+(?:\.\d+)?)\s?%$/;
const MAX_PERCENT = 100;
/** As a share. */
export const percentType: ValueType<number> = createValueType(
  `a percentage such as 2%, within 0-${MAX_PERCENT}%`,
  { type: 'string', pattern: PERCENT_PATTERN.source },
  (raw) => {
    const percent = Number(PERCENT_PATTERN.exec(toText(raw) ?? '')?.[1] ?? Number.NaN);
    return percent <= MAX_PERCENT ? percent / 100 : undefined;
  },
);

export const weekdaysType: ValueType<readonly number[]> = createValueType(
  'weekdays such as mon-fri, sat or daily',
  { type: 'string', pattern: DAY_KEY_PATTERN.source },
  (raw) => parseWeekdays(toText(raw) ?? ''),
);

export const monthsType: ValueType<readonly number[]> = createValueType(
  'months such as jun-sep, dec or all',
  { type: 'string', pattern: MONTH_KEY_PATTERN.source },
  (raw) => parseMonths(toText(raw) ?? ''),
);

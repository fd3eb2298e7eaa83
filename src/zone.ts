/** What the clocks of a time zone show: local dates and offsets, for every floor. Knows no time of its own. */

const QUARTER = 900_000;
const DAY = 86_400_000;
const MOST_REMEMBERED = 20_000;

type OffsetOf = (at: number) => number;

const measures = new Map<string, OffsetOf>();
const remembered = new Map<string, Map<number, number>>();

/** By Node's Intl, which knows every zone; it takes 8 MiB of memory to say the first word. */
function byIntl(timezone: string): OffsetOf {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (at) => {
    const part: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(at)) part[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
    return Date.UTC(year, month - 1, day, hour, minute, second) - at;
  };
}

/** A cheaper way to know one zone, from a program that lives in it. */
export function measureBy(timezone: string, offsetOf: OffsetOf): void {
  measures.set(timezone, offsetOf);
}

/** Milliseconds to add to `at` for the local clock of `timezone`. Throws on a zone nobody knows. */
export function offsetAt(timezone: string, at: number): number {
  // Every change of offset in use falls on a quarter hour of UTC.
  const quarter = Math.floor(at / QUARTER);
  let known = remembered.get(timezone);
  if (known === undefined) {
    known = new Map();
    remembered.set(timezone, known);
  }
  const held = known.get(quarter);
  if (held !== undefined) return held;
  if (known.size >= MOST_REMEMBERED) known.clear();
  const measure = measures.get(timezone) ?? byIntl(timezone);
  measures.set(timezone, measure);
  const offset = measure(quarter * QUARTER);
  known.set(quarter, offset);
  return offset;
}

/** Days since 1970-01-01 of the local date at `at`. */
export const localDay = (timezone: string, at: number) => Math.floor((at + offsetAt(timezone, at)) / DAY);

/** `2026-03-01`; months are its first seven letters. */
export const localDate = (timezone: string, at: number) =>
  new Date(localDay(timezone, at) * DAY).toISOString().slice(0, 10);

/** Whether the name is that of a zone. */
export function isZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  // The list is cheap, but has one name for each zone; Intl knows the others as well.
  if (Intl.supportedValuesOf('timeZone').includes(name)) return true;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Local dates and offsets of a time zone. */

const QUARTER_HOUR = 900_000;
const DAY = 86_400_000;
const MAX_CACHED_OFFSETS = 20_000;

type OffsetFinder = (at: number) => number;
/** Undefined for a zone that the source does not have. */
type OffsetSource = (timezone: string) => OffsetFinder | undefined;

const offsetFinders = new Map<string, OffsetFinder>();
const offsetCaches = new Map<string, Map<number, number>>();
let cheapSource: OffsetSource = () => undefined;

/** By Node's Intl, which has every zone and costs 8 MiB of memory at its first use. */
function createIntlOffsetFinder(timezone: string): OffsetFinder {
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

/** Sets the source that each zone is looked for in before Intl. */
export function setOffsetSource(source: OffsetSource): void {
  cheapSource = source;
  offsetFinders.clear();
}

function findOffsetFinder(timezone: string): OffsetFinder | undefined {
  const found = offsetFinders.get(timezone) ?? cheapSource(timezone);
  if (found !== undefined) offsetFinders.set(timezone, found);
  return found;
}

/** Milliseconds to add to `at` for the local clock of `timezone`. Throws on an unknown zone. */
export function getZoneOffset(timezone: string, at: number): number {
  // Every change of offset in use falls on a quarter hour of UTC.
  const quarter = Math.floor(at / QUARTER_HOUR);
  let cache = offsetCaches.get(timezone);
  if (cache === undefined) {
    cache = new Map();
    offsetCaches.set(timezone, cache);
  }
  const cached = cache.get(quarter);
  if (cached !== undefined) return cached;
  if (cache.size >= MAX_CACHED_OFFSETS) cache.clear();
  const findOffset = findOffsetFinder(timezone) ?? createIntlOffsetFinder(timezone);
  offsetFinders.set(timezone, findOffset);
  const offset = findOffset(quarter * QUARTER_HOUR);
  cache.set(quarter, offset);
  return offset;
}

/** Days since 1970-01-01 of the local date at `at`. */
export const toLocalDay = (timezone: string, at: number) => Math.floor((at + getZoneOffset(timezone, at)) / DAY);

/** `2026-03-01`; months are its first seven letters. */
export const formatLocalDate = (timezone: string, at: number) =>
  new Date(toLocalDay(timezone, at) * DAY).toISOString().slice(0, 10);

/** Whether the name is that of a zone. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  // The list costs 5 ms and has one name for each zone; a format costs 30 ms and has the others as well.
  if (findOffsetFinder(name) !== undefined || Intl.supportedValuesOf('timeZone').includes(name)) return true;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

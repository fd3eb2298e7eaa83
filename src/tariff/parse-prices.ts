/** Reads prices ahead from the messages of evcc and of Home Assistant integrations, and from a CSV file. */

import { parseInstant } from '../domain/iso-time.ts';
import { getMaxPrice, type PriceSpan } from '../domain/tariff.ts';
import { parseDecimal } from '../domain/text-format.ts';
import { hours, type Instant } from '../domain/units.ts';

export type ParsedPrices =
  | { readonly ok: true; readonly spans: readonly PriceSpan[] }
  /** `problem` completes "the prices of …": what is wrong, and the cure. */
  | { readonly ok: false; readonly problem: string };

/** A price and the time it holds from; without an end it holds until the next one. */
interface PricePoint {
  readonly from: Instant;
  readonly to?: Instant;
  readonly price: number;
}

type Document = Readonly<Record<string, unknown>>;

/** The keys of evcc, Nord Pool, EPEX Spot, ENTSO-E, Tibber, Octopus Energy and Amber, and plain ones. */
const START_KEYS = ['start', 'start_time', 'startsAt', 'starts_at', 'valid_from', 'from', 'time', 'hour'];
const END_KEYS = ['end', 'end_time', 'endsAt', 'ends_at', 'valid_to', 'to', 'till'];
const PRICE_KEYS = ['value', 'price', 'total', 'value_inc_vat', 'per_kwh', 'price_per_kwh'];
const UNIT_KEYS = ['unit_of_measurement', 'unit', 'units'];
/** Longer messages are no prices of a house. */
const MAX_TEXT = 256 * 1024;
const MAX_POINTS = 2_000;
const MAX_DEPTH = 4;
/** The last price of a list without ends holds as long as the one before it did, an hour where there is none. */
const LAST_LENGTH = hours(1);

const isDocument = (value: unknown): value is Document =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const findValue = (document: Document, keys: readonly string[]) => {
  const key = keys.find((name) => document[name] !== undefined && document[name] !== null);
  return key === undefined ? undefined : document[key];
};

/** ISO 8601 with a zone, or seconds since 1970. */
function toTime(value: unknown): Instant | undefined {
  if (typeof value === 'number') return value > 1e8 && value < 1e11 ? ((value * 1_000) as Instant) : undefined;
  return parseInstant(value);
}

const toPrice = (value: unknown): number | undefined => {
  const price = typeof value === 'string' ? parseDecimal(value.trim()) : value;
  return typeof price === 'number' && Number.isFinite(price) ? price : undefined;
};

function toPoint(item: unknown): PricePoint | undefined {
  const [start, end, value] = Array.isArray(item)
    ? item.length === 3
      ? item
      : [item[0], undefined, item[1]]
    : isDocument(item)
      ? [findValue(item, START_KEYS), findValue(item, END_KEYS), findValue(item, PRICE_KEYS)]
      : [];
  const [from, to, price] = [toTime(start), toTime(end), toPrice(value)];
  if (from === undefined || price === undefined) return undefined;
  return { from, price, ...(to === undefined ? {} : { to }) };
}

/** Every price in the document, however deep its lists lie. */
function collectPoints(value: unknown, depth = 0): readonly PricePoint[] {
  if (depth > MAX_DEPTH || typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) {
    const points = value.slice(0, MAX_POINTS).map(toPoint);
    if (points.some((point) => point !== undefined)) return points.filter((point) => point !== undefined);
  }
  const byTime = Object.entries(value).map(toPoint);
  if (byTime.some((point) => point !== undefined)) return byTime.filter((point) => point !== undefined);
  return Object.values(value).flatMap((inside) => collectPoints(inside, depth + 1));
}

function toSpans(points: readonly PricePoint[]): readonly PriceSpan[] {
  const byStart = new Map(points.map((point) => [point.from, point]));
  const sorted = [...byStart.values()].sort((a, b) => a.from - b.from);
  return sorted.flatMap(({ from, to, price }, i): PriceSpan[] => {
    const before = sorted[i - 1];
    const next = sorted[i + 1]?.from;
    const length = before === undefined ? LAST_LENGTH : Math.min(LAST_LENGTH, from - before.from);
    const end = Math.min(to ?? next ?? from + length, next ?? Number.POSITIVE_INFINITY) as Instant;
    return end > from ? [{ from, to: end, price }] : [];
  });
}

/** What the unit of a message says in one of the currency for a kilowatt-hour; undefined for a unit of another kind. */
function readUnit(unit: unknown): { readonly factor: number } | undefined {
  if (typeof unit !== 'string') return { factor: 1 };
  const text = unit.toLowerCase();
  if (text.includes('/mwh')) return { factor: 1 / 1_000 };
  const isSmallCoin = /^(?:ct|cts|cents?|c|p|snt|öre|øre|ore|gr)\/kwh$/.test(text);
  if (isSmallCoin) return { factor: 1 / 100 };
  return text.endsWith('kwh') ? { factor: 1 } : undefined;
}

/** The currency of a unit such as SEK/kWh. */
const readUnitCurrency = (unit: unknown) => (typeof unit === 'string' ? /^(\w+)\//.exec(unit)?.[1] : undefined);

/** The first of these keys in the document or in a part of it. */
function findDeep(value: unknown, keys: readonly string[], depth = 0): unknown {
  if (!isDocument(value) || depth > MAX_DEPTH) return undefined;
  const own = findValue(value, keys);
  if (own !== undefined && typeof own !== 'object') return own;
  for (const inside of Object.values(value)) {
    const found = findDeep(inside, keys, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

const refuse = (problem: string): ParsedPrices => ({ ok: false, problem });

/** Prices that cannot be right for the currency are in cents, or of another thing. */
function checkSize(spans: readonly PriceSpan[], currency: string): ParsedPrices {
  const most = getMaxPrice(currency);
  const dear = spans.find(({ price }) => Math.abs(price) > most);
  if (dear === undefined) return { ok: true, spans };
  return refuse(
    `hold ${dear.price} ${currency} for a kilowatt-hour, above ${most}: they may be in cents or for a megawatt-hour; let their publisher use ${currency}/kWh`,
  );
}

/** A message of a price topic. */
export function parsePriceMessage(text: string, currency: string): ParsedPrices {
  if (text.length > MAX_TEXT) return refuse(`are larger than ${MAX_TEXT / 1024} KiB and were not read`);
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return refuse('are not JSON; expected a list such as [{"start": "2026-03-01T00:00:00Z", "value": 0.31}]');
  }
  if (typeof document === 'number')
    return refuse(
      'are one number, and a plan needs hours ahead; name a topic with a list, such as evcc/site/forecast/grid',
    );
  const unit = findDeep(document, UNIT_KEYS);
  const other = [findDeep(document, ['currency']), readUnitCurrency(unit)].find(
    (code) => typeof code === 'string' && /^[A-Z]{3}$/.test(code) && code !== currency,
  );
  if (other !== undefined)
    return refuse(`are in ${other}, and the tariff is in ${currency}; set tariff.currency, or the publisher's`);
  const read = readUnit(unit);
  if (read === undefined) return refuse(`have the unit ${JSON.stringify(unit)}; expected ${currency}/kWh`);
  // Nord Pool's integration says so beside the unit of energy.
  const factor = findDeep(document, ['price_in_cents']) === true ? 1 / 100 : read.factor;
  const points = collectPoints(document).map((point) => ({ ...point, price: point.price * factor }));
  if (points.length === 0)
    return refuse(
      'name no hour with its price; expected a list such as [{"start": "2026-03-01T00:00:00Z", "value": 0.31}]',
    );
  return checkSize(toSpans(points), currency);
}

/** Lines of `start,price`, or `start,end,price`; a first line without a time names the columns. */
export function parsePriceFile(text: string, currency: string): ParsedPrices {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  const rows = lines.map((line) => toPoint(line.split(',').map((cell) => cell.trim())));
  const wrong = rows.findIndex((row, i) => row === undefined && i > 0);
  if (wrong > 0)
    return refuse(`have a line ${wrong + 1} that is not start,price: ${JSON.stringify(lines[wrong]?.slice(0, 40))}`);
  const points = rows.filter((row) => row !== undefined);
  if (points.length === 0) return refuse('have no line such as 2026-03-01T00:00:00Z,0.31');
  return checkSize(toSpans(points), currency);
}

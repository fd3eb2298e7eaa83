/** `/api/v1/datapoints/` and `/api/v1/marginal/`: pages of computed points, newest first (specification 2.9, 4.5). Holds no page. */

import { type Answer, detail, json, listed } from './answer.ts';
import { type Catalogue, type Place, PREVIEW_REGION } from './catalogue.ts';
import { carbonOf, demandAt, type Fleet, mixAt } from './fuels.ts';
import { BACKFILL_FROM, defaultModel, type Model, modelsAt } from './models.ts';
import { fraction, seedFor } from './noise.ts';
import { archetypeOf, authorityOf } from './regions.ts';
import type { Call, Service } from './service.ts';
import { readDate, readTime } from './times.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const PAGE_SIZE = 12;
/** A year of 5 minutes nearly: without an end to it one call could stream for hours. */
const MOST_A_PAGE = 100_000;

interface Market {
  readonly name: 'RT5M' | 'RTHR' | 'DAHR';
  readonly freq: '5m' | '1hr';
  readonly period: number;
  /** When the point of `time` is made. */
  readonly createdAt: (time: number, delay: number) => number;
  /** The last time whose point exists at `now`. */
  readonly last: (now: number, delay: number) => number;
}

const pastMarket = (name: 'RT5M' | 'RTHR', freq: '5m' | '1hr', period: number): Market => ({
  name,
  freq,
  period,
  createdAt: (time, delay) => time + period + delay,
  last: (now, delay) => Math.floor((now - period - delay) / period) * period,
});

const markets: readonly Market[] = [
  pastMarket('RT5M', '5m', 5 * MINUTE),
  pastMarket('RTHR', '1hr', HOUR),
  {
    name: 'DAHR',
    freq: '1hr',
    period: HOUR,
    // Each day's hours are forecast at noon UTC of the day before.
    createdAt: (time) => Math.floor(time / DAY) * DAY - 12 * HOUR,
    last: (now) => Math.floor((now + 12 * HOUR) / DAY) * DAY + 23 * HOUR,
  },
];

/** One authority in one market: a regular row of points. */
interface Row {
  readonly ba: string;
  readonly place: Place;
  readonly market: Market;
  readonly delay: number;
  readonly first: number;
  readonly last: number;
}

const countOf = ({ first, last, market }: Row) => (last < first ? 0 : (last - first) / market.period + 1);
/** How many points of a row lie after `time`. */
const countAfter = (row: Row, time: number) =>
  row.last <= time
    ? 0
    : (row.last - Math.max(row.first - row.market.period, Math.floor(time / row.market.period) * row.market.period)) /
      row.market.period;

interface Wanted {
  readonly rows: readonly Row[];
  readonly page: number;
  readonly pageSize: number;
}

function timeOf(query: URLSearchParams, name: string, fallback: number): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return fallback;
  return readTime(text) ?? readDate(text);
}

/** A whole number of at least 1, else the fallback: the earlier interface overlooks a bad page size. */
function positive(text: string | null): number | undefined {
  const n = Number(text ?? '');
  return text !== null && Number.isInteger(n) && n >= 1 ? n : undefined;
}

function wantedOf({ catalogue, seed }: Service, { query, now }: Call): Wanted | Answer {
  const start = timeOf(query, 'start_at', BACKFILL_FROM);
  const end = timeOf(query, 'end_at', Number.POSITIVE_INFINITY);
  const bad = [start === undefined ? 'start_at' : '', end === undefined ? 'end_at' : ''].filter((name) => name !== '');
  if (start === undefined || end === undefined)
    return json(400, Object.fromEntries(bad.map((name) => [name, ['Enter a valid date/time.']])));

  const said = query.get('page');
  const page = said === null ? 1 : positive(said);
  if (page === undefined) return detail(404, 'Invalid page.');
  const [ba, market, freq] = ['ba', 'market', 'freq'].map((name) => query.get(name) || undefined);
  const rows = [...catalogue.co2_aoer.places.values()]
    .filter(({ region }) => (ba ?? region) === region)
    .flatMap((place) =>
      markets
        .filter(
          (candidate) => (market ?? candidate.name) === candidate.name && (freq ?? candidate.freq) === candidate.freq,
        )
        .map((candidate): Row => {
          const delay = Math.floor(5 * MINUTE * fraction(seedFor(seed, `v1 ${place.region}`), 0));
          const { period } = candidate;
          const first = Math.ceil(Math.max(start, BACKFILL_FROM) / period) * period;
          const last = Math.floor(Math.min(end, candidate.last(now, delay)) / period) * period;
          return { ba: place.region, place, market: candidate, delay, first, last };
        }),
    )
    .filter((row) => countOf(row) > 0);
  return { rows, page, pageSize: Math.min(MOST_A_PAGE, positive(query.get('page_size')) ?? PAGE_SIZE) };
}

/** The rows' points one after another, newest first, from the `skip`-th on. */
function* newestFirst(rows: readonly Row[], skip: number): Generator<{ row: Row; time: number }> {
  const step = 5 * MINUTE;
  const after = (time: number) => rows.reduce((sum, row) => sum + countAfter(row, time), 0);
  // The newest time with at most `skip` points after it, by halving the span.
  let low = Math.min(...rows.map(({ first }) => first)) / step;
  let high = Math.max(...rows.map(({ last }) => last)) / step;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (after(middle * step) <= skip) high = middle;
    else low = middle + 1;
  }
  let left = skip - after(low * step);
  const oldest = Math.min(...rows.map(({ first }) => first));
  for (let time = low * step; time >= oldest; time -= step)
    for (const row of rows) {
      if (time % row.market.period !== 0 || time < row.first || time > row.last) continue;
      if (left > 0) left -= 1;
      else yield { row, time };
    }
}

const zulu = (at: number) => `${new Date(at).toISOString().slice(0, 19)}Z`;
const fleetOf = (seed: number, { region, longitude }: Place): Fleet => ({
  archetype: archetypeOf(region) ?? 'wind',
  seed: seedFor(seed, `fleet ${region}`),
  zone: Math.round(longitude / 15),
});
const linkOf = (call: Call, { ba, market }: Row, time: number) =>
  `${call.origin}${call.path}?ba=${ba}&market=${market.name}&start_at=${zulu(time)}&end_at=${zulu(time)}`;

type Describe = (service: Service, call: Call, point: { row: Row; time: number }) => unknown;

export const dataPoint: Describe = ({ seed }, call, { row, time }) => {
  const mix = mixAt(fleetOf(seed, row.place), time);
  return {
    timestamp: zulu(time),
    created_at: zulu(row.market.createdAt(time, row.delay)),
    carbon: carbonOf(mix),
    genmix: mix,
    url: linkOf(call, row, time),
    market: row.market.name,
    freq: row.market.freq,
    ba: row.ba,
  };
};

/** The place of the current interface whose rate stands for the authority's margin. */
function marginOf(catalogue: Catalogue, ba: string): Place {
  const { places } = catalogue.co2_moer;
  const preview = authorityOf(PREVIEW_REGION) === ba ? places.get(PREVIEW_REGION) : undefined;
  const found = preview ?? places.get(ba) ?? [...places.values()].find(({ region }) => authorityOf(region) === ba);
  if (found === undefined) throw new Error(`no region lies in ${ba}`);
  return found;
}

/** The settled rate of a past market; of the day-ahead one, and where a record has no rate, the forecast as issued. */
function marginAt(place: Place, model: Model, { row, time }: { row: Row; time: number }): number {
  const created = row.market.createdAt(time, row.delay);
  const known = created < time ? undefined : place.source().settled(time, Number.POSITIVE_INFINITY, model);
  if (known !== undefined) return known.value;
  const issued = Math.min(created, time);
  const ahead = new Float64Array((time - issued) / (5 * MINUTE) + 1);
  place.source().forecast(issued, model, ahead);
  return ahead.at(-1) ?? 0;
}

export const marginalPoint: Describe = ({ seed, catalogue }, call, { row, time }) => {
  const fleet = fleetOf(seed, row.place);
  const model = defaultModel(modelsAt(catalogue.co2_moer.monthDay, call.now));
  const value = marginAt(marginOf(catalogue, row.ba), model, { row, time });
  // Some hours lack the mix, and some authorities never tell their demand.
  const mixKnown = fraction(fleet.seed, Math.floor(time / HOUR)) >= 0.05;
  const demandKnown = fraction(fleet.seed, 2) >= 0.15;
  return {
    timestamp: zulu(time),
    genmix: mixKnown ? mixAt(fleet, time) : null,
    url: linkOf(call, row, time),
    market: row.market.name,
    freq: row.market.freq,
    ba: row.ba,
    marginal_carbon: { value, units: 'lb/MW', structural_model: model.date },
    load: demandKnown ? demandAt(fleet, time) : null,
  };
};

/** A page of points in the wrapper `count, next, previous, results`. */
export function pageOf(service: Service, call: Call, describe: Describe): Answer {
  const wanted = wantedOf(service, call);
  if ('status' in wanted) return wanted;
  const { rows, page, pageSize } = wanted;
  const count = rows.reduce((sum, row) => sum + countOf(row), 0);
  const skip = (page - 1) * pageSize;
  if (page > 1 && skip >= count) return detail(404, 'Invalid page.');

  const link = (to: number) => {
    const query = new URLSearchParams(call.query);
    query.set('page', String(to));
    return `${call.origin}${call.path}?${query}`;
  };
  const next = skip + pageSize < count ? link(page + 1) : null;
  const previous = page > 1 ? link(page - 1) : null;
  const head = `{"count":${count},"next":${JSON.stringify(next)},"previous":${JSON.stringify(previous)},"results":[`;
  function* results() {
    if (rows.length === 0) return;
    let left = pageSize;
    for (const point of newestFirst(rows, skip)) {
      yield JSON.stringify(describe(service, call, point));
      left -= 1;
      if (left === 0) return;
    }
  }
  return listed(head, results(), ']}');
}

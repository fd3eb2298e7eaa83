/** `/api/v1/datapoints/` and `/api/v1/marginal/`: pages of computed points, newest first (specification 2.9, 4.5). */

import { type ApiResponse, jsonResponse, listResponse, v1Error } from '../http/response.ts';
import type { ApiRequest, ServiceParts } from '../http/route-types.ts';
import { parseServiceDate, parseServiceTime } from '../http/service-times.ts';
import { type Catalogue, type CatalogueRegion, PREVIEW_REGION } from '../world/catalogue.ts';
import { computeCarbon, computeDemand, computeFuelMix, type Fleet } from '../world/fuels.ts';
import { BACKFILL_FROM, findDefaultModel, listModels, type Model } from '../world/model-timetable.ts';
import { findArchetype, findAuthority } from '../world/region-table.ts';
import { deriveSeed, drawFraction } from '../world/seeded-random.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const DEFAULT_PAGE_SIZE = 12;
/** Nearly a year of 5 minutes: without a limit one request could stream for hours. */
const MAX_PAGE_SIZE = 100_000;

interface Market {
  readonly name: 'RT5M' | 'RTHR' | 'DAHR';
  readonly freq: '5m' | '1hr';
  readonly period: number;
  /** When the point of `time` is made. */
  readonly createdAt: (time: number, delay: number) => number;
  /** The last time whose point exists at `now`. */
  readonly lastTime: (now: number, delay: number) => number;
}

const createPastMarket = (name: 'RT5M' | 'RTHR', freq: '5m' | '1hr', period: number): Market => ({
  name,
  freq,
  period,
  createdAt: (time, delay) => time + period + delay,
  lastTime: (now, delay) => Math.floor((now - period - delay) / period) * period,
});

const markets: readonly Market[] = [
  createPastMarket('RT5M', '5m', 5 * MINUTE),
  createPastMarket('RTHR', '1hr', HOUR),
  {
    name: 'DAHR',
    freq: '1hr',
    period: HOUR,
    // Each day's hours are forecast at noon UTC of the day before.
    createdAt: (time) => Math.floor(time / DAY) * DAY - 12 * HOUR,
    lastTime: (now) => Math.floor((now + 12 * HOUR) / DAY) * DAY + 23 * HOUR,
  },
];

/** One authority in one market: a regular row of points. */
interface PointSeries {
  readonly ba: string;
  readonly region: CatalogueRegion;
  readonly market: Market;
  readonly delay: number;
  readonly first: number;
  readonly last: number;
}

const countSeriesPoints = ({ first, last, market }: PointSeries) =>
  last < first ? 0 : (last - first) / market.period + 1;
/** How many points of a row lie after `time`. */
const countAfter = (row: PointSeries, time: number) =>
  row.last <= time
    ? 0
    : (row.last - Math.max(row.first - row.market.period, Math.floor(time / row.market.period) * row.market.period)) /
      row.market.period;

interface PageRequest {
  readonly rows: readonly PointSeries[];
  readonly page: number;
  readonly pageSize: number;
}

function parseTimeParameter(query: URLSearchParams, name: string, fallback: number): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return fallback;
  return parseServiceTime(text) ?? parseServiceDate(text);
}

/** A whole number of at least 1, else the fallback: the earlier interface overlooks a bad page size. */
function parsePositive(text: string | null): number | undefined {
  const n = Number(text ?? '');
  return text !== null && Number.isInteger(n) && n >= 1 ? n : undefined;
}

function parsePageRequest({ catalogue, seed }: ServiceParts, { query, now }: ApiRequest): PageRequest | ApiResponse {
  const start = parseTimeParameter(query, 'start_at', BACKFILL_FROM);
  const end = parseTimeParameter(query, 'end_at', Number.POSITIVE_INFINITY);
  const badNames = [start === undefined ? 'start_at' : '', end === undefined ? 'end_at' : ''].filter(
    (name) => name !== '',
  );
  if (start === undefined || end === undefined)
    return jsonResponse(400, Object.fromEntries(badNames.map((name) => [name, ['Enter a valid date/time.']])));

  const pageText = query.get('page');
  const page = pageText === null ? 1 : parsePositive(pageText);
  if (page === undefined) return v1Error(404, 'Invalid page.');
  const [ba, market, freq] = ['ba', 'market', 'freq'].map((name) => query.get(name) || undefined);
  const rows = [...catalogue.co2_aoer.regions.values()]
    .filter(({ name: region }) => (ba ?? region) === region)
    .flatMap((region) =>
      markets
        .filter(
          (candidate) => (market ?? candidate.name) === candidate.name && (freq ?? candidate.freq) === candidate.freq,
        )
        .map((candidate): PointSeries => {
          const delay = Math.floor(5 * MINUTE * drawFraction(deriveSeed(seed, `v1 ${region.name}`), 0));
          const { period } = candidate;
          const first = Math.ceil(Math.max(start, BACKFILL_FROM) / period) * period;
          const last = Math.floor(Math.min(end, candidate.lastTime(now, delay)) / period) * period;
          return { ba: region.name, region, market: candidate, delay, first, last };
        }),
    )
    .filter((row) => countSeriesPoints(row) > 0);
  return { rows, page, pageSize: Math.min(MAX_PAGE_SIZE, parsePositive(query.get('page_size')) ?? DEFAULT_PAGE_SIZE) };
}

/** The rows' points one after another, newest first, from the `skip`-th on. */
function* generateNewestFirst(
  rows: readonly PointSeries[],
  skip: number,
): Generator<{ row: PointSeries; time: number }> {
  const step = 5 * MINUTE;
  const countPointsAfter = (time: number) => rows.reduce((sum, row) => sum + countAfter(row, time), 0);
  // The newest time with at most `skip` points after it, by halving the span.
  let low = Math.min(...rows.map(({ first }) => first)) / step;
  let high = Math.max(...rows.map(({ last }) => last)) / step;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (countPointsAfter(middle * step) <= skip) high = middle;
    else low = middle + 1;
  }
  let remaining = skip - countPointsAfter(low * step);
  const oldest = Math.min(...rows.map(({ first }) => first));
  for (let time = low * step; time >= oldest; time -= step)
    for (const row of rows) {
      if (time % row.market.period !== 0 || time < row.first || time > row.last) continue;
      if (remaining > 0) remaining -= 1;
      else yield { row, time };
    }
}

const formatUtcTime = (at: number) => `${new Date(at).toISOString().slice(0, 19)}Z`;
const buildFleet = (seed: number, { name: region, longitude }: CatalogueRegion): Fleet => ({
  authority: region,
  archetype: findArchetype(region) ?? 'wind',
  seed: deriveSeed(seed, `fleet ${region}`),
  zone: Math.round(longitude / 15),
});
const buildPointLink = (request: ApiRequest, { ba, market }: PointSeries, time: number) =>
  `${request.origin}${request.path}?ba=${ba}&market=${market.name}&start_at=${formatUtcTime(time)}&end_at=${formatUtcTime(time)}`;

type DescribePoint = (service: ServiceParts, request: ApiRequest, point: { row: PointSeries; time: number }) => unknown;

export const describeDataPoint: DescribePoint = ({ seed }, request, { row, time }) => {
  const mix = computeFuelMix(buildFleet(seed, row.region), time);
  return {
    timestamp: formatUtcTime(time),
    created_at: formatUtcTime(row.market.createdAt(time, row.delay)),
    carbon: computeCarbon(mix),
    genmix: mix,
    url: buildPointLink(request, row, time),
    market: row.market.name,
    freq: row.market.freq,
    ba: row.ba,
  };
};

/** The place of the current interface whose rate stands for the authority's margin. */
function findMarginalRegion(catalogue: Catalogue, ba: string): CatalogueRegion {
  const { regions } = catalogue.co2_moer;
  const preview = findAuthority(PREVIEW_REGION) === ba ? regions.get(PREVIEW_REGION) : undefined;
  const found =
    preview ?? regions.get(ba) ?? [...regions.values()].find(({ name: region }) => findAuthority(region) === ba);
  if (found === undefined) throw new Error(`no region lies in ${ba}`);
  return found;
}

/** The settled rate of a past market; of the day-ahead one, and where a record has no rate, the forecast as issued. */
function findMarginalRate(
  region: CatalogueRegion,
  model: Model,
  { row, time }: { row: PointSeries; time: number },
): number {
  const created = row.market.createdAt(time, row.delay);
  const known = created < time ? undefined : region.source().findPoint(time, Number.POSITIVE_INFINITY, model);
  if (known !== undefined) return known.value;
  const issued = Math.min(created, time);
  const ahead = new Float64Array((time - issued) / (5 * MINUTE) + 1);
  region.source().fillForecast(issued, model, ahead);
  return ahead.at(-1) ?? 0;
}

export const describeMarginalPoint: DescribePoint = ({ seed, catalogue }, request, { row, time }) => {
  const fleet = buildFleet(seed, row.region);
  const model = findDefaultModel(listModels(catalogue.co2_moer.monthDay, request.now));
  const value = findMarginalRate(findMarginalRegion(catalogue, row.ba), model, { row, time });
  // Some hours lack the mix, and some authorities never tell their demand.
  const mixKnown = drawFraction(fleet.seed, Math.floor(time / HOUR)) >= 0.05;
  const demandKnown = drawFraction(fleet.seed, 2) >= 0.15;
  return {
    timestamp: formatUtcTime(time),
    genmix: mixKnown ? computeFuelMix(fleet, time) : null,
    url: buildPointLink(request, row, time),
    market: row.market.name,
    freq: row.market.freq,
    ba: row.ba,
    marginal_carbon: { value, units: 'lb/MW', structural_model: model.date },
    load: demandKnown ? computeDemand(fleet, time) : null,
  };
};

/** A page of points in the wrapper `count, next, previous, results`. */
export function buildPage(service: ServiceParts, request: ApiRequest, describePoint: DescribePoint): ApiResponse {
  const pageRequest = parsePageRequest(service, request);
  if ('status' in pageRequest) return pageRequest;
  const { rows, page, pageSize } = pageRequest;
  const count = rows.reduce((sum, row) => sum + countSeriesPoints(row), 0);
  const skip = (page - 1) * pageSize;
  if (page > 1 && skip >= count) return v1Error(404, 'Invalid page.');

  const buildPageLink = (to: number) => {
    const query = new URLSearchParams(request.query);
    query.set('page', String(to));
    return `${request.origin}${request.path}?${query}`;
  };
  const next = skip + pageSize < count ? buildPageLink(page + 1) : null;
  const previous = page > 1 ? buildPageLink(page - 1) : null;
  const head = `{"count":${count},"next":${JSON.stringify(next)},"previous":${JSON.stringify(previous)},"results":[`;
  function* results() {
    if (rows.length === 0) return;
    let remaining = pageSize;
    for (const point of generateNewestFirst(rows, skip)) {
      yield JSON.stringify(describePoint(service, request, point));
      remaining -= 1;
      if (remaining === 0) return;
    }
  }
  return listResponse(head, results(), ']}');
}

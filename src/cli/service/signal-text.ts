/** Formats signal data as tables and as the documents of specification 2.6. */

import {
  type Duration,
  days,
  durationBetween,
  floorTo,
  formatInstant,
  hours,
  type Instant,
} from '../../domain/units.ts';
import type {
  Envelope,
  Forecast,
  HistoricalPoint,
  LiveIndex,
  PastForecasts,
  Point,
} from '../../service/api/response-types.ts';
import { drawChart } from '../shared/chart.ts';

const CHART_ROWS = 6;

/** The `meta` of a document, with the names of the interface. */
export const toMetaDocument = (answer: Envelope & Partial<Pick<Forecast, 'generatedAt' | 'generatedPeriod'>>) => ({
  data_point_period_seconds: answer.period / 1_000,
  ...(answer.generatedAt === undefined ? {} : { generated_at: formatInstant(answer.generatedAt) }),
  ...(answer.generatedPeriod === undefined ? {} : { generated_at_period_seconds: answer.generatedPeriod / 1_000 }),
  ...(answer.model === undefined ? {} : { model: { date: answer.model, type: answer.modelType } }),
  region: answer.region,
  signal_type: answer.signalType,
  units: answer.units,
  warnings: answer.warnings,
});

export const toPointDocument = ({ at, value }: Point) => ({ point_time: formatInstant(at), value });

export const toHistoricalDocument = (point: HistoricalPoint) => ({
  ...toPointDocument(point),
  ...(point.lastUpdated === undefined ? {} : { last_updated: formatInstant(point.lastUpdated) }),
  ...(point.imputed === undefined ? {} : { imputed_data_used: point.imputed }),
});

export const toPastForecastDocument = ({ generatedAt, points }: PastForecasts['forecasts'][number]) => ({
  generated_at: formatInstant(generatedAt),
  forecast: points.map(toPointDocument),
});

export const toForecastDocument = (forecast: Forecast) => ({
  data: forecast.points.map(toPointDocument),
  meta: toMetaDocument(forecast),
});

export const toIndexDocument = (index: LiveIndex) => ({
  data: [toPointDocument(index.point)],
  meta: toMetaDocument(index),
});

/** `YYYY-MM-DD HH:MM` in UTC. */
export const formatUtcMinute = (at: Instant) => formatInstant(at).slice(0, 16).replace('T', ' ');

/** The first line of a table: region, signal, unit and model. */
export const formatHeading = ({ region, signalType, units, model }: Envelope) =>
  `${region} ${signalType} in ${units}${model === undefined ? '' : `, model ${model}`}; times in UTC`;

const drawBars = (values: readonly number[], columns: number) =>
  drawChart(values, { columns: Math.min(columns, 100), rows: CHART_ROWS });

/** The values as bars, with the first and last time below. */
export function drawForecast(points: readonly Point[], period: Duration, columns: number): readonly string[] {
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined || points.length < 2) return [];
  const values = Array<number>(Math.round(durationBetween(first.at, last.at) / period) + 1).fill(Number.NaN);
  for (const { at, value } of points) values[Math.round(durationBetween(first.at, at) / period)] = value;
  return [...drawBars(values, columns), `${formatUtcMinute(first.at)} … ${formatUtcMinute(last.at)}`];
}

/** The time that one line of a table covers. */
export type TableSpan = 'point' | 'hour' | 'day' | 'month';

/** The span with which a range fits on a screen or two. */
export function chooseTableSpan(length: Duration, period: Duration): TableSpan {
  if (length <= 24 * period) return 'point';
  if (length <= days(3)) return 'hour';
  return length <= days(62) ? 'day' : 'month';
}

function startOfSpan(at: Instant, span: TableSpan): Instant {
  switch (span) {
    case 'point':
      return at;
    case 'hour':
      return floorTo(at, hours(1));
    case 'day':
      return floorTo(at, days(1));
    case 'month': {
      const date = new Date(at);
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) as Instant;
    }
  }
}

interface TableLine {
  readonly from: Instant;
  readonly count: number;
  readonly sum: number;
  readonly least: number;
  readonly most: number;
  readonly imputed: number;
}

export interface TableOptions {
  /** Adds a column with the imputed values or their number. */
  readonly showsImputed?: boolean;
}

const padValue = (value: number) => value.toFixed(1).padStart(10);
const TABLE_HEAD = ['from                    mean', '     least', '      most', ' points'].join('  ');

function formatTableLine(
  { from, count, sum, least, most, imputed }: TableLine,
  span: TableSpan,
  isMarked: boolean,
): string {
  const mean = `${formatUtcMinute(from)}  ${padValue(sum / count)}`;
  if (span === 'point') return isMarked && imputed > 0 ? `${mean}  imputed` : mean;
  const line = `${mean}  ${padValue(least)}  ${padValue(most)}  ${String(count).padStart(7)}`;
  return isMarked ? `${line}  ${String(imputed).padStart(7)}` : line;
}

/** Sums points into lines as they arrive; stores one number per line. */
export function createSignalTable(span: TableSpan, { showsImputed: isMarked = false }: TableOptions = {}) {
  const means: number[] = [];
  let open: TableLine | undefined;
  const closeLine = (): readonly string[] => {
    if (open === undefined) return [];
    means.push(open.sum / open.count);
    return [formatTableLine(open, span, isMarked)];
  };
  return {
    head: span === 'point' ? 'time                   value' : isMarked ? `${TABLE_HEAD}  imputed` : TABLE_HEAD,
    /** The lines that `points` complete. */
    add(points: readonly HistoricalPoint[]): readonly string[] {
      const lines: string[] = [];
      for (const { at, value, imputed: isImputed } of points) {
        const from = startOfSpan(at, span);
        if (open !== undefined && open.from !== from) {
          lines.push(...closeLine());
          open = undefined;
        }
        const { count, sum, least, most, imputed } = open ?? {
          count: 0,
          sum: 0,
          least: value,
          most: value,
          imputed: 0,
        };
        open = {
          from,
          count: count + 1,
          sum: sum + value,
          least: Math.min(least, value),
          most: Math.max(most, value),
          imputed: imputed + (isImputed === true ? 1 : 0),
        };
      }
      return lines;
    },
    /** The last line. */
    end: closeLine,
    /** The means of all lines as bars. */
    bars: (columns: number): readonly string[] => (means.length < 2 ? [] : drawBars(means, columns)),
  };
}

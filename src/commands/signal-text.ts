/** Writes signal data as people's tables, as CSV and as the envelopes of specification 2.6; holds no more of a range than one piece. */

import type { Envelope, Forecast, HistoricalPoint, LiveIndex, PastForecasts, Point } from '../service/answers.ts';
import { between, type Duration, days, floorTo, hours, type Instant, iso } from '../units.ts';
import { chart } from './chart.ts';

const ROWS = 6;

/** The envelope's `meta`, in the words of the interface. */
export const metaOf = (answer: Envelope & Partial<Pick<Forecast, 'generatedAt' | 'generatedPeriod'>>) => ({
  data_point_period_seconds: answer.period / 1_000,
  ...(answer.generatedAt === undefined ? {} : { generated_at: iso(answer.generatedAt) }),
  ...(answer.generatedPeriod === undefined ? {} : { generated_at_period_seconds: answer.generatedPeriod / 1_000 }),
  ...(answer.model === undefined ? {} : { model: { date: answer.model } }),
  region: answer.region,
  signal_type: answer.signalType,
  units: answer.units,
  warnings: answer.warnings,
});

export const pointJson = ({ at, value }: Point) => ({ point_time: iso(at), value });

export const historicalJson = (point: HistoricalPoint) => ({
  ...pointJson(point),
  ...(point.lastUpdated === undefined ? {} : { last_updated: iso(point.lastUpdated) }),
  ...(point.imputed === undefined ? {} : { imputed_data_used: point.imputed }),
});

export const pastForecastJson = ({ generatedAt, points }: PastForecasts['forecasts'][number]) => ({
  generated_at: iso(generatedAt),
  forecast: points.map(pointJson),
});

export const forecastDocument = (forecast: Forecast) => ({
  data: forecast.points.map(pointJson),
  meta: metaOf(forecast),
});

export const indexDocument = (index: LiveIndex) => ({ data: [pointJson(index.point)], meta: metaOf(index) });

/** `YYYY-MM-DD HH:MM` in UTC. */
export const shown = (at: Instant) => iso(at).slice(0, 16).replace('T', ' ');

/** What everything below it is about; a unit goes with every value. */
export const heading = ({ region, signalType, units, model }: Envelope) =>
  `${region} ${signalType} in ${units}${model === undefined ? '' : `, model ${model}`}; times in UTC`;

const bars = (values: readonly number[], columns: number) =>
  chart(values, { columns: Math.min(columns, 100), rows: ROWS });

/** The bars over the values, with the ends of their time below. */
export function drawn(points: readonly Point[], period: Duration, columns: number): readonly string[] {
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined || points.length < 2) return [];
  const values = Array<number>(Math.round(between(first.at, last.at) / period) + 1).fill(Number.NaN);
  for (const { at, value } of points) values[Math.round(between(first.at, at) / period)] = value;
  return [...bars(values, columns), `${shown(first.at)} … ${shown(last.at)}`];
}

/** How much of a range one line of a table covers. */
export type Span = 'point' | 'hour' | 'day' | 'month';

/** The span that lets a range fit a screen or two. */
export function spanOf(length: Duration, period: Duration): Span {
  if (length <= 24 * period) return 'point';
  if (length <= days(3)) return 'hour';
  return length <= days(62) ? 'day' : 'month';
}

function startOf(at: Instant, span: Span): Instant {
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

interface Line {
  readonly from: Instant;
  readonly count: number;
  readonly sum: number;
  readonly least: number;
  readonly most: number;
  readonly imputed: number;
}

export interface TableOptions {
  /** A column tells which values, or how many of them, were imputed. */
  readonly isMarked?: boolean;
}

const fixed = (value: number) => value.toFixed(1).padStart(10);
const HEADS = ['from                    mean', '     least', '      most', ' points'].join('  ');

function text({ from, count, sum, least, most, imputed }: Line, span: Span, isMarked: boolean): string {
  const mean = `${shown(from)}  ${fixed(sum / count)}`;
  if (span === 'point') return isMarked && imputed > 0 ? `${mean}  imputed` : mean;
  const line = `${mean}  ${fixed(least)}  ${fixed(most)}  ${String(count).padStart(7)}`;
  return isMarked ? `${line}  ${String(imputed).padStart(7)}` : line;
}

/** Sums points up line by line as they come; keeps one number a line. */
export function tableOf(span: Span, { isMarked = false }: TableOptions = {}) {
  const means: number[] = [];
  let open: Line | undefined;
  const closed = (): readonly string[] => {
    if (open === undefined) return [];
    means.push(open.sum / open.count);
    return [text(open, span, isMarked)];
  };
  return {
    head: span === 'point' ? 'time                   value' : isMarked ? `${HEADS}  imputed` : HEADS,
    /** The lines that `points` complete. */
    add(points: readonly HistoricalPoint[]): readonly string[] {
      const lines: string[] = [];
      for (const { at, value, imputed: isImputed } of points) {
        const from = startOf(at, span);
        if (open !== undefined && open.from !== from) {
          lines.push(...closed());
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
    end: closed,
    /** Once all lines are there: their means as bars. */
    bars: (columns: number): readonly string[] => (means.length < 2 ? [] : bars(means, columns)),
  };
}

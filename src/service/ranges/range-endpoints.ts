/** The two endpoints with ranges of any length, and the longest range of one request (specification 8). */

import { type Duration, milliseconds } from '../../domain/units.ts';
import { checkOrder, MAX_HISTORY_SPAN, MAX_PAST_FORECASTS_SPAN } from '../api/build-requests.ts';
import type { HistoryQuery, PastForecastsQuery, RangeReadOptions, TimeRange } from '../api/query-types.ts';
import type { History, PastForecasts } from '../api/response-types.ts';
import type { Outcome } from '../failure.ts';
import { type RangeReaderParts, readRange } from './range-reader.ts';

export interface RangeEndpointsParts extends Pick<RangeReaderParts<unknown>, 'clock' | 'random' | 'stopSignal'> {
  readonly history: (query: HistoryQuery) => Promise<Outcome<History>>;
  readonly pastForecasts: (query: PastForecastsQuery) => Promise<Outcome<PastForecasts>>;
}

export interface RangeEndpoints {
  history(query: HistoryQuery, reading?: RangeReadOptions): AsyncIterable<Outcome<History>>;
  pastForecasts(query: PastForecastsQuery, reading?: RangeReadOptions): AsyncIterable<Outcome<PastForecasts>>;
}

/** A day of forecasts of 24 hours is 83,000 values; one of longer forecasts is read in shorter pieces, so that a piece stays as large. */
const computePastForecastsSpan = ({ horizonHours = 24 }: PastForecastsQuery): Duration =>
  milliseconds(MAX_PAST_FORECASTS_SPAN * Math.min(1, 24 / Math.max(1, horizonHours)));

async function* readCheckedRange<Answer>(
  range: TimeRange,
  reader: RangeReaderParts<Answer>,
  reading: RangeReadOptions | undefined,
): AsyncGenerator<Outcome<Answer>> {
  const fault = checkOrder(range);
  if (fault === undefined) yield* readRange(range, reader, reading);
  else yield fault;
}

export function createRangeEndpoints({ history, pastForecasts, ...common }: RangeEndpointsParts): RangeEndpoints {
  return {
    history: (query, reading) =>
      readCheckedRange(
        query,
        {
          ...common,
          maxSpan: MAX_HISTORY_SPAN,
          fetchChunk: (piece) => history({ ...query, ...piece }),
          periodOf: ({ period }) => period,
        },
        reading,
      ),
    pastForecasts: (query, reading) =>
      readCheckedRange(
        query,
        {
          ...common,
          maxSpan: computePastForecastsSpan(query),
          fetchChunk: (piece) => pastForecasts({ ...query, ...piece }),
          periodOf: ({ generatedPeriod }) => generatedPeriod,
        },
        reading,
      ),
  };
}

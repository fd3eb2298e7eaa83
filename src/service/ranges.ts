/** The two endpoints that are asked for ranges of any length, and how much of one goes into a request (specification 8). */

import { type Duration, milliseconds } from '../units.ts';
import type { History, PastForecasts } from './answers.ts';
import type { Outcome } from './failure.ts';
import type { HistoryQuery, PastForecastsQuery, Range, Reading } from './queries.ts';
import { type RangeReader, readRange } from './range.ts';
import { MOST_HISTORY, MOST_PAST_FORECASTS, orderFault } from './requests.ts';

export interface RangeParts extends Pick<RangeReader<unknown>, 'clock' | 'random' | 'stopped'> {
  readonly history: (query: HistoryQuery) => Promise<Outcome<History>>;
  readonly pastForecasts: (query: PastForecastsQuery) => Promise<Outcome<PastForecasts>>;
}

export interface Ranges {
  history(query: HistoryQuery, reading?: Reading): AsyncIterable<Outcome<History>>;
  pastForecasts(query: PastForecastsQuery, reading?: Reading): AsyncIterable<Outcome<PastForecasts>>;
}

/** A day of forecasts of 24 hours is 83,000 values; one of longer forecasts is read in shorter pieces, so that a piece stays as large. */
const pastForecastsAtOnce = ({ horizonHours = 24 }: PastForecastsQuery): Duration =>
  milliseconds(MOST_PAST_FORECASTS * Math.min(1, 24 / Math.max(1, horizonHours)));

async function* inOrder<Answer>(
  range: Range,
  reader: RangeReader<Answer>,
  reading: Reading | undefined,
): AsyncGenerator<Outcome<Answer>> {
  const fault = orderFault(range);
  if (fault === undefined) yield* readRange(range, reader, reading);
  else yield fault;
}

export function createRanges({ history, pastForecasts, ...common }: RangeParts): Ranges {
  return {
    history: (query, reading) =>
      inOrder(
        query,
        {
          ...common,
          most: MOST_HISTORY,
          ask: (piece) => history({ ...query, ...piece }),
          periodOf: ({ period }) => period,
        },
        reading,
      ),
    pastForecasts: (query, reading) =>
      inOrder(
        query,
        {
          ...common,
          most: pastForecastsAtOnce(query),
          ask: (piece) => pastForecasts({ ...query, ...piece }),
          periodOf: ({ generatedPeriod }) => generatedPeriod,
        },
        reading,
      ),
  };
}

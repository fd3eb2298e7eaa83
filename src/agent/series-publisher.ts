/** Publishes the prices that are known, the rates ahead with each new forecast, and the rates seen since yesterday every quarter of an hour. */

import { createDayFormatter, findDayStart } from '../domain/local-day.ts';
import type { Prices } from '../domain/tariff.ts';
import {
  addDuration,
  type Duration,
  floorTo,
  hours,
  type Instant,
  minutes,
  subtractDuration,
} from '../domain/units.ts';
import type { Monitor } from '../mqtt/monitor.ts';
import type { SeenValues } from '../mqtt/watcher-payloads.ts';
import type { SignalData } from '../signal/signal-store.ts';
import type { SignalView } from '../signal/signal-view.ts';
import { getSeenValue, toSlot } from '../signal/value-history.ts';
import type { AgentContext } from './agent-context.ts';

export interface SeriesPublisherParts {
  readonly monitor: Monitor;
  readonly clock: Pick<AgentContext['clock'], 'now'>;
  readonly timezone: string;
  readonly data: () => SignalData | undefined;
}

const HISTORY_INTERVAL = minutes(15);
/** A file may hold a year. */
const PRICES_AHEAD = hours(72);

export function createSeriesPublisher({ monitor, clock, timezone, data }: SeriesPublisherParts) {
  const formatDay = createDayFormatter(timezone);
  let publishedForecast = '';
  let publishedHistory = '';
  /** The same document is not sent twice. */
  const publishPrices = ({ currency, spans }: Prices): void => {
    const end = addDuration(clock.now().wall, PRICES_AHEAD);
    monitor.publishPrices({ currency, spans: spans.filter(({ from }) => from < end) });
  };
  return {
    publish({ region, horizon, prices }: SignalView): void {
      if (prices !== undefined) publishPrices(prices);
      if (horizon !== undefined) {
        const { generatedAt, basis, units } = horizon;
        const issue = `${region} ${generatedAt} ${basis} ${units}`;
        if (issue !== publishedForecast) monitor.publishForecast(horizon, region);
        publishedForecast = issue;
      }
      const { wall, trusted } = clock.now();
      const window = `${region} ${floorTo(wall, HISTORY_INTERVAL)}`;
      if (!trusted || window === publishedHistory) return;
      const seen = collectSeenValues(data(), findYesterday(formatDay, wall), wall);
      if (seen === undefined) return;
      publishedHistory = window;
      monitor.publishHistory(seen);
    },
  };
}

/** When the local day before the present one began. */
export const findYesterday = (formatDay: ReturnType<typeof createDayFormatter>, now: Instant): Instant =>
  findDayStart(formatDay, subtractDuration(findDayStart(formatDay, now), hours(1)));

/** What was seen from `from` to now; undefined before the first rate. */
export function collectSeenValues(data: SignalData | undefined, from: Instant, now: Instant): SeenValues | undefined {
  if (data?.rates === undefined) return undefined;
  const { history, units } = data.rates;
  const [first, last] = [toSlot(history, from), toSlot(history, now)];
  const values = Array.from({ length: last - first + 1 }, (_, i) => getSeenValue(history, first + i));
  return {
    region: data.region,
    units,
    from: (first * history.period) as Instant,
    period: history.period as Duration,
    values,
  };
}

/** What a policy is told at each slot of a history: the agent's own signal floor fed with what was known then, never with what came later. */

import type { Forecast, LiveIndex } from '../../service/answers.ts';
import { emptyHeld, type Held, withForecast, withHistory, withLiveIndex } from '../../signal/held.ts';
import { viewAt } from '../../signal/ladder.ts';
import type { Outlook, SignalView } from '../../signal/view.ts';
import { days, type Instant, minutes, type Percentile } from '../../units.ts';
import type { Moment } from '../../world.ts';
import { A_DAY, ISSUED, type Record, SLOT, timeOf } from './record.ts';

/** Called once a slot, in order, with the row whose answer arrives; undefined while the service cannot be reached. */
export type Feed = (row: number | undefined, now: Moment) => SignalView;

export type FeedName = 'forecast' | 'profile' | 'index' | 'threshold' | 'nothing';

const REGION = 'recorded';
const OWN = { ties: 'mid', ownRegion: REGION } as const;
const envelope = { region: REGION, signalType: 'co2_moer', period: SLOT, warnings: [], refusedPoints: 0 };

/** The forecast as it stood at a row. A record without forecasts tells its own slot as it was measured, like an exact nowcast. */
function forecastAt(record: Record, row: number): Forecast {
  const { forecasts, values } = record.series;
  const generatedAt = timeOf(record, row);
  const points = [];
  for (let k = 0; k < ISSUED; k++) {
    const value = forecasts[row * ISSUED + k] ?? Number.NaN;
    if (!Number.isNaN(value)) points.push({ at: (generatedAt + k * SLOT) as Instant, value });
  }
  if (points.length === 0) points.push({ at: generatedAt, value: values[row] ?? 0 });
  return { ...envelope, units: 'lbs_co2_per_mwh', generatedAt, generatedPeriod: SLOT, points };
}

/** The live index as the service would tell it: the forecast's 3 hours and the same-time mean of up to 7 days before it. */
function liveIndexAt(record: Record, row: number): LiveIndex {
  const { forecasts, values } = record.series;
  const nowcast = forecasts[row * ISSUED] ?? Number.NaN;
  const present = Number.isNaN(nowcast) ? (values[row] ?? 0) : nowcast;
  let below = 0;
  let equal = 0;
  let pool = 0;
  for (let k = 0; k < A_DAY; k++) {
    const issued = k < ISSUED ? (forecasts[row * ISSUED + k] ?? Number.NaN) : Number.NaN;
    const value = Number.isNaN(issued) ? weekMean(record, row, k) : issued;
    if (Number.isNaN(value)) continue;
    pool++;
    if (value < present) below++;
    else if (value === present) equal++;
  }
  const value = (100 * (below + equal / 2)) / Math.max(1, pool);
  return { ...envelope, units: 'percentile', point: { at: timeOf(record, row), value: value as Percentile } };
}

function weekMean({ series: { values } }: Record, row: number, ahead: number): number {
  let sum = 0;
  let count = 0;
  for (let past = row + ahead - A_DAY; past >= 0 && past > row - 7 * A_DAY; past -= A_DAY) {
    if (past >= row) continue;
    sum += values[past] ?? 0;
    count++;
  }
  return count === 0 ? Number.NaN : sum / count;
}

function measured(record: Record, row: number) {
  const points = row < 0 ? [] : [{ at: timeOf(record, row), value: record.series.values[row] ?? 0 }];
  return { ...envelope, units: 'lbs_co2_per_mwh', points };
}

export function feedOf(name: FeedName, record: Record): Feed {
  let held: Held = emptyHeld(REGION);
  const listen = (row: number, now: Moment): Held => {
    switch (name) {
      case 'forecast':
        return withForecast(held, forecastAt(record, row), now).held;
      case 'profile':
        return withHistory(held, measured(record, row - 1), now).held;
      case 'index':
      case 'threshold':
        return withLiveIndex(held, liveIndexAt(record, row), now).held;
      case 'nothing':
        return held;
    }
  };
  return (row, now) => {
    if (row !== undefined) held = listen(row, now);
    const view = viewAt(held, now, OWN);
    if (name !== 'threshold') return view;
    const { outlook: _, ...rest } = view;
    return rest;
  };
}

/** The outlook of the moment a job begins, kept until the next job begins: one plan a job. */
export function planOnce(feed: Feed, starts: readonly Instant[]): Feed {
  let next = 0;
  let kept: Outlook | undefined;
  return (row, now) => {
    const view = feed(row, now);
    const begun = now.wall >= (starts[next] ?? Number.POSITIVE_INFINITY);
    while (now.wall >= (starts[next] ?? Number.POSITIVE_INFINITY)) next++;
    if (view.outlook !== undefined && (begun || kept === undefined))
      kept = { ...view.outlook, validUntil: (now.wall + days(2) + minutes(5)) as Instant };
    return kept === undefined || now.wall >= kept.validUntil ? view : { ...view, outlook: kept };
  };
}

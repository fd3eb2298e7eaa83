/** What the service answers, decoded and checked: one type an endpoint, times as instants, values with their unit. Types only. */

import type { SignalType } from '../config/config.ts';
import type { Duration, Instant, LbsPerMwh, Percentile } from '../units.ts';

/** Specification 2.6. A text of any kind is kept: the full set is not documented. */
export interface Warning {
  readonly type: string;
  readonly message: string;
}

/** One value, valid from `at` for the envelope's period (specification 2.5). */
export interface Point<Value = number> {
  readonly at: Instant;
  readonly value: Value;
}

/** Common part of the four data envelopes (specification 2.6). */
export interface Envelope {
  readonly region: string;
  readonly signalType: string;
  /** As sent, `lbs_co2_per_mwh` or `percentile` among others. */
  readonly units: string;
  readonly period: Duration;
  /** Date label of the data model; absent where the service left it out. */
  readonly model?: string;
  readonly warnings: readonly Warning[];
  /** Points refused by the decoder (null, text, not finite, outside the range). */
  readonly refusedPoints: number;
}

/** `/v3/forecast`: ascending, no repeated point. */
export interface Forecast extends Envelope {
  readonly generatedAt: Instant;
  readonly generatedPeriod: Duration;
  readonly points: readonly Point[];
}

/** `/v3/signal-index`: exactly one point, `units` is `percentile`. */
export interface LiveIndex extends Envelope {
  readonly point: Point<Percentile>;
}

export interface HistoricalPoint extends Point {
  readonly lastUpdated?: Instant;
  readonly imputed?: boolean;
}

/** `/v3/historical`. */
export interface History extends Envelope {
  readonly points: readonly HistoricalPoint[];
}

/** `/v3/forecast/historical`. */
export interface PastForecasts extends Envelope {
  readonly generatedPeriod?: Duration;
  readonly forecasts: readonly { readonly generatedAt: Instant; readonly points: readonly Point[] }[];
}

export interface RegionAnswer {
  readonly region: string;
  readonly regionFullName: string;
  readonly signalType: string;
}

export interface AccessModel {
  readonly model: string;
  readonly type?: string;
  /** Bare dates as sent. */
  readonly dataStart?: string;
  readonly dataEnd?: string;
  readonly trainStart?: string;
  readonly trainEnd?: string;
}

/** `/v3/my-access` (specification 2.7). */
export interface Access {
  readonly signalTypes: readonly {
    readonly signalType: SignalType | (string & {});
    readonly regions: readonly {
      readonly region: string;
      readonly regionFullName: string;
      readonly parent?: string;
      readonly period?: Duration;
      readonly endpoints: readonly { readonly endpoint: string; readonly models: readonly AccessModel[] }[];
    }[];
  }[];
}

/** The rate of a point whose envelope's unit is `lbs_co2_per_mwh`. */
export type RatePoint = Point<LbsPerMwh>;

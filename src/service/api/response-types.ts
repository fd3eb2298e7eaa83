/** The decoded answer of each endpoint: times as instants, values with their unit. */

import type { SignalType } from '../../domain/load-types.ts';
import type { Duration, Instant, Percentile } from '../../domain/units.ts';

/** Specification 2.6. Any text is accepted, because the full set is not documented. */
export interface ServiceWarning {
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
  readonly modelType?: string;
  readonly warnings: readonly ServiceWarning[];
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

export interface RegionResponse {
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

/** `/register` (specification 2.2). */
export interface RegistrationResponse {
  readonly ok: string;
  readonly user: string;
}

/** A fresh access token, valid for 30 minutes (specification 3). */
export interface Login {
  readonly token: string;
  readonly expiresIn: Duration;
}

/** `/v3/maps`: tens of megabytes, never in memory at once. Reading may throw `HttpError`; leaving the loop ends the request. */
export interface MapStream {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Bytes to come, where the service gives their number and compresses nothing. */
  readonly contentLength?: number;
  /** Names this map at this service; the next call may send it as `knownVersion`. */
  readonly version?: string;
}

/** The service still has the map of `knownVersion` and sent none. */
export interface UnchangedMap {
  readonly unchanged: true;
}

/** v1 balancing authority (specification 2.9). */
export interface Authority {
  readonly abbrev: string;
  readonly name: string;
  readonly type?: string;
  readonly url?: string;
  readonly link?: string;
  readonly states: readonly string[];
  readonly notes?: string;
}

export interface FuelShare {
  readonly fuel: string;
  readonly megawatts: number;
}

interface V1PointFields {
  readonly at: Instant;
  readonly authority: string;
  readonly market: string;
  /** As sent: `5m`, `1hr`, `n/a`. */
  readonly frequency?: string;
  readonly generation?: readonly FuelShare[];
  readonly url?: string;
}

/** v1 generation mix; `carbon` is average pounds of CO2 per MW generated. */
export interface V1DataPoint extends V1PointFields {
  readonly createdAt?: Instant;
  readonly carbon?: number;
}

export interface V1MarginalPoint extends V1PointFields {
  readonly marginalCarbon?: { readonly value: number; readonly units: string; readonly structuralModel?: string };
  /** MW of total demand. */
  readonly load?: number;
}

/** Specification 2.9: future to past. */
export interface V1Page<P> {
  readonly count: number;
  readonly isLast: boolean;
  /** Links of the service to the neighbouring pages; reported, never followed. */
  readonly next?: string;
  readonly previous?: string;
  readonly results: readonly P[];
  readonly refusedPoints: number;
}

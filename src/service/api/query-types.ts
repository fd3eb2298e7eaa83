/** The query of each endpoint: every parameter of specification 4, in our names and units. */

import type { Duration, Instant, Place } from '../../domain/units.ts';
import type { Failure } from '../failure.ts';

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** `/register` (specification 2.1). */
export interface Registration extends Credentials {
  readonly email: string;
  readonly org?: string;
}

export interface SignalQuery {
  readonly region: string;
  readonly signalType: string;
}

export interface PlaceQuery {
  readonly place: Place;
  readonly signalType: string;
}

export interface MapQuery {
  readonly signalType: string;
  /** `version` of an earlier answer: the map is sent only if it is another. */
  readonly knownVersion?: string | undefined;
}

/** Both filters of `/v3/my-access` are optional. */
export interface AccessQuery {
  readonly region?: string;
  readonly signalType?: string;
}

export interface ForecastQuery extends SignalQuery {
  readonly model?: string;
  /** 0 to 72, the service's default is 24. */
  readonly horizonHours?: number;
}

/** Both ends inclusive (specification 4.3, 4.4). */
export interface TimeRange {
  readonly start: Instant;
  readonly end: Instant;
}

/** `start` and `end` select `generated_at`: at most 24 h a request. */
export interface PastForecastsQuery extends ForecastQuery, TimeRange {}

/** At most 32 d a request. */
export interface HistoryQuery extends SignalQuery, TimeRange {
  readonly model?: string;
  readonly includeImputedMarker?: boolean;
  /** Only values changed after this. */
  readonly updatedSince?: Instant;
}

/** How a range of any length is read chunk by chunk. */
export interface RangeReadOptions {
  /** Requests under way at once. */
  readonly inFlight?: number;
  /** The longest chunk; the interface's limit when absent. */
  readonly maxSpan?: Duration | undefined;
  /** Called after each chunk: how much of the range is done. */
  readonly onProgress?: (done: RangeProgress) => void;
  readonly signal?: AbortSignal;
}

export interface RangeProgress {
  readonly done: Duration;
  readonly total: Duration;
  /** Everything before this has been handed over: where to go on from after a failure. */
  readonly next: Instant;
  readonly requests: number;
  /** Nothing goes on for so long, and why. */
  readonly waiting?: { readonly wait: Duration; readonly failure: Failure };
  /** A request did not come through, and what it asked for is asked for in parts of `span`. */
  readonly split?: { readonly span: Duration; readonly failure: Failure };
}

/** How v1 pages are followed to the end. */
export interface PageReadOptions {
  /** Nothing goes on for so long, and why. */
  readonly onWait?: (wait: Duration, failure: Failure) => void;
  readonly signal?: AbortSignal;
}

/** v1 `loc` is a GeoJSON point (specification 4.5). */
export interface AuthorityQuery {
  readonly place?: Place;
  /** As given: GeoJSON or WKT; `place` makes GeoJSON. */
  readonly loc?: string;
}

export interface V1Query {
  readonly ba?: string;
  readonly startAt?: Instant;
  readonly endAt?: Instant;
  /** `RT5M`, `DAHR` and others. */
  readonly market?: string;
  readonly pageSize?: number;
  /** From 1. */
  readonly page?: number;
}

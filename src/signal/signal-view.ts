/** The result of the signal room for control: the present value and the rates ahead, each with its basis and the end of its validity. */

import type { Prices } from '../domain/tariff.ts';
import type { Duration, Instant, LbsPerMwh, Percentile } from '../domain/units.ts';

/** R0 to R5 of the freshness ladder; the names of the output. */
export type Basis =
  | 'fresh-forecast'
  | 'live-index'
  | 'ageing-forecast'
  | 'own-profile'
  | 'default-window'
  | 'fail-safe';

/** The percentile thresholds act on. */
export interface CurrentIndex {
  readonly value: Percentile;
  readonly basis: 'live-index' | 'fresh-forecast' | 'ageing-forecast';
  /** Start of the slot the value belongs to. */
  readonly at: Instant;
  /** From here on the value may keep a level but start nothing. */
  readonly startsUntil: Instant;
  /** From here on the value drives nothing. */
  readonly validUntil: Instant;
  /** All values of the pool are equal: no information, starts nothing opportunistically. */
  readonly flat: boolean;
  /** `degraded`: the pool behind a local index holds 18 to 21 hours. */
  readonly quality: 'full' | 'degraded';
}

/** Values ahead for the planner: `values[i]` holds from `from + i * period`; NaN where a point is missing. */
export interface Horizon {
  /** Of the value that holds now, at `from`. */
  readonly basis: 'fresh-forecast' | 'ageing-forecast' | 'own-profile';
  readonly from: Instant;
  readonly period: Duration;
  readonly values: readonly number[];
  /** How far each value may turn out lower, as those foretold so far ahead did: standard deviations, the last for all further ones. Absent: not known. */
  readonly uncertainty?: readonly number[];
  /** From here on the values are the own profile's, not the forecast's; absent: all are of one source. */
  readonly profileFrom?: Instant;
  /** `lbs_co2_per_mwh`, or `stretched-percentile` when only the index has been archived: enough to order slots, never for kilograms. */
  readonly units: string;
  /** Of the forecast behind it, or of the newest value a bare profile has learned: a plan is made once for each. */
  readonly generatedAt: Instant;
  /** Date label of the data model behind a forecast. */
  readonly model?: string;
  /** From here on nothing may be driven by it. */
  readonly validUntil: Instant;
}

/** The signal at one moment. Empty of values means: nothing valid is known. */
export interface SignalView {
  readonly region?: string;
  readonly index?: CurrentIndex;
  readonly rate?: { readonly value: LbsPerMwh; readonly at: Instant; readonly until: Instant };
  readonly horizon?: Horizon;
  /** Where a tariff is configured and its prices are known. */
  readonly prices?: Prices;
  /** When the view differs next without any news; the owner asks again then. */
  readonly changesAt: Instant;
}

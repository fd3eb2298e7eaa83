/** The units of the field as branded numbers, so that the compiler refuses one in place of another. */

declare const unit: unique symbol;
type Branded<Name extends string> = number & { readonly [unit]: Name };

/** A point on the wall clock: milliseconds since 1970-01-01T00:00Z. Says which point of a forecast; may jump. */
export type Instant = Branded<'Instant'>;
/** A point on the monotonic clock: milliseconds since some origin of this process or boot. Says how long; never jumps. */
export type Uptime = Branded<'Uptime'>;
/** A length of time in milliseconds. */
export type Duration = Branded<'Duration'>;

/** 0 (cleanest) to 100 (dirtiest) of the next 24 hours: an order, never a rate (specification 2.5). */
export type Percentile = Branded<'Percentile'>;
/** Marginal emissions rate, pounds of CO2 per megawatt hour (specification 1.1). */
export type LbsPerMwh = Branded<'LbsPerMwh'>;
export type Kilowatt = Branded<'Kilowatt'>;
export type KilowattHour = Branded<'KilowattHour'>;
export type Kilogram = Branded<'Kilogram'>;
export type Kilometre = Branded<'Kilometre'>;
/** Degrees north, -90 to 90. */
export type Latitude = Branded<'Latitude'>;
/** Degrees east, -180 to 180. */
export type Longitude = Branded<'Longitude'>;

/** Latitude first, always; GeoJSON is the one place where it comes second. */
export interface Place {
  readonly latitude: Latitude;
  readonly longitude: Longitude;
}

/** The units of a rate and of an index as the service names them in `meta.units`. */
export const RATE_UNITS = 'lbs_co2_per_mwh';
export const PERCENTILE_UNITS = 'percentile';

export const milliseconds = (n: number) => n as Duration;
export const seconds = (n: number) => (n * 1_000) as Duration;
export const minutes = (n: number) => (n * 60_000) as Duration;
export const hours = (n: number) => (n * 3_600_000) as Duration;
export const days = (n: number) => (n * 86_400_000) as Duration;

export const inMinutes = (d: Duration) => d / 60_000;
export const inHours = (d: Duration) => d / 3_600_000;

/** `at` moved by `d` on the same clock. */
export const addDuration = <Clock extends Instant | Uptime>(at: Clock, d: Duration) => (at + d) as Clock;
/** `at` moved back by `d` on the same clock. */
export const subtractDuration = <Clock extends Instant | Uptime>(at: Clock, d: Duration) => (at - d) as Clock;
/** How long from `from` to `to`, negative when `to` is earlier; both on one clock. */
export const durationBetween = <Clock extends Instant | Uptime>(from: Clock, to: NoInfer<Clock>) =>
  (to - from) as Duration;

/** The start of the period of `length` that contains `at`, counted from 1970 like all periods of the service. */
export const floorTo = (at: Instant, period: Duration) => (Math.floor(at / period) * period) as Instant;

const isInRange = (n: number, low: number, high: number) => Number.isFinite(n) && n >= low && n <= high;

/** The number as a percentile, or undefined when it is not within 0 to 100. */
export const toPercentile = (n: number) => (isInRange(n, 0, 100) ? (n as Percentile) : undefined);
/** The number as degrees of latitude, or undefined when it is not within -90 to 90. */
export const toLatitude = (n: number) => (isInRange(n, -90, 90) ? (n as Latitude) : undefined);
/** The number as degrees of longitude, or undefined when it is not within -180 to 180. */
export const toLongitude = (n: number) => (isInRange(n, -180, 180) ? (n as Longitude) : undefined);

const KILOGRAMS_PER_POUND = 0.45359237;

/** The CO2 of `energy` at `rate`: kWh × lb/MWh × 0.45359237 / 1000. */
export const computeEmissions = (energy: KilowattHour, rate: LbsPerMwh) =>
  ((energy * rate * KILOGRAMS_PER_POUND) / 1_000) as Kilogram;
/** The energy of `power` over `d`. */
export const computeEnergy = (power: Kilowatt, d: Duration) => (power * inHours(d)) as KilowattHour;

/** ISO 8601 in UTC without fraction, as the service writes it: `2026-03-01T07:05:00+00:00`. */
export const formatInstant = (at: Instant) => `${new Date(at).toISOString().slice(0, 19)}+00:00`;

/** `1 region`, `2 regions`, `2 switches`. */
export const formatCount = (n: number, one: string) =>
  `${n} ${one}${n === 1 ? '' : /(?:ch|s|x)$/.test(one) ? 'es' : 's'}`;

/** Without the minus of `-0.0`. */
export const formatFixed = (value: number, digits: number): string =>
  value.toFixed(digits).replace(/^-(0(\.0*)?)$/, '$1');

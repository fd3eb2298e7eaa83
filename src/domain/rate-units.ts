/** The units in which people read a rate of emissions, and the one formatter of such rates. */

import type { LbsPerMwh } from './units.ts';

/** Grams per kilowatt-hour and kilograms per megawatt-hour are the same number. */
export const RATE_UNIT_NAMES = ['g/kWh', 'lb/MWh', 'kg/MWh'] as const;
export type RateUnit = (typeof RATE_UNIT_NAMES)[number];

const POUNDS_PER_UNIT: Readonly<Record<RateUnit, number>> = {
  'g/kWh': 0.45359237,
  'lb/MWh': 1,
  'kg/MWh': 0.45359237,
};

/** Zones of the United States, whose grids report pounds per megawatt-hour. */
const POUND_ZONES =
  /^(?:US\/|Pacific\/Honolulu$|America\/(?:Indiana|Kentucky|North_Dakota)\/|America\/(?:Adak|Anchorage|Boise|Chicago|Denver|Detroit|Indianapolis|Juneau|Los_Angeles|Louisville|Menominee|Metlakatla|New_York|Nome|Phoenix|Sitka|Yakutat)$)/;

/** What the owner chose, else what is usual at the place. */
export const chooseRateUnit = ({ units, timezone }: { readonly units?: RateUnit; readonly timezone: string }) =>
  units ?? (POUND_ZONES.test(timezone) ? 'lb/MWh' : 'g/kWh');

export const convertRate = (rate: LbsPerMwh | number, unit: RateUnit): number => rate * POUNDS_PER_UNIT[unit];

/** `583 lb/MWh`, `264 g/kWh`. */
export const formatRate = (rate: LbsPerMwh | number, unit: RateUnit): string =>
  `${Math.round(convertRate(rate, unit))} ${unit}`;

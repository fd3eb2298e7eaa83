/** What an authority's plants burn at a moment: generation by fuel, its carbon, and the demand. */

import type { Archetype } from './region-table.ts';
import { deriveSeed, drawFraction, drawWander } from './seeded-random.ts';

const HOUR = 3_600_000;

/** Pounds of CO2 per MWh. */
const carbonIntensities: Readonly<Record<string, number>> = {
  wind: 0,
  solar: 0,
  hydro: 0,
  nuclear: 0,
  natgas: 900,
  coal: 2_150,
  oil: 1_700,
  other: 600,
};

/** Share of mean generation by fuel. */
const generationShares: Readonly<Record<Archetype, Readonly<Record<string, number>>>> = {
  solar: { solar: 0.22, wind: 0.1, hydro: 0.1, nuclear: 0.1, natgas: 0.43, other: 0.05 },
  wind: { wind: 0.38, natgas: 0.34, coal: 0.14, nuclear: 0.1, other: 0.04 },
  coal: { coal: 0.62, natgas: 0.24, wind: 0.1, other: 0.04 },
  hydro: { hydro: 0.82, wind: 0.08, natgas: 0.08, other: 0.02 },
};

export interface FuelShare {
  readonly fuel: string;
  readonly gen_MW: number;
}

export interface Fleet {
  readonly authority: string;
  readonly archetype: Archetype;
  readonly seed: number;
  /** Hours the local day is ahead of UTC. */
  readonly zone: number;
}

/** Mean demand in MW of authorities whose size is well known, rounded. */
const meanDemands: Readonly<Record<string, number>> = {
  AESO: 9_800,
  BPAT: 6_400,
  CAISO: 25_000,
  ERCOT: 50_000,
  IESO: 15_500,
  ISONE: 13_500,
  MISO: 74_000,
  NYISO: 17_000,
  PJM: 90_000,
  SPP: 31_000,
};

/** Mean demand of an authority in MW: of the others from hundreds to tens of thousands. */
const computeMeanDemand = ({ authority, seed }: Fleet) =>
  meanDemands[authority] ?? Math.round(400 * 60 ** drawFraction(seed, 1));

const computeLocalHour = ({ zone }: Fleet, at: number) => (((at / HOUR + zone) % 24) + 24) % 24;

/** Total demand in MW. */
export const computeDemand = (fleet: Fleet, at: number) =>
  Math.round(
    computeMeanDemand(fleet) *
      (1 +
        0.18 * Math.sin(((computeLocalHour(fleet, at) - 11) * Math.PI) / 12) +
        0.04 * drawWander(fleet.seed, at / (3 * HOUR))),
  );

function computeFuelShare(fuel: string, mean: number, fleet: Fleet, at: number): number {
  if (fuel === 'nuclear') return mean;
  const hour = computeLocalHour(fleet, at);
  if (fuel === 'solar') return hour > 6 && hour < 18 ? mean * 3 * Math.sin(((hour - 6) * Math.PI) / 12) : 0;
  const spread = fuel === 'wind' ? 0.45 : 0.15;
  return Math.max(0, mean * (1 + spread * drawWander(deriveSeed(fleet.seed, fuel), at / (4 * HOUR))));
}

/** Generation by fuel in MW, one decimal; its sum is about the demand. */
export function computeFuelMix(fleet: Fleet, at: number): readonly FuelShare[] {
  const size = computeMeanDemand(fleet);
  return Object.entries(generationShares[fleet.archetype]).map(([fuel, mean]) => ({
    fuel,
    gen_MW: Math.round(10 * size * computeFuelShare(fuel, mean, fleet, at)) / 10,
  }));
}

/** Average pounds of CO2 per MW generated. */
export function computeCarbon(mix: readonly FuelShare[]): number {
  const total = mix.reduce((sum, { gen_MW }) => sum + gen_MW, 0);
  const pounds = mix.reduce((sum, { fuel, gen_MW }) => sum + gen_MW * (carbonIntensities[fuel] ?? 0), 0);
  return total === 0 ? 0 : Math.round((100 * pounds) / total) / 100;
}

interface MarginalShare {
  readonly fuel_type: string;
  readonly value: number;
}

/** Shares of the fuels that would answer one more megawatt hour, adding up to 1; `gasName` is what natural gas is called. */
export function computeMarginalShares(rate: number, gasName: string): readonly MarginalShare[] {
  const coal = Math.min(1, Math.max(0, (rate - 900) / 1_250));
  const gas = Math.min(1 - coal, Math.max(0, (rate - 2_150 * coal) / 900));
  const round = (share: number) => Math.round(share * 1e4) / 1e4;
  return [
    { fuel_type: 'coal', value: round(coal) },
    { fuel_type: gasName, value: round(gas) },
    { fuel_type: 'curtailed_renewables', value: round(1 - round(coal) - round(gas)) },
  ];
}

/** The seeded grid: the true rate of a place at any slot, what a forecaster could know of it, and a forecast as issued. */

import type { Archetype } from './region-table.ts';
import { deriveSeed, drawBell, drawFraction, drawPlaneWander, drawWander } from './seeded-random.ts';

export const SLOT = 300_000;
const SLOTS_PER_DAY = 288;

interface GridCharacter {
  /** Mean rate by local hour, lb/MWh. */
  readonly hours: readonly number[];
  /** Size of the wander over several days, the single day, hours, and minutes, lb/MWh. */
  readonly wander: readonly [days: number, day: number, hours: number, minutes: number];
  /** Depth of the midday trough of a sunny day. */
  readonly sun: number;
  /** Share of days with a block of surplus, when the rate falls to zero. */
  readonly surplus: number;
  /** Share of hours in which the rate stands still for 10 to 60 minutes. */
  readonly plateaus: number;
  /** Rates are whole multiples of this. */
  readonly step: number;
  readonly cap: number;
}

const constantHours = (value: number) => Array.from({ length: 24 }, () => value);
const duckCurve = [
  600, 565, 540, 532, 545, 575, 590, 560, 505, 470, 490, 505, 520, 530, 550, 585, 640, 715, 785, 803, 770, 720, 670,
  630,
];
const characters: Readonly<Record<Archetype, GridCharacter>> = {
  solar: {
    hours: duckCurve,
    wander: [195, 100, 145, 125],
    sun: 90,
    surplus: 0.25,
    plateaus: 0.22,
    step: 0.1,
    cap: 1_463,
  },
  wind: {
    hours: duckCurve.map((value) => 480 + value * 0.3),
    wander: [330, 200, 150, 70],
    sun: 0,
    surplus: 0.12,
    plateaus: 0.25,
    step: 0.1,
    cap: 1_900,
  },
  coal: {
    hours: constantHours(1_850),
    wander: [60, 40, 30, 10],
    sun: 0,
    surplus: 0,
    plateaus: 0.8,
    step: 50,
    cap: 2_200,
  },
  hydro: { hours: constantHours(-22), wander: [18, 10, 16, 8], sun: 0, surplus: 0, plateaus: 0.2, step: 0.1, cap: 140 },
};

/** What the service knows of one place and signal. Slots count 5 minutes from 1970. */
export interface SeededGrid {
  /** The rate as it will be settled. */
  trueRate(slot: number): number;
  /** What a good forecaster expects without news: the season, the day, not the minutes. */
  expectedRate(slot: number): number;
  /** The value a forecast issued at `issued` gives for `slot`, not before it. */
  forecastRate(issued: number, slot: number): number;
}

interface GridOptions {
  readonly seed: number;
  /** Hours the local day is ahead of UTC. */
  readonly zone: number;
  readonly southern: boolean;
  readonly archetype: Archetype;
  /** Factor from the archetype's lb/MWh to the signal's unit. */
  readonly scale: number;
  /** Spread between places of one archetype: 1 is the calibrated one. */
  readonly strength: number;
}

/** Share of what `expected` lacks that a forecast of this many slots' lead still lacks, and its own error beside. */
const leadMinutes = [0, 5, 15, 60, 120];
const ignorance = [0.24, 0.36, 0.52, 0.77, 1];
const ownError = [38, 47, 56, 66, 70];

function interpolateByLead(values: readonly number[], minutes: number): number {
  const last = values.length - 1;
  for (let i = 1; i <= last; i++) {
    const [from, to] = [leadMinutes[i - 1] ?? 0, leadMinutes[i] ?? 0];
    if (minutes < to) {
      const share = (minutes - from) / (to - from);
      return (values[i - 1] ?? 0) * (1 - share) + (values[i] ?? 0) * share;
    }
  }
  return values[last] ?? 0;
}
const LEAD_SLOTS = 25;
const ignoranceBySlot = Float64Array.from({ length: LEAD_SLOTS }, (_, i) => interpolateByLead(ignorance, i * 5));
const ownErrorBySlot = Float64Array.from({ length: LEAD_SLOTS }, (_, i) => interpolateByLead(ownError, i * 5));

const seedNames = ['days', 'day', 'hours', 'minutes', 'surplus', 'plateau', 'error', 'sun', 'quarter'] as const;

/** A place with its seeds drawn and its options weighed. */
interface GridSite {
  readonly character: GridCharacter;
  readonly southern: boolean;
  /** Slots the local day is ahead of UTC. */
  readonly shift: number;
  /** Factor from the archetype's lb/MWh to the place's own unit and strength. */
  readonly factor: number;
  readonly seeds: Readonly<Record<(typeof seedNames)[number], number>>;
}

/** Local slot, local day and local hour with its fraction. */
function computeLocalTime({ shift }: GridSite, slot: number): readonly [local: number, day: number, hour: number] {
  const local = slot + shift;
  const day = Math.floor(local / SLOTS_PER_DAY);
  return [local, day, (local - day * SLOTS_PER_DAY) / 12];
}

/** 1 in the middle of summer, -1 in the middle of winter. */
function computeSummer({ southern }: GridSite, slot: number): number {
  const yearly = Math.cos(((slot / SLOTS_PER_DAY - 196) * 2 * Math.PI) / 365.25);
  return southern ? -yearly : yearly;
}

/** 0 outside a surplus block, 1 deep inside. */
function computeSurplus({ character, seeds }: GridSite, day: number, hour: number): number {
  const spring = 1 + 0.6 * Math.cos(((day - 120) * 2 * Math.PI) / 365.25);
  if (drawFraction(seeds.surplus, day * 4) >= character.surplus * spring) return 0;
  const from = 8.5 + 3 * drawFraction(seeds.surplus, day * 4 + 1);
  const until = from + 1.5 + 4 * drawFraction(seeds.surplus, day * 4 + 2);
  return Math.max(0, Math.min(1, (hour - from) * 3, (until - hour) * 3));
}

/** The daily shape, the day's sun and the slow wanders: what can be known ahead. */
function computeSmoothRate(site: GridSite, slot: number): number {
  const { character, seeds } = site;
  const [local, day, hour] = computeLocalTime(site, slot);
  const whole = Math.floor(hour);
  const now = character.hours[whole] ?? 0;
  const next = character.hours[(whole + 1) % 24] ?? 0;
  const shape = now + (next - now) * (hour - whole);
  const daylight = hour > 7 && hour < 17 ? Math.sin(((hour - 7) * Math.PI) / 10) : 0;
  const sun = character.sun * daylight * drawBell(seeds.sun, day) * (1 + 0.3 * computeSummer(site, slot));
  const [perDays, perDay] = character.wander;
  return shape - sun + perDays * drawWander(seeds.days, local / 1_700) + perDay * drawWander(seeds.day, local / 330);
}

/** The same with the wanders of hours and minutes and the full depth of a surplus. */
function computeRawRate(site: GridSite, slot: number): number {
  const { character, seeds } = site;
  const [local, day, hour] = computeLocalTime(site, slot);
  const [, , perHours, perMinutes] = character.wander;
  const minutes = 0.8 * drawWander(seeds.minutes, local / 7) + 0.45 * drawBell(seeds.quarter, local);
  const fast = perHours * drawWander(seeds.hours, local / 30) + perMinutes * minutes;
  return computeSmoothRate(site, slot) + fast - computeSurplus(site, day, hour) * 1_500;
}

/** The slot whose rate stands at `slot`: itself, or the start of a plateau. */
function findPlateauSlot({ character, seeds }: GridSite, slot: number): number {
  const hour = Math.floor(slot / 12);
  if (drawFraction(seeds.plateau, hour * 4) >= character.plateaus) return slot;
  const from = hour * 12 + Math.floor(10 * drawFraction(seeds.plateau, hour * 4 + 1));
  const length = 2 + Math.floor(10 * drawFraction(seeds.plateau, hour * 4 + 2));
  return slot > from && slot < from + length ? from : slot;
}

const roundToStep = ({ step }: GridCharacter, rate: number) => (step < 1 ? rate : Math.round(rate / step) * step);

/** A rate within the archetype's bounds, in its steps, in the place's unit. */
const boundRate = ({ character, factor }: GridSite, rate: number) =>
  roundToStep(character, Math.min(character.cap, Math.max(0, rate))) * factor;

function computeExpectedRate(site: GridSite, slot: number): number {
  const [, day, hour] = computeLocalTime(site, slot);
  return boundRate(site, computeSmoothRate(site, slot) - computeSurplus(site, day, hour) * 500);
}

const computeTrueRate = (site: GridSite, slot: number) =>
  boundRate(site, computeRawRate(site, findPlateauSlot(site, slot)));

function computeForecastRate(site: GridSite, issued: number, slot: number): number {
  const { character, factor, seeds } = site;
  const lead = Math.min(LEAD_SLOTS - 1, Math.max(0, slot - issued));
  const unknownShare = ignoranceBySlot[lead] ?? 1;
  const guess = computeExpectedRate(site, slot);
  const knownDifference = unknownShare >= 1 ? 0 : (computeTrueRate(site, slot) - guess) * (1 - unknownShare);
  const errorSize = (character.wander[2] / 145) * (character.step < 1 ? 1 : 0.2);
  const leadError = (ownErrorBySlot[lead] ?? 0) * errorSize * drawPlaneWander(seeds.error, slot / 5, issued / 12);
  return boundRate(site, (guess + knownDifference) / factor + leadError);
}

export function createSeededGrid({ seed, zone, southern, archetype, scale, strength }: GridOptions): SeededGrid {
  const seeds = Object.fromEntries(seedNames.map((name) => [name, deriveSeed(seed, name)])) as GridSite['seeds'];
  const site: GridSite = {
    character: characters[archetype],
    southern,
    shift: Math.round(zone * 12),
    factor: strength * scale,
    seeds,
  };
  return {
    trueRate: (slot) => computeTrueRate(site, slot),
    expectedRate: (slot) => computeExpectedRate(site, slot),
    forecastRate: (issued, slot) => computeForecastRate(site, issued, slot),
  };
}

/** The grid of a signal whose values are means of so many slots each, beginning at the slot. */
export function averageGrid(grid: SeededGrid, slots: number): SeededGrid {
  if (slots === 1) return grid;
  const mean = (valueAt: (slot: number) => number, from: number) => {
    let sum = 0;
    for (let slot = from; slot < from + slots; slot++) sum += valueAt(slot);
    return sum / slots;
  };
  return {
    trueRate: (slot) => mean(grid.trueRate, slot),
    expectedRate: (slot) => mean(grid.expectedRate, slot),
    forecastRate: (issued, slot) => mean((each) => grid.forecastRate(issued, each), slot),
  };
}

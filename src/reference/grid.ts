/** The seeded grid: the true rate of a place at any slot, what a forecaster could know of it, and a forecast as issued. Stores nothing. */

import { bell, fraction, seedFor, wander, wander2 } from './noise.ts';
import type { Archetype } from './regions.ts';

export const SLOT = 300_000;
const SLOTS_A_DAY = 288;

interface Character {
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

const level = (value: number) => Array.from({ length: 24 }, () => value);
const duck = [
  600, 565, 540, 532, 545, 575, 590, 560, 505, 470, 490, 505, 520, 530, 550, 585, 640, 715, 785, 803, 770, 720, 670,
  630,
];
const characters: Readonly<Record<Archetype, Character>> = {
  solar: { hours: duck, wander: [195, 100, 145, 125], sun: 90, surplus: 0.25, plateaus: 0.22, step: 0.1, cap: 1_463 },
  wind: {
    hours: duck.map((value) => 480 + value * 0.3),
    wander: [330, 200, 150, 70],
    sun: 0,
    surplus: 0.12,
    plateaus: 0.25,
    step: 0.1,
    cap: 1_900,
  },
  coal: { hours: level(1_850), wander: [60, 40, 30, 10], sun: 0, surplus: 0, plateaus: 0.8, step: 50, cap: 2_200 },
  hydro: { hours: level(-22), wander: [18, 10, 16, 8], sun: 0, surplus: 0, plateaus: 0.2, step: 0.1, cap: 140 },
};

/** What the service knows of one place and signal. Slots count 5 minutes from 1970. */
export interface Grid {
  /** The rate as it will be settled. */
  truth(slot: number): number;
  /** What a good forecaster expects without news: the season, the day, not the minutes. */
  expected(slot: number): number;
  /** The value a forecast issued at `issued` gives for `slot`, not before it. */
  forecast(issued: number, slot: number): number;
}

export interface GridOptions {
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

function along(values: readonly number[], minutes: number): number {
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
const LEADS = 25;
const ignoranceBySlot = Float64Array.from({ length: LEADS }, (_, i) => along(ignorance, i * 5));
const ownErrorBySlot = Float64Array.from({ length: LEADS }, (_, i) => along(ownError, i * 5));

const seedNames = ['days', 'day', 'hours', 'minutes', 'surplus', 'plateau', 'error', 'sun', 'quarter'] as const;

/** A place with its seeds drawn and its options weighed. */
interface Site {
  readonly character: Character;
  readonly southern: boolean;
  /** Slots the local day is ahead of UTC. */
  readonly shift: number;
  /** Factor from the archetype's lb/MWh to the place's own unit and strength. */
  readonly factor: number;
  readonly seeds: Readonly<Record<(typeof seedNames)[number], number>>;
}

/** Local slot, local day and local hour with its fraction. */
function localTime({ shift }: Site, slot: number): readonly [local: number, day: number, hour: number] {
  const local = slot + shift;
  const day = Math.floor(local / SLOTS_A_DAY);
  return [local, day, (local - day * SLOTS_A_DAY) / 12];
}

/** 1 in the middle of summer, -1 in the middle of winter. */
function summer({ southern }: Site, slot: number): number {
  const yearly = Math.cos(((slot / SLOTS_A_DAY - 196) * 2 * Math.PI) / 365.25);
  return southern ? -yearly : yearly;
}

/** 0 outside a surplus block, 1 deep inside. */
function surplusAt({ character, seeds }: Site, day: number, hour: number): number {
  const spring = 1 + 0.6 * Math.cos(((day - 120) * 2 * Math.PI) / 365.25);
  if (fraction(seeds.surplus, day * 4) >= character.surplus * spring) return 0;
  const from = 8.5 + 3 * fraction(seeds.surplus, day * 4 + 1);
  const until = from + 1.5 + 4 * fraction(seeds.surplus, day * 4 + 2);
  return Math.max(0, Math.min(1, (hour - from) * 3, (until - hour) * 3));
}

/** The daily shape, the day's sun and the slow wanders: what can be known ahead. */
function smoothRate(site: Site, slot: number): number {
  const { character, seeds } = site;
  const [local, day, hour] = localTime(site, slot);
  const whole = Math.floor(hour);
  const now = character.hours[whole] ?? 0;
  const next = character.hours[(whole + 1) % 24] ?? 0;
  const shape = now + (next - now) * (hour - whole);
  const daylight = hour > 7 && hour < 17 ? Math.sin(((hour - 7) * Math.PI) / 10) : 0;
  const sun = character.sun * daylight * bell(seeds.sun, day) * (1 + 0.3 * summer(site, slot));
  const [perDays, perDay] = character.wander;
  return shape - sun + perDays * wander(seeds.days, local / 1_700) + perDay * wander(seeds.day, local / 330);
}

/** The same with the wanders of hours and minutes and the full depth of a surplus. */
function rawRate(site: Site, slot: number): number {
  const { character, seeds } = site;
  const [local, day, hour] = localTime(site, slot);
  const [, , perHours, perMinutes] = character.wander;
  const minutes = 0.8 * wander(seeds.minutes, local / 7) + 0.45 * bell(seeds.quarter, local);
  const fast = perHours * wander(seeds.hours, local / 30) + perMinutes * minutes;
  return smoothRate(site, slot) + fast - surplusAt(site, day, hour) * 1_500;
}

/** The slot whose rate stands at `slot`: itself, or the start of a plateau. */
function standingSlot({ character, seeds }: Site, slot: number): number {
  const hour = Math.floor(slot / 12);
  if (fraction(seeds.plateau, hour * 4) >= character.plateaus) return slot;
  const from = hour * 12 + Math.floor(10 * fraction(seeds.plateau, hour * 4 + 1));
  const length = 2 + Math.floor(10 * fraction(seeds.plateau, hour * 4 + 2));
  return slot > from && slot < from + length ? from : slot;
}

const stepped = ({ step }: Character, rate: number) => (step < 1 ? rate : Math.round(rate / step) * step);

/** A rate within the archetype's bounds, in its steps, in the place's unit. */
const settled = ({ character, factor }: Site, rate: number) =>
  stepped(character, Math.min(character.cap, Math.max(0, rate))) * factor;

function expectedRate(site: Site, slot: number): number {
  const [, day, hour] = localTime(site, slot);
  return settled(site, smoothRate(site, slot) - surplusAt(site, day, hour) * 500);
}

const trueRate = (site: Site, slot: number) => settled(site, rawRate(site, standingSlot(site, slot)));

function forecastRate(site: Site, issued: number, slot: number): number {
  const { character, factor, seeds } = site;
  const lead = Math.min(LEADS - 1, Math.max(0, slot - issued));
  const unknown = ignoranceBySlot[lead] ?? 1;
  const guess = expectedRate(site, slot);
  const news = unknown >= 1 ? 0 : (trueRate(site, slot) - guess) * (1 - unknown);
  const errorSize = (character.wander[2] / 145) * (character.step < 1 ? 1 : 0.2);
  const own = (ownErrorBySlot[lead] ?? 0) * errorSize * wander2(seeds.error, slot / 5, issued / 12);
  return settled(site, (guess + news) / factor + own);
}

export function gridOf({ seed, zone, southern, archetype, scale, strength }: GridOptions): Grid {
  const seeds = Object.fromEntries(seedNames.map((name) => [name, seedFor(seed, name)])) as Site['seeds'];
  const site: Site = {
    character: characters[archetype],
    southern,
    shift: Math.round(zone * 12),
    factor: strength * scale,
    seeds,
  };
  return {
    truth: (slot) => trueRate(site, slot),
    expected: (slot) => expectedRate(site, slot),
    forecast: (issued, slot) => forecastRate(site, issued, slot),
  };
}

/** The grid of a signal whose values are means of so many slots each, from the slot asked for on. */
export function averaged(grid: Grid, slots: number): Grid {
  if (slots === 1) return grid;
  const mean = (valueAt: (slot: number) => number, from: number) => {
    let sum = 0;
    for (let slot = from; slot < from + slots; slot++) sum += valueAt(slot);
    return sum / slots;
  };
  return {
    truth: (slot) => mean(grid.truth, slot),
    expected: (slot) => mean(grid.expected, slot),
    forecast: (issued, slot) => mean((each) => grid.forecast(issued, each), slot),
  };
}

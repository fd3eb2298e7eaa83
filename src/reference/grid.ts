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

export function gridOf({ seed, zone, southern, archetype, scale, strength }: GridOptions): Grid {
  const character = characters[archetype];
  const [perDays, perDay, perHours, perMinutes] = character.wander;
  const seeds = ['days', 'day', 'hours', 'minutes', 'surplus', 'plateau', 'error', 'sun', 'quarter'].map((name) =>
    seedFor(seed, name),
  ) as [number, number, number, number, number, number, number, number, number];
  const [daysSeed, daySeed, hoursSeed, minutesSeed, surplusSeed, plateauSeed, errorSeed, sunSeed, quarterSeed] = seeds;
  const shift = Math.round(zone * 12);
  const small = strength * scale;
  const settle = (rate: number) => {
    const bounded = Math.min(character.cap, Math.max(0, rate));
    const stepped = character.step < 1 ? bounded : Math.round(bounded / character.step) * character.step;
    return stepped * small;
  };

  /** 1 in the middle of summer, -1 in the middle of winter. */
  const summer = (slot: number) => {
    const yearly = Math.cos(((slot / SLOTS_A_DAY - 196) * 2 * Math.PI) / 365.25);
    return southern ? -yearly : yearly;
  };
  /** 0 outside a surplus block, 1 deep inside. */
  const surplusAt = (day: number, hour: number) => {
    const spring = 1 + 0.6 * Math.cos(((day - 120) * 2 * Math.PI) / 365.25);
    if (fraction(surplusSeed, day * 4) >= character.surplus * spring) return 0;
    const from = 8.5 + 3 * fraction(surplusSeed, day * 4 + 1);
    const until = from + 1.5 + 4 * fraction(surplusSeed, day * 4 + 2);
    return Math.max(0, Math.min(1, (hour - from) * 3, (until - hour) * 3));
  };
  const smooth = (slot: number) => {
    const local = slot + shift;
    const day = Math.floor(local / SLOTS_A_DAY);
    const hour = (local - day * SLOTS_A_DAY) / 12;
    const whole = Math.floor(hour);
    const now = character.hours[whole] ?? 0;
    const next = character.hours[(whole + 1) % 24] ?? 0;
    const shape = now + (next - now) * (hour - whole);
    const daylight = hour > 7 && hour < 17 ? Math.sin(((hour - 7) * Math.PI) / 10) : 0;
    const sun = character.sun * daylight * bell(sunSeed, day) * (1 + 0.3 * summer(slot));
    const slow = perDays * wander(daysSeed, local / 1_700) + perDay * wander(daySeed, local / 330);
    return shape - sun + slow;
  };
  const raw = (slot: number) => {
    const local = slot + shift;
    const day = Math.floor(local / SLOTS_A_DAY);
    const surplus = surplusAt(day, (local - day * SLOTS_A_DAY) / 12);
    const fast =
      perHours * wander(hoursSeed, local / 30) +
      perMinutes * (0.8 * wander(minutesSeed, local / 7) + 0.45 * bell(quarterSeed, local));
    return smooth(slot) + fast - surplus * 1_500;
  };
  /** The slot whose rate stands at `slot`: itself, or the start of a plateau. */
  const standing = (slot: number) => {
    const hour = Math.floor(slot / 12);
    const within = slot - hour * 12;
    if (fraction(plateauSeed, hour * 4) >= character.plateaus) return slot;
    const from = Math.floor(10 * fraction(plateauSeed, hour * 4 + 1));
    const length = 2 + Math.floor(10 * fraction(plateauSeed, hour * 4 + 2));
    return within > from && within < from + length ? hour * 12 + from : slot;
  };

  const truth = (slot: number) => settle(raw(standing(slot)));
  const expected = (slot: number) => {
    const local = slot + shift;
    const day = Math.floor(local / SLOTS_A_DAY);
    const surplus = surplusAt(day, (local - day * SLOTS_A_DAY) / 12);
    return settle(smooth(slot) - surplus * 500);
  };
  const errorSize = (perHours / 150) * (character.step < 1 ? 1 : 0.2);
  const forecast = (issued: number, slot: number) => {
    const lead = Math.min(LEADS - 1, Math.max(0, slot - issued));
    const unknown = ignoranceBySlot[lead] ?? 1;
    const guess = expected(slot);
    const news = unknown >= 1 ? 0 : (truth(slot) - guess) * (1 - unknown);
    const own = (ownErrorBySlot[lead] ?? 0) * errorSize * wander2(errorSeed, slot / 5, issued / 12);
    const value = guess + news + own * small;
    return character.step < 1
      ? Math.min(character.cap * small, Math.max(0, value))
      : Math.round(value / (character.step * small)) * character.step * small;
  };
  return { truth, expected, forecast };
}

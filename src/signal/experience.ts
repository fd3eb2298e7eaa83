/** Learns from the device's own archive how values ahead have turned out, and foretells the next ones. Never asks, and changes no forecast held. */

import { type Duration, minutes } from '../units.ts';

/**
 * A value ahead is the profile of its time of day plus a weighted sum of what stood out when it was foretold. The weights are learned for
 * each stretch of lead by ridge regression, towards "the forecast is right, and beyond its end what stood out lasts in part". On 4 recorded months this adds 5 points of the
 * hindsight saving to a heat pump: forecasts spliced of several sources lose the level that the present values show.
 */
export interface Experience {
  /** The last two days of moments at which something was foretold, ascending. */
  readonly origins: readonly Origin[];
  /** Values of slots up to here have been learned from; -1 before the first day. */
  readonly learnedTo: number;
  /** Of each stretch, with and without a forecast's value: normal equations (matrix, right side), squares of what fell below, count. */
  readonly sums: Float64Array;
  /** Their solutions. */
  readonly weights: Float64Array;
  /** How far values fell below what was foretold, as a standard deviation of each stretch; 0 before anything is learned. */
  readonly spreads: Float64Array;
}

interface Origin {
  readonly slot: number;
  /** Without the two that belong to a lead. */
  readonly features: Float64Array;
  /** What the forecast said at this origin's lead of each stretch; NaN beyond its end. */
  readonly said: Float64Array;
}

/** Learned for the five-minute signals; others keep forecast and profile as they are. */
export const LEARNED_PERIOD: Duration = minutes(5);
const DAY = 288;

/** Leads in slots, `[from, to)`: close together where the forecast changes fast. */
const STRETCHES = [
  [0, 1],
  [1, 2],
  [2, 3],
  [3, 5],
  [5, 8],
  [8, 12],
  [12, 18],
  [18, 27],
  [27, 36],
  [36, 54],
  [54, 84],
  [84, 144],
  [144, 216],
  [216, DAY],
] as const;
const FURTHEST = DAY;
const stretchOf = Uint8Array.from({ length: FURTHEST }, (_, lead) => STRETCHES.findIndex(([, to]) => lead < to));
/** First, middle and last lead of a stretch take turns as the one learned from. */
const leadOf = (stretch: number, slot: number): number => {
  const [from, to] = STRETCHES[stretch] ?? [0, 1];
  return [from, (from + to) >> 1, to - 1][slot % 3] ?? from;
};

/** Present, next 25 minutes, fifth value, rest of the hour, to three hours; means of the last 1, 3, 12 and 24 hours. */
const FEATURES = 9;
const SHAPE = FEATURES;
const SAID = FEATURES + 1;
const ONE = FEATURES + 2;
const WIDTH = FEATURES + 3;
const FAR = 4;
const HALF_DAY = 7;
const WHOLE_DAY = 8;
const SQUARES = WIDTH * WIDTH + WIDTH;
const COUNT = SQUARES + 1;
const BLOCK = COUNT + 1;
const KINDS = 2;
const SPANS = [12, 36, 144, DAY] as const;

/** Worth a day of samples where a forecast spoke, two weeks where none did: the weights leave the prior slowly. */
const RIDGES = [300, 4_000] as const;
const DAILY_DECAY = 0.5 ** (1 / 120);
/**
 * Without a value of its own, a lead takes over parts of what stands out at the forecast's end, fading over 6 hours, and of what stood out
 * over the last day, from 7 hours on more of its last half: a hot day follows a hot day. As two of 4 recorded months have it, tried on the others.
 */
const CARRIED = 0.3;
const FADING = 72;
const SOON = 84;
const lasting = (lead: number) => (lead < SOON ? { halfDay: 0, wholeDay: 0.25 } : { halfDay: 0.3, wholeDay: 0.1 });

const blockAt = (kind: number, stretch: number) => kind * STRETCHES.length + stretch;
const ridgeOf = (block: number) => RIDGES[block < STRETCHES.length ? 0 : 1];

function prior(kind: number, stretch: number): Float64Array {
  const weights = new Float64Array(WIDTH);
  const [from, to] = STRETCHES[stretch] ?? [0, 1];
  if (kind === 0) {
    weights[SAID] = 1;
    return weights;
  }
  const { halfDay, wholeDay } = lasting(from);
  weights[FAR] = CARRIED * Math.exp(-Math.max(0, (from + to) / 2 - 35) / FADING);
  weights[HALF_DAY] = halfDay;
  weights[WHOLE_DAY] = wholeDay;
  return weights;
}

function priors(): Float64Array {
  const all = new Float64Array(KINDS * STRETCHES.length * WIDTH);
  for (let kind = 0; kind < KINDS; kind++)
    for (let stretch = 0; stretch < STRETCHES.length; stretch++)
      all.set(prior(kind, stretch), blockAt(kind, stretch) * WIDTH);
  return all;
}

export const noExperience = (): Experience => ({
  origins: [],
  learnedTo: -1,
  sums: new Float64Array(KINDS * STRETCHES.length * BLOCK),
  weights: priors(),
  spreads: new Float64Array(KINDS * STRETCHES.length),
});

/** What is known at one slot: the values said from it on, and the profile of the same slots and further. */
export interface Moment {
  readonly slot: number;
  readonly said: ArrayLike<number>;
  /** At least a day long; NaN where no day had one. */
  readonly profile: Float64Array;
}

function meanAbove(said: ArrayLike<number>, profile: Float64Array, from: number, to: number): number {
  let sum = 0;
  let count = 0;
  for (let i = from; i < Math.min(to, said.length); i++) {
    const d = (said[i] ?? Number.NaN) - (profile[i] ?? Number.NaN);
    if (Number.isNaN(d)) continue;
    sum += d;
    count++;
  }
  return count === 0 ? 0 : sum / count;
}

/** Means of how the values seen in the last hours stood out when they were new. */
function recent(origins: readonly Origin[], slot: number): number[] {
  const sums = SPANS.map(() => 0);
  const counts = SPANS.map(() => 0);
  for (let i = origins.length - 1; i >= 0; i--) {
    const origin = origins[i];
    if (origin === undefined || origin.slot >= slot) continue;
    const back = slot - origin.slot;
    if (back > DAY) break;
    for (let s = SPANS.length - 1; s >= 0 && back <= (SPANS[s] ?? 0); s--) {
      sums[s] = (sums[s] ?? 0) + (origin.features[0] ?? 0);
      counts[s] = (counts[s] ?? 0) + 1;
    }
  }
  return sums.map((sum, s) => sum / Math.max(1, counts[s] ?? 0));
}

function originOf({ origins }: Experience, { slot, said, profile }: Moment): Origin {
  const above = (from: number, to: number) => meanAbove(said, profile, from, to);
  return {
    slot,
    features: Float64Array.from([
      above(0, 1),
      above(0, 5),
      above(4, 5),
      above(5, 12),
      above(12, 36),
      ...recent(origins, slot),
    ]),
    said: Float64Array.from(STRETCHES, (_, stretch) => said[leadOf(stretch, slot)] ?? Number.NaN),
  };
}

/** The regression's row for one lead; the profile's value is taken off both sides. */
function fillRow(row: Float64Array, origin: Origin, shape: number, above: number) {
  row.set(origin.features);
  row[SHAPE] = shape;
  row[SAID] = above;
  row[ONE] = 1;
}

/** What a slot came to, above its profile, and how far below what had been foretold. */
interface Outcome {
  readonly above: number;
  readonly below: number;
}

/** Adds what the value of one slot teaches about the origins before it. */
function addSample(sums: Float64Array, block: number, row: Float64Array, { above, below }: Outcome) {
  const start = block * BLOCK;
  for (let i = 0; i < WIDTH; i++) {
    const a = row[i] ?? 0;
    if (a === 0) continue;
    const line = start + i * WIDTH;
    for (let j = 0; j < WIDTH; j++) sums[line + j] = (sums[line + j] ?? 0) + a * (row[j] ?? 0);
    const side = start + WIDTH * WIDTH + i;
    sums[side] = (sums[side] ?? 0) + a * above;
  }
  sums[start + SQUARES] = (sums[start + SQUARES] ?? 0) + below * below;
  sums[start + COUNT] = (sums[start + COUNT] ?? 0) + 1;
}

/** How far the weights in use fell short of the value, where it came out lower than foretold; 0 where it did not. */
function fallen(weights: Float64Array, block: number, row: Float64Array, above: number): number {
  let off = above;
  for (let i = 0; i < WIDTH; i++) off -= (weights[block * WIDTH + i] ?? 0) * (row[i] ?? 0);
  return Math.min(0, off);
}

/** Solves (A + R) w = b + R w0 for a positive definite matrix, in place. */
function solved(matrix: Float64Array, side: Float64Array): Float64Array {
  for (let i = 0; i < WIDTH; i++) {
    const pivot = matrix[i * WIDTH + i] ?? 1;
    for (let r = i + 1; r < WIDTH; r++) {
      const factor = (matrix[r * WIDTH + i] ?? 0) / pivot;
      if (factor === 0) continue;
      for (let c = i; c < WIDTH; c++)
        matrix[r * WIDTH + c] = (matrix[r * WIDTH + c] ?? 0) - factor * (matrix[i * WIDTH + c] ?? 0);
      side[r] = (side[r] ?? 0) - factor * (side[i] ?? 0);
    }
  }
  for (let i = WIDTH - 1; i >= 0; i--) {
    let value = side[i] ?? 0;
    for (let c = i + 1; c < WIDTH; c++) value -= (matrix[i * WIDTH + c] ?? 0) * (side[c] ?? 0);
    side[i] = value / (matrix[i * WIDTH + i] ?? 1);
  }
  return side;
}

function weightsOf(sums: Float64Array, spread: number): Float64Array {
  const all = priors();
  for (let block = 0; block < KINDS * STRETCHES.length; block++) {
    const start = block * BLOCK;
    const matrix = sums.slice(start, start + WIDTH * WIDTH);
    const side = sums.slice(start + WIDTH * WIDTH, start + SQUARES);
    for (let i = 0; i < WIDTH; i++) {
      const ridge = ridgeOf(block) * (i === ONE ? 1 : spread);
      matrix[i * WIDTH + i] = (matrix[i * WIDTH + i] ?? 0) + ridge;
      side[i] = (side[i] ?? 0) + ridge * (all[block * WIDTH + i] ?? 0);
    }
    const weights = solved(matrix, side);
    if (weights.every(Number.isFinite)) all.set(weights, block * WIDTH);
  }
  return all;
}

/**
 * Only what came out lower can be waited for: peaks that nobody foresaw make no slot worth more. Twice its squares, so that errors alike
 * to both sides give their standard deviation; held small until they rest on many samples.
 */
function spreadsOf(sums: Float64Array): Float64Array {
  return Float64Array.from({ length: KINDS * STRETCHES.length }, (_, block) => {
    const start = block * BLOCK;
    return Math.sqrt((2 * (sums[start + SQUARES] ?? 0)) / ((sums[start + COUNT] ?? 0) + ridgeOf(block)));
  });
}

/** What the archive can tell the learner: the value seen for a slot and the profile it had. */
export interface Past {
  readonly value: (slot: number) => number;
  readonly profile: (slot: number) => number;
  /** Mean of the profile over the day around a slot: what the shape is measured against. */
  readonly level: number;
}

/** Once a day: the day's values teach how the origins before them should have foretold. */
function learn(experience: Experience, past: Past, until: number): Experience {
  const { origins } = experience;
  const sums = experience.sums.map((sum) => sum * DAILY_DECAY);
  const bySlot = new Map(origins.map((origin) => [origin.slot, origin]));
  const row = new Float64Array(WIDTH);
  let squares = 0;
  let seen = 0;
  for (let slot = Math.max(experience.learnedTo + 1, until - DAY + 1); slot <= until; slot++) {
    const usual = past.profile(slot);
    const above = past.value(slot) - usual;
    if (Number.isNaN(above)) continue;
    squares += above * above;
    seen++;
    for (let stretch = 0; stretch < STRETCHES.length; stretch++) {
      const [from, to] = STRETCHES[stretch] ?? [0, 1];
      for (const lead of new Set([from, (from + to) >> 1, to - 1])) {
        const origin = bySlot.get(slot - lead);
        if (origin === undefined || leadOf(stretch, origin.slot) !== lead) continue;
        const said = origin.said[stretch] ?? Number.NaN;
        const kind = Number.isNaN(said) ? 1 : 0;
        fillRow(row, origin, usual - past.level, kind === 0 ? said - usual : 0);
        const block = blockAt(kind, stretch);
        addSample(sums, block, row, { above, below: fallen(experience.weights, block, row, above) });
      }
    }
  }
  if (seen === 0) return { ...experience, learnedTo: until };
  return { origins, learnedTo: until, sums, weights: weightsOf(sums, squares / seen), spreads: spreadsOf(sums) };
}

/** Takes up what is said at a slot, and once a day learns from the day before. */
export function experienced(experience: Experience, moment: Moment, past: () => Past): Experience {
  const { slot } = moment;
  const learned =
    slot - experience.learnedTo > DAY && experience.origins.length > 0
      ? learn(experience, past(), slot - 1)
      : experience.learnedTo < 0
        ? { ...experience, learnedTo: slot - 1 }
        : experience;
  const kept = learned.origins.filter((origin) => origin.slot < slot && origin.slot > slot - 2 * DAY);
  return { ...learned, origins: [...kept, originOf(learned, moment)] };
}

/** The part of each stretch's sum that does not depend on the lead. */
function constants(origin: Origin, weights: Float64Array): Float64Array {
  const sums = new Float64Array(KINDS * STRETCHES.length);
  for (let block = 0; block < sums.length; block++) {
    let sum = weights[block * WIDTH + ONE] ?? 0;
    for (let i = 0; i < FEATURES; i++) sum += (weights[block * WIDTH + i] ?? 0) * (origin.features[i] ?? 0);
    sums[block] = sum;
  }
  return sums;
}

/** How far each value from the slot of the last origin on may turn out lower, in tenths, when so many were said; the last holds for all further ones. */
export function foretoldSpread({ spreads }: Experience, said: number): number[] {
  const [last = 0] = STRETCHES.at(-1) ?? [];
  return Array.from({ length: last + 1 }, (_, lead) => {
    const spread = spreads[blockAt(lead < said ? 0 : 1, stretchOf[lead] ?? 0)] ?? 0;
    return Math.round(10 * spread) / 10;
  });
}

/** `count` values from the slot of the last origin on: as said, corrected, and continued by the profile. A gap stays one. */
export function foretold({ origins, weights }: Experience, { said, profile }: Moment, count: number): number[] {
  const origin = origins.at(-1);
  const level = meanOf(profile, DAY);
  const fixed = origin === undefined ? undefined : constants(origin, weights);
  const values: number[] = [];
  for (let lead = 0; lead < count; lead++) {
    const usual = profile[lead] ?? Number.NaN;
    const isSaid = lead < said.length;
    const value = isSaid ? (said[lead] ?? Number.NaN) : usual;
    if (fixed === undefined || lead >= FURTHEST || Number.isNaN(usual) || Number.isNaN(value)) {
      values.push(value);
      continue;
    }
    const block = blockAt(isSaid ? 0 : 1, stretchOf[lead] ?? 0);
    const shape = (weights[block * WIDTH + SHAPE] ?? 0) * (usual - level);
    const above = isSaid ? (weights[block * WIDTH + SAID] ?? 0) * (value - usual) : 0;
    values.push(usual + shape + above + (fixed[block] ?? 0));
  }
  return values;
}

export function meanOf(values: ArrayLike<number>, count: number): number {
  let sum = 0;
  let known = 0;
  for (let i = 0; i < Math.min(count, values.length); i++) {
    const value = values[i] ?? Number.NaN;
    if (Number.isNaN(value)) continue;
    sum += value;
    known++;
  }
  return known === 0 ? 0 : sum / known;
}

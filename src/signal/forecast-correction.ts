/** Learns from the agent's own history how forecast values turned out, and predicts the next ones. */

import { type Duration, minutes } from '../domain/units.ts';

/**
 * A value ahead is the profile of its time of day plus a weighted sum of what stood out when it was foretold. The weights are learned for
 * each stretch of lead by ridge regression, towards "the forecast is right, and beyond its end what stood out lasts in part". On 4 recorded months this adds 5 points of the
 * hindsight saving to a heat pump: forecasts spliced of several sources lose the level that the present values show.
 * A second sum of the same kind knows the forecast's first value alone: the agent's own profile. Both are scored by what came.
 */
export interface ForecastCorrection {
  /** The last two days of moments at which something was foretold, ascending. */
  readonly origins: readonly ForecastOrigin[];
  /** Values of slots up to here have been learned from; -1 before the first day. */
  readonly learnedToSlot: number;
  /** Of each stretch, with a forecast's value, beyond its end, and by the own profile: normal equations (matrix, right side), squares of what fell below the first two, count. */
  readonly sums: Float64Array;
  /** Their solutions. */
  readonly weights: Float64Array;
  /** How far values fell below what was foretold, as a standard deviation of each stretch with a forecast's value and beyond its end; 0 before anything is learned. */
  readonly deviations: Float64Array;
  /** Of each stretch with a forecast's value and beyond its end: fading squares of the errors, then those of the own profile for the same slots. */
  readonly scores: Float64Array;
}

interface ForecastOrigin {
  readonly slot: number;
  /** Without the two that belong to a lead. */
  readonly features: Float64Array;
  /** What the forecast said at this origin's lead of each stretch; NaN beyond its end. */
  readonly forecastValues: Float64Array;
}

/** Learned for the five-minute signals; others keep forecast and profile as they are. */
export const LEARNED_PERIOD: Duration = minutes(5);
const SLOTS_PER_DAY = 288;

/** Leads in slots, `[from, to)`: close together where the forecast changes fast. */
const LEAD_RANGES = [
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
  [216, SLOTS_PER_DAY],
] as const;
const MAX_LEAD = SLOTS_PER_DAY;
const rangeOfLead = new Uint8Array(MAX_LEAD);
for (const [range, [from, to]] of LEAD_RANGES.entries()) rangeOfLead.fill(range, from, to);
/** First, middle and last lead of a stretch take turns as the one learned from. */
const turnsOfLeads = LEAD_RANGES.map(([from, to]) => [from, (from + to) >> 1, to - 1] as const);
const learnedLeads = turnsOfLeads.map((turns) => [...new Set(turns)]);
const getLeadToLearn = (range: number, slot: number): number => turnsOfLeads[range]?.[slot % 3] ?? 0;

/** How many values ahead the features look at. */
export const FEATURE_LEADS = 36;
/** Present, next 25 minutes, fifth value, rest of the hour, to three hours; then means of the last 1, 3, 12 and 24 hours. */
const LEAD_FEATURES = [
  [0, 1],
  [0, 5],
  [4, 5],
  [5, 12],
  [12, FEATURE_LEADS],
] as const;
const MEAN_SPANS = [12, 36, 144, SLOTS_PER_DAY] as const;
const FEATURES = LEAD_FEATURES.length + MEAN_SPANS.length;
const PROFILE_SHAPE = FEATURES;
const FORECAST_EXCESS = FEATURES + 1;
const INTERCEPT = FEATURES + 2;
const ROW_WIDTH = FEATURES + 3;
const FAR = 4;
const HALF_DAY = 7;
const WHOLE_DAY = 8;
const SQUARES = ROW_WIDTH * ROW_WIDTH + ROW_WIDTH;
const COUNT = SQUARES + 1;
const BLOCK = COUNT + 1;
/** With a forecast's value, beyond the forecast's end, by the own profile. */
const KINDS = 3;
const OWN = 2;

/** Worth a day of samples where a forecast spoke, two weeks where none did: the weights leave the prior slowly. */
const RIDGES = [300, 4_000] as const;
const DAILY_DECAY = 0.5 ** (1 / 120);
/** Scores forget sooner: which of two is better changes with the season. */
const SCORE_DECAY = 0.9;
const CLEARLY_WORSE = 2;
/**
 * Without a value of its own, a lead takes over parts of what stands out at the forecast's end, fading over 6 hours, and of what stood out
 * over the last day, from 7 hours on more of its last half: a hot day follows a hot day. As two of 4 recorded months have it, tried on the others.
 */
const CARRIED_SHARE = 0.3;
const FADING = 72;
const SOON = 84;
const computeCarriedDayShares = (lead: number) =>
  lead < SOON ? { halfDay: 0, wholeDay: 0.25 } : { halfDay: 0.3, wholeDay: 0.1 };

const getBlockStart = (kind: number, range: number) => kind * LEAD_RANGES.length + range;
const getRidge = (block: number) => RIDGES[block < LEAD_RANGES.length ? 0 : 1];

function buildPriorWeights(kind: number, range: number): Float64Array {
  const weights = new Float64Array(ROW_WIDTH);
  const [from, to] = LEAD_RANGES[range] ?? [0, 1];
  if (kind === 0) {
    weights[FORECAST_EXCESS] = 1;
    return weights;
  }
  const { halfDay, wholeDay } = computeCarriedDayShares(from);
  weights[FAR] = CARRIED_SHARE * Math.exp(-Math.max(0, (from + to) / 2 - 35) / FADING);
  weights[HALF_DAY] = halfDay;
  weights[WHOLE_DAY] = wholeDay;
  return weights;
}

function buildAllPriorWeights(): Float64Array {
  const all = new Float64Array(KINDS * LEAD_RANGES.length * ROW_WIDTH);
  for (let kind = 0; kind < KINDS; kind++)
    for (let range = 0; range < LEAD_RANGES.length; range++)
      all.set(buildPriorWeights(kind, range), getBlockStart(kind, range) * ROW_WIDTH);
  return all;
}

export const createForecastCorrection = (): ForecastCorrection => ({
  origins: [],
  learnedToSlot: -1,
  sums: new Float64Array(KINDS * LEAD_RANGES.length * BLOCK),
  weights: buildAllPriorWeights(),
  deviations: new Float64Array(OWN * LEAD_RANGES.length),
  scores: new Float64Array(2 * OWN * LEAD_RANGES.length),
});

/** What is known at one slot: the values said from it on, and the profile of the same slots and further. */
interface ForecastIssue {
  readonly slot: number;
  readonly forecastValues: ArrayLike<number>;
  /** A day or longer, of what is only learned from as long as the features look at; NaN where no day had one. */
  readonly profile: Float64Array;
}

function computeMeanExcess(forecastValues: ArrayLike<number>, profile: Float64Array, from: number, to: number): number {
  let sum = 0;
  let count = 0;
  for (let i = from; i < Math.min(to, forecastValues.length); i++) {
    const d = (forecastValues[i] ?? Number.NaN) - (profile[i] ?? Number.NaN);
    if (Number.isNaN(d)) continue;
    sum += d;
    count++;
  }
  return count === 0 ? 0 : sum / count;
}

/** Means of how the values seen in the last hours stood out when they were new. */
function computeRecentExcess(origins: readonly ForecastOrigin[], slot: number): number[] {
  let i = origins.findLastIndex((origin) => origin.slot < slot);
  let sum = 0;
  let count = 0;
  return MEAN_SPANS.map((span) => {
    for (; i >= 0 && slot - (origins[i]?.slot ?? 0) <= span; i--) {
      sum += origins[i]?.features[0] ?? 0;
      count++;
    }
    return sum / Math.max(1, count);
  });
}

function buildOrigin(
  { origins }: ForecastCorrection,
  { slot, forecastValues, profile }: ForecastIssue,
): ForecastOrigin {
  const features = new Float64Array(FEATURES);
  for (const [i, [from, to]] of LEAD_FEATURES.entries())
    features[i] = computeMeanExcess(forecastValues, profile, from, to);
  features.set(computeRecentExcess(origins, slot), LEAD_FEATURES.length);
  const learnedValues = new Float64Array(LEAD_RANGES.length);
  for (let range = 0; range < learnedValues.length; range++)
    learnedValues[range] = forecastValues[getLeadToLearn(range, slot)] ?? Number.NaN;
  return { slot, features, forecastValues: learnedValues };
}

/** The regression's row for one lead; the profile's value is taken off both sides. */
function fillRow(row: Float64Array, origin: ForecastOrigin, shape: number, above: number) {
  row.set(origin.features);
  row[PROFILE_SHAPE] = shape;
  row[FORECAST_EXCESS] = above;
  row[INTERCEPT] = 1;
}

/** Adds what the value of one slot, so far above its profile, teaches about the origins before it. */
function addSample(sums: Float64Array, block: number, row: Float64Array, above: number) {
  const start = block * BLOCK;
  for (let i = 0; i < ROW_WIDTH; i++) {
    const a = row[i] ?? 0;
    if (a === 0) continue;
    const line = start + i * ROW_WIDTH;
    for (let j = 0; j < ROW_WIDTH; j++) sums[line + j] = (sums[line + j] ?? 0) + a * (row[j] ?? 0);
    const side = start + ROW_WIDTH * ROW_WIDTH + i;
    sums[side] = (sums[side] ?? 0) + a * above;
  }
  sums[start + COUNT] = (sums[start + COUNT] ?? 0) + 1;
}

/** The row as the agent knows it without the forecast: of the values ahead the first alone. */
function removeForecast(row: Float64Array, own = new Float64Array(ROW_WIDTH)): Float64Array {
  own.set(row);
  own.fill(0, 1, FAR + 1);
  own[1] = row[0] ?? 0;
  own[FORECAST_EXCESS] = 0;
  return own;
}

/** How far the value came out above what the weights in use had foretold. */
function computeError(weights: Float64Array, block: number, row: Float64Array, above: number): number {
  let off = above;
  for (let i = 0; i < ROW_WIDTH; i++) off -= (weights[block * ROW_WIDTH + i] ?? 0) * (row[i] ?? 0);
  return off;
}

/** Solves (A + R) w = b + R w0 for a positive definite matrix, in place. */
function solveLinearSystem(matrix: Float64Array, side: Float64Array): Float64Array {
  for (let i = 0; i < ROW_WIDTH; i++) {
    const pivot = matrix[i * ROW_WIDTH + i] ?? 1;
    for (let r = i + 1; r < ROW_WIDTH; r++) {
      const factor = (matrix[r * ROW_WIDTH + i] ?? 0) / pivot;
      if (factor === 0) continue;
      for (let c = i; c < ROW_WIDTH; c++)
        matrix[r * ROW_WIDTH + c] = (matrix[r * ROW_WIDTH + c] ?? 0) - factor * (matrix[i * ROW_WIDTH + c] ?? 0);
      side[r] = (side[r] ?? 0) - factor * (side[i] ?? 0);
    }
  }
  for (let i = ROW_WIDTH - 1; i >= 0; i--) {
    let value = side[i] ?? 0;
    for (let c = i + 1; c < ROW_WIDTH; c++) value -= (matrix[i * ROW_WIDTH + c] ?? 0) * (side[c] ?? 0);
    side[i] = value / (matrix[i * ROW_WIDTH + i] ?? 1);
  }
  return side;
}

function solveWeights(sums: Float64Array, variance: number): Float64Array {
  const all = buildAllPriorWeights();
  for (let block = 0; block < KINDS * LEAD_RANGES.length; block++) {
    const start = block * BLOCK;
    const matrix = sums.slice(start, start + ROW_WIDTH * ROW_WIDTH);
    const side = sums.slice(start + ROW_WIDTH * ROW_WIDTH, start + SQUARES);
    for (let i = 0; i < ROW_WIDTH; i++) {
      const ridge = getRidge(block) * (i === INTERCEPT ? 1 : variance);
      matrix[i * ROW_WIDTH + i] = (matrix[i * ROW_WIDTH + i] ?? 0) + ridge;
      side[i] = (side[i] ?? 0) + ridge * (all[block * ROW_WIDTH + i] ?? 0);
    }
    const weights = solveLinearSystem(matrix, side);
    if (weights.every(Number.isFinite)) all.set(weights, block * ROW_WIDTH);
  }
  return all;
}

/**
 * Only what came out lower can be waited for: peaks that nobody foresaw make no slot worth more. Twice its squares, so that errors alike
 * to both sides give their standard deviation; held small until they rest on many samples.
 */
function estimateDeviations(sums: Float64Array): Float64Array {
  return Float64Array.from({ length: OWN * LEAD_RANGES.length }, (_, block) => {
    const start = block * BLOCK;
    return Math.sqrt((2 * (sums[start + SQUARES] ?? 0)) / ((sums[start + COUNT] ?? 0) + getRidge(block)));
  });
}

/** What the archive can tell the learner: the value seen for a slot and the profile it had. */
interface LearningData {
  readonly value: (slot: number) => number;
  readonly profile: (slot: number) => number;
  /** Mean of the profile over the day around a slot: what the shape is measured against. */
  readonly level: number;
}

/** Once a day: the day's values teach how the origins before them should have foretold. */
function learnFromDay(correction: ForecastCorrection, past: LearningData, until: number): ForecastCorrection {
  const { origins } = correction;
  const sums = correction.sums.map((sum) => sum * DAILY_DECAY);
  const scores = correction.scores.map((score) => score * SCORE_DECAY);
  const bySlot = new Map(origins.map((origin) => [origin.slot, origin]));
  const row = new Float64Array(ROW_WIDTH);
  const ownRow = new Float64Array(ROW_WIDTH);
  let squares = 0;
  let seen = 0;
  for (let slot = Math.max(correction.learnedToSlot + 1, until - SLOTS_PER_DAY + 1); slot <= until; slot++) {
    const profileValue = past.profile(slot);
    const above = past.value(slot) - profileValue;
    if (Number.isNaN(above)) continue;
    squares += above * above;
    seen++;
    for (let range = 0; range < LEAD_RANGES.length; range++) {
      for (const lead of learnedLeads[range] ?? []) {
        const origin = bySlot.get(slot - lead);
        if (origin === undefined || getLeadToLearn(range, origin.slot) !== lead) continue;
        const forecastValue = origin.forecastValues[range] ?? Number.NaN;
        const kind = Number.isNaN(forecastValue) ? 1 : 0;
        fillRow(row, origin, profileValue - past.level, kind === 0 ? forecastValue - profileValue : 0);
        const block = getBlockStart(kind, range);
        const error = computeError(correction.weights, block, row, above);
        addSample(sums, block, row, above);
        const squareSum = block * BLOCK + SQUARES;
        sums[squareSum] = (sums[squareSum] ?? 0) + Math.min(0, error) ** 2;
        const ownBlock = getBlockStart(OWN, range);
        removeForecast(row, ownRow);
        const ownError = computeError(correction.weights, ownBlock, ownRow, above);
        addSample(sums, ownBlock, ownRow, above);
        scores[block] = (scores[block] ?? 0) + error * error;
        const ownScore = getBlockStart(OWN + kind, range);
        scores[ownScore] = (scores[ownScore] ?? 0) + ownError * ownError;
      }
    }
  }
  if (seen === 0) return { ...correction, learnedToSlot: until };
  return {
    origins,
    learnedToSlot: until,
    sums,
    weights: solveWeights(sums, squares / seen),
    deviations: estimateDeviations(sums),
    scores,
  };
}

/** Takes up what is said at a slot, and once a day learns from the day before. */
export function learn(
  correction: ForecastCorrection,
  issue: ForecastIssue,
  past: () => LearningData,
): ForecastCorrection {
  const { slot } = issue;
  const learned =
    slot - correction.learnedToSlot > SLOTS_PER_DAY && correction.origins.length > 0
      ? learnFromDay(correction, past(), slot - 1)
      : correction.learnedToSlot < 0
        ? { ...correction, learnedToSlot: slot - 1 }
        : correction;
  const first = learned.origins.findIndex((origin) => origin.slot > slot - 2 * SLOTS_PER_DAY);
  const end = learned.origins.findLastIndex((origin) => origin.slot < slot) + 1;
  const origins = first < 0 ? [] : learned.origins.slice(first, end);
  origins.push(buildOrigin(learned, issue));
  return { ...learned, origins };
}

/** The part of each stretch's sum that does not depend on the lead. */
function computeFixedTerms(origin: ForecastOrigin, weights: Float64Array): Float64Array {
  const sums = new Float64Array(KINDS * LEAD_RANGES.length);
  for (let block = 0; block < sums.length; block++) {
    let sum = weights[block * ROW_WIDTH + INTERCEPT] ?? 0;
    for (let i = 0; i < FEATURES; i++) sum += (weights[block * ROW_WIDTH + i] ?? 0) * (origin.features[i] ?? 0);
    sums[block] = sum;
  }
  return sums;
}

/** How far each value from the slot of the last origin on may turn out lower, in tenths, when so many were said; the last holds for all further ones. */
export function estimateUncertainty({ deviations: spreads }: ForecastCorrection, forecastCount: number): number[] {
  const [last = 0] = LEAD_RANGES.at(-1) ?? [];
  const rounded = spreads.map((deviation) => Math.round(10 * deviation) / 10);
  const values: number[] = [];
  for (let lead = 0; lead <= last; lead++)
    values.push(rounded[getBlockStart(lead < forecastCount ? 0 : 1, rangeOfLead[lead] ?? 0)] ?? 0);
  return values;
}

/**
 * What the own profile counts for beside the forecast, of one stretch. Half while neither's squares of errors are twice the other's: on 4 recorded
 * months that served better than shares by the inverse squares. Else the better one counts alone, and the forecast before both have a score.
 */
function computeOwnShare(scores: Float64Array, kind: number, range: number): number {
  const score = scores[getBlockStart(kind, range)] ?? 0;
  const ownScore = scores[getBlockStart(OWN + kind, range)] ?? 0;
  if (score === 0 || ownScore >= CLEARLY_WORSE * score) return 0;
  return score >= CLEARLY_WORSE * ownScore ? 1 : 0.5;
}

/** The values expected of a day, from the slot of the last origin on, with the own profile in its share. `values` are those of `correctForecast`, `profile` the day's. */
export function blendWithOwn(
  { origins, weights, scores }: ForecastCorrection,
  { values, profile, forecastCount }: BlendedForecast,
): readonly number[] {
  const origin = origins.at(-1);
  if (origin === undefined || forecastCount < 2) return values;
  const level = computeMeanOfFirst(profile, SLOTS_PER_DAY);
  const fixed = computeFixedTerms({ ...origin, features: removeForecast(origin.features) }, weights);
  return values.map((value, lead) => {
    const range = rangeOfLead[lead] ?? 0;
    const share = lead < MAX_LEAD ? computeOwnShare(scores, lead < forecastCount ? 0 : 1, range) : 0;
    const profileValue = profile[lead] ?? Number.NaN;
    if (share === 0 || Number.isNaN(profileValue)) return value;
    const block = getBlockStart(OWN, range);
    const shape = (weights[block * ROW_WIDTH + PROFILE_SHAPE] ?? 0) * (profileValue - level);
    return value + share * (profileValue + shape + (fixed[block] ?? 0) - value);
  });
}

interface BlendedForecast {
  readonly values: readonly number[];
  readonly profile: Float64Array;
  readonly forecastCount: number;
}

/** `count` values from the slot of the last origin on: as said, corrected, and continued by the profile. A gap stays one. */
export function correctForecast(
  { origins, weights }: ForecastCorrection,
  { forecastValues, profile }: ForecastIssue,
  count: number,
): number[] {
  const origin = origins.at(-1);
  const level = computeMeanOfFirst(profile, SLOTS_PER_DAY);
  const fixed = origin === undefined ? undefined : computeFixedTerms(origin, weights);
  const values: number[] = [];
  for (let lead = 0; lead < count; lead++) {
    const profileValue = profile[lead] ?? Number.NaN;
    const isForecast = lead < forecastValues.length;
    const value = isForecast ? (forecastValues[lead] ?? Number.NaN) : profileValue;
    if (fixed === undefined || lead >= MAX_LEAD || Number.isNaN(profileValue) || Number.isNaN(value)) {
      values.push(value);
      continue;
    }
    const block = getBlockStart(isForecast ? 0 : 1, rangeOfLead[lead] ?? 0);
    const shape = (weights[block * ROW_WIDTH + PROFILE_SHAPE] ?? 0) * (profileValue - level);
    const above = isForecast ? (weights[block * ROW_WIDTH + FORECAST_EXCESS] ?? 0) * (value - profileValue) : 0;
    values.push(profileValue + shape + above + (fixed[block] ?? 0));
  }
  return values;
}

export function computeMeanOfFirst(values: ArrayLike<number>, count: number): number {
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

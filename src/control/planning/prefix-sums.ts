/** The cost of any stretch of slots in constant time. */

/** Absorbs rounding of lengths that were meant whole. */
export const SLOT_TOLERANCE = 1e-9;

/** Sums that make the cost and the permission of any stretch of slots one subtraction. */
export interface PrefixSums {
  /** Cost of the slots before t, those not allowed counted as nothing. */
  readonly cost: Float64Array;
  /** The same of what costs anything at all: for slots that serve no need. */
  readonly surplus: Float64Array;
  /** How many slots before t are allowed. */
  readonly allowed: Int32Array;
  readonly hasNegative: boolean;
  readonly rounding: number;
  /** Mean change from one slot to the next. */
  readonly change: number;
}

export function buildPrefixSums(weights: Float64Array): PrefixSums {
  const cost = new Float64Array(weights.length + 1);
  const surplus = new Float64Array(weights.length + 1);
  const allowed = new Int32Array(weights.length + 1);
  let size = 1;
  let change = 0;
  let negative = false;
  for (let t = 0; t < weights.length; t++) {
    const weight = weights[t] ?? Number.NaN;
    const isAllowed = !Number.isNaN(weight);
    cost[t + 1] = (cost[t] ?? 0) + (isAllowed ? weight : 0);
    surplus[t + 1] = (surplus[t] ?? 0) + (isAllowed ? Math.max(0, weight) : 0);
    allowed[t + 1] = (allowed[t] ?? 0) + (isAllowed ? 1 : 0);
    if (isAllowed) size += Math.abs(weight);
    if (weight < 0) negative = true;
    change += Math.abs(weight - (weights[t - 1] ?? weight)) || 0;
  }
  return { cost, surplus, allowed, hasNegative: negative, rounding: size * 1e-13, change: change / weights.length };
}

/** A run that meets its need after `need` slots and goes on to `to`, all from the slot `from`. */
interface CostedRun {
  readonly from: number;
  readonly need: number;
  readonly to: number;
}

/** The need at its weights, the rest at what it costs; slots beyond the last are not known and not charged. */
export function computeRunCost(
  weights: Float64Array,
  { cost, surplus }: PrefixSums,
  { from, need, to }: CostedRun,
): number {
  const known = weights.length;
  const upTo = (sum: Float64Array, at: number, weight: (slot: number) => number) => {
    const end = Math.min(known, Math.max(0, at));
    const whole = Math.floor(end + SLOT_TOLERANCE);
    const rest = end - whole;
    return (sum[whole] as number) + (rest > SLOT_TOLERANCE ? rest * weight(whole) : 0);
  };
  const rate = (slot: number) => (Number.isNaN(weights[slot] as number) ? 0 : (weights[slot] as number));
  const served = from + need;
  const useful = upTo(cost, served, rate) - (cost[from] as number);
  const positive = (slot: number) => Math.max(0, rate(slot));
  return useful + upTo(surplus, from + to, positive) - upTo(surplus, served, positive);
}

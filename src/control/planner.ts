/** The cheapest way to run N slots before a deadline, exactly, under minimum times and a start limit; never asks what a slot means. */

/** All lengths are in slots and need not be whole. */
export interface PlanRequest {
  /** Cost of one whole slot; NaN: the load must not run in it. The last slot ends at or after the deadline. */
  readonly weights: Float64Array;
  readonly need: number;
  /** Least length of a run; what it takes beyond `need` is charged. */
  readonly minOn: number;
  /** Least length of a pause between runs. */
  readonly minOff: number;
  /** Added for each start. */
  readonly startCost: number;
  /** A run that goes on from before is no start. 1 with `running` false is one block. */
  readonly maxStarts: number;
  readonly running: boolean;
  /** How long it has been running, or not running. */
  readonly age: number;
  /** The part of the last slot that lies before the deadline, above 0 up to 1. */
  readonly lastSlot: number;
}

export interface SlotRun {
  readonly from: number;
  readonly to: number;
}

export interface SlotPlan {
  /** Ascending, apart by `minOff`; the last one ends where the need is met or its minimum time ends. */
  readonly runs: readonly SlotRun[];
  /** Weights of the slots run, part slots pro rata, and the start costs. */
  readonly cost: number;
  readonly starts: number;
}

/** Absorbs rounding of lengths that were meant whole. */
const ROUNDING = 1e-9;
const STEP = -1;
const NONE = -2;

/** Grown when a larger plan is asked for; every cell read was written by the same call. */
let cells = new Float64Array(0);
let pointers = new Uint8Array(0);

/** The lengths of a request in whole slots, with the parts of the slots that end a run. */
interface Shape {
  readonly slots: number;
  /** Slots of progress, the last one worth `part`. */
  readonly need: number;
  readonly part: number;
  readonly minOn: number;
  /** The part of a run's `minOn`-th slot it must hold. */
  readonly hold: number;
  readonly minOff: number;
  readonly maxStarts: number;
  /** Slots the present mode must still be kept. */
  readonly wait: number;
}

function shapeOf({ weights, need, minOn, minOff, maxStarts, running, age }: PlanRequest): Shape {
  const whole = Math.max(1, Math.ceil(need - ROUNDING));
  const on = Math.max(1, Math.ceil(minOn - ROUNDING));
  return {
    slots: weights.length,
    need: whole,
    part: Math.min(1, need - (whole - 1)),
    minOn: on,
    hold: Math.min(1, Math.max(0, minOn - (on - 1))),
    minOff: Math.max(1, Math.ceil(minOff - ROUNDING)),
    // Every start brings at least `minOn` slots of progress.
    maxStarts: Math.max(0, Math.min(maxStarts, Math.ceil(whole / on))),
    wait: Math.max(0, Math.ceil((running ? minOn : minOff) - age - ROUNDING)),
  };
}

/** Sums that make the cost and the permission of any stretch of slots one subtraction. */
interface Sums {
  /** Cost of the slots before t, those not allowed counted as nothing. */
  readonly cost: Float64Array;
  /** How many slots before t are allowed. */
  readonly allowed: Int32Array;
  readonly rounding: number;
}

function sumsOf(weights: Float64Array): Sums {
  const cost = new Float64Array(weights.length + 1);
  const allowed = new Int32Array(weights.length + 1);
  let size = 1;
  for (let t = 0; t < weights.length; t++) {
    const weight = weights[t] ?? Number.NaN;
    const may = weight === weight;
    cost[t + 1] = (cost[t] ?? 0) + (may ? weight : 0);
    allowed[t + 1] = (allowed[t] ?? 0) + (may ? 1 : 0);
    if (may) size += Math.abs(weight);
  }
  return { cost, allowed, rounding: size * 1e-13 };
}

/** The cheapest plan; ties go to fewer starts, then to the earlier finish. Undefined when the need cannot be met. */
export function planSlots(request: PlanRequest): SlotPlan | undefined {
  if (request.need <= ROUNDING) return { runs: [], cost: 0, starts: 0 };
  const shape = shapeOf(request);
  const sums = sumsOf(request.weights);
  if (request.running && shape.wait >= shape.need) return forcedFinish(request, shape, sums);
  const table = fill(request, shape, sums);
  const end = cheapestEnd(table, shape, sums.rounding);
  return end === undefined ? undefined : traced(request, shape, end);
}

/** The minimum time of the present run meets the need by itself. */
function forcedFinish(request: PlanRequest, shape: Shape, sums: Sums): SlotPlan | undefined {
  const { need, part, wait, slots } = shape;
  if (need - 1 + part > slots - 1 + request.lastSlot + ROUNDING) return undefined;
  const kept = request.minOn - request.age;
  const to = wait > need ? kept : Math.max(need - 1 + part, kept);
  const whole = Math.min(slots, Math.ceil(to - ROUNDING));
  const last = request.weights[whole - 1] ?? 0;
  const cost = (sums.cost[whole] ?? 0) - Math.max(0, whole - to) * (last === last ? last : 0);
  return { runs: [{ from: 0, to }], cost, starts: 0 };
}

/** Cheapest arrivals at the full need, for each slot boundary t and number of starts k, at `t * (maxStarts + 1) + k`. */
interface Table {
  readonly cost: Float64Array;
  /** STEP: the last run grew by a slot; otherwise the progress at which a run of the minimum length began. */
  readonly how: Int32Array;
  readonly width: number;
}

/**
 * Rows run over time; a row holds the cheapest cost for each (starts, progress), once for a load free to start (`off`)
 * and once for a load free to stop (`on`). A start jumps `minOn` rows ahead and a stop `minOff`, so minimum times need no
 * states of their own.
 */
function fill(request: PlanRequest, shape: Shape, sums: Sums): Table {
  const { weights, startCost, running, lastSlot } = request;
  const { slots, need, part, minOn, hold, minOff, maxStarts, wait } = shape;
  const { cost: sum, allowed } = sums;
  const width = (maxStarts + 1) * need;
  const ring = Math.max(minOn, minOff) + 1;
  reserve(2 * ring * width, (slots + 1) * width);
  const on = cells.subarray(0, ring * width);
  const off = cells.subarray(ring * width, 2 * ring * width);
  cells.fill(Infinity, 0, 2 * ring * width);

  const finish: Table = {
    cost: new Float64Array((slots + 1) * (maxStarts + 1)).fill(Infinity),
    how: new Int32Array((slots + 1) * (maxStarts + 1)).fill(NONE),
    width: maxStarts + 1,
  };
  const may = allowed[slots] ?? 0;
  /** Progress a forced first run makes even where the slots are not allowed. */
  const head = running ? wait : 0;
  if (wait === 0) (running ? on : off)[0] = 0;

  for (let t = 1; t <= slots; t++) {
    const row = (t % ring) * width;
    const rowBefore = ((t - 1) % ring) * width;
    const rowStart = t >= minOn ? ((t - minOn) % ring) * width : -1;
    const rowStop = t >= minOff ? ((t - minOff) % ring) * width : -1;
    const weight = weights[t - 1] ?? Number.NaN;
    const mayRun = weight === weight;
    const mayStart = rowStart >= 0 && (allowed[t] ?? 0) - (allowed[t - minOn] ?? 0) === minOn;
    const stretch = mayStart ? (sum[t] ?? 0) - (sum[t - minOn] ?? 0) + startCost : 0;
    const before = allowed[t] ?? 0;
    const highest = Math.min(need - 1, before + head);
    const lowest = Math.max(0, need - (may - before));

    on.fill(Infinity, row, row + width);
    off.fill(Infinity, row, row + width);
    for (let k = 0; k <= maxStarts; k++) {
      const base = k * need;
      const first = Math.max(lowest, k * minOn);
      const pointer = t * width + base;
      for (let n = first; n <= highest; n++) {
        const stay = off[rowBefore + base + n] as number;
        const stop = rowStop >= 0 ? (on[rowStop + base + n] as number) : Infinity;
        off[row + base + n] = stop < stay ? stop : stay;
        pointers[pointer + n] = stop < stay ? 1 : 0;
      }
      if (mayRun)
        for (let n = Math.max(1, first); n <= highest; n++)
          on[row + base + n] = (on[rowBefore + base + n - 1] as number) + weight;
      if (mayStart && k > 0)
        for (let n = Math.max(minOn, first); n <= highest; n++) {
          const start = (off[rowStart + base - need + n - minOn] as number) + stretch;
          if (start < (on[row + base + n] as number)) {
            on[row + base + n] = start;
            pointers[pointer + n] = (pointers[pointer + n] as number) | 2;
          }
        }
    }
    if (t === wait) {
      if (running) on[row + wait] = sum[wait] ?? 0;
      else off[row] = 0;
    }

    const room = (t === slots ? lastSlot : 1) + ROUNDING;
    if (!mayRun) continue;
    for (let k = 0; k <= maxStarts; k++) {
      const cell = t * finish.width + k;
      let best = Infinity;
      let how = NONE;
      if (part <= room) {
        const grown = (on[rowBefore + k * need + need - 1] as number) + part * weight;
        if (grown < best) {
          best = grown;
          how = STEP;
        }
      }
      if (mayStart && k > 0) {
        for (let n = Math.max(0, need - minOn); n < need; n++) {
          const last = n + minOn === need ? Math.max(part, hold) : hold;
          if (last > room) continue;
          const jumped = (off[rowStart + (k - 1) * need + n] as number) + stretch - (1 - last) * weight;
          if (jumped < best) {
            best = jumped;
            how = n;
          }
        }
      }
      finish.cost[cell] = best;
      finish.how[cell] = how;
    }
  }
  return finish;
}

function reserve(cellCount: number, pointerCount: number) {
  if (cells.length < cellCount) cells = new Float64Array(cellCount * 2);
  if (pointers.length < pointerCount) pointers = new Uint8Array(pointerCount * 2);
}

interface End {
  readonly at: number;
  readonly starts: number;
  readonly cost: number;
  readonly how: number;
}

function cheapestEnd({ cost, how, width }: Table, { slots }: Shape, rounding: number): End | undefined {
  let least = Infinity;
  for (const value of cost) if (value < least) least = value;
  if (least === Infinity) return undefined;
  for (let k = 0; k < width; k++)
    for (let t = 1; t <= slots; t++) {
      const value = cost[t * width + k] as number;
      if (value <= least + rounding) return { at: t, starts: k, cost: value, how: how[t * width + k] as number };
    }
  return undefined;
}

/** Walks the pointers back from the end to the present mode. */
function traced(request: PlanRequest, shape: Shape, end: End): SlotPlan {
  const { need, part, minOn, hold, minOff, maxStarts } = shape;
  const width = (maxStarts + 1) * need;
  const runs: SlotRun[] = [];
  let t = end.at;
  let k = end.starts;
  let n: number;
  let mode: 'on' | 'off';
  let to: number;
  if (end.how === STEP) {
    to = t - 1 + part;
    n = need - 1;
    t -= 1;
    mode = 'on';
  } else {
    n = end.how;
    to = t - 1 + (n + minOn === need ? Math.max(part, hold) : hold);
    t -= minOn;
    runs.push({ from: t, to });
    k -= 1;
    mode = 'off';
  }
  for (;;) {
    if (mode === 'on') {
      if (k === 0 && request.running && n === t) {
        runs.push({ from: 0, to });
        break;
      }
      if (((pointers[t * width + k * need + n] as number) & 2) !== 0) {
        t -= minOn;
        n -= minOn;
        k -= 1;
        runs.push({ from: t, to });
        mode = 'off';
      } else {
        t -= 1;
        n -= 1;
      }
    } else {
      if (k === 0 && !request.running) break;
      if (((pointers[t * width + k * need + n] as number) & 1) !== 0) {
        t -= minOff;
        to = t;
        // A run that ended before the first slot is not part of the plan.
        if (k === 0 && n === 0 && t === 0) break;
        mode = 'on';
      } else t -= 1;
    }
  }
  return { runs: runs.reverse(), cost: end.cost, starts: end.starts };
}

/** The dynamic programme of the planner: the cheapest path to every slot boundary, and the path back. */

import { computeRunCost, type PrefixSums, SLOT_TOLERANCE } from './prefix-sums.ts';
import type { SlotPlan, SlotPlanRequest, SlotRun } from './slot-plan.ts';

/** How a need can be met: by one slot more of a run; a number from 0 on is the progress at which a run of the least length began. */
const GREW_BY_SLOT = -1;
const NO_ARRIVAL = -2;
/** Bits of a pointer. */
const STOPPED = 1;
const STARTED = 2;

/** Grown for a larger plan; every cell read was written by the same call. */
let cells = new Float64Array(0);
let pointers = new Uint8Array(0);
let arrivalCosts = new Float64Array(0);
let arrivals = new Int32Array(0);

/** The lengths of a request in whole slots, with the parts of the slots that end a run. */
export interface ProblemShape {
  readonly slots: number;
  /** Slots of progress, the last one worth `part`. */
  readonly need: number;
  readonly part: number;
  readonly minOn: number;
  /** The part of a run's `minOn`-th slot it must hold. */
  readonly hold: number;
  readonly minOff: number;
  readonly maxStarts: number;
  /** Whether each number of starts has costs of its own; otherwise any number may be used. */
  readonly isCounted: boolean;
  /** Slots for which the present mode must still last. */
  readonly wait: number;
}

/** Cheapest arrivals at the full need, for each slot boundary t and number of starts k, at `t * width + k`; uncounted, k is 0. Good until the next plan. */
export interface DpTable {
  readonly cost: Float64Array;
  /** STEP: the last run grew by a slot; otherwise the progress at which a run of the minimum length began. */
  readonly arrivedBy: Int32Array;
  readonly width: number;
}

/**
 * The rows a boundary is computed from, as offsets into `cells` of the cell (no start, no progress). A row that would lie before
 * the first, or that a slot not allowed cuts off, is the row of infinities.
 */
interface BoundaryRows {
  readonly t: number;
  /** A load free to stop, and one free to start, at this boundary and the one before. */
  readonly on: number;
  readonly off: number;
  readonly onBefore: number;
  readonly offBefore: number;
  /** Free to start `minOn` boundaries ago. */
  readonly start: number;
  /** Free to stop `minOff` boundaries ago. */
  readonly stop: number;
  /** Infinite where the slot is not allowed. */
  readonly weight: number;
  /** Cost of a start `minOn` slots ago and of those slots. */
  readonly stretch: number;
  /** Progress that can have been made, and that must have been if the need is to be met. */
  readonly lowest: number;
  readonly highest: number;
}

/** Where things lie in `cells`: a ring of rows for `on`, one for `off`, and the row of infinities. */
interface CellLayout {
  /** Cells of one number of starts: one of no meaning, then one for each progress. */
  readonly stride: number;
  /** From the cell after a start back to the one before: a number of starts, where they are counted. */
  readonly started: number;
  readonly row: number;
  readonly ringLength: number;
  readonly infinities: number;
  readonly size: number;
}

const countColumns = ({ isCounted, maxStarts }: ProblemShape) => (isCounted ? maxStarts + 1 : 1);

function computeLayout(shape: ProblemShape): CellLayout {
  const { need, minOn, minOff, isCounted } = shape;
  const stride = need + 1;
  const row = countColumns(shape) * stride;
  const ring = Math.max(minOn, minOff) + 1;
  const nothing = 2 * ring * row + stride + minOn + 1;
  return { stride, started: isCounted ? stride : 0, row, ringLength: ring, infinities: nothing, size: nothing + row };
}

/**
 * Rows run over time; a row holds the cheapest cost for each (starts, progress), once for a load free to start and once for a
 * load free to stop. A start jumps `minOn` rows ahead and a stop `minOff`, so minimum times need no states of their own. The
 * band of progress only ever moves up, so what lies above it is still infinite and what lies below it is not read again.
 */
export function fillTable(request: SlotPlanRequest, shape: ProblemShape, sums: PrefixSums): DpTable {
  const { slots, need, wait } = shape;
  const width = countColumns(shape);
  const layout = computeLayout(shape);
  const size = (slots + 1) * width;
  reserveCells(layout.size, size * need, size);
  cells.fill(Infinity, 0, layout.size);
  const table: DpTable = {
    cost: arrivalCosts.subarray(0, size).fill(Infinity),
    arrivedBy: arrivals.subarray(0, size).fill(NO_ARRIVAL),
    width,
  };
  if (wait === 0) cells[(request.running ? 0 : layout.ringLength * layout.row) + 1] = 0;

  for (let t = 1; t <= slots; t++) {
    const rows = locateRows(request, shape, sums, { layout, t });
    for (let k = 0; k < width; k++) fillBoundary(shape, rows, layout, k);
    // The present mode becomes free to change once its own minimum time is served.
    if (t === wait && request.running) cells[rows.on + wait] = sums.cost[wait] ?? 0;
    if (t === wait && !request.running) cells[rows.off] = 0;
    if (rows.weight === Infinity) continue;
    const room = t === slots ? request.lastSlot : 1;
    for (let k = 0; k < width; k++) recordFinishes(shape, rows, table, { request, sums, k, room, layout });
  }
  return table;
}

interface TableBoundary {
  readonly layout: CellLayout;
  readonly t: number;
}

function locateRows(
  request: SlotPlanRequest,
  shape: ProblemShape,
  { cost, allowed }: PrefixSums,
  { layout, t }: TableBoundary,
): BoundaryRows {
  const { slots, need, minOn, minOff, wait } = shape;
  const { row, ringLength: ring, infinities: nothing } = layout;
  const at = (when: number) => (when % ring) * row + 1;
  const offs = ring * row;
  const usable = allowed[t] as number;
  const mayStart = t >= minOn && usable - (allowed[t - minOn] as number) === minOn;
  const weight = request.weights[t - 1] as number;
  return {
    t,
    on: at(t),
    off: offs + at(t),
    onBefore: at(t - 1),
    offBefore: offs + at(t - 1),
    start: mayStart ? offs + at(t - minOn) : nothing,
    stop: t >= minOff ? at(t - minOff) : nothing,
    weight: Number.isNaN(weight) ? Infinity : weight,
    stretch: mayStart ? (cost[t] as number) - (cost[t - minOn] as number) + request.startCost : 0,
    lowest: Math.max(0, need - ((allowed[slots] as number) - usable)),
    // A first run that must go on makes progress even where a slot is not allowed.
    highest: Math.min(need - 1, usable + (request.running ? wait : 0)),
  };
}

/** One boundary and number of starts. No start leads to less progress than its least running time. */
function fillBoundary(shape: ProblemShape, rows: BoundaryRows, layout: CellLayout, k: number) {
  const { need, minOn, isCounted } = shape;
  const { stride, started, infinities } = layout;
  const base = k * stride;
  const mark = (rows.t * countColumns(shape) + k) * need;
  const { highest } = rows;
  const lowest = Math.max(rows.lowest, k * minOn);
  const begun = isCounted && k === 0 ? need : minOn;
  fillBand(rows, { base, mark, start: infinities, lowest, highest: Math.min(begun - 1, highest) });
  fillBand(rows, { base, mark, start: rows.start + base - started - minOn, lowest: Math.max(lowest, begun), highest });
}

/** The cells of one number of starts, from the least progress to the most; `base` and `mark` are those of no progress. */
interface CellBand {
  readonly base: number;
  readonly mark: number;
  /** Where a start leads from. */
  readonly start: number;
  readonly lowest: number;
  readonly highest: number;
}

/** Off: it stays off, or stopped `minOff` slots ago. On: it runs on, or started `minOn` slots ago. */
function fillBand(rows: BoundaryRows, { base, mark, start, lowest, highest }: CellBand) {
  const cell = cells;
  const pointer = pointers;
  const { weight, stretch } = rows;
  const off = rows.off + base;
  const on = rows.on + base;
  const stay = rows.offBefore + base;
  const run = rows.onBefore + base - 1;
  const stop = rows.stop + base;
  for (let n = lowest; n <= highest; n++) {
    const stays = cell[stay + n] as number;
    const stops = cell[stop + n] as number;
    const runs = (cell[run + n] as number) + weight;
    const starts = (cell[start + n] as number) + stretch;
    // Compared by hand: `Math.min` costs more than all the rest of the loop.
    let leastOff = stays;
    let leastOn = runs;
    let by = 0;
    if (stops < stays) {
      leastOff = stops;
      by = STOPPED;
    }
    if (starts < runs) {
      leastOn = starts;
      by += STARTED;
    }
    cell[off + n] = leastOff;
    cell[on + n] = leastOn;
    pointer[mark + n] = by;
  }
}

interface FinishContext {
  readonly request: SlotPlanRequest;
  readonly sums: PrefixSums;
  readonly k: number;
  /** How much of the slot lies before the deadline. */
  readonly room: number;
  readonly layout: CellLayout;
}

/** The need is met within this slot: by a part of it, or by a run of the minimum length that ends in it. */
function recordFinishes(
  shape: ProblemShape,
  rows: BoundaryRows,
  { cost, arrivedBy: how, width }: DpTable,
  arrival: FinishContext,
) {
  const { sums, k, room } = arrival;
  const { stride, started } = arrival.layout;
  const { weights, startCost } = arrival.request;
  const { need, part, hold, minOn, isCounted } = shape;
  const { t, onBefore, start, weight, stretch } = rows;
  let best = Infinity;
  let by = NO_ARRIVAL;
  if (part <= room + SLOT_TOLERANCE) {
    best = (cells[onBefore + k * stride + need - 1] as number) + part * weight;
    by = GREW_BY_SLOT;
  }
  for (let n = k === 0 && isCounted ? need : Math.max(0, need - minOn); n < need; n++) {
    const before = cells[start + k * stride - started + n] as number;
    const last = n + minOn === need ? Math.max(part, hold) : hold;
    if (before === Infinity || last > room + SLOT_TOLERANCE) continue;
    const run = { from: t - minOn, need: need - n - 1 + part, to: minOn - 1 + last };
    // Where no weight is negative, what serves the need and what does not cost the same.
    const added = sums.hasNegative ? startCost + computeRunCost(weights, sums, run) : stretch - (1 - last) * weight;
    const jumped = before + added;
    if (jumped >= best) continue;
    best = jumped;
    by = n;
  }
  cost[t * width + k] = best;
  how[t * width + k] = by;
}

function reserveCells(cellCount: number, pointerCount: number, arrivalCount: number) {
  if (cells.length < cellCount) cells = new Float64Array(cellCount * 2);
  if (pointers.length < pointerCount) pointers = new Uint8Array(pointerCount * 2);
  if (arrivals.length >= arrivalCount) return;
  arrivals = new Int32Array(arrivalCount * 2);
  arrivalCosts = new Float64Array(arrivalCount * 2);
}

export interface PlanEnd {
  readonly at: number;
  readonly starts: number;
  readonly cost: number;
  readonly arrivedBy: number;
}

/** Walks the pointers back from the end to the present mode. */
export function tracePlan(request: SlotPlanRequest, shape: ProblemShape, end: PlanEnd): SlotPlan {
  const { need, part, minOn, hold, minOff, isCounted, wait } = shape;
  const width = countColumns(shape);
  const runs: SlotRun[] = [];
  const jumped = end.arrivedBy !== GREW_BY_SLOT;
  let starts = 0;
  let t = end.at - 1;
  let k = end.starts;
  let n = jumped ? end.arrivedBy : need - 1;
  let to = t + (jumped && n + minOn !== need ? hold : jumped ? Math.max(part, hold) : part);
  let on = !jumped;
  const begin = (from: number) => {
    runs.push({ from, to });
    starts += 1;
    if (isCounted) k -= 1;
    on = false;
  };
  if (jumped) {
    t = end.at - minOn;
    begin(t);
  }
  // Back to a load that is off without progress, or to the run that began before the first slot.
  while (on || n > 0) {
    if (on && request.running && t <= wait) {
      runs.push({ from: 0, to });
      break;
    }
    const pointer = pointers[(t * width + k) * need + n] as number;
    if (on) {
      const started = (pointer & STARTED) !== 0;
      const back = started ? minOn : 1;
      t -= back;
      n -= back;
      if (started) begin(t);
    } else if ((pointer & STOPPED) !== 0) {
      t -= minOff;
      to = t;
      on = true;
    } else t -= 1;
  }
  return { runs: runs.reverse(), cost: end.cost, starts };
}

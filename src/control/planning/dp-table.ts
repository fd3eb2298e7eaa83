/** The dynamic programme of the planner: the cheapest path to every slot boundary, and the path back. */

import type { CostBound, PlanProblem } from './cost-bound.ts';
import type { ProblemShape } from './slot-costs.ts';
import type { SlotPlan, SlotPlanRequest, SlotRun } from './slot-plan.ts';

/** How a need can be met: by one slot more of a run; a number from 0 on is the progress at which a run of the least length began. */
const GREW_BY_SLOT = -1;
const NO_ARRIVAL = -2;
/** Bits of a pointer. */
const STOPPED = 1;
const STARTED = 2;
/** More progress than any, so that a row without cells adds none to a range. */
const NONE = 2 ** 29;

/** Grown for a larger plan; every cell read was written by the same call. */
let cells = new Float64Array(0);
let pointers = new Uint8Array(0);
let arrivalCosts = new Float64Array(0);
let arrivals = new Int32Array(0);
/** The least and the most progress of the cells of a boundary and number of starts. */
let lows = new Int32Array(0);
let highs = new Int32Array(0);

/** Cheapest arrivals at the full need, for each slot boundary t and number of starts k, at `t * width + k`; uncounted, k is 0. Good until the next plan. */
export interface DpTable {
  readonly cost: Float64Array;
  /** STEP: the last run grew by a slot; otherwise the progress at which a run of the minimum length began. */
  readonly arrivedBy: Int32Array;
  readonly width: number;
}

/** Where things lie in `cells`: a ring of rows for `on`, one for `off`, and the row of infinities. */
interface CellLayout {
  /** Cells of one number of starts: one of no meaning, then one for each progress. */
  readonly stride: number;
  readonly row: number;
  readonly ringLength: number;
  readonly infinities: number;
  readonly size: number;
}

const countColumns = ({ isCounted, maxStarts }: ProblemShape) => (isCounted ? maxStarts + 1 : 1);

function computeLayout(shape: ProblemShape): CellLayout {
  const { need, minOn, minOff } = shape;
  const stride = need + 1;
  const row = countColumns(shape) * stride;
  const ring = Math.max(minOn, minOff) + 1;
  const nothing = 2 * ring * row + stride + minOn + 1;
  return { stride, row, ringLength: ring, infinities: nothing, size: nothing + row };
}

interface TableFill {
  readonly problem: PlanProblem;
  readonly bound: CostBound;
  readonly layout: CellLayout;
  readonly width: number;
  /** From a number of starts to the one before it, where they are counted. */
  readonly started: number;
  /** The most that a cell without starts and the rest may come to, at the prices of the bound. */
  readonly ceiling: number;
}

/**
 * Rows run over time; a row holds the cheapest cost for each (starts, progress), once for a load free to start and once for a
 * load free to stop. A start jumps `minOn` rows ahead and a stop `minOff`, so minimum times need no states of their own.
 * Cells from which no plan of at most `limit` leads to the end, by what the rest costs at least, stay infinite: nearly all.
 */
export function fillTable(problem: PlanProblem, bound: CostBound, limit: number): DpTable {
  const { shape, present } = problem;
  const { slots, need, wait, maxStarts, isCounted } = shape;
  const width = countColumns(shape);
  const layout = computeLayout(shape);
  const size = (slots + 1) * width;
  reserveCells(layout.size, size * need, size);
  cells.fill(Infinity, 0, layout.size);
  lows.fill(NONE, 0, size);
  highs.fill(-NONE, 0, size);
  const table: DpTable = {
    cost: arrivalCosts.subarray(0, size).fill(Infinity),
    arrivedBy: arrivals.subarray(0, size).fill(NO_ARRIVAL),
    width,
  };
  const ceiling = Math.min(Number.MAX_VALUE, limit - need * bound.progress + (isCounted ? maxStarts * bound.start : 0));
  const fill: TableFill = { problem, bound, layout, width, started: isCounted ? 1 : 0, ceiling };
  for (let t = wait; t <= slots; t++) {
    const rows = locateRows(fill, t);
    for (let k = 0; k < width; k++) {
      clearCells(fill, rows, k);
      fillCells(fill, rows, k);
    }
    if (t === wait) {
      cells[(present.isRunning ? rows.on : rows.off) + present.progress] = present.cost;
      lows[t * width] = present.progress;
      highs[t * width] = present.progress;
    } else for (let k = 0; k < width; k++) recordFinish(fill, rows, table, k);
  }
  return table;
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
  /** Free to stop `minOff` boundaries ago. */
  readonly stop: number;
  /** Free to start `minOn` boundaries ago, and whether it may have started then. */
  readonly start: number;
  readonly mayStart: boolean;
  readonly weight: number;
  /** Cost of a start `minOn` slots ago and of those slots. */
  readonly stretch: number;
  /** The most that a cell without starts may cost, less what its progress is paid. */
  readonly mostOn: number;
  readonly mostOff: number;
}

function locateRows({ problem, bound, layout, ceiling }: TableFill, t: number): BoundaryRows {
  const { minOn, minOff } = problem.shape;
  const { slot, run } = problem.costs;
  const { row, ringLength: ring, infinities: nothing } = layout;
  const at = (when: number) => (when % ring) * row + 1;
  const offs = ring * row;
  const stretch = t < minOn ? Infinity : (run[t - minOn] as number);
  return {
    t,
    on: at(t),
    off: offs + at(t),
    onBefore: t > 0 ? at(t - 1) : nothing,
    offBefore: t > 0 ? offs + at(t - 1) : nothing,
    stop: t >= minOff ? at(t - minOff) : nothing,
    start: t >= minOn ? offs + at(t - minOn) : nothing,
    mayStart: stretch < Infinity,
    weight: t > 0 ? (slot[t - 1] as number) : Infinity,
    stretch,
    mostOn: ceiling - (bound.on[t] as number),
    mostOff: ceiling - (bound.off[t] as number),
  };
}

/** The row served the boundary of one ring before. */
function clearCells({ layout, width }: TableFill, { t, on, off }: BoundaryRows, k: number) {
  const before = (t - layout.ringLength) * width + k;
  if (before < 0) return;
  const base = k * layout.stride;
  const last = highs[before] as number;
  for (let n = lows[before] as number; n <= last; n++) {
    cells[on + base + n] = Infinity;
    cells[off + base + n] = Infinity;
  }
}

/** Off: it stays off, or stopped `minOff` slots ago. On: it runs on, or started `minOn` slots ago. */
function fillCells({ problem, bound, layout, width, started }: TableFill, rows: BoundaryRows, k: number) {
  const { need, minOn, minOff } = problem.shape;
  const { t, weight, stretch } = rows;
  const here = t * width + k;
  const mayStart = rows.mayStart && k >= started;
  const [before, stopped, begun] = [here - width, here - minOff * width, here - minOn * width - started];
  let low = t > 0 ? (lows[before] as number) : NONE;
  let high = t > 0 ? (highs[before] as number) + 1 : -NONE;
  if (t >= minOff) {
    low = Math.min(low, lows[stopped] as number);
    high = Math.max(high, highs[stopped] as number);
  }
  if (mayStart) {
    low = Math.min(low, (lows[begun] as number) + minOn);
    high = Math.max(high, (highs[begun] as number) + minOn);
  }
  high = Math.min(high, need - 1);
  if (low > high) return;

  const cell = cells;
  const base = k * layout.stride;
  const [on, off, stay, stop] = [rows.on + base, rows.off + base, rows.offBefore + base, rows.stop + base];
  const run = rows.onBefore + base - 1;
  const start = rows.start + base - started * layout.stride - minOn;
  const firstStart = mayStart ? minOn : need;
  const mark = here * need;
  const paid = bound.progress;
  const mostOn = rows.mostOn - k * started * bound.start;
  const mostOff = rows.mostOff - k * started * bound.start;
  let least = NONE;
  let most = -NONE;
  for (let n = low; n <= high; n++) {
    const stays = cell[stay + n] as number;
    const stops = cell[stop + n] as number;
    const runs = (cell[run + n] as number) + weight;
    const starts = n < firstStart ? Infinity : (cell[start + n] as number) + stretch;
    // Compared by hand: `Math.min` costs more than all the rest of the loop.
    const leastOff = stops < stays ? stops : stays;
    const leastOn = starts < runs ? starts : runs;
    const isOff = leastOff - n * paid <= mostOff;
    const isOn = leastOn - n * paid <= mostOn;
    if (!isOff && !isOn) continue;
    if (isOff) cell[off + n] = leastOff;
    if (isOn) cell[on + n] = leastOn;
    pointers[mark + n] = (stops < stays ? STOPPED : 0) + (starts < runs ? STARTED : 0);
    if (least === NONE) least = n;
    most = n;
  }
  lows[here] = least;
  highs[here] = most;
}

/** The need is met within this slot: by a part of it, or by a run of the minimum length that ends in it. */
function recordFinish({ problem, layout, width, started }: TableFill, rows: BoundaryRows, table: DpTable, k: number) {
  const { need, minOn } = problem.shape;
  const { finish, fewest, most, last } = problem.costs;
  const { t, mayStart, onBefore, start } = rows;
  const here = t * width + k;
  const base = k * layout.stride;
  let best = Infinity;
  let by = NO_ARRIVAL;
  if (highs[here - width] === need - 1) {
    best = (cells[onBefore + base + need - 1] as number) + (last[t - 1] as number);
    by = GREW_BY_SLOT;
  }
  const begun = here - minOn * width - started;
  if (mayStart && k >= started && (highs[begun] as number) >= need - minOn) {
    const before = start + base - started * layout.stride;
    const ends = (t - minOn) * (most - fewest + 1) - fewest;
    for (let n = Math.max(0, need - minOn, lows[begun] as number); n < need; n++) {
      const jumped = (cells[before + n] as number) + (finish[ends + Math.max(fewest, need - n)] as number);
      if (jumped >= best) continue;
      best = jumped;
      by = n;
    }
  }
  if (best === Infinity) return;
  table.cost[here] = best;
  table.arrivedBy[here] = by;
}

function reserveCells(cellCount: number, pointerCount: number, arrivalCount: number) {
  if (cells.length < cellCount) cells = new Float64Array(cellCount * 2);
  if (pointers.length < pointerCount) pointers = new Uint8Array(pointerCount * 2);
  if (arrivals.length >= arrivalCount) return;
  arrivals = new Int32Array(arrivalCount * 2);
  arrivalCosts = new Float64Array(arrivalCount * 2);
  lows = new Int32Array(arrivalCount * 2);
  highs = new Int32Array(arrivalCount * 2);
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

/** The request to the planner and its result, in slots and in wall time. */

import type { Instant } from '../../domain/units.ts';

export interface PlannedRun {
  readonly from: Instant;
  readonly to: Instant;
}

export interface JobPlan {
  readonly runs: readonly PlannedRun[];
  /** Value times hours, start costs and weighed prices included. */
  readonly cost: number;
  readonly starts: number;
}

/** All lengths are in slots and need not be whole. */
export interface SlotPlanRequest {
  /** Cost of one whole slot; NaN: the load must not run in it. The last slot ends at or after the deadline. */
  readonly weights: Float64Array;
  readonly need: number;
  /** Minimum length of a run; time beyond `need` is charged, and is never a gain. */
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

/** The shape of `gridtide plan --json`. */

interface PlanSlot {
  readonly start: string;
  readonly minutes: number;
  readonly kw: number;
}

export interface PlanResult {
  /** Maximal runs. */
  readonly slots: readonly PlanSlot[];
  readonly starts: number;
  readonly emissions: { readonly value: number; readonly units: string };
  readonly feasible: boolean;
  readonly shortfallMinutes: number;
}

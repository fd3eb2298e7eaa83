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
  /** Where a configuration with a tariff is given. */
  readonly bill?: { readonly value: number; readonly currency: string };
  readonly feasible: boolean;
  readonly shortfallMinutes: number;
}

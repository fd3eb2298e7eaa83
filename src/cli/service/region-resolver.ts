/** How `gridtide region` finds the region of a place: in the local map, or from the service. */

import type { Place } from '../../domain/units.ts';

export interface RegionAnswer {
  readonly region: string;
  readonly regionFullName: string;
  readonly candidates: readonly string[];
  /** Null when the service answered. */
  readonly mapLastUpdated: string | null;
}

/** Undefined outside coverage. */
export type RegionResolver = (place: Place) => Promise<RegionAnswer | undefined>;

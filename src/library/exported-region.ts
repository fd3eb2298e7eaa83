/** `gridtide/region`: the region map for other programs: a streamed import into an index file, and lookups that read kilobytes of it. */

import './require-node.ts';

import type { SignalType } from '../domain/load-types.ts';
import type { Instant } from '../domain/units.ts';
import { createFileDisk } from '../platform/file-disk.ts';
import { importHomeMap } from '../region/home-region.ts';
import { openMap } from '../region/lookup.ts';
import type { ImportLimits, ImportProgress, ImportResult, MapFailure, RegionMap } from '../region/region-types.ts';

export type { SignalType } from '../domain/load-types.ts';
export { toPlace } from '../domain/place.ts';
export type { Instant, Latitude, Longitude, Place } from '../domain/units.ts';
export type {
  ImportedMap,
  ImportLimits,
  ImportProgress,
  ImportResult,
  MapFailure,
  MapInfo,
  RegionMap,
  RegionMatch,
} from '../region/region-types.ts';

export interface MapLocation {
  /** An existing directory; each signal type has one index file in it. */
  readonly directory: string;
  readonly signalType: SignalType;
}

export interface MapImport extends MapLocation {
  /** The GeoJSON of specification 2.8, inflated: a file stream, or `chunks` of the client's `map`. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Import the map even when it is unchanged, or has fewer than half of the earlier regions. */
  readonly force?: boolean;
  readonly limits?: Partial<ImportLimits>;
  readonly onProgress?: (progress: ImportProgress) => void;
  readonly stop?: AbortSignal;
}

/**
 * Imports a map in one pass; memory grows with its largest polygon, not with the file. The earlier index stays until the new one has
 * passed every check, through a failure, a kill or a power cut. Trouble is a value.
 */
export function importRegionMap({ directory, ...options }: MapImport): Promise<ImportResult> {
  return importHomeMap({ ...options, disk: createFileDisk(directory), now: Date.now() as Instant });
}

/** The imported map: undefined when there is none, a failure when its index cannot be used. The caller closes it. */
export function openRegionMap({ directory, signalType }: MapLocation): Promise<RegionMap | MapFailure | undefined> {
  return openMap(createFileDisk(directory), signalType);
}

/** The types of a region map for other rooms: its facts, failures and answers, and the region of the device's place. */

import type { SignalType } from '../domain/load-types.ts';
import type { Disk, DiskFailure, Log } from '../domain/ports.ts';
import type { Instant, Place } from '../domain/units.ts';
import type { MapQuery } from '../service/api/query-types.ts';
import type { MapStream, UnchangedMap } from '../service/api/response-types.ts';
import type { Outcome } from '../service/failure.ts';

/** One map per signal type (specification 2.8), as stored in the state directory. */
export interface MapInfo {
  readonly signalType: string;
  /** `meta.last_updated`; absent when the source has none. */
  readonly lastUpdated?: Instant;
  /** Distinct region abbreviations. */
  readonly regions: number;
  readonly features: number;
  readonly polygons: number;
  readonly vertices: number;
  readonly pieces: number;
  /** Size of the index file. */
  readonly bytes: number;
  /** Size of the GeoJSON it was made from. */
  readonly sourceBytes: number;
  readonly importedAt: Instant;
}

/** Why there is no (new) map. `message` is one sentence for people; the earlier index stays in use in every case. */
export type MapFailure =
  /** The text is not the GeoJSON of specification 2.8: cut short, wrong types, many open rings, a number out of range. `at` counts bytes. */
  | { readonly kind: 'malformed'; readonly at: number; readonly message: string }
  /** A limit was passed. */
  | { readonly kind: 'too-large'; readonly message: string }
  /** A map of another signal type. */
  | { readonly kind: 'wrong-signal'; readonly message: string }
  /** Well-formed, but suspicious beside the stored map: far fewer regions, or without the own place. `force` imports it all the same. */
  | { readonly kind: 'suspicious'; readonly message: string }
  /** The source ended badly (network, gzip, file). */
  | { readonly kind: 'source'; readonly message: string }
  /** The index file is damaged, or of another format version: import again. */
  | { readonly kind: 'damaged'; readonly message: string }
  | { readonly kind: 'disk'; readonly failure: DiskFailure; readonly message: string }
  | { readonly kind: 'stopped'; readonly message: string };

export interface RegionName {
  readonly region: string;
  readonly regionFullName: string;
}

export interface RegionMatch extends RegionName {
  /** Number of the feature in the map; the lowest that covers the place wins. */
  readonly feature: number;
  /** All regions that cover the place, the winner first: more than one on a border or an overlap. */
  readonly candidates: readonly string[];
}

export interface RegionMap {
  readonly info: MapInfo;
  /** The region of a place, borders included; undefined outside coverage, never the nearest. Rejects with `DiskError`, also when a part is damaged. */
  findRegion(place: Place): Promise<RegionMatch | undefined>;
  close(): Promise<void>;
}

/** A region as a map or the service names it for a place. */
export interface FoundRegion extends RegionName {
  readonly source: 'map' | 'service' | 'configuration';
  /** Age of the map; absent when the map has no date or the service answered instead. */
  readonly mapLastUpdated?: Instant;
}

/** The region in use for the device's own place. */
export interface HomeRegion extends FoundRegion {
  readonly place: Place;
  /** Another region by a newer map: not in use until the service knows it too. */
  readonly proposed?: RegionName;
}

/** What a newly found region means for the one in use. `message` is for people: log, MQTT, health. */
export type RegionChange =
  | { readonly kind: 'first' | 'same'; readonly home: HomeRegion }
  /** Another region: the old one stays in use, the new one is proposed until the service knows it too. */
  | { readonly kind: 'changed'; readonly home: HomeRegion; readonly message: string }
  /** No region any more: the old one stays in use. */
  | { readonly kind: 'vanished'; readonly home: HomeRegion; readonly message: string };

/** A map, as the service or a relay sends it. */
export interface ReceivedMap extends MapStream {
  /** Who may write the topics of a relay can send an earlier map again. */
  readonly isRelayed?: true;
}

export interface MapSource {
  map(query: MapQuery): Promise<Outcome<ReceivedMap | UnchangedMap>>;
}

export interface ImportLimits {
  /** Of the GeoJSON, after inflation. */
  readonly sourceBytes: number;
  readonly polygonVertices: number;
  readonly features: number;
  readonly pieces: number;
  readonly indexBytes: number;
  /** Of one name, in bytes. */
  readonly nameBytes: number;
  readonly depth: number;
}

export interface ImportProgress {
  readonly bytes: number;
  readonly features: number;
}

export interface ImportOptions {
  /** The GeoJSON, inflated; a chunk need only stay valid until the next is read. */
  readonly chunks: AsyncIterable<Uint8Array>;
  readonly disk: Disk;
  readonly signalType: SignalType;
  /** For `importedAt`. */
  readonly now: Instant;
  /** The device's own place: its region is found during the import and stored. */
  readonly homePlace?: Place;
  /** Take it even when unchanged or suspicious. */
  readonly force?: boolean;
  readonly log?: Log;
  /** Called at most once a chunk. */
  readonly onProgress?: (progress: ImportProgress) => void;
  readonly limits?: Partial<ImportLimits>;
  readonly stop?: AbortSignal;
  /** A map that is older than the stored one is refused. */
  readonly isRelayed?: true;
  /** The service's name for this map, remembered with the index. */
  readonly mapVersion?: string | undefined;
}

export interface ImportedMap {
  readonly ok: true;
  readonly info: MapInfo;
  /** `meta.last_updated` is that of the present map: nothing was rewritten. */
  readonly unchanged: boolean;
  /** Absent when no place was given, or neither this map nor an earlier one covers it. */
  readonly home?: HomeRegion;
  readonly change?: RegionChange['kind'];
}

export type ImportResult = ImportedMap | { readonly ok: false; readonly failure: MapFailure };

/** The stored region of the device's place, beside the index, so that a start loads no geometry code. */

import type { Disk } from '../domain/ports.ts';
import { type Instant, type Place, toLatitude, toLongitude } from '../domain/units.ts';
import { readIndexHeader } from './index/index-reader.ts';
import type { HomeRegion, RegionName } from './region-types.ts';

const buildHomeFileName = (signalType: string) => `place.${signalType}.json`;

export interface StoredHome {
  readonly home: HomeRegion;
  /** Of the index that the region was found in. */
  readonly indexIdentity?: number;
}

const isNonEmptyText = (value: unknown): value is string => typeof value === 'string' && value !== '';

function toRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function parseRegionName(value: unknown): RegionName | undefined {
  const { region, regionFullName } = toRecord(value);
  return isNonEmptyText(region) && isNonEmptyText(regionFullName) ? { region, regionFullName } : undefined;
}

/** Undefined when the bytes are torn or hold something else. */
function parseStoredHome(bytes: Uint8Array): StoredHome | undefined {
  let value: Record<string, unknown>;
  try {
    value = toRecord(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return undefined;
  }
  const latitude = toLatitude(Number(value.latitude ?? Number.NaN));
  const longitude = toLongitude(Number(value.longitude ?? Number.NaN));
  const name = parseRegionName(value);
  if (latitude === undefined || longitude === undefined || name === undefined) return undefined;
  const proposed = parseRegionName(value.proposed);
  const { mapLastUpdated, map } = value;
  const home: HomeRegion = {
    place: { latitude, longitude },
    ...name,
    source: value.source === 'service' ? 'service' : 'map',
    ...(typeof mapLastUpdated === 'number' ? { mapLastUpdated: mapLastUpdated as Instant } : {}),
    ...(proposed === undefined ? {} : { proposed }),
  };
  return { home, ...(typeof map === 'number' ? { indexIdentity: map } : {}) };
}

/** The stored region of this very place. Rejects with `DiskError`. */
export async function readHome(disk: Disk, signalType: string, place: Place): Promise<StoredHome | undefined> {
  const bytes = await disk.read(buildHomeFileName(signalType));
  const stored = bytes === undefined ? undefined : parseStoredHome(bytes);
  if (stored === undefined) return undefined;
  const { latitude, longitude } = stored.home.place;
  return latitude === place.latitude && longitude === place.longitude ? stored : undefined;
}

/** Stores the region in use with the identity of the present index, unless it is stored so already. Rejects with `DiskError`. */
export async function saveHome(disk: Disk, signalType: string, home: HomeRegion): Promise<void> {
  const { place, ...rest } = home;
  const map = home.source === 'map' ? (await readIndexHeader(disk, signalType))?.identity : undefined;
  const text = JSON.stringify({ ...place, ...rest, ...(map === undefined ? {} : { map }) });
  const bytes = new TextEncoder().encode(`${text}\n`);
  const stored = await disk.read(buildHomeFileName(signalType));
  if (stored === undefined || Buffer.compare(stored, bytes) !== 0)
    await disk.replace(buildHomeFileName(signalType), bytes);
}

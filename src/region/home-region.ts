/** Keeps the region of the device's own place beside the index, so that a start loads no geometry code. Decides no change: see `renewal`. */

import { type Disk, DiskError } from '../domain/ports.ts';
import { type Instant, type Place, toLatitude, toLongitude } from '../domain/units.ts';
import { readIndexHeader } from './index/index-reader.ts';
import { compareRegions } from './refresh-policy.ts';
import type { HomeRegion } from './region-types.ts';

export const homeFileName = (signalType: string) => `place.${signalType}.json`;

/** The stored text. `map` is the identity of the index it was resolved in. */
interface StoredHome {
  readonly home: HomeRegion;
  readonly indexIdentity?: number;
}

const isNonEmptyText = (value: unknown): value is string => typeof value === 'string' && value !== '';

function toRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function parseRegionName(value: unknown): { readonly region: string; readonly regionFullName: string } | undefined {
  const { region, regionFullName } = toRecord(value);
  return isNonEmptyText(region) && isNonEmptyText(regionFullName) ? { region, regionFullName } : undefined;
}

/** What the bytes tell, or undefined when they are torn or of another hand. */
function parseStoredHome(bytes: Uint8Array): StoredHome | undefined {
  let value: Record<string, unknown>;
  try {
    value = toRecord(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return undefined;
  }
  const north = toLatitude(Number(value.latitude ?? Number.NaN));
  const east = toLongitude(Number(value.longitude ?? Number.NaN));
  const name = parseRegionName(value);
  if (north === undefined || east === undefined || name === undefined) return undefined;
  const proposed = parseRegionName(value.proposed);
  const { mapLastUpdated, map } = value;
  const home: HomeRegion = {
    place: { latitude: north, longitude: east },
    ...name,
    source: value.source === 'service' ? 'service' : 'map',
    ...(typeof mapLastUpdated === 'number' ? { mapLastUpdated: mapLastUpdated as Instant } : {}),
    ...(proposed === undefined ? {} : { proposed }),
  };
  return { home, ...(typeof map === 'number' ? { indexIdentity: map } : {}) };
}

async function readStoredHome(disk: Disk, signalType: string, place: Place): Promise<StoredHome | undefined> {
  const bytes = await disk.read(homeFileName(signalType));
  const stored = bytes === undefined ? undefined : parseStoredHome(bytes);
  if (stored === undefined) return undefined;
  const { latitude: north, longitude: east } = stored.home.place;
  return north === place.latitude && east === place.longitude ? stored : undefined;
}

/** The stored region of this very place, whatever map is held. Rejects with `DiskError`. */
export async function readHome(disk: Disk, signalType: string, place: Place): Promise<HomeRegion | undefined> {
  return (await readStoredHome(disk, signalType, place))?.home;
}

/** Stores the region in use, with the identity of the index held now; what is stored already is not written again. Rejects with `DiskError`. */
export async function saveHome(disk: Disk, signalType: string, home: HomeRegion): Promise<void> {
  const { place, ...rest } = home;
  const map = home.source === 'map' ? (await readIndexHeader(disk, signalType))?.identity : undefined;
  const text = JSON.stringify({ ...place, ...rest, ...(map === undefined ? {} : { map }) });
  const bytes = new TextEncoder().encode(`${text}\n`);
  const stored = await disk.read(homeFileName(signalType));
  if (stored === undefined || Buffer.compare(stored, bytes) !== 0) await disk.replace(homeFileName(signalType), bytes);
}

/**
 * The region of the device's place: the stored one while the place and the index are those it was stored for, else looked up and
 * stored. Undefined when neither file tells any. Rejects with `DiskError`.
 */
export async function resolveHome(disk: Disk, signalType: string, place: Place): Promise<HomeRegion | undefined> {
  const stored = await readStoredHome(disk, signalType, place);
  if (stored?.home.source === 'service') return stored.home;
  const header = await readIndexHeader(disk, signalType);
  if (header === undefined || stored?.indexIdentity === header.identity) return stored?.home;

  const { openMap } = await import('./lookup.ts');
  const map = await openMap(disk, signalType);
  if (map === undefined || 'kind' in map) return stored?.home;
  try {
    const found = await map.findRegion(place);
    const { lastUpdated } = map.info;
    const change = compareRegions(
      place,
      stored?.home,
      found && {
        region: found.region,
        regionFullName: found.regionFullName,
        source: 'map',
        ...(lastUpdated === undefined ? {} : { mapLastUpdated: lastUpdated }),
      },
    );
    if (change !== undefined) await saveHome(disk, signalType, change.home);
    return change?.home;
  } catch (error) {
    // What is stored is better than nothing, though of another index.
    if (!(error instanceof DiskError) || stored === undefined) throw error;
    return stored.home;
  } finally {
    await map.close();
  }
}

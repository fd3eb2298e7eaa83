/** Remembers by which version the service knows the stored map, so that an unchanged map is not sent again. */

import { type Disk, DiskError } from '../domain/ports.ts';
import { isIndexIntact, readIndexHeader } from './index/index-reader.ts';

const buildVersionFileName = (signalType: string) => `map.${signalType}.version.json`;
/** Longer ones are not worth their place. */
const MAX_VERSION_LENGTH = 1_000;

interface StoredVersion {
  readonly version: string;
  /** Of the index that was made from this version. */
  readonly indexIdentity: number;
}

function parseStoredVersion(bytes: Uint8Array): Partial<StoredVersion> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** Undefined unless the index of this version is there and undamaged. Rejects with `DiskError`. */
export async function readMapVersion(disk: Disk, signalType: string): Promise<string | undefined> {
  const bytes = await disk.read(buildVersionFileName(signalType));
  if (bytes === undefined) return undefined;
  const { version, indexIdentity } = parseStoredVersion(bytes);
  if (typeof version !== 'string') return undefined;
  const header = await readIndexHeader(disk, signalType);
  if (header === undefined || header.identity !== indexIdentity) return undefined;
  return (await isIndexIntact(disk, signalType)) ? version : undefined;
}

/** Stores the version of the present index. A disk that refuses it costs one more download, nothing else. */
export async function saveMapVersion(disk: Disk, signalType: string, version: string | undefined): Promise<void> {
  if (version === undefined || version.length > MAX_VERSION_LENGTH) return;
  try {
    const header = await readIndexHeader(disk, signalType);
    if (header === undefined) return;
    const bytes = new TextEncoder().encode(`${JSON.stringify({ version, indexIdentity: header.identity })}\n`);
    const stored = await disk.read(buildVersionFileName(signalType));
    if (stored === undefined || Buffer.compare(stored, bytes) !== 0)
      await disk.replace(buildVersionFileName(signalType), bytes);
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
  }
}

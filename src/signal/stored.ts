/** Turns held data into bytes for the disk and back: versioned, checksummed, about 40 KiB. Torn or foreign bytes give nothing and say why. */

import { crc32 } from 'node:zlib';
import type { Forecast } from '../service/answers.ts';
import type { Duration, Instant } from '../units.ts';
import type { Archive } from './archive.ts';
import { emptyHeld, type Held } from './held.ts';

/*
 * Layout: magic (8 bytes), length of the header (u32), header (JSON), forecast times (f64), forecast values (f64),
 * rates ring (f32), index ring (f32), CRC-32 of all before (u32). Little endian.
 */
const MAGIC = 'gtsignl1';
const HEAD = MAGIC.length + 4;
const LARGEST = 4 * 1024 * 1024;

interface ArchiveHead {
  readonly period: number;
  readonly newest: number;
  readonly length: number;
}

interface Header {
  readonly region: string;
  readonly signalType: string;
  readonly forecast?: Omit<Forecast, 'points'> & { readonly count: number };
  readonly rates?: ArchiveHead & { readonly units: string };
  readonly indexes?: ArchiveHead;
}

const headOf = ({ period, newest, ring }: Archive): ArchiveHead => ({ period, newest, length: ring.length });
const bytesOf = (array: Float32Array | Float64Array) =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

function headerOf({ region, signalType, forecast, rates, indexes }: Held): Header {
  const { points = [], ...rest } = forecast ?? {};
  return {
    region,
    signalType,
    ...(forecast === undefined ? {} : { forecast: { ...(rest as Omit<Forecast, 'points'>), count: points.length } }),
    ...(rates === undefined ? {} : { rates: { ...headOf(rates.archive), units: rates.units } }),
    ...(indexes === undefined ? {} : { indexes: headOf(indexes) }),
  };
}

/** The forecast and both archives; a live index lives too short to be kept. */
export function toBytes(held: Held): Uint8Array {
  const points = held.forecast?.points ?? [];
  const parts = [
    new TextEncoder().encode(JSON.stringify(headerOf(held))),
    bytesOf(Float64Array.from(points, ({ at }) => at)),
    bytesOf(Float64Array.from(points, ({ value }) => value)),
    bytesOf(held.rates?.archive.ring ?? new Float32Array(0)),
    bytesOf(held.indexes?.ring ?? new Float32Array(0)),
  ];
  const size = HEAD + parts.reduce((sum, part) => sum + part.length, 0) + 4;
  const bytes = new Uint8Array(size);
  bytes.set(new TextEncoder().encode(MAGIC));
  const view = new DataView(bytes.buffer);
  view.setUint32(MAGIC.length, parts[0]?.length ?? 0, true);
  let offset = HEAD;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  view.setUint32(offset, crc32(bytes.subarray(0, offset)), true);
  return bytes;
}

export type Stored =
  | { readonly ok: true; readonly held: Held }
  /** What is wrong with the bytes, for people. */
  | { readonly ok: false; readonly note: string };

const spoiled = (what: string): Stored => ({
  ok: false,
  note: `the stored signal data ${what}; it is set aside and fetched anew`,
});

/** What `toBytes` made, or why it cannot be used. Never throws. */
export function fromBytes(bytes: Uint8Array): Stored {
  if (bytes.length < HEAD + 4 || bytes.length > LARGEST) return spoiled(`has ${bytes.length} bytes`);
  if (new TextDecoder().decode(bytes.subarray(0, MAGIC.length)) !== MAGIC) return spoiled('is of another version');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = bytes.length - 4;
  if (view.getUint32(end, true) !== crc32(bytes.subarray(0, end))) return spoiled('is damaged (checksum)');
  const headerEnd = HEAD + view.getUint32(MAGIC.length, true);
  try {
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(HEAD, headerEnd))) as Header;
    return { ok: true, held: heldOf(header, bytes.subarray(headerEnd, end)) };
  } catch {
    return spoiled('cannot be read');
  }
}

/** Reads the arrays in the order they were written; lengths come from the checksummed header. */
function heldOf(header: Header, body: Uint8Array): Held {
  let offset = 0;
  const take = (length: number) => {
    if (offset + length > body.length) throw new RangeError('too short');
    const part = body.slice(offset, offset + length);
    offset += length;
    return part.buffer;
  };
  const count = header.forecast?.count ?? 0;
  const times = new Float64Array(take(count * 8));
  const values = new Float64Array(take(count * 8));
  const archive = (head: ArchiveHead): Archive => ({
    period: head.period as Duration,
    newest: head.newest,
    ring: new Float32Array(take(head.length * 4)),
  });
  const { forecast, rates, indexes } = header;
  const points = Array.from(times, (at, i) => ({ at: at as Instant, value: values[i] ?? Number.NaN }));
  const { count: _, ...envelope } = forecast ?? { count: 0 };
  return {
    ...emptyHeld(header.region, header.signalType),
    ...(forecast === undefined ? {} : { forecast: { ...(envelope as Omit<Forecast, 'points'>), points } }),
    ...(rates === undefined ? {} : { rates: { units: rates.units, archive: archive(rates) } }),
    ...(indexes === undefined ? {} : { indexes: archive(indexes) }),
  };
}

/** Turns held data into bytes for the disk and back: versioned, checksummed, about 160 KiB. Torn or foreign bytes give nothing and say why. */

import { crc32 } from 'node:zlib';
import type { Forecast } from '../service/answers.ts';
import type { Duration, Instant } from '../units.ts';
import type { Course } from './course.ts';
import { emptyHeld, type Held } from './held.ts';

/*
 * Layout: magic (8 bytes), length of the header (u32), header (JSON), forecast times (f64), forecast values (f64),
 * then for rates and for indexes ring (f32), sums, weights and spreads (f64), CRC-32 of all before (u32). Little endian.
 */
const MAGIC = 'gtsignl4';
const HEAD = MAGIC.length + 4;
const LARGEST = 4 * 1024 * 1024;

interface CourseHead {
  readonly units: string;
  readonly period: number;
  readonly newest: number;
  readonly learnedTo: number;
  /** Lengths of the four arrays. */
  readonly lengths: readonly [number, number, number, number];
}

interface Header {
  readonly region: string;
  readonly signalType: string;
  readonly forecast?: Omit<Forecast, 'points'> & { readonly count: number };
  /** A restart within its validity goes on by it. */
  readonly live?: Held['live'];
  readonly rates?: CourseHead;
  readonly indexes?: CourseHead;
}

const headOf = ({ units, archive, experience }: Course): CourseHead => ({
  units,
  period: archive.period,
  newest: archive.newest,
  learnedTo: experience.learnedTo,
  lengths: [archive.ring.length, experience.sums.length, experience.weights.length, experience.spreads.length],
});
const bytesOf = (array: Float32Array | Float64Array) =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
const arraysOf = (course: Course | undefined) =>
  course === undefined
    ? []
    : [course.archive.ring, course.experience.sums, course.experience.weights, course.experience.spreads].map(bytesOf);

function headerOf({ region, signalType, forecast, live, rates, indexes }: Held): Header {
  const { points = [], ...rest } = forecast ?? {};
  return {
    region,
    signalType,
    ...(forecast === undefined ? {} : { forecast: { ...(rest as Omit<Forecast, 'points'>), count: points.length } }),
    ...(live === undefined ? {} : { live }),
    ...(rates === undefined ? {} : { rates: headOf(rates) }),
    ...(indexes === undefined ? {} : { indexes: headOf(indexes) }),
  };
}

/** Forecast, live index, the archives and what was learned from them; what the course of one day alone needs is left out. */
export function toBytes(held: Held): Uint8Array {
  const points = held.forecast?.points ?? [];
  const parts = [
    new TextEncoder().encode(JSON.stringify(headerOf(held))),
    bytesOf(Float64Array.from(points, ({ at }) => at)),
    bytesOf(Float64Array.from(points, ({ value }) => value)),
    ...arraysOf(held.rates),
    ...arraysOf(held.indexes),
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
  const course = ({
    units,
    period,
    newest,
    learnedTo,
    lengths: [ring, sums, weights, spreads],
  }: CourseHead): Course => ({
    units,
    archive: { period: period as Duration, newest, ring: new Float32Array(take(ring * 4)) },
    experience: {
      origins: [],
      learnedTo,
      sums: new Float64Array(take(sums * 8)),
      weights: new Float64Array(take(weights * 8)),
      spreads: new Float64Array(take(spreads * 8)),
    },
  });
  const { forecast, live, rates, indexes } = header;
  const points = Array.from(times, (at, i) => ({ at: at as Instant, value: values[i] ?? Number.NaN }));
  const { count: _, ...envelope } = forecast ?? { count: 0 };
  return {
    ...emptyHeld(header.region, header.signalType),
    ...(forecast === undefined ? {} : { forecast: { ...(envelope as Omit<Forecast, 'points'>), points } }),
    ...(live === undefined ? {} : { live }),
    ...(rates === undefined ? {} : { rates: course(rates) }),
    ...(indexes === undefined ? {} : { indexes: course(indexes) }),
  };
}

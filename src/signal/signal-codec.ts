/** Encodes signal data for the disk and decodes them: versioned, checksummed, about 160 KiB. Torn or foreign bytes give nothing and a reason. */

import { crc32 } from 'node:zlib';
import type { Duration, Instant } from '../domain/units.ts';
import type { Forecast, Point } from '../service/api/response-types.ts';
import type { SeriesModel } from './series-model.ts';
import { createSignalData, type SignalData } from './signal-store.ts';

/*
 * Layout: magic (8 bytes), length of the header (u32), header (JSON), forecast times (f64), forecast values (f64),
 * then for rates and for indexes ring (f32), sums, weights, deviations and scores (f64), CRC-32 of all before (u32). Little endian.
 */
const MAGIC = 'gtsignl5';
const HEADER_START = MAGIC.length + 4;
const MAX_SIGNAL_BYTES = 4 * 1024 * 1024;

interface SeriesModelHeader {
  readonly units: string;
  readonly period: number;
  readonly newest: number;
  readonly learnedTo: number;
  /** Lengths of the five arrays. */
  readonly lengths: readonly [number, number, number, number, number];
}

interface SignalHeader {
  readonly region: string;
  readonly signalType: string;
  readonly forecast?: Omit<Forecast, 'points'> & { readonly count: number };
  /** A restart within its validity goes on by it. */
  readonly live?: SignalData['liveIndex'];
  readonly rates?: SeriesModelHeader;
  readonly indexes?: SeriesModelHeader;
}

const buildSeriesModelHeader = ({
  units,
  history,
  correction: { learnedToSlot, sums, weights, deviations, scores },
}: SeriesModel): SeriesModelHeader => ({
  units,
  period: history.period,
  newest: history.newestSlot,
  learnedTo: learnedToSlot,
  lengths: [history.ring.length, sums.length, weights.length, deviations.length, scores.length],
});
const toByteView = (array: Float32Array | Float64Array) =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
const listArrays = (model: SeriesModel | undefined) =>
  model === undefined
    ? []
    : [
        model.history.ring,
        model.correction.sums,
        model.correction.weights,
        model.correction.deviations,
        model.correction.scores,
      ].map(toByteView);

function buildSignalHeader({
  region,
  signalType,
  forecast,
  liveIndex: live,
  rates,
  indexes,
}: SignalData): SignalHeader {
  const { points = [], ...rest } = forecast ?? {};
  return {
    region,
    signalType,
    ...(forecast === undefined ? {} : { forecast: { ...(rest as Omit<Forecast, 'points'>), count: points.length } }),
    ...(live === undefined ? {} : { live }),
    ...(rates === undefined ? {} : { rates: buildSeriesModelHeader(rates) }),
    ...(indexes === undefined ? {} : { indexes: buildSeriesModelHeader(indexes) }),
  };
}

/** By index: `Float64Array.from` goes through an iterator, ten times as slow. */
function encodeColumn(points: readonly Point[], field: keyof Point): Uint8Array {
  const column = new Float64Array(points.length);
  for (let i = 0; i < column.length; i++) column[i] = points[i]?.[field] ?? Number.NaN;
  return toByteView(column);
}

/** Forecast, live index, the archives and what was learned from them; what the course of one day alone needs is left out. */
export function encodeSignalData(signal: SignalData): Uint8Array {
  const points = signal.forecast?.points ?? [];
  const parts = [
    new TextEncoder().encode(JSON.stringify(buildSignalHeader(signal))),
    encodeColumn(points, 'at'),
    encodeColumn(points, 'value'),
    ...listArrays(signal.rates),
    ...listArrays(signal.indexes),
  ];
  const size = HEADER_START + parts.reduce((sum, part) => sum + part.length, 0) + 4;
  const bytes = new Uint8Array(size);
  bytes.set(new TextEncoder().encode(MAGIC));
  const view = new DataView(bytes.buffer);
  view.setUint32(MAGIC.length, parts[0]?.length ?? 0, true);
  let offset = HEADER_START;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  view.setUint32(offset, crc32(bytes.subarray(0, offset)), true);
  return bytes;
}

type DecodedSignalData =
  | { readonly ok: true; readonly signal: SignalData }
  /** What is wrong with the bytes, for people. */
  | { readonly ok: false; readonly note: string };

const rejectBytes = (what: string): DecodedSignalData => ({
  ok: false,
  note: `the stored signal data ${what}; it is set aside and fetched anew`,
});

/** What `toBytes` made, or why it cannot be used. Never throws. */
export function decodeSignalData(bytes: Uint8Array): DecodedSignalData {
  if (bytes.length < HEADER_START + 4 || bytes.length > MAX_SIGNAL_BYTES)
    return rejectBytes(`has ${bytes.length} bytes`);
  if (new TextDecoder().decode(bytes.subarray(0, MAGIC.length)) !== MAGIC) return rejectBytes('is of another version');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = bytes.length - 4;
  if (view.getUint32(end, true) !== crc32(bytes.subarray(0, end))) return rejectBytes('is damaged (checksum)');
  const headerEnd = HEADER_START + view.getUint32(MAGIC.length, true);
  try {
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(HEADER_START, headerEnd))) as SignalHeader;
    return { ok: true, signal: readSignalData(header, bytes.subarray(headerEnd, end)) };
  } catch {
    return rejectBytes('cannot be read');
  }
}

/** Reads the arrays in the order they were written; lengths come from the checksummed header. */
function readSignalData(header: SignalHeader, body: Uint8Array): SignalData {
  let offset = 0;
  const readBytes = (length: number) => {
    if (offset + length > body.length) throw new RangeError('too short');
    const part = body.slice(offset, offset + length);
    offset += length;
    return part.buffer;
  };
  const count = header.forecast?.count ?? 0;
  const times = new Float64Array(readBytes(count * 8));
  const values = new Float64Array(readBytes(count * 8));
  const readSeriesModel = ({
    units,
    period,
    newest,
    learnedTo,
    lengths: [ring, sums, weights, deviations, scores],
  }: SeriesModelHeader): SeriesModel => ({
    units,
    history: { period: period as Duration, newestSlot: newest, ring: new Float32Array(readBytes(ring * 4)) },
    correction: {
      origins: [],
      learnedToSlot: learnedTo,
      sums: new Float64Array(readBytes(sums * 8)),
      weights: new Float64Array(readBytes(weights * 8)),
      deviations: new Float64Array(readBytes(deviations * 8)),
      scores: new Float64Array(readBytes(scores * 8)),
    },
  });
  const { forecast, live, rates, indexes } = header;
  const points = Array.from(times, (at, i) => ({ at: at as Instant, value: values[i] ?? Number.NaN }));
  const { count: _, ...envelope } = forecast ?? { count: 0 };
  return {
    ...createSignalData(header.region, header.signalType),
    ...(forecast === undefined ? {} : { forecast: { ...(envelope as Omit<Forecast, 'points'>), points } }),
    ...(live === undefined ? {} : { liveIndex: live }),
    ...(rates === undefined ? {} : { rates: readSeriesModel(rates) }),
    ...(indexes === undefined ? {} : { indexes: readSeriesModel(indexes) }),
  };
}

/** The messages with which a relay passes on a map: its pieces, each small enough for a broker, and which map they are of. */

import type { KeyObject } from 'node:crypto';
import * as v from 'valibot';
import { nonEmptyTextSchema } from '../service/api/decode-body.ts';
import { signMessage, verifySigned } from './signed-message.ts';

/** Of the compressed map; a message is somewhat larger and stays below 48 KiB. */
export const PIECE_BYTES = 47 * 1024;
/** More than any map that an import accepts. */
const MAX_PIECES = 20_000;

const FORMAT = { name: 'gtmap001', holds: 'map' };
const HEADER_END = '\n'.charCodeAt(0);

const headerSchema = v.object({
  signalType: nonEmptyTextSchema,
  /** Names the map at the service. */
  version: nonEmptyTextSchema,
  pieces: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_PIECES)),
  /** When the relay asked for it, in milliseconds since 1970. */
  fetchedAt: v.pipe(v.number(), v.integer()),
  /** Of a piece alone; without it, the message announces the map. */
  piece: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
});
export type MapHeader = v.InferOutput<typeof headerSchema>;

export interface MapMessage {
  readonly header: MapHeader;
  readonly bytes: Uint8Array;
}

export function encodeMapMessage(header: MapHeader, bytes: Uint8Array, key: KeyObject): Uint8Array {
  return signMessage(FORMAT, Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), bytes]), key);
}

/** A text completes "the message on TOPIC …": what is wrong, and the cure. */
export function decodeMapMessage(payload: Uint8Array, keys: readonly KeyObject[]): MapMessage | string {
  const content = verifySigned(payload, FORMAT, keys);
  if (typeof content === 'string') return content;
  const end = content.indexOf(HEADER_END);
  const header = parseHeader(content.subarray(0, Math.max(0, end)));
  if (header === undefined) return 'is signed and has another form; give relay and agents the same version';
  return { header, bytes: content.subarray(end + 1) };
}

function parseHeader(bytes: Uint8Array): MapHeader | undefined {
  try {
    const parsed = v.safeParse(headerSchema, JSON.parse(new TextDecoder().decode(bytes)), { abortEarly: true });
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined;
  }
}

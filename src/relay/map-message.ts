/** The messages with which a relay passes on a map: its pieces, each small enough for a broker, and which map they are of. */

import type { KeyObject } from 'node:crypto';
import * as v from 'valibot';
import { nonEmptyTextSchema } from '../service/api/decode-body.ts';
import { MAX_MESSAGE_BYTES } from './relay-message.ts';
import { isSignedBy, SIGNATURE_BYTES, signBytes } from './signing-key.ts';

/** Of the compressed map; a message is somewhat larger and stays below 48 KiB. */
export const PIECE_BYTES = 47 * 1024;
/** More than any map that an import accepts. */
const MAX_PIECES = 20_000;

const MAP_FORMAT = new TextEncoder().encode('gtmap001');
const CONTENT_START = MAP_FORMAT.length + SIGNATURE_BYTES;
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
  const content = Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), bytes]);
  return Buffer.concat([MAP_FORMAT, signBytes(Buffer.concat([MAP_FORMAT, content]), key), content]);
}

/** A text completes "the message on TOPIC …": what is wrong, and the cure. */
export function decodeMapMessage(payload: Uint8Array, keys: readonly KeyObject[]): MapMessage | string {
  if (payload.length > MAX_MESSAGE_BYTES) return `has ${payload.length} bytes; expected at most ${MAX_MESSAGE_BYTES}`;
  const content = payload.subarray(CONTENT_START);
  const end = content.indexOf(HEADER_END);
  if (end < 0 || Buffer.compare(payload.subarray(0, MAP_FORMAT.length), MAP_FORMAT) !== 0)
    return 'is no signed map; let nobody but the relay write this topic';
  if (!isSignedBy(Buffer.concat([MAP_FORMAT, content]), payload.subarray(MAP_FORMAT.length, CONTENT_START), keys))
    return 'is not signed with the key of service.publicKey; compare the key, and let nobody but the relay write this topic';
  const header = parseHeader(content.subarray(0, end));
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

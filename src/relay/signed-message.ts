/** The envelope of the messages of a relay: the name of a format, the signature over that name and the content, the content. */

import type { KeyObject } from 'node:crypto';
import { isSignedBy, SIGNATURE_BYTES, signBytes } from './signing-key.ts';

interface MessageFormat {
  /** 8 letters. Signed too, so that the key signs nothing that another format would read. */
  readonly name: string;
  /** For people. */
  readonly holds: string;
}

/** A forecast of 72 hours takes about 2 kB, a history of 8 days about 6; a map is cut to fit. */
const MAX_MESSAGE_BYTES = 48 * 1024;

const listSignedBytes = ({ name }: MessageFormat, content: Uint8Array) => Buffer.concat([Buffer.from(name), content]);

export function signMessage(format: MessageFormat, content: Uint8Array, key: KeyObject): Uint8Array {
  const signature = signBytes(listSignedBytes(format, content), key);
  return Buffer.concat([Buffer.from(format.name), signature, content]);
}

/** The content, or what completes "the message on TOPIC …": what is wrong, and the cure. `keySource`: what the program reads the keys from. */
export function verifySigned(
  payload: Uint8Array,
  format: MessageFormat,
  keys: readonly KeyObject[],
  keySource = 'service.publicKey',
): Uint8Array | string {
  if (payload.length > MAX_MESSAGE_BYTES) return `has ${payload.length} bytes; expected at most ${MAX_MESSAGE_BYTES}`;
  const name = Buffer.from(format.name);
  const contentStart = name.length + SIGNATURE_BYTES;
  if (payload.length <= contentStart || Buffer.compare(payload.subarray(0, name.length), name) !== 0)
    return `is no signed ${format.holds}; let nobody but the relay write this topic`;
  const content = payload.subarray(contentStart);
  return isSignedBy(listSignedBytes(format, content), payload.subarray(name.length, contentStart), keys)
    ? content
    : `is not signed with the key of ${keySource}; compare the key, and let nobody but the relay write this topic`;
}

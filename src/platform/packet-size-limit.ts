/** Ends a broker link on a packet that is too large before storing it: MQTT 3.1.1 cannot announce a limit. */

/** True as soon as a packet is announced whose remaining length (MQTT 3.1.1 section 2.2.3) is above `most`. Bytes may be cut anywhere. */
export function createPacketSizeCheck(maxBytes: number): (chunk: Uint8Array) => boolean {
  /** Bytes of the present packet's body still to come. */
  let body = 0;
  let inLength = false;
  let length = 0;
  let weight = 1;

  return (chunk) => {
    let at = 0;
    while (at < chunk.length) {
      if (body > 0) {
        const skipped = Math.min(body, chunk.length - at);
        body -= skipped;
        at += skipped;
        continue;
      }
      const byte = chunk[at++] ?? 0;
      if (!inLength) {
        [inLength, length, weight] = [true, 0, 1];
        continue;
      }
      length += (byte & 0x7f) * weight;
      weight *= 128;
      if (length > maxBytes) return true;
      if ((byte & 0x80) !== 0) continue;
      inLength = false;
      body = length;
    }
    return false;
  };
}

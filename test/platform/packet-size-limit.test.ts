/** Packets from a broker, whole or in pieces: which of them is too large. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPacketSizeCheck } from '../../src/platform/packet-size-limit.ts';

/** A PUBLISH whose body has `size` bytes. */
function packet(size: number): Buffer {
  const length: number[] = [];
  let rest = size;
  do {
    length.push((rest % 128) | (rest >= 128 ? 0x80 : 0));
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return Buffer.concat([Buffer.from([0x30, ...length]), Buffer.alloc(size, 0xff)]);
}

const MOST = 1_000;

describe('the watch over packets', () => {
  //  bodies                   too large
  const rows: readonly (readonly [readonly number[], boolean])[] = [
    [[0], false],
    [[1, 127, 128, 1_000], false],
    [[1_001], true],
    [[5, 1_001], true],
    [[16_384], true],
    [[200_000_000 % 2_097_152], true],
  ];
  it.each(rows)('%j: %s', (sizes, tooLarge) =>
    expect(createPacketSizeCheck(MOST)(Buffer.concat(sizes.map(packet)))).toBe(tooLarge),
  );

  it('judges from the header alone', () =>
    expect(createPacketSizeCheck(MOST)(Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f]))).toBe(true));

  it('says the same however the bytes are cut', () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 1_200 }), { maxLength: 6 }), cuts, (sizes, lengths) => {
        const bytes = Buffer.concat(sizes.map(packet));
        const watch = createPacketSizeCheck(MOST);
        let isReported = false;
        for (let at = 0, n = 0; at < bytes.length && !isReported; n += 1) {
          const length = lengths[n % lengths.length] ?? 1;
          isReported = watch(bytes.subarray(at, at + length));
          at += length;
        }
        expect(isReported).toBe(sizes.some((size) => size > MOST));
      }),
    );
  });
});

import { describe, expect, it } from 'vitest';
import { createNonblockingLines } from '../../src/platform/nonblocking-lines.ts';
import { createFullPipe } from '../doubles/full-pipe.ts';

describe('lines for a reader', () => {
  it('that does not read wait up to 256 KiB; the dropped ones are counted once it reads again', async () => {
    const pipe = createFullPipe();
    let countLost = (_lines: number) => {};
    const lost = new Promise<number>((resolve) => {
      countLost = resolve;
    });
    const lines = createNonblockingLines(pipe.writeEnd, { onLost: countLost });
    for (let n = 0; n < 300; n += 1) lines.write(`${String(n).padEnd(1_023, '.')}\n`);
    // The first and the newest are stored.
    expect((await pipe.waitForLine(/^0\./)).length).toBe(1_023);
    await pipe.waitForLine(/^299\./);
    expect(await lost).toBe(300 - 256);
    await pipe.stop();
  });

  it.each([false, true])('that has gone are dropped without a wait; told once: %s', async (isTold) => {
    const pipe = createFullPipe();
    let times = 0;
    const count = () => {
      times += 1;
    };
    const lines = createNonblockingLines(pipe.writeEnd, {
      onLost: () => expect.unreachable(),
      onReaderGone: isTold ? count : undefined,
    });
    await pipe.stop();
    lines.write('one\n');
    lines.write('two\n');
    expect(lines.flush()).toBeUndefined();
    expect(times).toBe(isTold ? 1 : 0);
  });
});

/** Row 83: what a day of the agent writes to the device, measured at the block device, so that an SD card lives for years. */

import { describe, expect, it } from 'vitest';
import { hours } from '../../src/domain/units.ts';
import { createFileDisk } from '../../src/platform/file-disk.ts';
import { createCrashableAgent } from './crashable-agent.ts';
import { canMountImages, createLoopImage } from './loop-image.ts';
import { createTestRandom } from './test-random.ts';

const MOST = 4 * 1024 * 1024;

const LOADS = `
loads:
  car: {type: ev, powerKw: 7.2, goal: {need: 4h, by: "07:00", from: "18:00"}, output: {kind: relay, pin: 22}}
  heating: {type: heat-pump, powerKw: 2, output: {kind: sg-ready, pins: [17, 27]}}
  water: {type: tank, powerKw: 3, output: {kind: relay, pin: 24}}
`;

describe.skipIf(!(await canMountImages()))('row 83', () => {
  it('a day, the first map included, writes at most 4 MiB', async () => {
    const image = await createLoopImage(64);
    try {
      await image.mount();
      const house = await createCrashableAgent({
        random: createTestRandom('storage-wear'),
        loads: LOADS,
        disk: createFileDisk(image.directory),
      });
      await house.start();
      await house.pass(hours(1));
      const first = image.bytesWritten();
      await house.pass(hours(23));
      const bytes = image.bytesWritten();
      await house.close();
      console.log(
        `a day wrote ${(bytes / 1024).toFixed(0)} KiB, ${(first / 1024).toFixed(0)} KiB of it in the first hour`,
      );
      expect(house.edges.length).toBeGreaterThan(4);
      expect(bytes).toBeGreaterThan(0);
      expect(bytes).toBeLessThan(MOST);
    } finally {
      await image.remove();
    }
  });
});

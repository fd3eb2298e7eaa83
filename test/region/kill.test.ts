/** A real import is killed at many moments: the old or the new map answers, nothing unfinished is left. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createFileDisk } from '../../src/platform/file-disk.ts';
import { openMap } from '../../src/region/lookup.ts';
import { type BundledProgram, bundleProgram } from '../doubles/bundle-program.ts';
import { chance, featuresOf, geojsonOf, type MapShape } from '../fixtures/region-map.ts';
import { importText, placeAt } from './region-setup.ts';

const SHAPE: MapShape = { seed: 3, columns: 30, rows: 20, regions: 60, depth: 5 };
const OLD = '2026-01-01T00:00:00+00:00';
const NEW = '2026-02-01T00:00:00+00:00';
const MOMENTS = 16;

let program: BundledProgram;
let directory = '';
beforeAll(async () => {
  program = await bundleProgram(join(import.meta.dirname, 'import.program.ts'));
  directory = await mkdtemp(join(tmpdir(), 'gridtide-kill-'));
});
afterAll(async () => {
  await program.remove();
  await rm(directory, { recursive: true, force: true });
});

/** Feeds the text to an import and kills it once `share` of it is taken; at 1 it is killed while it finishes. */
async function killedImport(text: Buffer, share: number): Promise<void> {
  const child = spawn(process.execPath, [program.path, directory], { stdio: ['pipe', 'ignore', 'inherit'] });
  const over = once(child, 'close');
  child.stdin.on('error', () => {}); // the other end dies by our hand
  const length = Math.floor(text.length * share);
  for (let from = 0; from < length; from += 65_536)
    if (!child.stdin.write(text.subarray(from, Math.min(length, from + 65_536)))) await once(child.stdin, 'drain');
  if (share === 1) {
    child.stdin.end();
    await once(child.stdin, 'finish');
  }
  child.kill('SIGKILL');
  await over;
}

it('leaves the old or the new map', async () => {
  await importText(geojsonOf({ ...SHAPE, lastUpdated: OLD }), { disk: createFileDisk(directory) });
  const text = Buffer.from([...geojsonOf({ ...SHAPE, lastUpdated: NEW })].join(''));
  const [x = 0, y = 0] = [...featuresOf(SHAPE)][7]?.polygons[0]?.[0]?.[3] ?? [];
  const seen = new Set<number | undefined>();
  for (let i = 0; i < MOMENTS; i++) {
    await killedImport(text, i % 4 === 3 ? 1 : chance(5, i));
    const disk = createFileDisk(directory);
    const map = await openMap(disk, 'co2_moer');
    if (map === undefined || 'kind' in map) throw new Error('no map answers');
    seen.add(map.info.lastUpdated);
    expect((await map.findRegion(placeAt(y, x)))?.candidates).toContain('R7');
    await map.close();
    await disk.append('next', new Uint8Array(1), { sync: false }); // what a writer meets, a reader leaves
    expect((await readdir(directory)).sort()).toEqual(['map.co2_moer.idx', 'next']);
    if (map.info.lastUpdated === Date.parse(NEW))
      await importText(geojsonOf({ ...SHAPE, lastUpdated: OLD }), { disk, force: true });
  }
  expect(seen.has(Date.parse(OLD))).toBe(true);
  expect([...seen].every((time) => time === Date.parse(OLD) || time === Date.parse(NEW))).toBe(true);
});

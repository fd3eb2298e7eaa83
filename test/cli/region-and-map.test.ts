/** `gridtide region` and `gridtide map` as a person or a script uses them, over a real state directory. */

import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as map from '../../src/cli/service/map.ts';
import { openMapSource } from '../../src/cli/service/map-source.ts';
import * as region from '../../src/cli/service/region.ts';
import { runCommand } from '../doubles/run-command.ts';
import { createMapText, feature, square, TWO_REGIONS } from '../region/map-texts.ts';

let directory = '';
let state: readonly string[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gridtide-region-'));
  state = ['--state', join(directory, 'state')];
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function file(content: string | Uint8Array, name = 'map.json'): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, content);
  return path;
}
const importing = async (content: string | Uint8Array, ...more: readonly string[]) =>
  runCommand(map, ['import', await file(content), ...state, ...more]);

/** All of a map source, and what it said was to come. */
async function read(name: string, stdin: AsyncIterable<Uint8Array> = (async function* () {})()) {
  const { chunks, total } = await openMapSource(name, stdin);
  let text = '';
  for await (const chunk of chunks) text += Buffer.from(chunk).toString();
  return { text, total };
}

it('map info, where nothing is held, leaves nothing behind', async () => {
  expect((await runCommand(map, ['info', ...state])).err).toContain('no map of co2_moer in ');
  expect(await readdir(directory)).toEqual([]);
});

describe('map', () => {
  it('imports a file and shows what is held', async () => {
    expect(await importing(TWO_REGIONS)).toMatchObject({
      code: 0,
      out: expect.stringContaining('co2_moer: 2 regions'),
    });
    const { code, out } = await runCommand(map, ['info', '--json', ...state]);
    expect(code).toBe(0);
    const info = JSON.parse(out);
    expect(info).toMatchObject({
      signalType: 'co2_moer',
      lastUpdated: '2026-03-01T00:00:00+00:00',
      regions: 2,
      polygons: 2,
    });
    expect(info.bytes).toBeGreaterThan(100);
    expect(info.importedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/);
  });

  it('takes a gzipped file', async () => expect(await importing(gzipSync(TWO_REGIONS))).toMatchObject({ code: 0 }));

  it('takes stdin, plain', async () =>
    expect(await runCommand(map, ['import', '-', ...state], { input: TWO_REGIONS })).toMatchObject({ code: 0 }));

  it('takes a gzipped map from a pipe that hands it over byte by byte', async () => {
    const byByte = (async function* () {
      for (const byte of gzipSync(TWO_REGIONS)) yield Uint8Array.of(byte);
    })();
    expect((await read('-', byByte)).text).toBe(TWO_REGIONS);
  });

  it('takes a named pipe, plain and gzipped', async () => {
    const pipe = join(directory, 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const content of [TWO_REGIONS, gzipSync(TWO_REGIONS)]) {
      const [got] = await Promise.all([read(pipe), writeFile(pipe, content)]);
      expect(got).toEqual({ text: TWO_REGIONS, total: undefined });
    }
  });

  it('knows how much is to come of a plain file, and not how large a gzipped one becomes', async () => {
    expect(await read(await file(TWO_REGIONS))).toEqual({ text: TWO_REGIONS, total: TWO_REGIONS.length });
    expect(await read(await file(gzipSync(TWO_REGIONS)))).toEqual({ text: TWO_REGIONS, total: undefined });
  });

  /** Where the descriptors of this process that are no sockets or pipes point to. */
  const openFiles = async () => {
    const links = (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ''));
    return await Promise.all(links);
  };
  /** Enough for some chunks, also when gzipped. */
  const LONG = Uint8Array.from({ length: 1_000_000 }, (_, i) => (i * 7_919 * (i % 97)) & 0xff);

  // Node 26 ends a process whose garbage collection finds a file left open.
  //  what, content, chunks that are read of it
  const partly: readonly (readonly [string, string | Uint8Array, number])[] = [
    ['none of a file', TWO_REGIONS, 0],
    ['the only chunk', TWO_REGIONS, 1],
    ['one of many', LONG, 1],
    ['two of many', LONG, 2],
    ['none of a gzipped file', gzipSync(LONG), 0],
    ['one of a gzipped file', gzipSync(LONG), 1],
    ['two of a gzipped file', gzipSync(LONG), 2],
  ];
  it.each(partly)('leaves no file open when its reader wants no more: %s', async (_, content, count) => {
    const path = await file(content);
    const { chunks } = await openMapSource(path, (async function* () {})());
    const reading = chunks[Symbol.asyncIterator]();
    for (let n = 0; n < count; n++) expect((await reading.next()).done).toBe(false);
    await reading.return?.();
    expect(await openFiles()).not.toContain(path);
  });

  it('leaves no directory open that was named instead of a file', async () => {
    await expect(openMapSource(directory, (async function* () {})())).rejects.toThrow('it is a directory');
    expect(await openFiles()).not.toContain(directory);
  });

  it('stopped while it waits for stdin: says so, whatever is missing', async () => {
    const stop = AbortSignal.abort();
    const { code, err } = await runCommand(map, ['import', '-', ...state], { input: TWO_REGIONS.slice(0, 300), stop });
    expect({ code, err }).toEqual({
      code: 1,
      err: 'the import was stopped; an earlier map stays in use',
    });
  });

  it('stores the place that is given', async () => {
    const { out } = await importing(TWO_REGIONS, '--latitude', '5', '--longitude', '15', '--json');
    expect(JSON.parse(out)).toMatchObject({ regions: 2, region: 'EAST', unchanged: false });
    expect(await readdir(join(directory, 'state'))).toEqual(['map.co2_moer.idx', 'place.co2_moer.json']);
  });

  it('a map without the own place is taken with --force alone, and the region stays', async () => {
    const own = ['--latitude', '5', '--longitude', '15'];
    await importing(TWO_REGIONS, ...own);
    const lost = createMapText(feature('WEST', [square(0, 0, 10)])).replace('2026-03-01', '2026-04-01');
    expect(await importing(lost, ...own)).toMatchObject({ code: 1, err: expect.stringContaining('with --force') });
    const { out, err } = await importing(lost, ...own, '--force');
    expect(out).toContain('the own place stays in EAST');
    expect(err).toContain('the place lies in no region any more');
  });

  it('says so when the place lies in no region', async () =>
    expect((await importing(TWO_REGIONS, '--latitude', '5', '--longitude', '-15')).err).toContain('lies in no region'));

  it('keeps one map a signal type', async () => {
    await importing(TWO_REGIONS);
    const other = TWO_REGIONS.replace('co2_moer', 'health_damage');
    expect(await importing(other)).toMatchObject({ code: 1, err: expect.stringContaining('expected co2_moer') });
    expect(await importing(other, '--signal-type', 'health_damage')).toMatchObject({ code: 0 });
    expect((await readdir(join(directory, 'state'))).sort()).toEqual(['map.co2_moer.idx', 'map.health_damage.idx']);
  });

  //  what, content, words of the sentence
  const bad: readonly (readonly [string, string | Uint8Array, string])[] = [
    ['a text cut short', TWO_REGIONS.slice(0, 300), 'ends too early; an earlier map stays in use'],
    ['a gzip cut short', gzipSync(TWO_REGIONS).subarray(0, 100), 'did not arrive whole'],
    ['a gzip with a flipped bit', gzipSync(TWO_REGIONS).map((byte, i) => (i === 60 ? byte ^ 8 : byte)), ';'],
    ['a gzip bomb', gzipSync(Buffer.alloc(50_000_000, ' ')), 'ends too early'],
    ['a gzip bomb of numbers', gzipSync(`{"features":[${'1'.repeat(50_000_000)}`), 'longer than'],
  ];
  it.each(bad)('%s', async (_, content, words) => {
    await importing(TWO_REGIONS);
    expect(await importing(content, '--force')).toMatchObject({ code: 1, err: expect.stringContaining(words) });
    expect(await runCommand(region, ['--latitude', '5', '--longitude', '5', ...state])).toMatchObject({ code: 0 });
    expect(await readdir(join(directory, 'state'))).toEqual(['map.co2_moer.idx']);
  });

  it('counts one region as one', async () => {
    expect((await importing(createMapText(feature('A', [square(0, 0, 5)])))).out).toMatch(/^co2_moer: 1 region of /);
  });

  const wrong: readonly (readonly [readonly string[], number, string])[] = [
    [['import', 'a', 'b'], 2, 'expected one of update, import FILE, info'],
    [['import', '/nowhere/map.json'], 1, '/nowhere/map.json: there is no such file; name the file of a map'],
    [['import', '/'], 1, '/: it is a directory; name the file of a map'],
    [['fetch'], 2, 'expected one of update, import FILE, info'],
    [['import'], 2, 'expected one of update, import FILE, info'],
    [['info', '--force'], 2, '--force is an option of update, import'],
    [[], 2, 'expected one of update, import FILE, info'],
    [['info'], 1, 'no map of co2_moer in '],
    [['info', '--signal-type', 'co2'], 2, 'expected one of co2_moer'],
    [['import', 'x', '--latitude', '5'], 2, '--longitude is missing'],
    [['import', 'x', '--latitude', '95', '--longitude', '5'], 2, 'latitude 95'],
    [['update'], 2, 'the address of the service is missing'],
  ];
  it.each(wrong)('map %j', async (args, code, words) => {
    expect(await runCommand(map, [...args, ...state])).toMatchObject({ code, err: expect.stringContaining(words) });
  });
});

describe('region', () => {
  const at = (latitude: number, longitude: number, ...more: readonly string[]) =>
    runCommand(region, ['--latitude', String(latitude), '--longitude', String(longitude), ...state, ...more]);

  it('tells the region for people', async () => {
    await importing(TWO_REGIONS);
    expect(await at(5, 5)).toEqual({ code: 0, out: 'WEST  Region WEST\n', err: '' });
  });

  it('tells all that is known as JSON', async () => {
    await importing(TWO_REGIONS);
    const { code, out, err } = await at(5, 10, '--json');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(JSON.parse(out)).toEqual({
      region: 'WEST',
      regionFullName: 'Region WEST',
      signalType: 'co2_moer',
      latitude: 5,
      longitude: 10,
      mapLastUpdated: '2026-03-01T00:00:00+00:00',
      candidates: ['WEST', 'EAST'],
    });
  });

  it('tells people of a border, or an overlap', async () => {
    await importing(TWO_REGIONS);
    const expected = { code: 0, out: 'WEST  Region WEST\n', err: 'on a border or an overlap with EAST\n' };
    expect(await at(5, 10)).toEqual(expected);
  });

  it('outside coverage: exit 1, and never the nearest', async () => {
    await importing(TWO_REGIONS);
    const { code, out, err } = await at(-0.0001, 5, '--json');
    expect({ code, document: JSON.parse(out) }).toEqual({ code: 1, document: { error: 'Coordinates not found' } });
    expect(err).toContain('Coordinates not found');
  });

  it('tells a damaged map and what cures it, and the same map does', async () => {
    await importing(TWO_REGIONS);
    const path = join(directory, 'state', 'map.co2_moer.idx');
    const bytes = await readFile(path);
    const page = bytes.readUInt32LE(16); // the pages' place in the header
    bytes[page] = (bytes[page] ?? 0) ^ 1;
    await writeFile(path, bytes);
    const { code, err } = await at(5, 5);
    expect([code, err]).toEqual([1, 'a page of the map index is damaged; get a new map with gridtide map update']);
    expect((await importing(TWO_REGIONS)).out).not.toContain('unchanged');
    expect((await at(5, 5)).code).toBe(0);
  });

  it('hints at a swapped pair', async () => {
    await importing(createMapText(feature('A', [square(40, 10, 5)])));
    expect((await at(42, 12)).err).toContain('are the two swapped?');
    expect((await at(-42, 12)).err).not.toContain('swapped');
  });

  it('reads many places, one region or - a line', async () => {
    await importing(TWO_REGIONS);
    const input = '5 5\n5,15\n\n-5 5\r\n 5\t10 \n91 0\nhere there\n5 5 5\n5 -355\n0x5 5\n5 1e1\n+5. .5';
    const { code, out, err } = await runCommand(region, ['--batch', ...state], { input });
    expect(out).toBe('WEST\nEAST\n-\nWEST\n-\n-\n-\nWEST\n-\n-\nWEST\n');
    expect(code).toBe(1);
    expect(err).toContain('line 6: latitude 91 is not within -90 to 90');
    expect(err).toContain('line 7: "here there" is not "latitude longitude"');
    expect(err).toContain('line 8: "5 5 5" is not "latitude longitude"');
    expect(err).toContain('line 10: "0x5 5" is not "latitude longitude", each in digits such as -38.5');
    expect(err).toContain('line 11: "5 1e1" is not');
  });

  it('reads many places as JSON lines', async () => {
    await importing(TWO_REGIONS);
    const { code, out } = await runCommand(region, ['--batch', '--json', ...state], { input: '5 5\n-5 5\n' });
    expect(code).toBe(0);
    const [first, second] = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(first).toMatchObject({ region: 'WEST' });
    expect(second).toEqual({ error: 'Coordinates not found' });
  });

  const wrong: readonly (readonly [readonly string[], number, string])[] = [
    [[], 2, 'the place is missing'],
    [['--latitude', '5'], 2, '--longitude is missing'],
    [['--longitude', '5'], 2, '--latitude is missing'],
    [['--latitude', 'north', '--longitude', '5'], 2, 'expected a number'],
    [['--latitude', '0x10', '--longitude', '5'], 2, '--latitude 0x10: expected a number, written in digits'],
    [['--latitude=', '--longitude', '5'], 2, '--latitude : expected a number, written in digits'],
    [['--latitude', '-91', '--longitude', '5'], 2, 'latitude -91'],
    [['--latitude', '5', '--longitude', '-1000'], 2, 'longitude -1000'],
    [['--latitude', '5', '--longitude', '5'], 1, 'no map of co2_moer in '],
    [['--latitude', '5', '--longitude', '5', '--online'], 2, 'the address of the service is missing'],
    [['--batch', '--latitude', '5', '--longitude', '5'], 2, '--batch reads places from stdin'],
  ];
  it.each(wrong)('region %j', async (args, code, words) => {
    expect(await runCommand(region, [...args, ...state])).toMatchObject({ code, err: expect.stringContaining(words) });
    expect(await readdir(directory)).toEqual([]);
  });
});

/** The package as another program installs it: its examples run against the reference service, its types compile, and nothing else can be imported. */

import { execFile } from 'node:child_process';
import { access, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningProcess, startProcess } from '../doubles/running-process.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const EXAMPLES = join(ROOT, 'docs', 'examples');

const TYPED_USE = `
import { createClient, failureText, hours, type Instant, type Outcome, type Forecast } from 'gridtide/client';
import { openRegionMap, toPlace, type RegionMap } from 'gridtide/region';

const client = createClient({ url: 'https://signal.example', username: 'a', password: 'b', deadline: hours(1) });
export async function readForecast(): Promise<Instant | string> {
  const outcome: Outcome<Forecast> = await client.forecast({ region: 'R', signalType: 'co2_moer', horizonHours: 24 });
  return outcome.ok ? outcome.value.generatedAt : failureText(outcome.failure);
}
export async function openHere(): Promise<RegionMap | undefined> {
  const map = await openRegionMap({ directory: '.', signalType: 'co2_moer' });
  return map === undefined || 'kind' in map ? undefined : map;
}
// @ts-expect-error a length of time is no bare number
createClient({ url: 'https://signal.example', deadline: 5 });
// @ts-expect-error a place is not made of bare numbers
openHere().then((map) => map?.findRegion({ latitude: 1, longitude: 2 }));
export const place = toPlace(1, 2);
`;

describe('the package in another program', () => {
  let directory: string;
  let service: RunningProcess;
  let url: string;

  const run = async (command: string, ...args: string[]) => {
    try {
      const { stdout, stderr } = await promisify(execFile)(command, args, {
        cwd: directory,
        env: { ...process.env, SIGNAL_URL: url },
      });
      return { code: 0, stdout, stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return { code, stdout, stderr };
    }
  };
  const runModule = (text: string) => run(process.execPath, '--input-type=module', '--eval', text);

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'gridtide-library-'));
    const installed = join(directory, 'node_modules', 'gridtide');
    await mkdir(installed, { recursive: true });
    await promisify(execFile)(process.execPath, [join(ROOT, 'scripts', 'build.mjs'), join(installed, 'dist')]);
    const { files } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { files: string[] };
    for (const name of ['package.json', ...files.filter((file) => file !== 'dist')])
      await cp(join(ROOT, name), join(installed, name), { recursive: true });
    await cp(EXAMPLES, directory, { recursive: true });
    await writeFile(join(directory, 'package.json'), '{"type": "module"}');
    service = startProcess(process.execPath, [
      join(installed, 'dist', 'main.js'),
      ...['reference', '--port', '0', '--account', 'owner:clean-grid-1:pro', '--now', '2026-03-10T00:00:00Z'],
    ]);
    url = JSON.parse(await service.waitForLine(/"listening"/)).listening;
  });
  afterAll(async () => {
    await service?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it('the example of the client reads region, forecast and history', async () => {
    const { code, stdout, stderr } = await run(process.execPath, 'client.mjs', '38.5', '-122.0');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^region: \w+ \(.+\)\ncleanest: 2026-03-1\dT\S+, \d+ lbs_co2_per_mwh\nhistory: 86[45] values\n$/,
    );
  });

  it('the example of the region imports the map that the client streams, and finds the same region', async () => {
    const saved = await runModule(`
      import { createWriteStream } from 'node:fs';
      import { pipeline } from 'node:stream/promises';
      import { createClient } from 'gridtide/client';
      const client = createClient({ url: '${url}', username: 'owner', password: 'clean-grid-1' });
      const map = await client.map({ signalType: 'co2_moer' });
      await pipeline(async function* () { for await (const chunk of map.value.chunks) yield chunk.slice(); }, createWriteStream('map.geojson'));
      await client.close();`);
    expect(saved).toMatchObject({ code: 0, stderr: '' });
    const offline = await run(process.execPath, 'region.mjs', 'map.geojson', '38.5', '-122.0');
    const online = await run(process.execPath, 'client.mjs', '38.5', '-122.0');
    const regionOf = ({ stdout }: { stdout: string }) => /^region: (\w+)/m.exec(stdout)?.[1];
    expect(offline).toMatchObject({ code: 0, stderr: '' });
    expect(regionOf(offline)).toBe(regionOf(online));
    expect(await run(process.execPath, 'region.mjs')).toMatchObject({
      code: 2,
      stderr: 'usage: node region.mjs MAP.geojson LATITUDE LONGITUDE\n',
    });
  });

  it('its command runs the installation script beside it, which names that command', async () => {
    const main = join(directory, 'node_modules', 'gridtide', 'dist', 'main.js');
    expect(await run(process.execPath, main, 'install-service', '--purge')).toMatchObject({
      code: 2,
      stderr: 'install: --purge goes with --uninstall; gridtide install-service --help tells more\n',
    });
  });

  const mistakes = [
    ['a path that is not exported', "import 'gridtide/dist/main.js'", /ERR_PACKAGE_PATH_NOT_EXPORTED/],
    [
      'a client without a password',
      "import { createClient } from 'gridtide/client'; createClient({ url: 'https://a.example', username: 'owner' })",
      /TypeError: createClient: the password of owner is missing; pass password, or credentials/,
    ],
    [
      'a client over plain HTTP to another machine',
      "import { createClient } from 'gridtide/client'; createClient({ url: 'http://a.example' })",
      /TypeError: createClient: url: "http:\/\/a\.example" would send the password in clear; write https:\/\//,
    ],
  ] as const;
  it.each(mistakes)('%s is refused in one sentence', async (_, text, sentence) => {
    const { code, stderr } = await runModule(text);
    expect(code).toBe(1);
    expect(stderr).toMatch(sentence);
  });

  it('its source maps lead to files of the repository and hold no path of the machine that built it', async () => {
    const library = join(directory, 'node_modules', 'gridtide', 'dist', 'library');
    const maps = (await readdir(library)).filter((name) => name.endsWith('.map'));
    expect(maps).toContain('client.js.map');
    for (const name of maps) {
      const { sources, sourcesContent, sourceRoot } = JSON.parse(await readFile(join(library, name), 'utf8'));
      expect([sourcesContent, sourceRoot]).toEqual([undefined, undefined]);
      for (const source of sources)
        expect(source).toMatch(/^\.\.\/\.\.\/(src|node_modules)\/[^.]|^(translated|unused):[^/]+$/);
      for (const source of sources)
        if (source.startsWith('../../src/')) await access(join(ROOT, 'dist', 'library', source));
    }
    const { stdout } = await run(
      process.execPath,
      ...['--enable-source-maps', '--input-type=module', '--eval'],
      "import { createClient } from 'gridtide/client'; try { createClient({ url: 'x' }) } catch (error) { console.log(error.stack) }",
    );
    expect(stdout).toMatch(/gridtide\/src\/library\/exported-client\.ts:\d+/);
  });

  it('docs/api.md is made of its declarations: npm run build && node scripts/api-page.mjs > docs/api.md', async () => {
    const { buildApiPage } = await import(join(ROOT, 'scripts', 'api-page.mjs'));
    const page = buildApiPage(join(directory, 'node_modules', 'gridtide', 'dist', 'types'));
    expect(page).toBe(await readFile(join(ROOT, 'docs', 'api.md'), 'utf8'));
  });

  it('its types compile in a strict program, and keep units apart', async () => {
    await symlink(join(ROOT, 'node_modules', '@types'), join(directory, 'node_modules', '@types'));
    await writeFile(join(directory, 'use.ts'), TYPED_USE);
    const flags =
      '--noEmit --strict --exactOptionalPropertyTypes --module nodenext --target es2023 --types node use.ts';
    const { code, stdout } = await run(join(ROOT, 'node_modules', '.bin', 'tsc'), ...flags.split(' '));
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  });

  it('everything that the package lists to be shipped or imported is there', async () => {
    const { exports, files } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    expect(files).toEqual(expect.arrayContaining(['dist', 'docs', 'LICENSE']));
    for (const name of ['./client', './region'])
      for (const path of Object.values<string>(exports[name]))
        expect((await readFile(join(directory, 'node_modules', 'gridtide', path), 'utf8')).length).toBeGreaterThan(100);
  });
});

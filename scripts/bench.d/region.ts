/**
 * Every bar of the offline region lookup beside its peer, in one run: memory, time and size of an import, cold and hot lookups,
 * differences from turf and shapely. Maps are made here from a seed. Ratios hold on a busy machine, milliseconds do not.
 *
 * usage: scripts/bench region [--only NAME,…] [--points 500000]
 */

import { spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { formatCount } from '../../src/domain/units.ts';
import { geojsonOf, type MapShape } from '../../test/fixtures/region-map.ts';
import { parseOptions } from './shared/parse-options.ts';

const {
  GRIDTIDE_ROOT: root = '.',
  GRIDTIDE_DIST: dist = '',
  GRIDTIDE_BENCH: bench = '',
  GRIDTIDE_WORK: work = '',
} = process.env;
const { values } = parseOptions({
  options: { only: { type: 'string' }, points: { type: 'string', default: '500000' } },
});
const wanted = (name: string) => values.only === undefined || values.only.split(',').includes(name);

const program = join(dist, 'main.js');
const child = (name: string) => join(bench, 'region', `${name}.child.js`);

// 362 regions in 81 by 54 cells; each two steps of depth are four times the vertices on the same borders.
const BASE: MapShape = { seed: 7, columns: 81, rows: 54, regions: 362, depth: 5, islands: 12 };
const SHAPES = {
  small: BASE,
  middle: { ...BASE, depth: 7 },
  large: { ...BASE, depth: 9 },
  grown: { ...BASE, copies: 16 },
  rounded: { ...BASE, depth: 7, decimals: 7 },
  coarse: { ...BASE, depth: 7, decimals: 5 },
} satisfies Record<string, MapShape>;
type MapName = keyof typeof SHAPES;

/** The file of a map, made at its first use. */
function mapFile(name: MapName): string {
  const file = join(work, `${name}.json`);
  if (existsSync(file)) return file;
  const to = openSync(file, 'w');
  let text = '';
  for (const part of geojsonOf(SHAPES[name])) {
    text += part;
    if (text.length < 1 << 20) continue;
    writeSync(to, text);
    text = '';
  }
  writeSync(to, text);
  closeSync(to);
  return file;
}
const megabytes = (bytes: number) => bytes / 1e6;
const sizeOf = (name: MapName) => megabytes(statSync(mapFile(name)).size);

interface Ran {
  readonly milliseconds: number;
  readonly peakMb: number;
  readonly out: string;
}

/** A fresh process, with its peak memory. Does not block this one: the refresh over HTTP is served from here. */
async function ran(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> {
  const peak = join(work, 'peak');
  const start = performance.now();
  const process_ = spawn(process.execPath, ['--import', child('peak'), ...args], {
    env: { ...process.env, GRIDTIDE_PEAK: peak, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  process_.stdout.on('data', (bytes) => {
    out += bytes;
  });
  process_.stderr.on('data', (bytes) => {
    err += bytes;
  });
  const code = await new Promise<number | null>((done) => process_.on('close', done));
  const milliseconds = performance.now() - start;
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${err || out}`);
  return { milliseconds, peakMb: (Number(readFileSync(peak, 'utf8')) * 1024) / 1e6, out };
}

/** A fresh process without anything loaded before it, as a start is measured. */
function started(args: readonly string[]): number {
  const start = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const milliseconds = performance.now() - start;
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
  return milliseconds;
}

interface Start {
  readonly cpu: number;
  readonly wall: number;
}

const STARTS = 5;
/** With 9 rounds a figure moved by up to 0.04 from one run to the next. */
const ROUNDS = 25;
const PEER_ROUNDS = 2;

/** Milliseconds of a few starts in a row, one by one: some take far longer than the others, which a mean would hold against it. */
function starts(args: readonly string[]): Start[] {
  const loop = 'times; for i in $(seq "$0"); do "$@" >/dev/null || exit 1; times; done';
  const start = performance.now();
  const { status, stdout, stderr } = spawnSync('bash', ['-c', loop, String(STARTS), process.execPath, ...args], {
    encoding: 'utf8',
  });
  const wall = (performance.now() - start) / STARTS;
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
  // Of the two lines each time the second tells of the children so far: user and system time.
  const sums = stdout
    .trim()
    .split('\n')
    .filter((_, i) => i % 2 === 1)
    .map((line) =>
      [...line.matchAll(/(\d+)m([\d.]+)s/g)].reduce((sum, [, m, s]) => sum + Number(m) * 60 + Number(s), 0),
    );
  return sums.slice(1).map((sum, i) => ({ cpu: (sum - (sums[i] as number)) * 1_000, wall }));
}

const stateOf = (name: string) => join(work, `state-${name}`);
const importing = (name: MapName, flags: readonly string[] = []) =>
  ran([...flags, program, 'map', 'import', mapFile(name), '--force', '--state', stateOf(name)]);
/** The state directory with the map imported, once. */
async function imported(name: MapName): Promise<string> {
  if (!existsSync(join(stateOf(name), 'map.co2_moer.idx'))) await importing(name);
  return stateOf(name);
}
const indexMb = (name: MapName) => megabytes(statSync(join(stateOf(name), 'map.co2_moer.idx')).size);

const median = (list: readonly number[]) => [...list].sort((a, b) => a - b)[list.length >> 1] ?? 0;
async function times<T>(count: number, run: () => Promise<T>): Promise<T[]> {
  const all: T[] = [];
  for (let i = 0; i < count; i++) all.push(await run());
  return all;
}

/** Debian's own: another python on the path does not see its packages. */
const PYTHON = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3';

let missed = 0;
function row(figure: string, bar: string, here: string, peer: string, met: boolean | undefined): void {
  const verdict = met === undefined ? '' : met ? 'met' : 'MISSED';
  if (met === false) missed++;
  console.log(`${figure.padEnd(52)} ${bar.padEnd(9)} ${here.padEnd(22)} ${peer.padEnd(46)} ${verdict}`);
}
const mb = (value: number) => `${value.toFixed(0)} MB`;
const ratio = (value: number, digits = 2) => `${value.toFixed(digits)}x`;

async function memory(bare: number): Promise<void> {
  for (const [name, bar] of [
    ['middle', 25],
    ['large', 40],
  ] as const) {
    const peak = median((await times(3, () => importing(name))).map(({ peakMb }) => peakMb)) - bare;
    const parse = (await ran([child('parse'), mapFile(name)])).peakMb - bare;
    const figure = `peak of an import over bare node, ${mb(sizeOf(name))} map`;
    row(figure, `<= ${bar} MB`, mb(peak), `JSON.parse of the file ${mb(parse)}`, peak <= bar);
  }
}

/** The whole of a download: the HTTP client and its buffers are in the figure. */
async function refresh(bare: number): Promise<void> {
  let served: MapName = 'middle';
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/login')) response.end(JSON.stringify({ token: 'bench' }));
    else {
      const text = geojsonOf(SHAPES[served]);
      const write = (): void => {
        for (let part = text.next(); !part.done; part = text.next())
          if (!response.write(part.value)) return void response.once('drain', write);
        response.end();
      };
      response.setHeader('content-type', 'application/json');
      write();
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const login = { GRIDTIDE_USERNAME: 'bench', GRIDTIDE_PASSWORD: 'bench' };
  for (const [name, bar] of [
    ['middle', 25],
    ['large', 40],
  ] as const) {
    served = name;
    const args = ['map', 'update', '--url', `http://127.0.0.1:${port}`, '--force', '--state', stateOf('http')];
    const peak = median((await times(3, () => ran([program, ...args], login))).map(({ peakMb }) => peakMb)) - bare;
    const figure = `peak of a refresh over HTTP, ${mb(sizeOf(name))} map`;
    row(figure, `<= ${bar} MB`, mb(peak), 'map update: client and its buffers included', peak <= bar);
  }
  server.close();
}

async function growth(): Promise<void> {
  const of = async (run: (name: MapName) => Promise<Ran>) => {
    const [small, grown] = [await times(3, () => run('small')), await times(3, () => run('grown'))];
    return median(grown.map(({ peakMb }) => peakMb)) - median(small.map(({ peakMb }) => peakMb));
  };
  const here = await of((name) => importing(name));
  const parse = await of((name) => ran([child('parse'), mapFile(name)]));
  const figure = `growth from ${sizeOf('small').toFixed(1)} to ${mb(sizeOf('grown'))}, same largest polygon`;
  row(figure, '<= 12 MB', mb(here), `JSON.parse ${mb(parse)}`, here <= 12);
}

async function smallHeap(): Promise<void> {
  const flag = '--max-old-space-size=32';
  const works = await importing('large', [flag]).then(
    ({ peakMb }) => mb(peakMb),
    () => undefined,
  );
  const peer = await ran(['--max-old-space-size=256', child('parse'), mapFile('large')]).then(
    () => 'works',
    () => 'fails',
  );
  row(
    `works under ${flag}, ${mb(sizeOf('large'))} map`,
    'yes',
    works === undefined ? 'no' : `yes (peak ${works})`,
    `JSON.parse under 256: ${peer}`,
    works !== undefined,
  );
}

async function ingest(): Promise<void> {
  const rounds = await times(5, async () => ({
    bare: started(['-e', '0']),
    here: (await importing('large')).milliseconds,
    parse: (await ran([child('parse'), mapFile('large')])).milliseconds,
  }));
  const bare = median(rounds.map((round) => round.bare));
  const here = median(rounds.map((round) => round.here)) - bare;
  const parse = median(rounds.map((round) => round.parse)) - bare;
  row(
    `time of an import, ${mb(sizeOf('large'))} map`,
    '<= 3x',
    `${ratio(here / parse)} (${here.toFixed(0)} ms)`,
    `JSON.parse of the file ${parse.toFixed(0)} ms`,
    here / parse <= 3,
  );
}

async function sizes(): Promise<void> {
  const digits: readonly (readonly [MapName, string, number])[] = [
    ['middle', 'all digits', 0.46],
    ['large', 'all digits', 0.46],
    ['rounded', '7 decimals', 0.35],
    ['coarse', '5 decimals', 0.35],
  ];
  for (const [name, what, bar] of digits) {
    await imported(name);
    const share = indexMb(name) / sizeOf(name);
    row(
      `index against GeoJSON, ${what}, ${mb(sizeOf(name))}`,
      `<= ${bar}`,
      share.toFixed(3),
      `${indexMb(name).toFixed(1)} MB`,
      share <= bar,
    );
  }
}

async function cold(): Promise<void> {
  const place = ['--latitude', '38.5', '--longitude', '-122'];
  const point = ['-122', '38.5'];
  const [middle, large] = [await imported('middle'), await imported('large')];
  await ran([program, 'map', 'import', mapFile('middle'), '--force', '--state', stateOf('home'), ...place]);
  const variants: Record<string, readonly string[]> = {
    bare: ['-e', '0'],
    middle: [program, 'region', ...place, '--state', middle],
    large: [program, 'region', ...place, '--state', large],
    start: [child('home'), 'start', stateOf('home'), ...point],
    home: [child('home'), 'ask', stateOf('home'), ...point],
    polygon: [child('cold'), 'which-polygon', mapFile('middle'), ...point],
    naive: [child('cold'), 'naive', mapFile('middle'), ...point],
  };
  const all: Record<string, Start[]> = {};
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, args] of Object.entries(variants)) {
      if (round >= PEER_ROUNDS && (name === 'polygon' || name === 'naive')) continue;
      all[name] = [...(all[name] ?? []), ...starts(args)];
    }
  const of = (name: string, clock: keyof Start = 'cpu') => median((all[name] ?? []).map((start) => start[clock]));
  const bare = of('bare');
  const wall = (name: string) => ratio(of(name, 'wall') / of('bare', 'wall'));
  const peers = `which-polygon ${ratio(of('polygon') / bare)}, turf over all ${ratio(of('naive') / bare)}`;
  for (const name of ['middle', 'large'] as const) {
    const here = of(name) / bare;
    const figure = `cold region in a fresh process, ${mb(sizeOf(name))} map`;
    row(
      figure,
      '<= 1.35x',
      `${ratio(here)} (wall ${wall(name)})`,
      name === 'middle' ? peers : `bare node ${bare.toFixed(0)} ms`,
      here <= 1.35,
    );
  }
  const stored = 1 + (of('home') - of('start')) / bare;
  const alone = `alone over bare node ${ratio(of('home') / bare)}`;
  row('stored place inside the agent, over its start', '<= 1.05x', ratio(stored, 3), alone, stored <= 1.05);
}

type Rates = Record<'uniform' | 'border' | 'repeated', Record<string, number>>;

async function hot(): Promise<void> {
  for (const name of ['small', 'middle'] as const) {
    const state = await imported(name);
    const rates = JSON.parse((await ran([child('hot'), mapFile(name), state, '5', '600'])).out) as Rates;
    const judged = name === 'middle';
    for (const [kind, bar] of [
      ['uniform', 5],
      ['border', 1],
    ] as const) {
      const { index = 0, 'which-polygon': peer = 1, turf } = rates[kind];
      const figure = `hot lookups, ${kind}, 4 MB cache, ${mb(sizeOf(name))} map`;
      const others = `which-polygon ${Math.round(peer / 1_000)} k/s${turf === undefined ? '' : `, turf over all ${turf}/s`}`;
      row(
        figure,
        judged ? `>= ${bar}x` : '',
        `${ratio(index / peer, 1)} (${Math.round(index / 1_000)} k/s)`,
        others,
        judged ? index / peer >= bar : undefined,
      );
    }
    const { index = 0, 'which-polygon': peer = 1 } = rates.repeated;
    row(
      '  one place again and again',
      '',
      `${ratio(index / peer, 1)} (${Math.round(index / 1_000)} k/s)`,
      `which-polygon ${Math.round(peer / 1_000)} k/s`,
      undefined,
    );
  }
}

interface Differences {
  readonly points: number;
  readonly differences: number;
  readonly plain: number;
  readonly plainDifferences: number;
  readonly whichPolygonDifferences: number;
}

async function differences(): Promise<void> {
  for (const name of ['middle', 'rounded'] as const) {
    const state = await imported(name);
    const { out } = await ran([child('differences'), mapFile(name), state, values.points, join(work, name)]);
    const found = JSON.parse(out) as Differences;
    const wrong = found.differences + found.plainDifferences;
    row(
      `differences from turf over the whole file, ${name}`,
      '0',
      `${wrong} of ${found.points}`,
      `which-polygon ${found.whichPolygonDifferences}; ${found.plain} asked without boxes`,
      wrong === 0,
    );
  }
}

async function shapely(): Promise<void> {
  if (spawnSync(PYTHON, ['-c', 'import shapely']).status !== 0) {
    console.log(
      'SKIPPED: differences from shapely; python3-shapely is not installed (apt-get install python3-shapely)',
    );
    return;
  }
  const state = await imported('small');
  await ran([child('differences'), mapFile('small'), state, '100000', join(work, 'small')]);
  const script = join(root, 'scripts/bench.d/region/covers.py');
  const { stdout, stderr, status } = spawnSync(PYTHON, [script, mapFile('small'), join(work, 'small')], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  const found = JSON.parse(stdout) as { points: number; onBorder: number; offBorder: number };
  row(
    'differences from shapely off exact borders',
    '0',
    `${found.offBorder} of ${found.points}`,
    `on exact borders ${found.onBorder}`,
    found.offBorder === 0,
  );
}

console.log(`node ${process.version}, ${new Date().toISOString()}`);
row('figure', 'bar', 'here', 'peer', undefined);
const bare = median((await times(3, () => ran(['-e', '0']))).map(({ peakMb }) => peakMb));

const POLYGON_VERTICES = 2_000_000;
/** One ring around a point, its distance swinging. */
function makePolygonFile(format: (degrees: number) => string): string {
  const file = join(work, 'polygon.json');
  const to = openSync(file, 'w');
  writeSync(
    to,
    '{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"region":"A","region_full_name":"A"},"geometry":{"type":"Polygon","coordinates":[[',
  );
  const position = (i: number) => {
    const angle = (2 * Math.PI * (i % POLYGON_VERTICES)) / POLYGON_VERTICES;
    const distance = 3 + 0.4 * Math.sin(angle * 40) + 0.01 * Math.sin(angle * 3_000);
    return `[${format(distance * Math.cos(angle) - 110)},${format(distance * Math.sin(angle) + 40)}]`;
  };
  for (let i = 0; i < POLYGON_VERTICES; i += 10_000)
    writeSync(to, `${Array.from({ length: 10_000 }, (_, k) => position(i + k)).join(',')},`);
  writeSync(to, `${position(0)}]]}}]}`);
  closeSync(to);
  return file;
}

async function polygon(digits: string, format: (degrees: number) => string): Promise<void> {
  const file = makePolygonFile(format);
  const { peakMb } = await ran([program, 'map', 'import', file, '--force', '--state', stateOf('polygon')]);
  rmSync(file);
  row(`2,000,000 vertices with ${digits}, over bare Node`, '40 MB', mb(peakMb - bare), '', peakMb - bare <= 40);
}

async function polygons(): Promise<void> {
  await polygon('seven decimals', (degrees) => degrees.toFixed(7));
  await polygon('all their digits', String);
}

const parts: Record<string, () => Promise<void>> = {
  memory: () => memory(bare),
  polygon: polygons,
  refresh: () => refresh(bare),
  growth,
  heap: smallHeap,
  ingest,
  sizes,
  cold,
  hot,
  differences,
  shapely,
};
for (const [name, part] of Object.entries(parts)) if (wanted(name)) await part();
for (const name of Object.keys(SHAPES)) rmSync(join(work, `${name}.json`), { force: true });
console.log(missed === 0 ? 'every bar is met' : `${formatCount(missed, 'bar')} missed`);
process.exitCode = missed === 0 ? 0 : 1;

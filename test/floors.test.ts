/** Holds the arrows of the architecture: reads the import lines of src and names file and rule when one goes wrong. */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = join(import.meta.dirname, '..', 'src');

/** Floors in their order: one takes types from earlier ones, never anything from a later one. */
const ORDER = ['config', 'service', 'region', 'signal', 'control', 'outputs', 'ledger', 'monitor'] as const;
/** Folders that join floors. */
const JOINERS = ['commands', 'agent', 'main', 'replay'];
/** Each of these packages enters through one file. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  mqtt: ['platform/broker.ts'],
  onoff: ['platform/pins.ts'],
  pino: ['platform/log.ts'],
  'pino-pretty': ['platform/log.ts'],
  '@turf/boolean-point-in-polygon': ['region/lookup.ts'],
  yaml: ['config/read.ts'],
  aedes: ['replay/broker.ts'],
};
/** Wall time, chance, timers and the process come in from outside. */
const IMPURE = [
  /\bDate\.now\b/,
  /\bnew Date\(\)/,
  /\bMath\.random\b/,
  /\bset(Timeout|Interval|Immediate)\b/,
  /\bperformance\.now\b/,
  /\bprocess\./,
];

interface Import {
  readonly target: string;
  readonly typeOnly: boolean;
}

interface SourceFile {
  /** Relative to src, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

function importsOf(path: string, text: string): Import[] {
  const lines = text.matchAll(
    /(?:^|\n)\s*(import|export)\s+(type\s+)?([\w$*{},\s]*?)\s*from\s*'([^']+)'|(?:^|\n)\s*import\s+'([^']+)'|import\(\s*'([^']+)'\s*\)/g,
  );
  return [...lines].map(([, , type, names, from, bare, dynamic]) => {
    const target = from ?? bare ?? dynamic ?? '';
    const resolved = target.startsWith('.') ? normalize(join(dirname(path), target)) : target;
    const braces = names?.match(/^\{([^}]*)\}$/)?.[1];
    const allTypes = braces
      ?.split(',')
      .filter((name) => name.trim() !== '')
      .every((name) => name.trim().startsWith('type '));
    return { target: resolved, typeOnly: type !== undefined || allTypes === true };
  });
}

const files: readonly SourceFile[] = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => {
    const path = relative(SRC, join(SRC, name)).replaceAll('\\', '/');
    const text = readFileSync(join(SRC, name), 'utf8');
    return { path, text, imports: importsOf(path, text) };
  });

/** `control/step.ts` is on the floor `control`; `agent.ts` is `agent`. */
const floorOf = (path: string) => path.split('/')[0]?.replace(/\.ts$/, '') ?? '';
const isLocal = (target: string) => target.endsWith('.ts');
const packageOf = (target: string) =>
  target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/');

const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|[^:'"])\/\/.*$/gm, '$1');

function brokenArrows({ path, imports }: SourceFile): string[] {
  const floor = floorOf(path);
  const rank = (ORDER as readonly string[]).indexOf(floor);
  return imports.flatMap(({ target, typeOnly }) => {
    if (!isLocal(target)) return [];
    const other = floorOf(target);
    const say = (rule: string) => [`${path} imports ${target}: ${rule}`];
    if (['units.ts', 'spread.ts', 'zone.ts', 'make-directory.ts'].includes(path))
      return say(`${floor} imports nothing`);
    if (path === 'world.ts' || path === 'times.ts') return other === 'units' ? [] : say(`${floor} imports units only`);
    if (other === floor || ['units', 'spread', 'zone', 'times', 'world', 'make-directory'].includes(other)) return [];
    if (other === 'platform' && !['main', 'commands', 'replay'].includes(floor))
      return say('only main and commands touch platform');
    if (JOINERS.includes(floor)) return [];
    if (JOINERS.includes(other)) return say('a floor never imports what joins floors');
    if (floor === 'reference') return say('the reference service shares nothing with the agent');
    if (floor === 'platform') return typeOnly ? [] : say('an adapter takes types only');
    if (other === 'reference') return say('only joiners host the reference service');
    const otherRank = (ORDER as readonly string[]).indexOf(other);
    if (otherRank > rank) return say('a floor never imports a later floor');
    return typeOnly ? [] : say('a floor takes types, not values, from earlier floors');
  });
}

function brokenDoors({ path, imports }: SourceFile): string[] {
  const floor = floorOf(path);
  return imports.flatMap(({ target, typeOnly }) => {
    if (isLocal(target)) return [];
    const name = packageOf(target);
    const outside = name.startsWith('node:') || name in DOORS || !target.startsWith('.');
    if (floor === 'control' && outside)
      return [`${path} imports ${target}: control imports no package and no node: module`];
    const doors = DOORS[name];
    if (doors !== undefined && !typeOnly && !doors.includes(path))
      return [`${path} imports ${name}, which enters through ${doors.join(', ')}`];
    return [];
  });
}

function impurities({ path, text }: SourceFile): string[] {
  const floor = floorOf(path);
  const pure =
    (ORDER as readonly string[]).includes(floor) || ['units', 'zone', 'times', 'world', 'agent'].includes(floor);
  if (!pure) return [];
  const code = withoutComments(text);
  return IMPURE.filter((pattern) => pattern.test(code)).map(
    (pattern) => `${path} uses ${pattern.source}: it comes in from outside`,
  );
}

function cycles(): string[] {
  const graph = new Map(
    files.map(({ path, imports }) => [
      path,
      imports.filter(({ target, typeOnly }) => isLocal(target) && !typeOnly).map(({ target }) => target),
    ]),
  );
  const done = new Set<string>();
  const found: string[] = [];
  const walk = (path: string, trail: readonly string[]) => {
    if (trail.includes(path)) {
      found.push([...trail.slice(trail.indexOf(path)), path].join(' -> '));
      return;
    }
    if (done.has(path)) return;
    for (const next of graph.get(path) ?? []) walk(next, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) walk(path, []);
  return found;
}

describe('the floors of src', () => {
  it('reads the files', () => expect(files.length).toBeGreaterThan(10));
  it('arrows point down', () => expect(files.flatMap(brokenArrows)).toEqual([]));
  it('packages enter through their doors', () => expect(files.flatMap(brokenDoors)).toEqual([]));
  it('pure floors read no clock, chance, timer or process', () => expect(files.flatMap(impurities)).toEqual([]));
  it('nothing imports itself in a circle', () => expect(cycles()).toEqual([]));
});

describe('the check itself', () => {
  const file = (path: string, text: string): SourceFile => ({ path, text, imports: importsOf(path, text) });
  //  file                   text                                                          sentence
  const rows: readonly (readonly [string, string, string])[] = [
    ['signal/a.ts', "import { step } from '../control/step.ts';", 'never imports a later floor'],
    ['control/a.ts', "import { index } from '../signal/index.ts';", 'takes types, not values'],
    ['control/a.ts', "import type { A } from '../service/a.ts';", ''],
    ['control/a.ts', "import { readFile } from 'node:fs';", 'control imports no package'],
    ['monitor/a.ts', "import mqtt from 'mqtt';", 'enters through platform/broker.ts'],
    ['reference/a.ts', "import { decode } from '../service/decode.ts';", 'shares nothing'],
    ['service/a.ts', "import { disk } from '../platform/disk.ts';", 'touch platform'],
    ['signal/a.ts', 'const t = Date.now();', 'comes in from outside'],
    ['signal/a.ts', '// Date.now() would be wrong', ''],
    ['agent.ts', "import { step } from './control/step.ts';", ''],
    ['agent.ts', "import { disk } from './platform/disk.ts';", 'touch platform'],
    ['region/a.ts', "import { type A, b } from '../config/config.ts';", 'takes types, not values'],
    ['region/a.ts', "const a = await import('../control/step.ts');", 'never imports a later floor'],
  ];
  it.each(rows)('%s: %s', (path, text, sentence) => {
    const said = [
      ...brokenArrows(file(path, text)),
      ...brokenDoors(file(path, text)),
      ...impurities(file(path, text)),
    ].join('\n');
    if (sentence === '') expect(said).toBe('');
    else expect(said).toContain(sentence);
  });
});

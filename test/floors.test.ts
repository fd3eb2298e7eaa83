/** Holds the arrows of the architecture: reads the import lines of src and names file and rule when one goes wrong. */

import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSourceShape, type SourceShape } from './source-shape.ts';

const SRC = join(import.meta.dirname, '..', 'src');

/** Floors in their order: one takes types from earlier ones, never anything from a later one. Each may use all of `domain`. */
const ORDER = ['config', 'tariff', 'service', 'region', 'signal', 'control', 'outputs', 'ledger', 'mqtt'];
/** Rooms that join floors. */
const JOINERS = ['agent', 'page', 'relay', 'cli', 'simulation', 'library', 'main'];
/** Only these create the adapters of `platform`. */
const HOSTS = ['cli', 'simulation', 'library', 'main'];
/** All that the reference service shares with the agent, each with its reason. */
const SHARED_WITH_REFERENCE: Readonly<Record<string, string>> = {
  'domain/loopback.ts': 'which addresses are this machine: a rule of security, not of the interface',
  'domain/duration-text.ts': 'the flags of both programs are written in one grammar',
  'platform/make-directory.ts': "Node's own recursive way never ends under /proc",
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
  readonly shape: SourceShape;
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
    return { path, text, imports: importsOf(path, text), shape: readSourceShape(text) };
  });

/** `control/rules/interlocks.ts` is on the floor `control`; `main.ts` is `main`. */
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
  return imports.flatMap(({ target, typeOnly }) => {
    if (!isLocal(target)) return [];
    const other = floorOf(target);
    if (other === floor) return [];
    const rule = brokenRule({ floor, other, target, typeOnly });
    return rule === undefined ? [] : [`${path} imports ${target}: ${rule}`];
  });
}

interface Arrow {
  readonly floor: string;
  readonly other: string;
  readonly target: string;
  readonly typeOnly: boolean;
}

function brokenRule({ floor, other, target, typeOnly }: Arrow): string | undefined {
  if (floor === 'domain') return 'domain imports nothing above it';
  if (floor === 'reference')
    return target in SHARED_WITH_REFERENCE ? undefined : 'the reference service shares nothing with the agent';
  if (other === 'domain') return undefined;
  if (other === 'platform')
    return HOSTS.includes(floor) ? undefined : 'only main, cli, library and simulation touch platform';
  if (JOINERS.includes(floor)) return undefined;
  if (JOINERS.includes(other)) return 'a floor never imports what joins floors';
  if (floor === 'platform') return typeOnly ? undefined : 'an adapter takes types only';
  if (other === 'reference') return 'only joiners host the reference service';
  if (ORDER.indexOf(other) > ORDER.indexOf(floor)) return 'a floor never imports a later floor';
  return typeOnly ? undefined : 'a floor takes types, not values, from earlier floors';
}

/** Packages that control imports: none may be; and files beside the first that import the values of one package. */
const packagesInControl = ({ path, imports }: SourceFile): string[] =>
  floorOf(path) !== 'control'
    ? []
    : imports
        .filter(({ target }) => !isLocal(target))
        .map(({ target }) => `${path} imports ${target}: control imports no package and no node: module`);

/** Evaluating every export of these loads Node's own undici, which costs 10 MB and needs WebAssembly. */
const COSTLY_IMPORTS = ['node:http', 'node:https', 'http', 'https'];

const costlyImports = ({ path, imports }: SourceFile): string[] =>
  floorOf(path) === 'reference'
    ? []
    : imports
        .filter(({ target, typeOnly }) => !typeOnly && COSTLY_IMPORTS.includes(target))
        .map(({ target }) => `${path} imports ${target}: take it by process.getBuiltinModule`);

/** Small and pure, or the words of one room: these may be imported wherever their floor allows. */
const MANY_DOORS = ['valibot'];

function secondDoors(all: readonly SourceFile[]): string[] {
  const doors = new Map<string, Set<string>>();
  for (const { path, imports } of all)
    for (const { target, typeOnly } of imports) {
      if (isLocal(target) || target.startsWith('node:') || typeOnly) continue;
      const name = packageOf(target);
      doors.set(name, (doors.get(name) ?? new Set()).add(path));
    }
  return [...doors]
    .filter(([name, paths]) => paths.size > 1 && !MANY_DOORS.includes(name))
    .map(([name, paths]) => `${name} enters through ${[...paths].join(' and ')}: a package has one door`);
}

function impurities({ path, text }: SourceFile): string[] {
  const floor = floorOf(path);
  if (![...ORDER, 'domain', 'agent'].includes(floor)) return [];
  const code = withoutComments(text);
  return IMPURE.filter((pattern) => pattern.test(code)).map(
    (pattern) => `${path} uses ${pattern.source}: it comes in from outside`,
  );
}

/** Circles of imports, types included: two files that need each other's types are one file, or want a third. */
function cycles(): string[] {
  const graph = new Map(
    files.map(({ path, imports }) => [
      path,
      imports.filter(({ target }) => isLocal(target)).map(({ target }) => target),
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

/** File names that stand twice in a tree: a name must be enough to find a file. */
function namesTwice(paths: readonly string[]): string[] {
  const byName = new Map<string, string[]>();
  for (const path of paths) byName.set(basename(path), [...(byName.get(basename(path)) ?? []), path]);
  return [...byName.values()].filter((same) => same.length > 1).map((same) => same.join(' and '));
}

const testFiles = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => `test/${name}`);

/** Words of MQTT topics and of units that stand in one file; whoever needs one imports it. The reference service has its own. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/['"`](gridtide|homeassistant)[-/]/, 'mqtt/topics.ts'],
  [/\}\/(availability|loads|health|info|result)\b/, 'mqtt/topics.ts'],
  [/'lbs_co2_per_mwh'/, 'domain/units.ts'],
  [/[uU]nits?(:| ===| !==) 'percentile'/, 'domain/units.ts'],
];

const strayWords = ({ path, text }: SourceFile): string[] =>
  floorOf(path) === 'reference'
    ? []
    : WORDS.filter(([word, home]) => path !== home && word.test(withoutComments(text))).map(
        ([word, home]) => `${path} holds ${word.source}: import it from ${home}`,
      );

/** Lines of a function, closures counted: none may be longer than the first, and only so many longer than the second. */
const LONGEST_FUNCTION = 100;
const LONG_FUNCTION = 60;
const MAX_LONG_FUNCTIONS = 10;
const MAX_SHARED_NAMES = 120;

const functionsOver = (all: readonly SourceFile[], lines: number): string[] =>
  all.flatMap(({ path, shape }) =>
    shape.functions.filter((one) => one.lines > lines).map((one) => `${path} ${one.name}: ${one.lines} lines`),
  );

/** Names at the top of more than one file: each makes a search ambiguous. */
function sharedNames(all: readonly SourceFile[]): string[] {
  const seen = new Map<string, number>();
  for (const name of all.flatMap(({ shape }) => shape.names)) seen.set(name, (seen.get(name) ?? 0) + 1);
  return [...seen].filter(([, count]) => count > 1).map(([name, count]) => `${name}: ${count} files`);
}

describe('the floors of src', () => {
  it('reads the files', () => expect(files.length).toBeGreaterThan(10));
  it('arrows point down', () => expect(files.flatMap(brokenArrows)).toEqual([]));
  it('control imports no package', () => expect(files.flatMap(packagesInControl)).toEqual([]));
  it('only the reference service imports node:http', () => expect(files.flatMap(costlyImports)).toEqual([]));
  it('each package enters through one file', () => expect(secondDoors(files)).toEqual([]));
  it('pure floors read no clock, chance, timer or process', () => expect(files.flatMap(impurities)).toEqual([]));
  it('nothing imports itself in a circle, types included', () => expect(cycles()).toEqual([]));
  it('no file name stands twice', () =>
    expect(namesTwice([...files.map(({ path }) => `src/${path}`), ...testFiles])).toEqual([]));
  it('a word of a topic or a unit stands in one file', () => expect(files.flatMap(strayWords)).toEqual([]));
  it('no function is longer than a hundred lines', () => expect(functionsOver(files, LONGEST_FUNCTION)).toEqual([]));
  it('few functions are longer than sixty lines', () =>
    expect(functionsOver(files, LONG_FUNCTION).slice(MAX_LONG_FUNCTIONS)).toEqual([]));
  it('few names stand at the top of several files', () =>
    expect(sharedNames(files).slice(MAX_SHARED_NAMES)).toEqual([]));
});

describe('the check itself', () => {
  const file = (path: string, text: string): SourceFile => ({
    path,
    text,
    imports: importsOf(path, text),
    shape: readSourceShape(text),
  });
  //  file                   text                                                          sentence
  const rows: readonly (readonly [string, string, string])[] = [
    ['signal/a.ts', "import { step } from '../control/step.ts';", 'never imports a later floor'],
    ['control/a.ts', "import { index } from '../signal/index.ts';", 'takes types, not values'],
    ['control/a.ts', "import type { A } from '../service/a.ts';", ''],
    ['control/rules/a.ts', "import type { A } from '../../service/api/a.ts';", ''],
    ['control/rules/a.ts', "import { A } from '../../service/api/a.ts';", 'takes types, not values'],
    ['control/a.ts', "import { seconds } from '../domain/units.ts';", ''],
    ['domain/a.ts', "import type { A } from '../config/a.ts';", 'imports nothing above it'],
    ['control/a.ts', "import { readFile } from 'node:fs';", 'control imports no package'],
    ['mqtt/a.ts', "import mqtt from 'mqtt';", 'a package has one door'],
    ['reference/a.ts', "import { decode } from '../service/decode.ts';", 'shares nothing'],
    ['reference/a/a.ts', "import { minutes } from '../../domain/units.ts';", 'shares nothing'],
    ['reference/a.ts', "import { isLoopback } from '../domain/loopback.ts';", ''],
    ['service/a.ts', "import { disk } from '../platform/disk.ts';", 'touch platform'],
    ['signal/a.ts', 'const t = Date.now();', 'comes in from outside'],
    ['signal/a.ts', '// Date.now() would be wrong', ''],
    ['agent/a.ts', "import { step } from '../control/step.ts';", ''],
    ['agent/a.ts', "import { disk } from '../platform/disk.ts';", 'touch platform'],
    ['region/a.ts', "import { type A, b } from '../config/config.ts';", 'takes types, not values'],
    ['region/a.ts', "const a = await import('../control/step.ts');", 'never imports a later floor'],
    ['agent/a.ts', "const topic = 'gridtide/pi/health';", 'import it from mqtt/topics.ts'],
    ['signal/a.ts', "const isIndex = units === 'percentile';", 'import it from domain/units.ts'],
    ['reference/a.ts', "const unit = 'lbs_co2_per_mwh';", ''],
    ['platform/a.ts', "import { request } from 'node:https';", 'take it by process.getBuiltinModule'],
    ['platform/a.ts', "const { get } = await import('node:http');", 'take it by process.getBuiltinModule'],
    ['platform/a.ts', "import type { Server } from 'node:http';", ''],
    ['reference/a.ts', "import { createServer } from 'node:http';", ''],
  ];
  it.each(rows)('%s: %s', (path, text, sentence) => {
    const added = file(path, text);
    const complaints = [
      ...brokenArrows(added),
      ...packagesInControl(added),
      ...costlyImports(added),
      ...secondDoors([...files, added]),
      ...impurities(added),
      ...strayWords(added),
    ].join('\n');
    if (sentence === '') expect(complaints).toBe('');
    else expect(complaints).toContain(sentence);
  });

  it('long functions, closures and methods among them', () => {
    const body = 'let a = 0;\n'.repeat(70);
    const texts = [
      `function one() {\n${body}}`,
      `const two = () => {\n${body}};`,
      `const three = { four() {\n${body}} };`,
    ];
    const added = texts.map((text, i) => file(`agent/${i}.ts`, `${text}\nconst short = () => {\n};`));
    expect(functionsOver(added, 60)).toEqual(
      ['one', 'two', 'four'].map((name, i) => `agent/${i}.ts ${name}: 72 lines`),
    );
  });

  it('names at the top of several files, exported or not', () => {
    const texts = [
      'export const a = 1, b = 2;',
      'type a = 1;\nfunction c() { const b = 3; }',
      "import { c } from './c.ts';",
    ];
    expect(sharedNames(texts.map((text, i) => file(`agent/${i}.ts`, text)))).toEqual(['a: 2 files']);
  });

  it('names that stand twice', () =>
    expect(namesTwice(['src/a/b.ts', 'test/a/b.ts', 'src/c.ts'])).toEqual(['src/a/b.ts and test/a/b.ts']));
});

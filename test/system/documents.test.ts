/** Holds README and docs to the program: links lead somewhere, commands, options, scripts and settings exist, and cheap commands run. */

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commands } from '../../src/cli/command-list.ts';
import { type CommandSpec, UsageError } from '../../src/cli/shared/command.ts';
import { parseArguments } from '../../src/cli/shared/parse-arguments.ts';
import { parseConfig } from '../../src/config/parse-config.ts';
import type { Instant, Uptime } from '../../src/domain/units.ts';
import { parseCommand } from '../../src/mqtt/parse-command.ts';
import { runCommand } from '../doubles/run-command.ts';
import { startProcess } from '../doubles/running-process.ts';
import { afterTest, stopAfterTest } from '../doubles/stop-after-test.ts';
import { listCommandWords, readMarkdown } from './markdown.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const listMarkdown = (folder: string) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
const paths = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...['docs', 'src', 'test', '.github'].filter((folder) => existsSync(join(ROOT, folder))).flatMap(listMarkdown),
];
const documents = paths.map((path) => ({ path, ...readMarkdown(readFileSync(join(ROOT, path), 'utf8')) }));
const anchorsOf = (path: string) => documents.find((document) => document.path === path)?.anchors ?? [];

/** What is wrong with a link of a document; undefined when it leads somewhere. */
function findBrokenLink(path: string, link: string, anchors = anchorsOf): string | undefined {
  if (/^(https?|mailto):/.test(link)) return undefined;
  const [file = '', anchor] = link.split('#');
  const target = file === '' ? path : normalize(join(dirname(path), file));
  if (!existsSync(join(ROOT, target))) return `${path}: ${link}: there is no ${target}`;
  return anchor === undefined || anchors(target).includes(anchor) ? undefined : `${path}: ${link}: no such heading`;
}

/** The alternatives of `update|import FILE|info`, each with the options that follow the last. */
const listAlternatives = (words: readonly string[]) =>
  words
    .join(' ')
    .split('|')
    .map((alternative) => alternative.trim().split(/\s+/).filter(Boolean));

/** `words` with the arguments that their action needs: a document may leave them out. */
function completeAction({ positionals }: CommandSpec, words: readonly string[]): readonly string[] {
  const [action = '', ...rest] = words;
  if (typeof positionals === 'string' || action.startsWith('-')) return words;
  const given = rest.findIndex((word) => word.startsWith('-'));
  const complete = positionals.find((one) => one.split(' ')[0] === action)?.split(' ');
  return complete === undefined ? words : [...complete, ...rest.slice(given < 0 ? rest.length : given)];
}

/** A value for each name of one in the help, as documents write it: `--by TIME`. */
const SAMPLES: Readonly<Record<string, string>> = { TIME: '2026-03-01', N: '1', X: '1', LENGTH: '4h', ZONE: 'UTC' };

/** What is wrong with `gridtide` and these words; undefined when the program takes them. */
async function findMistake([name = '', ...words]: readonly string[]): Promise<string | undefined> {
  if (name === 'help' || name === 'COMMAND' || name.startsWith('-')) return undefined;
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (entry === undefined) return `there is no command ${name}`;
  const { spec } = await entry.load();
  // "gridtide account" and "gridtide signal …" name a command, and call none.
  const given = words
    .filter((word) => !['…', '--help', '-h'].includes(word))
    .map((word) => SAMPLES[word] ?? word.replace('…', ''));
  if (given.length === 0) return undefined;
  for (const alternative of listAlternatives(given)) {
    const isBare = typeof spec.positionals !== 'string' && alternative[0]?.startsWith('-');
    const called = isBare ? [...(spec.positionals[0] ?? '').split(' '), ...alternative] : alternative;
    try {
      parseArguments(spec, completeAction(spec, called));
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      return error.message;
    }
  }
  return undefined;
}

const lines = documents.flatMap(({ path, blocks, spans }) => [
  ...blocks
    .filter(({ language }) => ['', 'sh'].includes(language))
    .flatMap(({ text }) => text.replaceAll('\\\n', ' ').split('\n'))
    .map((line) => ({ path, line })),
  ...spans.map((line) => ({ path, line })),
]);

describe('documents', () => {
  it('links lead to a file, and to one of its headings', () =>
    expect(documents.flatMap(({ path, links }) => links.flatMap((link) => findBrokenLink(path, link) ?? []))).toEqual(
      [],
    ));

  it('every gridtide command line has a command and options that exist', async () => {
    const called = lines.flatMap(({ path, line }) => listCommandWords(line).map((words) => ({ path, words })));
    const mistakes = await Promise.all(
      called.map(async ({ path, words }) => {
        const mistake = await findMistake(words);
        return mistake === undefined ? [] : [`${path}: gridtide ${words.join(' ')}: ${mistake}`];
      }),
    );
    expect(mistakes.flat()).toEqual([]);
    expect(called.length).toBeGreaterThan(60);
  });

  it('the table of commands in README has every command, with options of its own', async () => {
    const rows = readFileSync(join(ROOT, 'README.md'), 'utf8').matchAll(/^\| `gridtide (\S+?)`?[ |].*$/gm);
    const byName = new Map([...rows].map(([row, name = '']) => [name, row]));
    expect([...byName.keys()].sort()).toEqual(Object.keys(commands).sort());
    for (const [name, { load }] of Object.entries(commands)) {
      const { options } = (await load()).spec;
      const named = [...(byName.get(name) ?? '').matchAll(/--([a-z][a-z-]*)/g)].map(([, option = '']) => option);
      expect(
        named.filter((option) => !Object.hasOwn(options, option)),
        name,
      ).toEqual([]);
    }
  });

  it('scripts, npm scripts and paths that are named exist', () => {
    const npm = (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object }).scripts;
    const missing = lines.flatMap(({ path, line }) => {
      const script = /\bnpm run (?:--silent )?([\w:-]+)/.exec(line)?.[1];
      if (script !== undefined && !Object.hasOwn(npm, script)) return [`${path}: npm run ${script}`];
      const bench = /\bscripts\/bench ([a-z]+)/.exec(line)?.[1];
      if (bench !== undefined && !existsSync(join(ROOT, `scripts/bench.d/${bench}.ts`))) return [`${path}: ${line}`];
      const named = [...line.matchAll(/(?<![\w/.…-])((?:src|test|scripts|docs|systemd)\/[\w./-]*\w)/g)];
      return named
        .filter(
          ([file]) =>
            !/FILE|NAME/.test(file) && [ROOT, join(ROOT, dirname(path))].every((from) => !existsSync(join(from, file))),
        )
        .map(([file]) => `${path}: ${file}`);
    });
    expect(missing).toEqual([]);
  });
});

const READER = { device: 'cellar', place: { latitude: 38.5, longitude: -122, timezone: 'America/Los_Angeles' } };
const BASE = `${JSON.stringify(READER).slice(1, -1)}, "service": {"url": "https://signal.example"}`;

describe('settings in documents', () => {
  const yaml = documents.flatMap(({ path, blocks }) =>
    blocks.filter(({ language }) => language === 'yaml').map(({ text }) => ({ path, text })),
  );
  const whole = yaml.filter(({ text }) => /^device:/m.test(text));
  const parts = yaml.filter(({ text }) => !/^device:/m.test(text) && /^(objective|tariff|loads|mqtt):/m.test(text));

  it('there are some', () => expect([whole.length > 0, parts.length > 0]).toEqual([true, true]));
  it.each(whole)('$path: a whole configuration is accepted', ({ text }) => {
    const read = parseConfig(text.replaceAll('"https://…"', '"https://signal.example"'));
    expect(read.ok ? [] : read.mistakes).toEqual([]);
  });
  it.each(parts)('$path: a part of a configuration is accepted', ({ text }) => {
    const base = Object.entries(JSON.parse(`{${BASE}}`))
      .filter(([key]) => !new RegExp(`^${key}:`, 'm').test(text))
      .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`);
    const loads = /^loads:/m.test(text) ? '' : 'loads: {tank: {type: tank, output: {kind: dry-run}}}\n';
    const mqtt = /^mqtt:/m.test(text) ? '' : 'mqtt: {url: "mqtt://127.0.0.1"}\n';
    const read = parseConfig(`${base.join('')}${mqtt}${loads}${text}`);
    expect(read.ok ? [] : read.mistakes).toEqual([]);
  });

  it('commands to a load are accepted', () => {
    const read = parseConfig(`{${BASE}, "loads": {"car": {"type": "ev", "output": {"kind": "dry-run"}}}}`);
    const load = read.ok ? read.config.loads[0] : undefined;
    if (load === undefined) throw new Error('no load');
    const now = { wall: Date.parse('2026-03-02T08:00:00Z') as Instant, uptime: 0 as Uptime, trusted: true };
    const sent = lines.filter(({ line }) => line.startsWith('{"command"'));
    const refused = sent.flatMap(({ path, line }) => {
      const parsed = parseCommand(Buffer.from(line), load, now);
      return parsed.ok ? [] : [`${path}: ${line}: ${parsed.message}`];
    });
    expect(refused).toEqual([]);
    expect(sent.length).toBeGreaterThan(4);
  });
});

/** Starts the built program with the words of the first such command line of a document, some of them replaced. */
function startAsWritten(of: string, command: string, replaced: Readonly<Record<string, string>>) {
  const written = lines.flatMap(({ path, line }) => (path === of ? listCommandWords(line) : []));
  const words = written.find(([name, ...rest]) => name === command && rest.length > 0) ?? [];
  const args = [join(ROOT, 'dist', 'main.js'), ...words.map((word) => replaced[word] ?? word)];
  return stopAfterTest(startProcess(process.execPath, args));
}

describe('command lines of README', () => {
  const { blocks } = readMarkdown(readFileSync(join(ROOT, 'README.md'), 'utf8'));
  const config = blocks.find(({ text }) => text.startsWith('device:'))?.text.replace('https://…', 'https://a.example');

  async function enterHouse() {
    const folder = await mkdtemp(join(tmpdir(), 'readme-'));
    afterTest(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'gridtide.yaml'), config ?? '');
    return join(folder, 'gridtide.yaml');
  }

  it.each(['init --options', 'init --topics', 'init --schema', 'completion bash', 'completion zsh', 'completion fish'])(
    'gridtide %s prints',
    async (line) => {
      const [name = '', ...words] = line.split(' ');
      const command = await commands[name]?.load();
      if (command === undefined) throw new Error(`no command ${name}`);
      expect(await runCommand(command, words)).toMatchObject({ code: 0, err: '', out: /.{40}/s });
    },
  );

  it('its configuration is tried with its own command', async () => {
    const house = startAsWritten('README.md', 'try', { 'gridtide.yaml': await enterHouse() });
    expect(await house.waitForLine(/dry run: .*switched/)).toContain('dry run');
    expect(await house.terminate()).toBe(0);
  });
});

describe('two programs of your own, as docs/start.md writes them', () => {
  it('the service answers, and the agent decides by its signal', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'start-'));
    afterTest(() => rm(folder, { recursive: true }));
    const service = startAsWritten('docs/start.md', 'reference', { '8080': '0', '1440': '60' });
    const { listening } = JSON.parse(await service.waitForLine(/listening/)) as { listening: string };
    const login = { url: listening, usernameFile: 'username', passwordFile: 'password' };
    const [file, loads] = [join(folder, 'gridtide.yaml'), { tank: { type: 'tank', output: { kind: 'dry-run' } } }];
    await writeFile(file, JSON.stringify({ ...READER, service: login, loads }));
    const secrets = lines.find(({ path, line }) => path === 'docs/start.md' && line.startsWith('echo owner'));
    execFileSync('sh', ['-c', secrets?.line ?? 'false'], { cwd: folder });
    const files = { 'gridtide.yaml': file, trial: join(folder, 'trial') };
    const house = startAsWritten('docs/start.md', 'run', { ...files, '1440': '60' });
    expect(await house.waitForLine(/"tank .*index \d+/)).toContain('priority');
    expect([await house.terminate(), await service.terminate()]).toEqual([0, 0]);
  });
});

describe('the check itself', () => {
  //  line                                          what is wrong
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['npx gridtide demo --seed 3 > out.txt', undefined],
    ['gridtide map update|import FILE|info', undefined],
    ['gridtide signal …', undefined],
    ['echo a > b; gridtide run --config FILE &', undefined],
    ['gridtide demmo', 'there is no command demmo'],
    ['gridtide demo --sed 3', 'there is no option --sed'],
    ['gridtide map update|destroy', '"destroy": expected one of'],
    ['gridtide demo --seed', '--seed needs a value'],
  ];
  it.each(rows)('%s: %s', async (line, mistake) => {
    const [words = []] = listCommandWords(line);
    const found = await findMistake(words);
    if (mistake === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(mistake);
  });

  it('a link that leads nowhere, and a heading that is not there', () => {
    const { links, anchors } = readMarkdown('# One `two`: three\n[a](#one-two-three) [b](#four) [c](docs/none.md)\n');
    expect(links.flatMap((link) => findBrokenLink('README.md', link, () => anchors) ?? [])).toEqual([
      'README.md: #four: no such heading',
      'README.md: docs/none.md: there is no docs/none.md',
    ]);
  });
});

/** Turns the text of a configuration file into the checked configuration, or into every mistake in it. Reads no file. */

import { type Alias, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { counted } from '../units.ts';
import type { Config } from './config.ts';
import { type Raw, type RawMap, type Report, shownKey } from './kind.ts';
import { type ConfigValues, type LoadValues, OPTIONS } from './options.ts';
import { checkRules } from './rules.ts';
import { readRows } from './sections.ts';

export type ReadConfig =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly mistakes: readonly string[] };

const LARGEST = 256 * 1024;
const DEEPEST = 12;
const MOST_MISTAKES = 50;
const MOST_KEYS = 200;

type Parsed =
  | { readonly ok: true; readonly raw: RawMap }
  | { readonly ok: false; readonly mistakes: readonly string[] };

/** Own words for the mistakes people make; the parser's for the rest. */
const CURES: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'a tab is used to indent; use spaces',
  BAD_INDENT: 'the indentation does not fit the lines around it, or a bracket is not closed',
  MULTIPLE_DOCS: 'a second document begins; keep everything in one',
  NON_STRING_KEY: 'a key is not plain text',
  BLOCK_AS_IMPLICIT_KEY: 'a second ": " stands on one line; quote the text or start a new line',
  MULTILINE_IMPLICIT_KEY: 'a key has no value; write "key: value", with a space after the colon',
  BAD_SCALAR_START: 'the text begins with a sign that means something to YAML; put it in quotes',
  KEY_OVER_1024_CHARS: 'a key is far too long; is this the configuration?',
};

/** A node of the parser as plain values; mappings become Map, so that no key can reach a prototype. */
function plain(node: unknown, lineOf: (node: Node) => number, refuse: (line: number, says: string) => void): Raw {
  const walk = (at: unknown, depth: number): Raw => {
    if (at === null || at === undefined) return null;
    const line = lineOf(at as Node);
    if (depth > DEEPEST) return refuse(line, `nested deeper than ${DEEPEST} levels`);
    if (isAlias(at))
      return refuse(line, `the alias *${shownKey((at as Alias).source)} is not taken; write the value out`);
    if (isScalar(at)) return at.value;
    if (isSeq(at)) return at.items.map((item) => walk(item, depth + 1));
    if (!isMap(at)) return refuse(line, 'neither a value, a list nor a section');
    if (at.items.length > MOST_KEYS) return refuse(line, `a section of more than ${MOST_KEYS} keys`);
    const map = new Map<string, Raw>();
    for (const { key, value } of at.items) {
      if (!isScalar(key)) {
        refuse(line, 'a key is not plain text');
        continue;
      }
      const text = String(key.value);
      if (map.has(text)) refuse(lineOf(key), `the key ${shownKey(text)} is there twice; keep one`);
      map.set(text, walk(value, depth + 1));
    }
    return map;
  };
  return walk(node, 0);
}

function parse(text: string): Parsed {
  const lines = new LineCounter();
  const mistakes: string[] = [];
  const refuse = (line: number, says: string) => {
    mistakes.push(`line ${line}: ${says}`);
    return undefined;
  };
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    uniqueKeys: false,
    resolveKnownTags: false,
    logLevel: 'error',
  });
  for (const { code, message, pos } of [...document.errors, ...document.warnings])
    refuse(
      lines.linePos(pos[0]).line,
      CURES[message.startsWith('Implicit map keys') ? 'MULTILINE_IMPLICIT_KEY' : code] ??
        message.split('\n')[0] ??
        message,
    );
  const raw =
    mistakes.length > 0 ? null : plain(document.contents, (node) => lines.linePos(node.range?.[0] ?? 0).line, refuse);
  if (mistakes.length > 0) return { ok: false, mistakes };
  if (raw instanceof Map) return { ok: true, raw };
  const empty = raw === null ? 'the configuration is empty' : 'the configuration is not a list of keys with values';
  return { ok: false, mistakes: [`${empty}; gridtide init writes one`] };
}

/** The parser recurses; text made to exhaust it is refused like any other. */
function parseGuarded(text: string): Parsed {
  if (new TextEncoder().encode(text).length > LARGEST)
    return { ok: false, mistakes: [`the configuration is larger than ${LARGEST / 1024} KiB; it is not read`] };
  try {
    return parse(text);
  } catch (error) {
    const why = error instanceof RangeError ? 'it is nested too deeply' : 'it is not YAML';
    return { ok: false, mistakes: [`the configuration cannot be read: ${why}`] };
  }
}

function loadOf({ powerKw, ...values }: LoadValues & { readonly name: string }): Config['loads'][number] {
  return { ...values, power: powerKw };
}

/** Only for values in which no mistake was found. */
function configOf({ budgetKw, loads, ...values }: ConfigValues): Config {
  return {
    ...values,
    ...(budgetKw === undefined ? {} : { budget: budgetKw }),
    loads: loads.map((draft) => loadOf(draft as LoadValues & { readonly name: string })),
  };
}

function told(mistakes: readonly string[]): readonly string[] {
  const once = [...new Set(mistakes)];
  const more = once.length - MOST_MISTAKES;
  return more <= 0 ? once : [...once.slice(0, MOST_MISTAKES), `and ${counted(more, 'more mistake')}`];
}

/** The configuration with every default filled in, or all mistakes: one sentence each, with path, received value and expectation. */
export function readConfig(text: string): ReadConfig {
  const parsed = parseGuarded(text);
  if (!parsed.ok) return { ok: false, mistakes: told(parsed.mistakes) };
  const mistakes: string[] = [];
  const report: Report = (says, ...path) => mistakes.push(`${path.join('.')}: ${says}`);
  const draft = readRows(OPTIONS, parsed.raw, report);
  checkRules(draft, new Set(parsed.raw.keys()), report);
  return mistakes.length > 0
    ? { ok: false, mistakes: told(mistakes) }
    : { ok: true, config: configOf(draft as ConfigValues) };
}

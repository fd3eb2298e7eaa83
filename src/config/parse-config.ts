/** Turns the text of a configuration file into the checked configuration, or into all its mistakes. */

import { type Alias, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { wasUtf16 } from '../domain/text-format.ts';
import { formatCount } from '../domain/units.ts';
import type { Config } from './config.ts';
import { checkRules } from './config-rules.ts';
import { OPTIONS } from './options.ts';
import { readSection } from './read-section.ts';
import { quoteKey, type RawMap, type RawValue, type ReportMistake } from './value-type.ts';

export type ParseConfigResult =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly mistakes: readonly string[] };

/** Far more than any house needs: a larger file is not a configuration. */
export const MAX_CONFIG_BYTES = 256 * 1024;
export const CONFIG_TOO_LARGE = `the configuration is larger than ${MAX_CONFIG_BYTES / 1024} KiB and was not read; shorten it`;
const MAX_NESTING = 12;
const TOO_DEEP = `nested deeper than ${MAX_NESTING} levels`;
/** The parser recurses, and at the end of its stack the engine may end the process: such a text does not reach it. */
const MAX_PARSED_NESTING = 200;
const MAX_MISTAKES = 50;
const MAX_SECTION_KEYS = 200;

type ParsedYaml =
  | { readonly ok: true; readonly raw: RawMap }
  | { readonly ok: false; readonly mistakes: readonly string[] };

/** Our own sentences for common mistakes; the parser's message for the rest. */
const YAML_MISTAKES: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'a tab is used to indent; use spaces',
  BAD_INDENT: 'the indentation does not fit the lines around it, or a bracket is not closed',
  MULTIPLE_DOCS: 'a second document begins; keep everything in one',
  NON_STRING_KEY: 'a key is not plain text',
  BLOCK_AS_IMPLICIT_KEY: 'a second ": " stands on one line; quote the text or start a new line',
  MULTILINE_IMPLICIT_KEY: 'a key has no value; write "key: value", with a space after the colon',
  BAD_SCALAR_START: 'the text begins with a sign that means something to YAML; put it in quotes',
  RESOURCE_EXHAUSTION: TOO_DEEP,
  KEY_OVER_1024_CHARS: 'a key is far too long; is this the configuration?',
};

/** A node of the parser as plain values; mappings become Map, so that no key can reach a prototype. */
function toRawValue(
  node: unknown,
  findLine: (node: Node) => number,
  refuse: (line: number, text: string) => void,
): RawValue {
  const walk = (item: unknown, depth: number): RawValue => {
    if (item === null || item === undefined) return null;
    const line = findLine(item as Node);
    if (depth > MAX_NESTING) return refuse(line, TOO_DEEP);
    if (isAlias(item))
      return refuse(line, `the alias *${quoteKey((item as Alias).source)} is not supported; write the value out`);
    if (isScalar(item)) return item.value;
    if (isSeq(item)) return item.items.map((item) => walk(item, depth + 1));
    if (!isMap(item)) return refuse(line, 'neither a value, a list nor a section');
    if (item.items.length > MAX_SECTION_KEYS) return refuse(line, `a section of more than ${MAX_SECTION_KEYS} keys`);
    const map = new Map<string, RawValue>();
    for (const { key, value } of item.items) {
      if (!isScalar(key)) {
        refuse(line, 'a key is not plain text');
        continue;
      }
      const text = String(key.value);
      if (map.has(text)) refuse(findLine(key), `the key ${quoteKey(text)} appears twice; keep one`);
      map.set(text, walk(value, depth + 1));
    }
    return map;
  };
  return walk(node, 0);
}

function parseYaml(text: string): ParsedYaml {
  const lines = new LineCounter();
  const mistakes: string[] = [];
  const refuse = (line: number, text: string) => {
    mistakes.push(`line ${line}: ${text}`);
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
      YAML_MISTAKES[message.startsWith('Implicit map keys') ? 'MULTILINE_IMPLICIT_KEY' : code] ??
        message.split('\n')[0] ??
        message,
    );
  const raw =
    mistakes.length > 0
      ? null
      : toRawValue(document.contents, (node) => lines.linePos(node.range?.[0] ?? 0).line, refuse);
  if (mistakes.length > 0) return { ok: false, mistakes };
  if (raw instanceof Map) return { ok: true, raw };
  const empty = raw === null ? 'the configuration is empty' : 'the configuration is not a list of keys with values';
  return { ok: false, mistakes: [`${empty}; gridtide init writes one`] };
}

/** The first line that the parser may nest too deeply, counted by the signs that open a list or a section, wherever they stand. */
function findDeepLine(text: string): number | undefined {
  let open = 0;
  const at = text.split('\n').findIndex((line) => {
    for (const sign of line) {
      if (sign === '[' || sign === '{') open += 1;
      else if ((sign === ']' || sign === '}') && open > 0) open -= 1;
      if (open > MAX_PARSED_NESTING) return true;
    }
    return line.split(/[-?:][ \t]/).length > MAX_PARSED_NESTING;
  });
  return at < 0 ? undefined : at + 1;
}

/** A text made to exhaust the parser is refused like any other. */
function parseYamlSafely(text: string): ParsedYaml {
  if (wasUtf16(text))
    return { ok: false, mistakes: ['the configuration is UTF-16, expected UTF-8; save it as UTF-8 and try again'] };
  if (new TextEncoder().encode(text).length > MAX_CONFIG_BYTES) return { ok: false, mistakes: [CONFIG_TOO_LARGE] };
  const deepLine = findDeepLine(text);
  if (deepLine !== undefined)
    return { ok: false, mistakes: [`line ${deepLine}: ${TOO_DEEP}; is this the configuration?`] };
  try {
    return parseYaml(text);
  } catch {
    return { ok: false, mistakes: ['the configuration cannot be read: it is not YAML; gridtide init writes one'] };
  }
}

function limitMistakes(mistakes: readonly string[]): readonly string[] {
  const once = [...new Set(mistakes)];
  const more = once.length - MAX_MISTAKES;
  return more <= 0 ? once : [...once.slice(0, MAX_MISTAKES), `and ${formatCount(more, 'more mistake')}`];
}

/** The configuration with every default filled in, or all mistakes: one sentence each, with path, received value and expectation. */
export function parseConfig(text: string): ParseConfigResult {
  const parsed = parseYamlSafely(text);
  if (!parsed.ok) return { ok: false, mistakes: limitMistakes(parsed.mistakes) };
  const mistakes: string[] = [];
  const report: ReportMistake = (text, ...path) => mistakes.push(`${path.join('.')}: ${text}`);
  const draft = readSection(OPTIONS, parsed.raw, report);
  checkRules(draft, new Set(parsed.raw.keys()), report);
  if (mistakes.length > 0) return { ok: false, mistakes: limitMistakes(mistakes) };
  // Without a mistake each load has every required option.
  return { ok: true, config: withSiteObjective(draft as Config) };
}

/** Each load with its own objective, else that of the site. */
function withSiteObjective(config: Config): Config {
  const { objective, maxDearer, carbonPrice } = config;
  const site = { objective, maxDearer, ...(carbonPrice === undefined ? {} : { carbonPrice }) };
  return config.tariff === undefined
    ? config
    : { ...config, loads: config.loads.map((load) => ({ ...site, ...load })) };
}

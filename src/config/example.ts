/** Writes a commented configuration: what is given in force, every other option beside it as a comment with its default. */

import type { About, Presence, Raw, Row, Rows } from './kind.ts';
import { OPTIONS } from './options.ts';

/** What goes into the file, in the shape of the file. */
export type Given = { readonly [key: string]: GivenValue };
export type GivenValue = string | number | boolean | readonly (number | string)[] | Given;

const isGiven = (value: GivenValue | undefined): value is Given => typeof value === 'object' && !Array.isArray(value);

const PLAIN = /^(?:[A-Za-z/][\w./-]*(?::\/\/[\w.:/[\]-]*\w)?|\d+(?:\.\d+)?[dhms])$/;
const AMBIGUOUS = /^(?:true|false|null|yes|no|y|n)$/i;

/** One value on one line; text in quotes unless it can be nothing else. */
function scalar(value: GivenValue): string {
  if (typeof value === 'string') return PLAIN.test(value) && !AMBIGUOUS.test(value) ? value : JSON.stringify(value);
  if (isGiven(value))
    return `{${Object.entries(value)
      .map(([key, part]) => `${key}: ${scalar(part)}`)
      .join(', ')}}`;
  return Array.isArray(value) ? `[${value.join(', ')}]` : String(value);
}

const flows = (key: string) => ['output', 'goal', 'place'].includes(key);

interface Page {
  readonly depth: number;
  readonly about: About;
  /** Options whose meaning stands beside them already: said once is enough. */
  readonly explained: Set<Row<unknown, Presence>>;
}

const beside = (text: string, help: string) => (help === '' ? text : `${text.padEnd(42)} # ${help}`);

function choiceLines(key: string, row: Row<unknown, Presence>, given: Given | undefined, page: Page): string[] {
  const value = given?.[key];
  if (value === undefined && row.only !== undefined && row.only !== page.about.levels) return [];
  const indent = '  '.repeat(page.depth);
  const isNew = !page.explained.has(row);
  page.explained.add(row);
  const help = isNew ? row.help : '';
  const { inside, named } = row.kind;
  if (value === undefined) {
    const fallback: Raw = row.fallback?.(page.about);
    const shown = fallback === undefined ? (row.fallback === undefined ? '' : 'none') : scalar(fallback as GivenValue);
    if (shown === '' && !isNew) return [];
    return [beside(`${indent}# ${key}:${shown === '' ? '' : ` ${shown}`}`, help)];
  }
  if (!isGiven(value) || inside === undefined || flows(key)) return [beside(`${indent}${key}: ${scalar(value)}`, help)];
  const deeper = { ...page, depth: page.depth + 1 };
  if (named !== true) return [beside(`${indent}${key}:`, help), ...pageLines(inside, value, deeper)];
  const parts = Object.entries(value).flatMap(([name, part]) => [
    `${indent}  ${name}:`,
    ...pageLines(inside, isGiven(part) ? part : {}, { ...page, depth: page.depth + 2, about: aboutOf(part) }),
  ]);
  return [beside(`${indent}${key}:`, help), ...parts];
}

const pageLines = (rows: Rows, given: Given | undefined, page: Page): string[] =>
  Object.entries(rows).flatMap(([key, row]) => choiceLines(key, row, given, page));

const TYPES: readonly About['type'][] = ['ev', 'heat-pump', 'tank', 'generic'];
const NOTHING: About = { type: 'generic', levels: 'relay', onBelow: 33 };

function aboutOf(part: GivenValue | undefined): About {
  if (!isGiven(part)) return NOTHING;
  const output = isGiven(part.output) ? part.output : {};
  return {
    type: TYPES.find((type) => type === part.type) ?? 'generic',
    levels: output.kind === 'sg-ready' || output.as === 'sg-ready' ? 'sg-ready' : 'relay',
    onBelow: typeof part.onBelow === 'number' ? part.onBelow : 33,
  };
}

/** The text of a configuration file that says `given`; it passes the check when `given` does. */
export const commented = (given: Given) =>
  [
    '# What gridtide switches, where, and by which signal. Lines behind # show other options and their defaults.',
    ...pageLines(OPTIONS, given, { depth: 0, about: NOTHING, explained: new Set() }),
    '',
  ].join('\n');

const EXAMPLE: Given = {
  device: 'cellar',
  place: { latitude: 38.5, longitude: -122, timezone: 'America/Los_Angeles' },
  service: {
    url: 'https://signal.example',
    usernameFile: '/etc/gridtide/username',
    passwordFile: '/etc/gridtide/password',
  },
  mqtt: { url: 'mqtt://localhost:1883' },
  loads: {
    car: {
      type: 'ev',
      output: { kind: 'mqtt', preset: 'openevse-claim', topic: 'openevse-1a2b' },
      powerKw: 7.2,
      goal: { need: '4h', by: { 'mon-fri': '07:00', 'sat-sun': '09:00' } },
    },
    heating: { type: 'heat-pump', output: { kind: 'sg-ready', pins: [17, 27], activeLow: true }, powerKw: 2 },
    water: { type: 'tank', output: { kind: 'relay', pin: 22 }, powerKw: 2 },
  },
};

/** A whole commented configuration: a charger, a heat pump and a water heater. */
export const example = () => commented(EXAMPLE);

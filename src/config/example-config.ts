/** Writes a commented configuration: the given options, and every other option as a comment with its default. */

import { OPTIONS } from './options.ts';
import {
  type ConfigRow,
  type ConfigRows,
  type DefaultContext,
  GENERIC_CONTEXT,
  loadTypes,
  type Presence,
  type RawValue,
} from './value-type.ts';

/** The content of the file. */
export type ConfigTree = { readonly [key: string]: ConfigTreeValue };
export type ConfigTreeValue = string | number | boolean | readonly (number | string | ConfigTree)[] | ConfigTree;

const isConfigTree = (value: ConfigTreeValue | undefined): value is ConfigTree =>
  typeof value === 'object' && !Array.isArray(value);

const PLAIN_TEXT = /^(?:[A-Za-z/][\w./-]*(?::\/\/[\w.:/[\]-]*\w)?|\d+(?:\.\d+)?[dhms])$/;
const AMBIGUOUS_TEXT = /^(?:true|false|null|yes|no|y|n)$/i;

/** One value on one line; ambiguous text in quotes. */
function formatValue(value: ConfigTreeValue): string {
  if (typeof value === 'string')
    return PLAIN_TEXT.test(value) && !AMBIGUOUS_TEXT.test(value) ? value : JSON.stringify(value);
  if (isConfigTree(value))
    return `{${Object.entries(value)
      .map(([key, part]) => `${key}: ${formatValue(part)}`)
      .join(', ')}}`;
  return Array.isArray(value)
    ? `[${value.map((part) => (isConfigTree(part) ? formatValue(part) : part)).join(', ')}]`
    : String(value);
}

const isInline = (key: string) => ['output', 'goal', 'place'].includes(key);

interface ExampleState {
  readonly depth: number;
  readonly context: DefaultContext;
  /** Options whose help is already printed: once is enough. */
  readonly explainedRows: Set<ConfigRow<unknown, Presence>>;
}

const appendHelp = (text: string, help: string) => (help === '' ? text : `${text.padEnd(42)} # ${help}`);

function formatOption(
  key: string,
  row: ConfigRow<unknown, Presence>,
  tree: ConfigTree | undefined,
  state: ExampleState,
): string[] {
  const value = tree?.[key];
  if (value === undefined && row.onlyFor !== undefined && row.onlyFor !== state.context.levelSet) return [];
  const indent = '  '.repeat(state.depth);
  const isNew = !state.explainedRows.has(row);
  state.explainedRows.add(row);
  const help = isNew ? row.help : '';
  const { rows: inside, hasNamedKeys: named } = row.valueType;
  if (value === undefined) {
    const fallback: RawValue = row.defaultFor?.(state.context);
    const defaultText =
      fallback === undefined ? (row.defaultFor === undefined ? '' : 'none') : formatValue(fallback as ConfigTreeValue);
    if (defaultText === '' && !isNew) return [];
    return [appendHelp(`${indent}# ${key}:${defaultText === '' ? '' : ` ${defaultText}`}`, help)];
  }
  if (!isConfigTree(value) || inside === undefined || isInline(key))
    return [appendHelp(`${indent}${key}: ${formatValue(value)}`, help)];
  const deeper = { ...state, depth: state.depth + 1 };
  if (named !== true) return [appendHelp(`${indent}${key}:`, help), ...formatSection(inside, value, deeper)];
  const parts = Object.entries(value).flatMap(([name, part]) => [
    `${indent}  ${name}:`,
    ...formatSection(inside, isConfigTree(part) ? part : {}, {
      ...state,
      depth: state.depth + 2,
      context: inferDefaultContext(part),
    }),
  ]);
  return [appendHelp(`${indent}${key}:`, help), ...parts];
}

const formatSection = (rows: ConfigRows, tree: ConfigTree | undefined, state: ExampleState): string[] =>
  Object.entries(rows).flatMap(([key, row]) => formatOption(key, row, tree, state));

function inferDefaultContext(part: ConfigTreeValue | undefined): DefaultContext {
  if (!isConfigTree(part)) return GENERIC_CONTEXT;
  const output = isConfigTree(part.output) ? part.output : {};
  return {
    type: loadTypes.find((type) => type === part.type) ?? 'generic',
    levelSet: output.kind === 'sg-ready' || output.as === 'sg-ready' ? 'sg-ready' : 'relay',
    onBelow: typeof part.onBelow === 'number' ? part.onBelow : 33,
  };
}

/** The text of a configuration file with the values of `tree`; it is valid when they are. */
export const formatCommentedConfig = (tree: ConfigTree) =>
  [
    '# What gridtide switches, where, and by which signal. Lines behind # show other options and their defaults.',
    ...formatSection(OPTIONS, tree, { depth: 0, context: GENERIC_CONTEXT, explainedRows: new Set() }),
    '',
  ].join('\n');

/** Stands where the address of the service is not known yet. */
export const PLACEHOLDER_URL = 'https://signal.example';

const EXAMPLE: ConfigTree = {
  device: 'cellar',
  place: { latitude: 38.5, longitude: -122, timezone: 'America/Los_Angeles' },
  service: {
    url: PLACEHOLDER_URL,
    usernameFile: 'username',
    passwordFile: 'password',
  },
  mqtt: { url: 'mqtt://localhost:1883' },
  loads: {
    car: {
      type: 'ev',
      output: { kind: 'mqtt', preset: 'openevse-claim', topic: 'openevse-1a2b' },
      powerKw: 7.2,
      goal: { need: '4h', by: { 'mon-fri': '07:00', 'sat-sun': '09:00' } },
    },
    heating: { type: 'heat-pump', output: { kind: 'sg-ready', pins: [5, 6], activeLow: true }, powerKw: 2 },
    water: { type: 'tank', output: { kind: 'relay', pin: 22 }, powerKw: 2 },
  },
};

const DRY_OUTPUTS: Readonly<Record<string, ConfigTree>> = { heating: { kind: 'dry-run', as: 'sg-ready' } };

/** The example with simulated outputs and without a broker: it runs on any machine. */
function buildDryExample(): ConfigTree {
  const { mqtt: _, loads, ...site } = EXAMPLE;
  const dryLoads = Object.entries(loads as Readonly<Record<string, ConfigTree>>).map(([name, load]) => [
    name,
    { ...load, output: DRY_OUTPUTS[name] ?? { kind: 'dry-run' } },
  ]);
  return { ...site, loads: Object.fromEntries(dryLoads) };
}

/** A whole commented configuration: a charger, a heat pump and a water heater. */
export const buildExampleConfig = ({ isDry = false } = {}) =>
  formatCommentedConfig(isDry ? buildDryExample() : EXAMPLE);

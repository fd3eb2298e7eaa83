/** The names of the faults, the rules of a script, and which rules strike a request. */

import { isPlanName, planNames } from '../accounts/plans.ts';
import type { ApiRequest } from '../http/route-types.ts';
import { parseServiceTime } from '../http/service-times.ts';

/** Whether a path answers with points and their `meta`. */
export const isDataPath = (path: string) => /^\/v3\/(forecast|historical|signal-index)/.test(path);

/** The paths that a fault can strike. */
const pathFilters = {
  any: () => true,
  v3: (path: string) => path.startsWith('/v3/'),
  data: isDataPath,
  forecast: (path: string) => path === '/v3/forecast',
  map: (path: string) => path === '/v3/maps' || path === '/v3/region-from-loc',
};

const atLeast = (least: number) => (value: unknown) =>
  typeof value === 'number' && Number.isFinite(value) && value >= least;
const isText = (value: unknown) => typeof value === 'string';

/** What a rule's `value` may be, in words and as a test. */
const valueKinds = {
  none: ['expected: this fault takes none', () => false],
  text: ['a text', isText],
  seconds: ['a number of seconds', atLeast(Number.NEGATIVE_INFINITY)],
  minutes: ['a number of minutes of at least 0', atLeast(0)],
  pause: ['a number of milliseconds of at least 1', atLeast(1)],
  megabytes: [
    'a whole number of megabytes within 1 to 1024',
    (n: unknown) => Number.isInteger(n) && atLeast(1)(n) && Number(n) <= 1_024,
  ],
  wait: ['a number of seconds of at least 0, or a text', (value: unknown) => atLeast(0)(value) || isText(value)],
  rename: [
    'OLD:NEW, two names of regions',
    (value: unknown) => isText(value) && /^[^:"\\]+:[^:"\\]+$/.test(String(value)),
  ],
  plan: [`one of ${planNames.join(', ')}`, (value: unknown) => isPlanName(String(value))],
} as const satisfies Readonly<Record<string, readonly [string, (value: unknown) => boolean]>>;

/** Every fault: the paths it strikes, and what its `value` may be. */
const faultTable = {
  '401': ['v3', 'none'],
  '401-mid-life': ['v3', 'minutes'],
  'html-401': ['v3', 'minutes'],
  'html-403': ['v3', 'minutes'],
  '429': ['any', 'wait'],
  '429-bare': ['any', 'none'],
  '500': ['any', 'none'],
  '502-html': ['any', 'none'],
  '503': ['any', 'none'],
  redirect: ['any', 'text'],
  'captive-portal': ['any', 'none'],
  'clock-skew': ['any', 'seconds'],
  'slow-body': ['any', 'pause'],
  'cut-body': ['any', 'none'],
  hang: ['any', 'none'],
  'gzip-bomb': ['any', 'megabytes'],
  'truncated-json': ['any', 'none'],
  empty: ['any', 'text'],
  'text-values': ['data', 'text'],
  nulls: ['data', 'none'],
  'repeated-points': ['data', 'none'],
  'unsorted-points': ['data', 'none'],
  'missing-points': ['data', 'none'],
  'older-generated-at': ['forecast', 'minutes'],
  'model-switch': ['data', 'none'],
  'wrong-units': ['data', 'text'],
  'wrong-region': ['data', 'text'],
  'no-warnings-field': ['data', 'none'],
  warnings: ['data', 'text'],
  'map-border': ['map', 'none'],
  'map-rename': ['v3', 'rename'],
  'plan-change': ['any', 'plan'],
} as const satisfies Readonly<Record<string, readonly [keyof typeof pathFilters, keyof typeof valueKinds]>>;

export type FaultName = keyof typeof faultTable;
export const faultNames = Object.keys(faultTable) as readonly FaultName[];

export interface FaultRule {
  readonly fault: FaultName;
  /** Only paths that start so, such as `/v3/forecast`. */
  readonly path?: string;
  /** Only requests with this `region`. */
  readonly region?: string;
  /** Milliseconds since 1970 on the service's clock, `until` exclusive. */
  readonly from?: number;
  readonly until?: number;
  /** Matching requests let through first. */
  readonly skip?: number;
  /** Of the requests after those, each so-many-th is struck; 1 is each. */
  readonly every?: number;
  /** Requests struck at most. */
  readonly times?: number;
  /** A parameter of the fault: seconds, megabytes, names (see the README). */
  readonly value?: string | number;
}

/** A rule at work, with how often it matched and struck. */
export interface ActiveFault {
  readonly rule: FaultRule;
  matched: number;
  struck: number;
}

const isFault = (name: unknown): name is FaultName => (faultNames as readonly unknown[]).includes(name);

function findMistake(name: string, value: unknown): string | undefined {
  const isWhole = typeof value === 'number' && Number.isInteger(value) && value >= 0;
  switch (name) {
    case 'fault':
      return isFault(value) ? undefined : `"${String(value)}" is not one of ${faultNames.join(', ')}`;
    case 'path':
      return typeof value === 'string' && value.startsWith('/') ? undefined : 'is not a path that starts with /';
    case 'region':
      return typeof value === 'string' ? undefined : 'is not a text';
    case 'from':
    case 'until':
      return typeof value === 'string' && parseServiceTime(value) !== undefined
        ? undefined
        : 'is not a time with a zone';
    case 'skip':
      return isWhole ? undefined : 'is not a whole number of at least 0';
    case 'every':
    case 'times':
      return isWhole && value >= 1 ? undefined : 'is not a whole number of at least 1';
    case 'value':
      // What it may be depends on the fault.
      return undefined;
    default:
      return 'is not known here';
  }
}

function parseRule(value: unknown, place: string): FaultRule | readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${place} is not an object`];
  const fields = Object.entries(value);
  const mistakes = fields.flatMap(([name, field]) => {
    const mistake = findMistake(name, field);
    return mistake === undefined ? [] : [`${place}.${name} ${mistake}`];
  });
  const { fault, value: ruleValue } = value as Readonly<Record<string, unknown>>;
  if (fault === undefined) mistakes.push(`${place}.fault is missing`);
  if (isFault(fault) && ruleValue !== undefined) {
    const [words, fits] = valueKinds[faultTable[fault][1]];
    if (!fits(ruleValue)) mistakes.push(`${place}.value is not ${words}`);
  }
  if (mistakes.length > 0) return mistakes;

  const parseTimeField = (name: string, field: unknown) =>
    name === 'from' || name === 'until' ? parseServiceTime(String(field)) : field;
  const rule = Object.fromEntries(
    fields.map(([name, field]) => [name, parseTimeField(name, field)]),
  ) as unknown as FaultRule;
  const { from = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = rule;
  return until > from ? rule : [`${place}.until is not after from`];
}

/** Rules of a script, a JSON list of objects; or all its mistakes. */
export function parseFaultScript(text: string): readonly FaultRule[] | { readonly mistakes: readonly string[] } {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    return { mistakes: ['the script is not JSON'] };
  }
  if (!Array.isArray(list)) return { mistakes: ['the script is not a list of rules'] };
  const rules = list.map((value, i) => parseRule(value, `[${i}]`));
  const mistakes = rules.flatMap((rule) => (Array.isArray(rule) ? rule : []));
  return mistakes.length > 0 ? { mistakes } : (rules as readonly FaultRule[]);
}

/** The rule of a bare name: it strikes every request that it can. */
export const createRule = (name: string): FaultRule | undefined => (isFault(name) ? { fault: name } : undefined);

function isMatch({ fault, path, region, from, until }: FaultRule, request: ApiRequest): boolean {
  return (
    pathFilters[faultTable[fault][0]](request.path) &&
    (path === undefined || request.path.startsWith(path)) &&
    (region === undefined || request.query.get('region') === region) &&
    (from === undefined || request.now >= from) &&
    (until === undefined || request.now < until)
  );
}

export const createActiveFaults = (rules: readonly FaultRule[]): ActiveFault[] =>
  rules.map((rule) => ({ rule, matched: 0, struck: 0 }));

/** The rules that strike this request; counts them. */
export function selectStrikingRules(faults: readonly ActiveFault[], request: ApiRequest): readonly FaultRule[] {
  return faults
    .filter((fault) => {
      if (!isMatch(fault.rule, request)) return false;
      const { skip = 0, every = 1, times = Number.POSITIVE_INFINITY } = fault.rule;
      const turn = fault.matched - skip;
      fault.matched += 1;
      const isStruck = turn >= 0 && turn % every === 0 && fault.struck < times;
      if (isStruck) fault.struck += 1;
      return isStruck;
    })
    .map(({ rule }) => rule);
}

/** A rule's number, or the fault's own. */
export const readAmount = ({ value }: FaultRule, own: number) => (typeof value === 'number' ? value : own);

/** Which faults strike which calls: names, rules read from a script, and the counting of hits. Breaks nothing itself. */

import { isPlan, planNames } from './plans.ts';
import type { Call } from './service.ts';
import { readTime } from './times.ts';

/** Where a fault strikes: instead of the answer, on the request, on the answer's values, or on the wire. */
export const faultNames = [
  '401-mid-life',
  'html-401',
  'html-403',
  '429',
  '429-bare',
  '500',
  '502-html',
  '503',
  'redirect',
  'captive-portal',
  'clock-skew',
  'slow-body',
  'cut-body',
  'hang',
  'gzip-bomb',
  'truncated-json',
  'text-values',
  'nulls',
  'repeated-points',
  'unsorted-points',
  'missing-points',
  'older-generated-at',
  'model-switch',
  'wrong-units',
  'wrong-region',
  'no-warnings-field',
  'warnings',
  'map-border',
  'map-rename',
  'plan-change',
] as const;
export type FaultName = (typeof faultNames)[number];

export interface FaultRule {
  readonly fault: FaultName;
  /** Only paths that start so, such as `/v3/forecast`. */
  readonly path?: string;
  /** Only calls with this `region`. */
  readonly region?: string;
  /** Milliseconds since 1970 on the service's clock, `until` exclusive. */
  readonly from?: number;
  readonly until?: number;
  /** Matching calls let through first. */
  readonly skip?: number;
  /** Of the calls after those, each so-many-th is struck; 1 is each. */
  readonly every?: number;
  /** Calls struck at most. */
  readonly times?: number;
  /** What the fault needs to know: seconds, megabytes, names; the README tells. */
  readonly value?: string | number;
}

/** A rule at work, with how often it matched and struck. */
export interface Fault {
  readonly rule: FaultRule;
  matched: number;
  struck: number;
}

const isFault = (name: unknown): name is FaultName => (faultNames as readonly unknown[]).includes(name);

function mistakeIn(name: string, value: unknown): string | undefined {
  const whole = typeof value === 'number' && Number.isInteger(value) && value >= 0;
  switch (name) {
    case 'fault':
      return isFault(value) ? undefined : `"${String(value)}" is not one of ${faultNames.join(', ')}`;
    case 'path':
      return typeof value === 'string' && value.startsWith('/') ? undefined : 'is not a path that starts with /';
    case 'region':
      return typeof value === 'string' ? undefined : 'is not a text';
    case 'from':
    case 'until':
      return typeof value === 'string' && readTime(value) !== undefined ? undefined : 'is not a time with a zone';
    case 'skip':
      return whole ? undefined : 'is not a whole number of at least 0';
    case 'every':
    case 'times':
      return whole && value >= 1 ? undefined : 'is not a whole number of at least 1';
    case 'value':
      return typeof value === 'string' || typeof value === 'number' ? undefined : 'is neither text nor number';
    default:
      return 'is not known here';
  }
}

function readRule(value: unknown, place: string): FaultRule | readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${place} is not an object`];
  const fields = Object.entries(value);
  const mistakes = fields.flatMap(([name, field]) => {
    const mistake = mistakeIn(name, field);
    return mistake === undefined ? [] : [`${place}.${name} ${mistake}`];
  });
  if ('fault' in value && value.fault === 'plan-change' && !isPlan(String('value' in value ? value.value : 'free')))
    mistakes.push(`${place}.value is not one of ${planNames.join(', ')}`);
  if (!('fault' in value)) mistakes.push(`${place}.fault is missing`);
  if (mistakes.length > 0) return mistakes;
  const times = Object.fromEntries(
    fields.map(([name, field]) => [name, name === 'from' || name === 'until' ? readTime(String(field)) : field]),
  );
  return times as unknown as FaultRule;
}

/** Rules of a script, a JSON list of objects; or all its mistakes. */
export function readFaultScript(text: string): readonly FaultRule[] | { readonly mistakes: readonly string[] } {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    return { mistakes: ['the script is not JSON'] };
  }
  if (!Array.isArray(list)) return { mistakes: ['the script is not a list of rules'] };
  const rules = list.map((value, i) => readRule(value, `[${i}]`));
  const mistakes = rules.flatMap((rule) => (Array.isArray(rule) ? rule : []));
  return mistakes.length > 0 ? { mistakes } : (rules as readonly FaultRule[]);
}

/** A name by itself strikes each call it can. */
export const ruleNamed = (name: string): FaultRule | undefined => (isFault(name) ? { fault: name } : undefined);

const onData = (path: string) => /^\/v3\/(forecast|historical|signal-index)/.test(path);
const onForecast = (path: string) => path === '/v3/forecast';

/** Paths a fault has something to do on. */
function concerns(fault: FaultName, path: string): boolean {
  switch (fault) {
    case 'text-values':
    case 'nulls':
    case 'repeated-points':
    case 'unsorted-points':
    case 'missing-points':
    case 'model-switch':
    case 'wrong-units':
    case 'wrong-region':
    case 'no-warnings-field':
    case 'warnings':
      return onData(path);
    case 'older-generated-at':
      return onForecast(path);
    case '401-mid-life':
    case 'html-401':
    case 'html-403':
      return path.startsWith('/v3/');
    case 'map-border':
      return path === '/v3/maps' || path === '/v3/region-from-loc';
    case 'map-rename':
    case 'plan-change':
      return path.startsWith('/v3/');
    case '429':
    case '429-bare':
    case '500':
    case '502-html':
    case '503':
    case 'redirect':
    case 'captive-portal':
    case 'clock-skew':
    case 'slow-body':
    case 'cut-body':
    case 'hang':
    case 'gzip-bomb':
    case 'truncated-json':
      return true;
  }
}

function matches({ fault, path, region, from, until }: FaultRule, call: Call): boolean {
  return (
    concerns(fault, call.path) &&
    (path === undefined || call.path.startsWith(path)) &&
    (region === undefined || call.query.get('region') === region) &&
    (from === undefined || call.now >= from) &&
    (until === undefined || call.now < until)
  );
}

export const faultsOf = (rules: readonly FaultRule[]): Fault[] =>
  rules.map((rule) => ({ rule, matched: 0, struck: 0 }));

/** The rules that strike this call; counts them. */
export function striking(faults: readonly Fault[], call: Call): readonly FaultRule[] {
  return faults
    .filter((fault) => {
      if (!matches(fault.rule, call)) return false;
      const { skip = 0, every = 1, times = Number.POSITIVE_INFINITY } = fault.rule;
      const turn = fault.matched - skip;
      fault.matched += 1;
      const strikes = turn >= 0 && turn % every === 0 && fault.struck < times;
      if (strikes) fault.struck += 1;
      return strikes;
    })
    .map(({ rule }) => rule);
}

/** A rule's number, or the fault's own. */
export const amount = ({ value }: FaultRule, own: number) => {
  const n = Number(value ?? own);
  return Number.isFinite(n) ? n : own;
};

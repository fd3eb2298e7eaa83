/** Reads query parameters one by one and collects what is wrong with them; a value read with a problem is a harmless filler. */

import type { InputProblem } from './response.ts';
import { parseServiceTime } from './service-times.ts';

export interface QueryReader {
  readonly problems: readonly InputProblem[];
  /** A required text. */
  text(name: string): string;
  optionalText(name: string): string | undefined;
  /** One of the words. */
  oneOf<Word extends string>(name: string, words: readonly Word[], options?: { readonly fallback?: Word }): Word;
  /** A required time in milliseconds since 1970. */
  time(name: string): number;
  optionalTime(name: string): number | undefined;
  number(name: string, from: number, to: number): number;
  integer(name: string, from: number, to: number, fallback: number): number;
  flag(name: string): boolean;
  /** Adds a problem found by the caller. */
  reject(name: string, message: string): void;
}

/** Parameters that a query has more than once. */
export const findRepeatedNames = (query: URLSearchParams) =>
  new Set([...query.keys()].filter((name, i, all) => all.indexOf(name) !== i));

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

export function createQueryReader(query: URLSearchParams): QueryReader {
  const problems: InputProblem[] = [];
  const addProblem = (name: string, message: string, kind: InputProblem['kind'] = 'value_error') => {
    problems.push({ in: 'query', name, message, kind });
  };
  for (const name of findRepeatedNames(query)) addProblem(name, 'is given more than once');
  const findText = (name: string) => {
    const value = query.get(name);
    return value === null || value.trim() === '' || value === 'null' ? undefined : value.trim();
  };
  const requireText = (name: string) => {
    const value = findText(name);
    if (value === undefined) addProblem(name, 'field required', 'missing');
    return value;
  };
  const readTimeParameter = (name: string, text: string | undefined) => {
    if (text === undefined) return undefined;
    const at = parseServiceTime(text);
    if (at === undefined)
      addProblem(name, `"${text.slice(0, 40)}" is not an ISO 8601 time with a zone, such as 2026-01-01T00:00:00+00:00`);
    return at;
  };
  const readNumberParameter = (
    name: string,
    text: string | undefined,
    test: (n: number) => boolean,
    expected: string,
  ) => {
    if (text === undefined) return undefined;
    const n = DECIMAL.test(text) ? Number(text) : Number.NaN;
    if (Number.isFinite(n) && test(n)) return n;
    addProblem(name, `"${text.slice(0, 40)}" is not ${expected}`, Number.isFinite(n) ? 'value_error' : 'type_error');
    return undefined;
  };
  return {
    problems,
    text: (name) => requireText(name) ?? '',
    optionalText: findText,
    oneOf(name, words, { fallback } = {}) {
      const value = fallback === undefined ? requireText(name) : (findText(name) ?? fallback);
      const found = words.find((word) => word === value);
      if (found === undefined && value !== undefined)
        addProblem(name, `"${value.slice(0, 40)}" is not one of ${words.join(', ')}`);
      const filler = words[0];
      if (filler === undefined) throw new Error(`${name} has no words`);
      return found ?? filler;
    },
    time: (name) => readTimeParameter(name, requireText(name)) ?? Number.NaN,
    optionalTime: (name) => readTimeParameter(name, findText(name)),
    number: (name, from, to) =>
      readNumberParameter(name, requireText(name), (n) => n >= from && n <= to, `a number within ${from} to ${to}`) ??
      Number.NaN,
    integer: (name, from, to, fallback) =>
      readNumberParameter(
        name,
        findText(name),
        (n) => Number.isInteger(n) && n >= from && n <= to,
        `a whole number within ${from} to ${to}`,
      ) ?? fallback,
    flag(name) {
      const value = findText(name)?.toLowerCase();
      if (value === undefined || value === 'false' || value === '0') return false;
      if (value !== 'true' && value !== '1')
        addProblem(name, `"${value.slice(0, 40)}" is neither true nor false`, 'type_error');
      return true;
    },
    reject: (name, message) => addProblem(name, message),
  };
}

/** Reads query parameters one by one and collects what is wrong with them. A value read with a problem is a harmless filler. */

import type { Problem } from './answer.ts';
import { readTime } from './times.ts';

export interface Asking {
  readonly problems: readonly Problem[];
  /** A required text. */
  text(name: string): string;
  optional(name: string): string | undefined;
  /** One of the words. */
  word<Word extends string>(name: string, words: readonly Word[], options?: { readonly fallback?: Word }): Word;
  /** A required time in milliseconds since 1970. */
  time(name: string): number;
  optionalTime(name: string): number | undefined;
  number(name: string, from: number, to: number): number;
  whole(name: string, from: number, to: number, fallback: number): number;
  flag(name: string): boolean;
  /** Adds a problem found by the caller. */
  object(name: string, message: string): void;
}

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

export function asking(query: URLSearchParams): Asking {
  const problems: Problem[] = [];
  const say = (name: string, message: string, kind: Problem['kind'] = 'value_error') => {
    problems.push({ in: 'query', name, message, kind });
  };
  const given = (name: string) => {
    const value = query.get(name);
    return value === null || value.trim() === '' || value === 'null' ? undefined : value.trim();
  };
  const required = (name: string) => {
    const value = given(name);
    if (value === undefined) say(name, 'field required', 'missing');
    return value;
  };
  const timeIn = (name: string, text: string | undefined) => {
    if (text === undefined) return undefined;
    const at = readTime(text);
    if (at === undefined)
      say(name, `"${text.slice(0, 40)}" is not an ISO 8601 time with a zone, such as 2026-01-01T00:00:00+00:00`);
    return at;
  };
  const numberIn = (name: string, text: string | undefined, test: (n: number) => boolean, wanted: string) => {
    if (text === undefined) return undefined;
    const n = DECIMAL.test(text) ? Number(text) : Number.NaN;
    if (Number.isFinite(n) && test(n)) return n;
    say(name, `"${text.slice(0, 40)}" is not ${wanted}`, Number.isFinite(n) ? 'value_error' : 'type_error');
    return undefined;
  };
  return {
    problems,
    text: (name) => required(name) ?? '',
    optional: given,
    word(name, words, { fallback } = {}) {
      const value = fallback === undefined ? required(name) : (given(name) ?? fallback);
      const found = words.find((word) => word === value);
      if (found === undefined && value !== undefined)
        say(name, `"${value.slice(0, 40)}" is not one of ${words.join(', ')}`);
      const filler = words[0];
      if (filler === undefined) throw new Error(`${name} has no words`);
      return found ?? filler;
    },
    time: (name) => timeIn(name, required(name)) ?? Number.NaN,
    optionalTime: (name) => timeIn(name, given(name)),
    number: (name, from, to) =>
      numberIn(name, required(name), (n) => n >= from && n <= to, `a number within ${from} to ${to}`) ?? Number.NaN,
    whole: (name, from, to, fallback) =>
      numberIn(
        name,
        given(name),
        (n) => Number.isInteger(n) && n >= from && n <= to,
        `a whole number within ${from} to ${to}`,
      ) ?? fallback,
    flag(name) {
      const value = given(name)?.toLowerCase();
      if (value === undefined || value === 'false' || value === '0') return false;
      if (value !== 'true' && value !== '1')
        say(name, `"${value.slice(0, 40)}" is neither true nor false`, 'type_error');
      return true;
    },
    object: (name, message) => say(name, message),
  };
}

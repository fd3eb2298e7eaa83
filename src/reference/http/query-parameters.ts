/** Reads query parameters one by one and collects what is wrong with them; a value read with a problem is a harmless filler. */

import type { InputProblem } from './response.ts';
import { parseServiceTime } from './service-times.ts';

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** Parameters that a query has more than once. */
export const findRepeatedNames = (query: URLSearchParams) =>
  new Set([...query.keys()].filter((name, i, all) => all.indexOf(name) !== i));

export class QueryReader {
  readonly problems: InputProblem[] = [];
  private readonly query: URLSearchParams;

  constructor(query: URLSearchParams) {
    this.query = query;
    for (const name of findRepeatedNames(query)) this.reject(name, 'is given more than once');
  }

  reject(name: string, message: string, kind: InputProblem['kind'] = 'value_error'): void {
    this.problems.push({ in: 'query', name, message, kind });
  }

  optionalText(name: string): string | undefined {
    const value = this.query.get(name)?.trim();
    return value === undefined || value === '' || value === 'null' ? undefined : value;
  }

  /** A required text. */
  text(name: string): string {
    const value = this.optionalText(name);
    if (value === undefined) this.reject(name, 'field required', 'missing');
    return value ?? '';
  }

  /** One of the words, required unless there is a fallback. */
  oneOf<Word extends string>(name: string, words: readonly [Word, ...Word[]], fallback?: Word): Word {
    const value = fallback === undefined ? this.text(name) : (this.optionalText(name) ?? fallback);
    const found = words.find((word) => word === value);
    if (found === undefined && value !== '')
      this.reject(name, `${quoteInput(value)} is not one of ${words.join(', ')}`);
    return found ?? words[0];
  }

  /** A required time in milliseconds since 1970. */
  time(name: string): number {
    return this.parseTime(name, this.text(name)) ?? Number.NaN;
  }

  optionalTime(name: string): number | undefined {
    return this.parseTime(name, this.optionalText(name) ?? '');
  }

  /** A required number. */
  number(name: string, from: number, to: number): number {
    const text = this.text(name);
    if (text === '') return Number.NaN;
    return this.parseNumber(name, text, { from, to, kind: 'number' }) ?? Number.NaN;
  }

  integer(name: string, { from, to, fallback }: { from: number; to: number; fallback: number }): number {
    const text = this.optionalText(name);
    return text === undefined
      ? fallback
      : (this.parseNumber(name, text, { from, to, kind: 'whole number' }) ?? fallback);
  }

  flag(name: string): boolean {
    const value = this.optionalText(name)?.toLowerCase();
    if (value === undefined || value === 'false' || value === '0') return false;
    if (value !== 'true' && value !== '1')
      this.reject(name, `${quoteInput(value)} is neither true nor false`, 'type_error');
    return true;
  }

  private parseTime(name: string, text: string): number | undefined {
    const at = parseServiceTime(text);
    if (at === undefined && text !== '')
      this.reject(name, `${quoteInput(text)} is not an ISO 8601 time with a zone, such as 2026-01-01T00:00:00+00:00`);
    return at;
  }

  private parseNumber(
    name: string,
    text: string,
    { from, to, kind }: { from: number; to: number; kind: 'number' | 'whole number' },
  ): number | undefined {
    const n = DECIMAL.test(text) ? Number(text) : Number.NaN;
    if (n >= from && n <= to && (kind === 'number' || Number.isInteger(n))) return n;
    this.reject(
      name,
      `${quoteInput(text)} is not a ${kind} within ${from} to ${to}`,
      Number.isFinite(n) ? 'value_error' : 'type_error',
    );
    return undefined;
  }
}

/** A received value as an error repeats it. */
export const quoteInput = (text: string) => `"${text.slice(0, 40)}"`;

/** What a value type is: how a value is read, its expectation in words, and its JSON schema. */

import type { LoadType } from '../domain/load-types.ts';
import { toSafeText } from '../domain/text-format.ts';

/** A value of the file before any check: null, a boolean, a number, text, a list or a mapping. */
export type RawValue = unknown;
export type RawMap = ReadonlyMap<string, RawValue>;

/** Reports one mistake, at the value itself or at keys under it. */
export type ReportMistake = (text: string, ...under: readonly string[]) => void;

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonSchema = { readonly [key: string]: Json };

export interface ValueType<T> {
  /** Completes "is not …" and "expected …". */
  readonly expects: string;
  readonly schema: JsonSchema;
  /** The options inside, where it is a section; `variants` by the value of `kind`. */
  readonly rows?: ConfigRows;
  readonly variants?: Readonly<Record<string, ConfigRows>>;
  /** The keys of the section are names of the owner's choice. */
  readonly hasNamedKeys?: true;
  /** The value, or undefined when a mistake was reported. */
  read(raw: RawValue, report: ReportMistake): T | undefined;
}

export const loadTypes: readonly LoadType[] = ['ev', 'heat-pump', 'tank', 'generic'];

/** What a default may depend on. */
export interface DefaultContext {
  readonly type: LoadType;
  /** The levels that the output supports. */
  readonly levelSet: 'relay' | 'sg-ready';
  readonly onBelow: number;
}

/** For values that belong to no load. */
export const GENERIC_CONTEXT: DefaultContext = { type: 'generic', levelSet: 'relay', onBelow: 33 };

export type Presence = 'required' | 'filled' | 'optional';

export interface ConfigRow<T, P extends Presence> {
  readonly valueType: ValueType<T>;
  readonly presence: P;
  readonly help: string;
  /** As the owner would write it; read by the same type. */
  readonly defaultFor?: (context: DefaultContext) => RawValue;
  /** The default in words, where it depends on another option. */
  readonly defaultText?: string;
  /** Has no meaning for loads whose output supports other levels. */
  readonly onlyFor?: DefaultContext['levelSet'];
}

export type ConfigRows = Readonly<Record<string, ConfigRow<unknown, Presence>>>;

type RowValue<R> = R extends ConfigRow<infer T, Presence> ? T : never;
/** The values of a section; each key keeps the comment of its row. */
export type SectionValues<R extends ConfigRows> = {
  readonly [K in keyof R as R[K]['presence'] extends 'optional' ? never : K]: RowValue<R[K]>;
} & {
  readonly [K in keyof R as R[K]['presence'] extends 'optional' ? K : never]?: RowValue<R[K]>;
};

export type DefaultValue = number | string | boolean | ((context: DefaultContext) => RawValue);
const toDefaultFor = (fallback: DefaultValue) => (typeof fallback === 'function' ? fallback : () => fallback);

export const required = <T>(valueType: ValueType<T>, help: string): ConfigRow<T, 'required'> => ({
  valueType,
  presence: 'required',
  help,
});
export const defaulted = <T>(
  valueType: ValueType<T>,
  fallback: DefaultValue,
  help: string,
  text?: string,
): ConfigRow<T, 'filled'> => ({
  valueType,
  presence: 'filled',
  help,
  defaultFor: toDefaultFor(fallback),
  ...(text === undefined ? {} : { defaultText: text }),
});
/** With a default, the text `none` removes it. */
export const optional = <T>(
  valueType: ValueType<T>,
  help: string,
  fallback?: DefaultValue,
): ConfigRow<T, 'optional'> => ({
  valueType,
  presence: 'optional',
  help,
  ...(fallback === undefined ? {} : { defaultFor: toDefaultFor(fallback) }),
});

/** An option of loads on SG-Ready contacts. */
export const sgReadyOnly = <R extends ConfigRow<unknown, Presence>>(row: R): R => ({
  ...row,
  onlyFor: 'sg-ready',
  help: `SG-Ready only: ${row.help}`,
});

const MAX_QUOTED_LENGTH = 40;

/** A value of the file as an error quotes it: short, and harmless at a terminal. */
export function quoteValue(raw: RawValue): string {
  if (raw === null || raw === undefined) return 'nothing';
  if (typeof raw === 'string') return `"${toSafeText(raw, MAX_QUOTED_LENGTH)}"`;
  if (raw instanceof Map) return 'a section';
  return Array.isArray(raw) ? 'a list' : String(raw);
}

export const quoteKey = (key: string) => (/^[\w.-]{1,64}$/.test(key) ? key : `"${toSafeText(key, MAX_QUOTED_LENGTH)}"`);

/** A value type of one function that returns undefined for a value it refuses. */
export const createValueType = <T>(
  expects: string,
  schema: JsonSchema,
  parse: (raw: RawValue) => T | undefined,
): ValueType<T> => ({
  expects,
  schema,
  read: (raw, report) => {
    const value = parse(raw);
    if (value === undefined) report(`${quoteValue(raw)} is not ${expects}`);
    return value;
  },
});

/** What a kind of value is: how it is read, what is expected in words, and its JSON schema. Knows no option. */

/** What the file holds, before any check: null, true, a number, text, a list, or a mapping. */
export type Raw = unknown;
export type RawMap = ReadonlyMap<string, Raw>;

/** Tells one mistake, at the value itself or at keys under it. */
export type Report = (says: string, ...under: readonly string[]) => void;

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonSchema = { readonly [key: string]: Json };

export interface Kind<T> {
  /** Completes "is not …" and "expected …". */
  readonly expects: string;
  readonly schema: JsonSchema;
  /** The options inside, where it is a section; `variants` by the value of `kind`. */
  readonly inside?: Rows;
  readonly variants?: Readonly<Record<string, Rows>>;
  /** The keys of the section are names of the owner's choice. */
  readonly named?: true;
  /** The value, or undefined when a mistake was reported. */
  read(raw: Raw, report: Report): T | undefined;
}

/** What a default may depend on. */
export interface About {
  readonly type: 'ev' | 'heat-pump' | 'tank' | 'generic';
  /** Which levels the output knows. */
  readonly levels: 'relay' | 'sg-ready';
  readonly onBelow: number;
}

export type Presence = 'required' | 'filled' | 'optional';

export interface Row<T, P extends Presence> {
  readonly kind: Kind<T>;
  readonly presence: P;
  readonly help: string;
  /** As the owner would write it, and read by the same kind. */
  readonly fallback?: (about: About) => Raw;
  /** Says the default where it follows another option. */
  readonly fallbackWords?: string;
  /** Without a meaning for loads whose output knows other levels. */
  readonly only?: About['levels'];
}

export type Rows = Readonly<Record<string, Row<unknown, Presence>>>;

type ValueOf<R> = R extends Row<infer T, Presence> ? T : never;
/** What the rows of a section are worth once read; each key keeps the comment of its row. */
export type Values<R extends Rows> = {
  readonly [K in keyof R as R[K]['presence'] extends 'optional' ? never : K]: ValueOf<R[K]>;
} & {
  readonly [K in keyof R as R[K]['presence'] extends 'optional' ? K : never]?: ValueOf<R[K]>;
};

export type Fallback = number | string | boolean | ((about: About) => Raw);
const asFunction = (fallback: Fallback) => (typeof fallback === 'function' ? fallback : () => fallback);

export const required = <T>(kind: Kind<T>, help: string): Row<T, 'required'> => ({ kind, presence: 'required', help });
export const filled = <T>(kind: Kind<T>, fallback: Fallback, help: string, words?: string): Row<T, 'filled'> => ({
  kind,
  presence: 'filled',
  help,
  fallback: asFunction(fallback),
  ...(words === undefined ? {} : { fallbackWords: words }),
});
/** Without a default there is none; with one, the text `none` takes it away. */
export const optional = <T>(kind: Kind<T>, help: string, fallback?: Fallback): Row<T, 'optional'> => ({
  kind,
  presence: 'optional',
  help,
  ...(fallback === undefined ? {} : { fallback: asFunction(fallback) }),
});

/** An option of loads on SG-Ready contacts. */
export const sgReadyOnly = <R extends Row<unknown, Presence>>(row: R): R => ({
  ...row,
  only: 'sg-ready',
  help: `SG-Ready only: ${row.help}`,
});

const SHOWN = 40;
const printable = (text: string) => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, '?');

/** A value of the file as a mistake quotes it: short, and harmless at a terminal. */
export function shown(raw: Raw): string {
  if (raw === null || raw === undefined) return 'nothing';
  if (typeof raw === 'string') {
    const cut = raw.length > SHOWN ? `${raw.slice(0, SHOWN)}…` : raw;
    return `"${printable(cut)}"`;
  }
  if (raw instanceof Map) return 'a section';
  return Array.isArray(raw) ? 'a list' : String(raw);
}

export const shownKey = (key: string) =>
  /^[\w.-]{1,64}$/.test(key) ? key : `"${printable(key.slice(0, SHOWN))}${key.length > SHOWN ? '…' : ''}"`;

/** A kind read by one function that answers undefined for what it does not take. */
export const kindOf = <T>(expects: string, schema: JsonSchema, parse: (raw: Raw) => T | undefined): Kind<T> => ({
  expects,
  schema,
  read: (raw, report) => {
    const value = parse(raw);
    if (value === undefined) report(`${shown(raw)} is not ${expects}`);
    return value;
  },
});

/** Reads a section of the configuration by its rows: missing keys, unknown keys, defaults, and each value by its type. */

import { findNearestWord } from '../domain/did-you-mean.ts';
import {
  type ConfigRow,
  type ConfigRows,
  type DefaultContext,
  GENERIC_CONTEXT,
  type JsonSchema,
  type Presence,
  quoteKey,
  quoteValue,
  type RawMap,
  type RawValue,
  type ReportMistake,
  type SectionValues,
  type ValueType,
} from './value-type.ts';

export const isRawMap = (raw: RawValue): raw is RawMap => raw instanceof Map;

/** `report` for the values under `key`. */
const reportUnder =
  (report: ReportMistake, key: string): ReportMistake =>
  (text, ...keys) =>
    report(text, key, ...keys);

function readOption(
  row: ConfigRow<unknown, Presence>,
  raw: RawValue,
  report: ReportMistake,
  context: DefaultContext,
): unknown {
  const isWritten = raw !== undefined;
  if (isWritten && raw === 'none' && row.presence === 'optional' && row.defaultFor !== undefined) return undefined;
  if (raw === null) {
    report(`has no value; expected ${row.valueType.expects}`);
    return undefined;
  }
  if (isWritten) return row.valueType.read(raw, report);
  if (row.presence === 'required') {
    report(`missing; expected ${row.valueType.expects}`);
    return undefined;
  }
  const fallback = row.defaultFor?.(context);
  return fallback === undefined ? undefined : row.valueType.read(fallback, report);
}

function reportUnknownKeys(raw: RawMap, known: readonly string[], report: ReportMistake): void {
  for (const key of raw.keys()) {
    if (known.includes(key)) continue;
    const near = findNearestWord(key, known);
    // `{powerKw: 7,2}` has a second key.
    if (/^\d+$/.test(key)) {
      report('a number without a name; a decimal number is written with a point, such as 7.2', quoteKey(key));
      continue;
    }
    const cure = near === undefined ? `expected one of ${known.join(', ')}` : `did you mean ${near}?`;
    report(`unknown option; ${cure}`, quoteKey(key));
  }
}

/** Every value that could be read; incomplete when a mistake was reported. */
export function readSection<R extends ConfigRows>(
  rows: R,
  raw: RawMap,
  report: ReportMistake,
  context = GENERIC_CONTEXT,
): Partial<SectionValues<R>> {
  reportUnknownKeys(raw, Object.keys(rows), report);
  const values = Object.entries(rows).map(
    ([key, row]) => [key, readOption(row, raw.get(key), reportUnder(report, key), context)] as const,
  );
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Partial<SectionValues<R>>;
}

/** The JSON schema of a section. */
export function buildSectionSchema(rows: ConfigRows): JsonSchema {
  const properties = Object.entries(rows).map(([key, row]) => {
    const clears = row.presence === 'optional' && row.defaultFor !== undefined;
    const value = clears ? { anyOf: [row.valueType.schema, { const: 'none' }] } : row.valueType.schema;
    return [key, { description: row.help, ...value }] as const;
  });
  const needed = Object.keys(rows).filter((key) => rows[key]?.presence === 'required');
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: needed,
    additionalProperties: false,
  };
}

/** The type of a section; `build` turns its complete values into the configuration of the agent, and may report further mistakes. */
export function sectionType<R extends ConfigRows, T = SectionValues<R>>(
  rows: R,
  build?: (values: SectionValues<R>, report: ReportMistake) => T | undefined,
): ValueType<T> {
  const expects = `a section with ${Object.keys(rows).slice(0, 3).join(', ')}${Object.keys(rows).length > 3 ? ', …' : ''}`;
  return {
    expects,
    // Built when it is asked for: a start does not.
    get schema() {
      return buildSectionSchema(rows);
    },
    rows,
    read: (raw, report) => {
      if (!isRawMap(raw)) {
        report(`${quoteValue(raw)} is not ${expects}`);
        return undefined;
      }
      let mistakes = 0;
      const values = readSection(rows, raw, (...mistake) => {
        mistakes++;
        report(...mistake);
      });
      if (mistakes > 0) return undefined;
      return build === undefined ? (values as T) : build(values as SectionValues<R>, report);
    },
  };
}

/** Sections of one type in a list; a mistake has its place in the list, from 0 on. */
export function listType<T>(item: ValueType<T>, most: number): ValueType<readonly T[]> {
  const expects = `a list of at most ${most} sections`;
  return {
    expects,
    get schema() {
      return { type: 'array', items: item.schema, minItems: 1, maxItems: most };
    },
    ...(item.rows === undefined ? {} : { rows: item.rows }),
    read(raw, report) {
      if (!Array.isArray(raw) || raw.length === 0 || raw.length > most) {
        report(`${Array.isArray(raw) ? `a list of ${raw.length}` : quoteValue(raw)} is not ${expects}`);
        return undefined;
      }
      const items = raw.map((one, i) => item.read(one, reportUnder(report, String(i))));
      const read = items.filter((one) => one !== undefined);
      return read.length === items.length ? read : undefined;
    },
  };
}

/** One of several sections, distinguished by their key `kind`. */
export function sectionVariantsType<T>(kinds: Readonly<Record<string, ValueType<T>>>): ValueType<T> {
  const names = Object.keys(kinds);
  const expects = `a section with kind: ${names.join(' | ')}`;
  const variants = Object.fromEntries(names.map((name) => [name, kinds[name]?.rows ?? {}]));
  const buildSchemas = () =>
    names.map((name): JsonSchema => {
      const inside = buildSectionSchema(variants[name] ?? {});
      return {
        ...inside,
        properties: { ...(inside.properties as JsonSchema), kind: { const: name } },
        required: ['kind', ...(inside.required as readonly string[])],
      };
    });
  return {
    expects,
    get schema() {
      return { oneOf: buildSchemas() };
    },
    variants,
    read: (raw, report) => {
      if (!isRawMap(raw)) {
        report(`${quoteValue(raw)} is not ${expects}`);
        return undefined;
      }
      const writtenKind = raw.get('kind');
      const chosen = names.find((name) => name === writtenKind);
      const kind = chosen === undefined ? undefined : kinds[chosen];
      if (kind === undefined) {
        const near = typeof writtenKind === 'string' ? findNearestWord(writtenKind, names) : undefined;
        const cure = near === undefined ? `expected ${names.join(', ')}` : `did you mean ${near}?`;
        report(
          writtenKind === undefined ? `missing; ${cure}` : `${quoteValue(writtenKind)} is unknown; ${cure}`,
          'kind',
        );
        return undefined;
      }
      return kind.read(new Map([...raw].filter(([key]) => key !== 'kind')), report);
    },
  };
}

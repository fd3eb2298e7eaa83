/** Reads a section by its rows: missing keys, unknown keys, defaults, each value by its kind. Knows no option. */

import {
  type About,
  type JsonSchema,
  type Kind,
  type Presence,
  type Raw,
  type RawMap,
  type Report,
  type Row,
  type Rows,
  shown,
  shownKey,
  type Values,
} from './kind.ts';
import { nearest } from './nearest.ts';

const NOTHING: About = { type: 'generic', levels: 'relay', onBelow: 33 };

export const isMap = (raw: Raw): raw is RawMap => raw instanceof Map;

/** `report` for what lies under `key`. */
export const under =
  (report: Report, key: string): Report =>
  (says, ...keys) =>
    report(says, key, ...keys);

function readRow(row: Row<unknown, Presence>, raw: Raw, report: Report, about: About): unknown {
  const given = raw !== undefined;
  if (given && raw === 'none' && row.presence === 'optional' && row.fallback !== undefined) return undefined;
  if (raw === null) {
    report(`nothing is written after it; expected ${row.kind.expects}`);
    return undefined;
  }
  if (given) return row.kind.read(raw, report);
  if (row.presence === 'required') {
    report(`missing; expected ${row.kind.expects}`);
    return undefined;
  }
  const fallback = row.fallback?.(about);
  return fallback === undefined ? undefined : row.kind.read(fallback, report);
}

function reportUnknown(raw: RawMap, known: readonly string[], report: Report): void {
  for (const key of raw.keys()) {
    if (known.includes(key)) continue;
    const near = nearest(key, known);
    const cure = near === undefined ? `expected one of ${known.join(', ')}` : `did you mean ${near}?`;
    report(`unknown option; ${cure}`, shownKey(key));
  }
}

/** Every value that could be read. Incomplete when a mistake was reported: then only rules that bear a gap may look at it. */
export function readRows<R extends Rows>(rows: R, raw: RawMap, report: Report, about = NOTHING): Partial<Values<R>> {
  reportUnknown(raw, Object.keys(rows), report);
  const values = Object.entries(rows).map(
    ([key, row]) => [key, readRow(row, raw.get(key), under(report, key), about)] as const,
  );
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Partial<Values<R>>;
}

/** The JSON schema of a section. */
export function schemaOf(rows: Rows): JsonSchema {
  const properties = Object.entries(rows).map(([key, row]) => {
    const clears = row.presence === 'optional' && row.fallback !== undefined;
    const value = clears ? { anyOf: [row.kind.schema, { const: 'none' }] } : row.kind.schema;
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

/** A section as a kind; `make` turns its complete values into what the agent is told, and may report further mistakes. */
export function section<R extends Rows, T = Values<R>>(
  rows: R,
  make?: (values: Values<R>, report: Report) => T | undefined,
): Kind<T> {
  const expects = `a section with ${Object.keys(rows).slice(0, 3).join(', ')}${Object.keys(rows).length > 3 ? ', …' : ''}`;
  return {
    expects,
    schema: schemaOf(rows),
    inside: rows,
    read: (raw, report) => {
      if (!isMap(raw)) {
        report(`${shown(raw)} is not ${expects}`);
        return undefined;
      }
      let mistakes = 0;
      const values = readRows(rows, raw, (...mistake) => {
        mistakes++;
        report(...mistake);
      });
      if (mistakes > 0) return undefined;
      return make === undefined ? (values as T) : make(values as Values<R>, report);
    },
  };
}

/** One of several sections, told apart by their key `kind`. */
export function oneOfSections<T>(kinds: Readonly<Record<string, Kind<T>>>): Kind<T> {
  const names = Object.keys(kinds);
  const expects = `a section with kind: ${names.join(' | ')}`;
  const variants = Object.fromEntries(names.map((name) => [name, kinds[name]?.inside ?? {}]));
  const schemas = names.map((name): JsonSchema => {
    const inside = schemaOf(variants[name] ?? {});
    return {
      ...inside,
      properties: { ...(inside.properties as JsonSchema), kind: { const: name } },
      required: ['kind', ...(inside.required as readonly string[])],
    };
  });
  return {
    expects,
    schema: { oneOf: schemas },
    variants,
    read: (raw, report) => {
      if (!isMap(raw)) {
        report(`${shown(raw)} is not ${expects}`);
        return undefined;
      }
      const said = raw.get('kind');
      const chosen = names.find((name) => name === said);
      const kind = chosen === undefined ? undefined : kinds[chosen];
      if (kind === undefined) {
        const near = typeof said === 'string' ? nearest(said, names) : undefined;
        const cure = near === undefined ? `expected ${names.join(', ')}` : `did you mean ${near}?`;
        report(said === undefined ? `missing; ${cure}` : `${shown(said)} is unknown; ${cure}`, 'kind');
        return undefined;
      }
      return kind.read(new Map([...raw].filter(([key]) => key !== 'kind')), report);
    },
  };
}

/** The JSON schema, the example and the documentation agree with the check. */

import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { buildExampleConfig } from '../../src/config/example-config.ts';
import { buildConfigSchema } from '../../src/config/json-schema.ts';
import { buildOptionReference, formatDefault } from '../../src/config/option-reference.ts';
import { LOAD, OPTIONS } from '../../src/config/options.ts';
import { parseConfig } from '../../src/config/parse-config.ts';
import type { Json, JsonSchema } from '../../src/config/value-type.ts';
import { SCHEMA_INVALID_CONFIGS, VALID_CONFIGS } from './config-cases.ts';

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const asSchema = (value: Json | undefined) => value as JsonSchema;

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
};

type Check = (limit: Json, value: unknown, schema: JsonSchema) => boolean;
const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
const size = (value: unknown) => Object.keys(value as object).length;

/** The keywords the schema uses, each as the standard has it; an unknown one fails the test. */
const KEYWORDS: Readonly<Record<string, Check>> = {
  $schema: () => true,
  title: () => true,
  description: () => true,
  type: (type, value) => TYPES[String(type)]?.(value) ?? false,
  enum: (words, value) => (words as readonly Json[]).includes(value as Json),
  const: (word, value) => word === value,
  pattern: (pattern, value) => new RegExp(String(pattern), 'u').test(text(value) ?? ''),
  minLength: (least, value) => (text(value)?.length ?? 0) >= Number(least),
  maxLength: (most, value) => (text(value)?.length ?? 0) <= Number(most),
  minimum: (least, value) => Number(value) >= Number(least),
  maximum: (most, value) => Number(value) <= Number(most),
  minItems: (least, value) => (value as readonly unknown[]).length >= Number(least),
  maxItems: (most, value) => (value as readonly unknown[]).length <= Number(most),
  uniqueItems: (_, value) => new Set(value as readonly unknown[]).size === (value as readonly unknown[]).length,
  minProperties: (least, value) => size(value) >= Number(least),
  maxProperties: (most, value) => size(value) <= Number(most),
  items: (schema, value) => (value as readonly unknown[]).every((one) => fits(asSchema(schema), one)),
  required: (keys, value) => (keys as readonly string[]).every((key) => isObject(value) && key in value),
  properties: (schemas, value) =>
    Object.entries(asSchema(schemas)).every(
      ([key, schema]) => !isObject(value) || !(key in value) || fits(asSchema(schema), value[key]),
    ),
  propertyNames: (schema, value) => Object.keys(value as object).every((key) => fits(asSchema(schema), key)),
  additionalProperties: (schema, value, { properties }) =>
    Object.entries(value as object)
      .filter(([key]) => !isObject(properties) || !(key in properties))
      .every(([, one]) => schema !== false && fits(asSchema(schema), one)),
  anyOf: (schemas, value) => (schemas as readonly Json[]).some((schema) => fits(asSchema(schema), value)),
  oneOf: (schemas, value) =>
    (schemas as readonly Json[]).filter((schema) => fits(asSchema(schema), value)).length === 1,
};

function fits(schema: JsonSchema, value: unknown): boolean {
  if (schema.type !== undefined && KEYWORDS.type?.(schema.type, value, schema) === false) return false;
  return Object.entries(schema).every(([keyword, limit]) => {
    const check = KEYWORDS[keyword];
    if (check === undefined) throw new Error(`the test does not know the keyword ${keyword}`);
    return check(limit, value, schema);
  });
}

describe('the JSON schema', () => {
  const written = VALID_CONFIGS.filter(([, row]) => row.startsWith('{'));
  it.each(written)('takes %s', (_, row) => expect(fits(buildConfigSchema(), JSON.parse(row))).toBe(true));
  it.each(SCHEMA_INVALID_CONFIGS)(
    'judges "$name" as the check does, as far as it can know',
    ({ text: row, beyondSchema }) => expect(fits(buildConfigSchema(), JSON.parse(row))).toBe(beyondSchema === true),
  );
});

const UNSAID = /^(\s*)# (\w+: \S.*)$/;

describe('the example', () => {
  it('is a configuration', () => expect(parseConfig(buildExampleConfig())).toMatchObject({ ok: true }));
  it('stays the same when every default in it is put in force', () => {
    const lines = buildExampleConfig().split('\n');
    const inForce = lines.map((line) => {
      const [, indent = '', option = ''] = UNSAID.exec(line) ?? [];
      const isEmpty = /^\w+:\s*#/.test(option);
      return option === '' || isEmpty ? line : `${indent}${option}`;
    });
    expect(inForce.filter((line, i) => line !== lines[i]).length).toBeGreaterThan(40);
    expect(parseConfig(inForce.join('\n'))).toEqual(parseConfig(buildExampleConfig()));
  });
  it('names every option of a load', () => {
    for (const key of Object.keys(LOAD)) expect(buildExampleConfig()).toMatch(new RegExp(`^ +(# )?${key}:`, 'm'));
  });

  //  load       switched by          options of SG-Ready
  const loads = [
    ['car', 'mqtt', []],
    ['heating', 'sg-ready', ['blockAbove', 'forceBelow', 'minStateTime', 'maxBlock', 'maxBlocksPerDay']],
    ['water', 'relay', []],
  ] as const;
  const partOf = (name: string) =>
    new RegExp(`^  ${name}:\\n((?: {4}.*\\n)+)`, 'm').exec(buildExampleConfig())?.[1] ?? '';
  it.each(loads)('offers %s, switched by %s, the options %j of SG-Ready alone', (name, kind, wanted) => {
    const part = partOf(name);
    expect(part).toContain(`kind: ${kind}`);
    const only = Object.keys(LOAD).filter((key) => LOAD[key as keyof typeof LOAD].help.startsWith('SG-Ready only'));
    expect(only.filter((key) => new RegExp(`^ +# ${key}:`, 'm').test(part))).toEqual(wanted);
  });
  it('says what each option means, once', () => {
    for (const { help } of Object.values(LOAD)) expect(buildExampleConfig().split(`# ${help}\n`).length).toBe(2);
  });
});

describe('the documentation', () => {
  it('in docs/options.md is the table of the options: gridtide init --options > docs/options.md', async () => {
    expect(await readFile(new URL('../../docs/options.md', import.meta.url), 'utf8')).toBe(buildOptionReference());
  });
  it('has a line for every option', () => {
    for (const key of Object.keys(OPTIONS)) expect(buildOptionReference()).toContain(`| \`${key}\` |`);
    for (const key of Object.keys(LOAD)) expect(buildOptionReference()).toContain(`| \`loads.NAME.${key}\` |`);
  });
  //  option             default
  const rows = [
    [LOAD.minOn, 'ev 15m, heat-pump 30m, tank 5m, generic 5m'],
    [LOAD.failSafe, 'ev on, heat-pump off, tank on, generic off; SG-Ready normal'],
    [LOAD.offAbove, 'onBelow + 10'],
    [LOAD.overrideFor, '4h'],
    [LOAD.type, 'required'],
    [LOAD.goal, 'none'],
  ] as const;
  it.each(rows)('%#: %s', (row, text) => expect(formatDefault(row)).toBe(text));
});

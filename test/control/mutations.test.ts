import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = join(import.meta.dirname, '..', '..', 'src');
const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' });
const readSource = (name: string) =>
  readFileSync(join(SRC, sources.find((path) => basename(path) === name) ?? name), 'utf8');
const mutations = JSON.parse(readFileSync(join(import.meta.dirname, 'mutations.json'), 'utf8')) as Record<
  string,
  readonly (readonly [string, string])[]
>;

/** `scripts/mutations.mjs` takes these out one at a time; a guard that was rewritten must be named anew here. */
describe('each guard the check of mutations takes out', () => {
  const rows = Object.entries(mutations).flatMap(([file, guards]) => guards.map((guard) => [file, ...guard] as const));
  it.each(rows)('%s: %s stands there once', (file, _, text) => expect(readSource(file).split(text)).toHaveLength(2));
});

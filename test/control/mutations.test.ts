import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
const mutations = JSON.parse(read('mutations.json')) as Record<string, readonly (readonly [string, string])[]>;

/** `scripts/mutations.mjs` takes these out one at a time; a guard that was rewritten must be named anew here. */
describe('each guard the check of mutations takes out', () => {
  const rows = Object.entries(mutations).flatMap(([file, guards]) => guards.map((guard) => [file, ...guard] as const));
  it.each(rows)('%s: %s stands there once', (file, _, text) =>
    expect(read(`../../src/control/${file}`).split(text)).toHaveLength(2),
  );
});

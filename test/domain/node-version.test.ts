/** Which Node.js is refused: what the package's `engines` exclude. */

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { findOldNode } from '../../src/domain/node-version.ts';

//  version     too old
const rows = [
  ['18.20.8', true],
  ['20.18.3', true],
  ['20.19.0', false],
  ['21.7.3', true],
  ['22.2.0', true],
  ['22.3.0', false],
  ['100.1.0', false],
] as const;
it.each(rows)('Node.js %s: too old %s', (version, isOld) => {
  const sentence = `gridtide needs Node.js 20.19, 22.3 or newer, and this is ${version}: install a newer one (nodejs.org)`;
  expect(findOldNode(version)).toBe(isOld ? sentence : undefined);
});

it('the package names the same oldest version', () => {
  const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(engines).toEqual({ node: '^20.19.0 || >=22.3.0' });
});

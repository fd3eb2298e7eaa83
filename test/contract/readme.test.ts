/** The table of this folder's README names tests that are there, and leaves no section of the specification out. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const here = import.meta.dirname;
const rows = readFileSync(join(here, 'README.md'), 'utf8')
  .split('\n')
  .filter((line) => /^\| *\d/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()));

/** `file › words` of a cell; a file of another folder stands as `file (../folder)`. */
const named = rows.flatMap(([, section, , plain = '', client = '']) =>
  `${plain}; ${client}`
    .split('; ')
    .filter((name) => name.includes(' › '))
    .map((name) => {
      const [file = '', words = ''] = name.split(' › ');
      const folder = /\((.*)\)/.exec(file)?.[1] ?? '.';
      return { section, path: join(here, folder, `${file.split(' ')[0]}.test.ts`), words };
    }),
);

describe('the table', () => {
  it('has every section', () => {
    const sections = new Set(rows.map(([, section]) => section));
    const wanted = ['1.1', '1.2', '1.3', '1.4', '1.5', '2.1', '2.2', '2.3', '2.4', '2.5', '2.6', '2.7', '2.8', '2.9'];
    const later = ['3', '4.1', '4.2', '4.3', '4.4', '4.5', '5', '6', '7', '8', '9.1', '9.2', '9.3', '9.4'];
    expect([...wanted, ...later].filter((section) => !sections.has(section))).toEqual([]);
  });
  it('names tests that are there', () => {
    const missing = named.filter(({ path, words }) => !readFileSync(path, 'utf8').includes(words));
    expect(missing).toEqual([]);
    expect(named.length).toBeGreaterThan(90);
  });
});

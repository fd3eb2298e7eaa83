import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseDay, runDay } from './day.ts';

const FOLDER = import.meta.dirname;
const files = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.day'))
  .sort();

// GRIDTIDE_WRITE_DAYS=1 writes what is seen below the line; read every change of it before it is kept.
const write = process.env.GRIDTIDE_WRITE_DAYS === '1';

describe('days as a homeowner would see them', () => {
  it('there are at least 25', () => expect(files.length).toBeGreaterThanOrEqual(25));

  for (const file of files) {
    const text = readFileSync(join(FOLDER, file), 'utf8');
    const [story = '', expected = ''] = text.split('\n=\n');
    it(`${file}: ${story.split('\n')[0]}`, () => {
      const seen = runDay(parseDay(text));
      if (write) writeFileSync(join(FOLDER, file), `${story}\n=\n${seen.join('\n')}\n`);
      else expect(seen).toEqual(expected.trimEnd().split('\n'));
    });
  }
});

/** Lines at the width of a terminal, and colours where they are wanted. */

import { describe, expect, it } from 'vitest';
import type { Terminal } from '../../src/cli/shared/command.ts';
import { paint, wrapText } from '../../src/cli/shared/terminal-text.ts';

describe('a line longer than the terminal', () => {
  //  text                                              at 40 columns
  const rows: readonly (readonly [string, string])[] = [
    ['short', 'short'],
    [`${'x'.repeat(39)} y`, `${'x'.repeat(39)}\n  y`],
    ['a word and another word and one more word of it', 'a word and another word and one more\n  word of it'],
    // Under the last column of its first half, as in a help.
    [
      '  --config FILE  the configuration of the house',
      '  --config FILE  the configuration of\n                 the house',
    ],
    [
      'ok     service: answers with all that the agent needs',
      'ok     service: answers with all that\n       the agent needs',
    ],
    // A word that fits nowhere, and a document, stay whole.
    [`${'x'.repeat(50)}`, 'x'.repeat(50)],
    [`{"a": "${'b c '.repeat(20)}"}`, `{"a": "${'b c '.repeat(20)}"}`],
    // Colours take no room.
    [`\u001b[31mred\u001b[0m ${'x'.repeat(36)}`, `\u001b[31mred\u001b[0m ${'x'.repeat(36)}`],
    ['two\nlines\n', 'two\nlines\n'],
  ];
  it.each(rows)('%j', (text, wrapped) => expect(wrapText(text, 40)).toBe(wrapped));

  it('loses nothing at any width', () => {
    const text = '  --from TIME  earliest start; default: the first point of the forecast, in local time or ISO 8601';
    for (let columns = 40; columns <= 120; columns++) {
      const wrapped = wrapText(text, columns);
      expect(wrapped.replace(/\s+/g, ' ')).toBe(text.replace(/\s+/g, ' '));
      for (const line of wrapped.split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
    }
    expect(wrapText(text, 10)).toBe(text);
  });
});

//  interactive  environment            coloured
const colours: readonly (readonly [boolean, Terminal['env'], boolean])[] = [
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: '1' }, false],
  [true, { NO_COLOR: '' }, true],
  [true, { TERM: 'dumb' }, false],
];
it.each(colours)('a terminal %s with %j is coloured: %s', (interactive, env, coloured) => {
  const terminal = { interactive, env } as Terminal;
  expect(paint(terminal, 'red', 'x')).toBe(coloured ? '\u001b[31mx\u001b[0m' : 'x');
});

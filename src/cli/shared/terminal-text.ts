/** Fits text to a terminal: breaks long lines between words, and colours where colours are wanted. */

import { stripVTControlCharacters } from 'node:util';
import type { Terminal } from './command.ts';

const CODES = { red: 31, green: 32, yellow: 33 } as const;

/** Coloured at a terminal, unless NO_COLOR is set (no-color.org). */
export const paint = ({ interactive, env }: Terminal, colour: keyof typeof CODES, text: string): string =>
  interactive && !env.NO_COLOR && env.TERM !== 'dumb' ? `\u001b[${CODES[colour]}m${text}\u001b[0m` : text;

const MIN_COLUMNS = 40;

const measureVisible = (text: string) => stripVTControlCharacters(text).length;

/** Where the further lines begin: below the last column of the first half of the line, else a little deeper than it. */
function findIndent(line: string, columns: number): number {
  const visible = stripVTControlCharacters(line);
  const ends = [...visible.matchAll(/\S {2,}(?=\S)/g)].map(({ index, 0: gap }) => index + gap.length);
  const indent = ends.filter((end) => end <= columns / 2).at(-1);
  return indent ?? visible.length - visible.trimStart().length + 2;
}

function wrapLine(line: string, columns: number): string {
  if (measureVisible(line) <= columns || /^\s*[{[]/.test(line)) return line;
  const indent = ' '.repeat(findIndent(line, columns));
  const lines: string[] = [];
  let present = '';
  for (const word of line.split(/(?<=\S) (?=\S)/)) {
    const isFull = present !== '' && measureVisible(`${present} ${word}`) > columns;
    if (isFull) lines.push(present);
    if (present === '') present = word;
    else present = isFull ? indent + word : `${present} ${word}`;
  }
  return [...lines, present].join('\n');
}

/** Documents of JSON stay whole. */
export const wrapText = (text: string, columns: number): string =>
  columns < MIN_COLUMNS
    ? text
    : text
        .split('\n')
        .map((line) => wrapLine(line, columns))
        .join('\n');

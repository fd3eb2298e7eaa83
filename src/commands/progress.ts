/** One line on a terminal that is written over while work goes on; nothing elsewhere. */

import type { Terminal } from './command.ts';

export interface Progress {
  tell(text: string): void;
  /** Leaves an empty line. */
  end(): void;
}

export function progressOf({ err, interactive }: Pick<Terminal, 'err' | 'interactive'>): Progress {
  let shown = '';
  return {
    tell(text) {
      if (!interactive || text === shown) return;
      err(`\r${text.padEnd(shown.length)}`);
      shown = text;
    },
    end() {
      if (shown !== '') err(`\r${' '.repeat(shown.length)}\r`);
    },
  };
}

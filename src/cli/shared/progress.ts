/** Shows progress on one line of a terminal, which it overwrites; prints nothing elsewhere. */

import type { Terminal } from './command.ts';

export interface Progress {
  show(text: string): void;
  /** Leaves an empty line. */
  end(): void;
}

export function createProgress({ err, showsProgress }: Pick<Terminal, 'err' | 'showsProgress'>): Progress {
  let lastText = '';
  return {
    show(text) {
      if (!showsProgress || text === lastText) return;
      err(`\r${text.padEnd(lastText.length)}`);
      lastText = text;
    },
    end() {
      if (lastText !== '') err(`\r${' '.repeat(lastText.length)}\r`);
    },
  };
}

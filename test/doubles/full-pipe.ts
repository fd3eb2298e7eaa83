/** A pipe that is full from the start, so that whoever writes to it waits until somebody begins to read. */

import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface FullPipe {
  /** The writing end, for the `stdio` of a process. */
  readonly writeEnd: number;
  /** From now on it is read; resolves with the first line that fits, also when it was read before. */
  waitForLine(pattern: RegExp): Promise<string>;
  stop(): Promise<void>;
}

export function createFullPipe(): FullPipe {
  const directory = mkdtempSync(join(tmpdir(), 'gridtide-pipe-'));
  const path = join(directory, 'pipe');
  execFileSync('mkfifo', [path]);
  const own = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const end = openSync(path, constants.O_WRONLY);
  fill(own);

  const lines: string[] = [];
  const waiting = new Set<(line: string) => void>();
  let reader: Socket | undefined;
  const read = () => {
    reader = new Socket({ fd: own, readable: true, writable: false });
    createInterface(reader).on('line', (line) => {
      if (line === '') return;
      lines.push(line);
      for (const checkLine of [...waiting]) checkLine(line);
    });
  };
  return {
    writeEnd: end,
    waitForLine(pattern) {
      if (reader === undefined) read();
      const known = lines.find((line) => pattern.test(line));
      if (known !== undefined) return Promise.resolve(known);
      return new Promise((resolve) => {
        const look = (line: string) => {
          if (!pattern.test(line)) return;
          waiting.delete(look);
          resolve(line);
        };
        waiting.add(look);
      });
    },
    async stop() {
      closeSync(end);
      if (reader === undefined) closeSync(own);
      else reader.destroy();
      rmSync(directory, { recursive: true });
    },
  };
}

/** With line breaks, to the last byte. */
function fill(fd: number): void {
  for (const length of [4_096, 1]) {
    try {
      for (;;) writeSync(fd, '\n'.repeat(length));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  }
}

/** A real process whose lines can be waited for; ended by its id, never by name. */

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface RunningProcess {
  readonly pid: number;
  /** The first line of stdout or stderr, also an earlier one, that fits. Rejects when the process ends without it. */
  waitForLine(pattern: RegExp): Promise<string>;
  readonly lines: readonly string[];
  /** SIGTERM; resolves to the exit code. */
  terminate(): Promise<number | null>;
  signal(name: NodeJS.Signals): void;
  /** Resolves to the exit code when it has ended by itself. */
  exit(): Promise<number | null>;
  /** SIGKILL if it still runs. */
  stop(): Promise<void>;
}

export function startProcess(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): RunningProcess {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const checkLines of [...waiting]) checkLines();
  };
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      wake();
    });
  let isOver = false;
  const closed = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      isOver = true;
      resolve(code);
      wake();
    });
  });
  return {
    pid: child.pid ?? 0,
    lines,
    waitForLine: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = lines.find((line) => pattern.test(line));
          if (found === undefined && !isOver) return;
          waiting.delete(look);
          if (found !== undefined) resolve(found);
          else reject(new Error(`ended without a line like ${pattern}:\n${lines.slice(-20).join('\n')}`));
        };
        waiting.add(look);
        look();
      }),
    terminate: () => {
      child.kill('SIGTERM');
      return closed;
    },
    signal: (name) => void child.kill(name),
    exit: () => closed,
    async stop() {
      if (!isOver) child.kill('SIGKILL');
      await closed;
    },
  };
}

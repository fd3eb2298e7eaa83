/** In the machine: a process of its own that holds one line, for scenes that end or kill it. */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { GpioInterface } from '../../../src/platform/gpio-interface.ts';

export interface LineHolder {
  readonly first: unknown;
  ask(word: string): Promise<unknown>;
  end(signal?: NodeJS.Signals): Promise<void>;
}

export interface LineHolderOptions {
  readonly directory?: string;
  readonly user?: number;
  readonly chosen?: GpioInterface;
}

export async function startLineHolder(
  line: number,
  level: 'high' | 'low',
  { directory = '/app', user = 0, chosen = 'onoff' }: LineHolderOptions = {},
): Promise<LineHolder> {
  const args = [`${directory}/line.mjs`, `${line}`, level, `${user}`, chosen];
  const child: ChildProcessWithoutNullStreams = spawn('node', args);
  child.stderr.pipe(process.stderr);
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await answers.next()).value ?? '"nothing"');
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return {
    first: await next(),
    ask: (word) => {
      child.stdin.write(`${word}\n`);
      return next();
    },
    end: (signal) => {
      if (signal === undefined) child.stdin.end('end\n');
      else child.kill(signal);
      return exited;
    },
  };
}

/** A real mosquitto on a loopback port with a configuration of its own; where it is not installed its tests are skipped loudly, in CI they fail. */

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'vitest';
import { freePort } from './free-port.ts';
import { killChild } from './kill-child.ts';

export { freePort };

const BINARY_PATHS = ['/usr/sbin/mosquitto', '/usr/local/sbin/mosquitto', '/opt/homebrew/sbin/mosquitto'];
const binary = BINARY_PATHS.find((path) => existsSync(path));

export interface MosquittoOptions {
  /** Lines of its configuration beside listener, log and persistence; `DIR` stands for `directory`. Without them everybody may come in. */
  readonly lines?: readonly string[];
  /** Files beside the configuration, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Called with the directory before the start. */
  readonly prepare?: (directory: string) => void;
}

export interface Mosquitto {
  readonly port: number;
  readonly url: string;
  readonly directory: string;
  /** Ends it at once and leaves the port free. */
  kill(): Promise<void>;
  /** Starts it again on the same port, with nothing remembered. */
  restart(): Promise<void>;
  /** Resolves with the first line of its log, from now on, that matches. */
  nextLogLine(pattern: RegExp): Promise<string>;
  stop(): Promise<void>;
}

/** `describe` for tests that need mosquitto. */
export function describeWithMosquitto(name: string, body: () => void): void {
  if (binary !== undefined) {
    describe(name, body);
    return;
  }
  if (process.env.CI === 'true') {
    describe(name, () =>
      it('has mosquitto', () => {
        throw new Error('mosquitto is not installed and these tests must run in CI: apt install mosquitto');
      }),
    );
    return;
  }
  console.warn(`\n*** SKIPPED: ${name}: mosquitto is not installed (apt install mosquitto) ***\n`);
  describe.skip(name, body);
}

export async function startMosquitto({
  lines = ['allow_anonymous true'],
  files = {},
  prepare = () => {},
}: MosquittoOptions = {}): Promise<Mosquitto> {
  if (binary === undefined) throw new Error('mosquitto is not installed');
  const path = binary;
  const directory = await mkdtemp(join(tmpdir(), 'gridtide-mosquitto-'));
  const port = await freePort();
  const listener = [`listener ${port} 127.0.0.1`];
  const common = [
    'persistence false',
    'log_dest stderr',
    'log_type all',
    ...(process.getuid?.() === 0 ? ['user root'] : []),
  ];
  const config = [...listener, ...common, ...lines].join('\n').replaceAll('DIR', directory);
  await writeFile(join(directory, 'mosquitto.conf'), `${config}\n`);
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text, { mode: 0o600 });
  prepare(directory);

  const listeners = new Set<(line: string) => void>();
  const logs = (pattern: RegExp) =>
    new Promise<string>((resolve) => {
      const listen = (line: string) => {
        if (!pattern.test(line)) return;
        listeners.delete(listen);
        resolve(line);
      };
      listeners.add(listen);
    });

  let child: ChildProcess | undefined;
  const start = async () => {
    const own = spawn(path, ['-c', join(directory, 'mosquitto.conf')], { stdio: ['ignore', 'ignore', 'pipe'] });
    child = own;
    const logLines: string[] = [];
    const running = logs(/mosquitto version .* running/);
    const ended = new Promise<never>((_, reject) =>
      own.once('exit', (code) => reject(new Error(`mosquitto ended (${code}): ${logLines.join(' | ')}`))),
    );
    ended.catch(() => {});
    if (own.stderr !== null)
      createInterface(own.stderr).on('line', (line) => {
        if (logLines.length < 50) logLines.push(line);
        for (const listen of [...listeners]) listen(line);
      });
    await Promise.race([running, ended]);
  };
  const kill = () => killChild(child);

  await start();
  return {
    port,
    url: `mqtt://127.0.0.1:${port}`,
    directory,
    kill,
    async restart() {
      await kill();
      await start();
    },
    nextLogLine: logs,
    async stop() {
      await kill();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

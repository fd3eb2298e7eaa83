#!/usr/bin/env node
/** The process edge: arguments, signals and exit codes. The one reader of `process`; decides nothing else. */

import { help, JobError, readArguments, type Terminal, UsageError } from './commands/command.ts';
import { commands } from './commands/index.ts';
import { VERSION } from './commands/version.ts';

function terminalOf(stop: AbortSignal): Terminal {
  // Each stream is made when it is first used, a millisecond of a start each. A closed pipe (`gridtide … | head`) ends the
  // writing, not the program.
  const opened = new Set<NodeJS.WriteStream>();
  const ready = (stream: NodeJS.WriteStream) => {
    if (!opened.has(stream)) opened.add(stream.on('error', () => {}));
    return stream;
  };
  return {
    out: (text) => ready(process.stdout).write(text),
    err: (text) => ready(process.stderr).write(text),
    get input() {
      return process.stdin;
    },
    env: process.env,
    get interactive() {
      return process.stdout.isTTY === true;
    },
    get columns() {
      return process.stdout.columns ?? 80;
    },
    stop,
  };
}

function overview(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  const lines = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return `gridtide ${VERSION}: runs EV chargers and heat pumps when the grid is clean\n\nusage: gridtide COMMAND [options]\n\n${lines.join('\n')}\n\ngridtide COMMAND --help tells more. Start with: gridtide demo\n`;
}

async function main(argv: readonly string[]): Promise<number> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  const terminal = terminalOf(stop.signal);

  const [name, ...rest] = argv;
  if (name === '--version') {
    terminal.out(`${VERSION}\n`);
    return 0;
  }
  if (name === undefined || name === '--help' || name === 'help') {
    terminal.out(overview());
    return name === undefined ? 2 : 0;
  }
  const entry = commands[name];
  if (entry === undefined) {
    terminal.err(`gridtide: there is no command "${name}"; gridtide --help lists them\n`);
    return 2;
  }

  const command = await entry.load();
  if (rest.includes('--help')) {
    terminal.out(help(command.spec));
    return 0;
  }
  try {
    return await command.run(readArguments(command.spec, rest), terminal);
  } catch (error) {
    if (error instanceof UsageError) {
      for (const mistake of error.mistakes) terminal.err(`gridtide ${name}: ${mistake}\n`);
      return 2;
    }
    if (error instanceof JobError) {
      terminal.err(`gridtide ${name}: ${error.message}\n`);
      return 1;
    }
    throw error;
  }
}

process.exitCode = await main(process.argv.slice(2));

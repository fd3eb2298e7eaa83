#!/usr/bin/env node

/** The process edge: arguments, signals and exit codes. The one reader of `process`; decides nothing else. */

import { commands } from './cli/command-list.ts';
import { formatHelp, JobError, parseArguments, type Terminal, UsageError } from './cli/shared/command.ts';
import { VERSION } from './cli/shared/version.ts';
import { findNearestWord } from './domain/did-you-mean.ts';

/** `lost` hears why what is printed gets nowhere. */
function createTerminal(stop: AbortSignal, onOutputLost: (why: NodeJS.ErrnoException) => void): Terminal {
  // Each stream is made when it is first used, a millisecond of a start each. One that fails must not bring the process down.
  const opened = new Set<NodeJS.WriteStream>();
  const openStream = (stream: NodeJS.WriteStream, onError: (why: NodeJS.ErrnoException) => void) => {
    if (!opened.has(stream)) opened.add(stream.on('error', onError));
    return stream;
  };
  return {
    out: (text) => openStream(process.stdout, onOutputLost).write(text),
    err: (text) => openStream(process.stderr, () => {}).write(text),
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
    onCrash: (tell) =>
      void process.once('uncaughtException', (error) => {
        tell(error);
        process.exit(1);
      }),
  };
}

function formatOverview(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  const lines = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return `gridtide ${VERSION}: runs EV chargers and heat pumps when the grid is clean\n\nusage: gridtide COMMAND [options]\n\n${lines.join('\n')}\n\ngridtide COMMAND --help tells more. Start with: gridtide demo\n`;
}

/** What a command's own errors say, with the exit code of each. */
function reportCommandError(error: unknown, name: string, { err }: Terminal): number {
  if (error instanceof UsageError) {
    for (const mistake of error.mistakes) err(`gridtide ${name}: ${mistake}\n`);
    return 2;
  }
  if (error instanceof JobError) {
    err(`gridtide ${name}: ${error.message}\n`);
    return 1;
  }
  throw error;
}

const isHelpFlag = (word: string) => word === '--help' || word === '-h';

/**
 * A name is asked for twice, a second each, instead of ten seconds in all: the system's resolver cannot be called off, holds one of
 * the four threads that files are written by as well, and keeps a process that has ended from going. Whoever needs the name asks again.
 */
process.env.RES_OPTIONS ??= 'timeout:1 attempts:2';

async function main(argv: readonly string[]): Promise<number> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  let outputError: NodeJS.ErrnoException | undefined;
  const terminal = createTerminal(stop.signal, (why) => {
    outputError ??= why;
    // Nobody reads on (`gridtide … | head`): nothing more is asked of anybody.
    stop.abort();
  });

  const [first, ...words] = argv;
  const isAboutHelp = first === 'help' || (first !== undefined && isHelpFlag(first));
  const [name, ...rest] = isAboutHelp ? words : argv;
  if (name === '--version' || name === '-V') {
    terminal.out(`${VERSION}\n`);
    return 0;
  }
  if (name === undefined) {
    terminal.out(formatOverview());
    return isAboutHelp ? 0 : 2;
  }
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (entry === undefined) {
    const suggestion = findNearestWord(name, Object.keys(commands));
    terminal.err(
      `gridtide: there is no command "${name}"${suggestion === undefined ? '' : ` (${suggestion}?)`}; gridtide --help lists them\n`,
    );
    return 2;
  }

  const command = await entry.load();
  if (isAboutHelp || rest.some(isHelpFlag)) {
    terminal.out(formatHelp(command.spec));
    return 0;
  }
  let code: number;
  try {
    code = await command.run(parseArguments(command.spec, rest), terminal);
  } catch (error) {
    // Who closed the pipe has what was wanted.
    code = error instanceof JobError && outputError?.code === 'EPIPE' ? 0 : reportCommandError(error, name, terminal);
  }
  // A stream tells its failure a tick after the write.
  await new Promise((resume) => setImmediate(resume));
  if (outputError === undefined || outputError.code === 'EPIPE') return code;
  terminal.err(`gridtide ${name}: what was printed is not whole (${outputError.code}); make room or print elsewhere\n`);
  return code === 0 ? 1 : code;
}

process.exitCode = await main(process.argv.slice(2));

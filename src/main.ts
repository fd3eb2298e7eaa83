/** The edge of the process: arguments, signals and exit codes. */

import { commands, FIRST_COMMANDS } from './cli/command-list.ts';
import { formatHelp, JobError, type Terminal, UsageError } from './cli/shared/command.ts';
import { parseArguments } from './cli/shared/parse-arguments.ts';
import { formatColumns } from './cli/shared/table.ts';
import { wrapText } from './cli/shared/terminal-text.ts';
import { VERSION } from './cli/shared/version.ts';
import { findNearestWord } from './domain/did-you-mean.ts';
import { isJournal } from './platform/journal.ts';

/** `onOutputLost` is called with the code of the error of a stdout or stderr that accepts no more. */
function createTerminal(
  stop: AbortController,
  onOutputLost: (code: string) => void,
): Terminal & { hasPrinted(): boolean } {
  // A stream is created at its first use: each costs a millisecond of the start. Its failure must not end the process.
  const opened = new Set<NodeJS.WriteStream>();
  const openStream = (stream: NodeJS.WriteStream, onError: (error: NodeJS.ErrnoException) => void) => {
    if (!opened.has(stream)) opened.add(stream.on('error', onError));
    return stream;
  };
  const onStdoutError = ({ code = '' }: NodeJS.ErrnoException) => {
    onOutputLost(code);
    // The reader has closed the pipe (`gridtide … | head`): no more requests are sent.
    stop.abort();
  };
  const onStderrError = ({ code = '' }: NodeJS.ErrnoException) => {
    if (code !== 'EPIPE') onOutputLost(code);
  };
  let hasPrinted = false;
  const wrapFor = (stream: NodeJS.WriteStream, text: string) =>
    stream.isTTY === true ? wrapText(text, stream.columns) : text;
  return {
    out: (text) => {
      hasPrinted = true;
      openStream(process.stdout, onStdoutError).write(wrapFor(process.stdout, text));
    },
    hasPrinted: () => hasPrinted,
    err: (text) => openStream(process.stderr, onStderrError).write(wrapFor(process.stderr, text)),
    get input() {
      return process.stdin;
    },
    env: process.env,
    installed: { config: '/etc/gridtide/gridtide.yaml', state: '/var/lib/gridtide' },
    get interactive() {
      return isDevice(1) && process.stdout.isTTY === true;
    },
    get showsProgress() {
      return process.stderr.isTTY === true;
    },
    get columns() {
      return process.stdout.columns ?? 80;
    },
    stop: stop.signal,
    onOutputLost,
    onCrash: (report) =>
      void process.once('uncaughtException', (error) => {
        report(error);
        process.exit(1);
      }),
  };
}

/** Whether it may be a terminal: a stream is not created to learn that it is none. */
function isDevice(fd: number): boolean {
  try {
    return process.getBuiltinModule('node:fs').fstatSync(fd).isCharacterDevice();
  } catch {
    return false;
  }
}

function formatOverview(): string {
  const lines = formatColumns(Object.entries(commands).map(([name, { summary }]) => [`  ${name}`, summary]));
  const [first, others] = [lines.slice(0, FIRST_COMMANDS), lines.slice(FIRST_COMMANDS)];
  return `gridtide ${VERSION}: runs EV chargers and heat pumps when the grid is clean\n\nusage: gridtide COMMAND [options]\n\nfirst:\n${first.join('\n')}\n\nthen:\n${others.join('\n')}\n\ngridtide COMMAND --help describes its options. Start with: gridtide demo\n`;
}

/** Prints the error of a command, with `--json` also as a document on an empty stdout; returns its exit code. */
function reportCommandError(error: unknown, name: string, { out, err }: Terminal, wantsJson: boolean): number {
  if (wantsJson && (error instanceof UsageError || error instanceof JobError)) {
    const details = error instanceof JobError ? error.details : {};
    out(`${JSON.stringify({ error: error.message.replaceAll('\n', '; '), ...details })}\n`);
  }
  const priority = isJournal(2, process.env) ? '<3>' : '';
  if (error instanceof UsageError) {
    for (const mistake of error.mistakes) err(`${priority}gridtide ${name}: ${mistake}\n`);
    return 2;
  }
  if (error instanceof JobError) {
    err(`${priority}gridtide ${name}: ${error.message}\n`);
    return 1;
  }
  throw error;
}

/** 128 and the number of SIGINT. */
const EXIT_INTERRUPTED = 130;

const isHelpFlag = (word: string) => word === '--help' || word === '-h';

/**
 * A host name is looked up twice, a second each, instead of for ten seconds: the system's resolver cannot be cancelled, occupies one of
 * the four threads that also write files, and delays the exit of a process that has ended. The callers retry anyway.
 */
process.env.RES_OPTIONS ??= 'timeout:1 attempts:2';

/** Help, the version, or the function that runs the command; a number: the exit code of words that name none. */
async function findCommand(argv: readonly string[], terminal: Terminal): Promise<number | (() => Promise<number>)> {
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
    terminal.out(formatHelp(command.spec, entry.summary));
    return 0;
  }
  return () => command.run(parseArguments(command.spec, rest), terminal);
}

async function main(argv: readonly string[]): Promise<number> {
  const stop = new AbortController();
  let isInterrupted = false;
  process.once('SIGTERM', () => stop.abort());
  let isHungUp = false;
  // The shell passes its own on and the system sends another: a second one must not cut the end short.
  process.on('SIGHUP', () => {
    isHungUp = true;
    stop.abort();
  });
  process.once('SIGINT', () => {
    isInterrupted = true;
    stop.abort();
  });
  let outputError: string | undefined;
  const terminal = createTerminal(stop, (errorCode) => {
    outputError ??= errorCode;
  });

  const name = argv[0] ?? '';
  const command = await findCommand(argv, terminal);
  let code: number;
  try {
    code = typeof command === 'number' ? command : await command();
  } catch (error) {
    // A reader that closed the pipe has enough.
    code =
      error instanceof JobError && outputError === 'EPIPE'
        ? 0
        : reportCommandError(error, name, terminal, argv.includes('--json') && !terminal.hasPrinted());
    // The shell's code of Ctrl-C, for a command that it ended early.
    if (isInterrupted && code === 1) code = EXIT_INTERRUPTED;
  }
  // A stream reports its failure a tick after the write.
  await new Promise((resume) => setImmediate(resume));
  // Without its terminal Node would abort when it exits by itself.
  if (isHungUp) process.removeAllListeners('SIGHUP').kill(process.pid, 'SIGHUP');
  if (outputError === undefined || outputError === 'EPIPE') return code;
  terminal.err(`gridtide ${name}: the output is incomplete (${outputError}); make room or print elsewhere\n`);
  return code === 0 ? 1 : code;
}

// The code of an end before the answer.
process.exitCode = 1;
void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});

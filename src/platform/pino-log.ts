/** Writes log events through pino, as JSON lines, as coloured lines at a terminal or as plain lines to the journal, and hides registered secrets. */

import pino, { type DestinationStream } from 'pino';
import type { Log, LogLevel } from '../domain/ports.ts';
import { formatCount, type Instant } from '../domain/units.ts';
import { createNonblockingLines } from './nonblocking-lines.ts';

export interface Logging {
  readonly log: Log;
  /** From now on `secret` is written nowhere, also not percent-encoded or in base64. */
  hideSecret(secret: string): void;
  /** At the end of the process: gives a slow reader a last moment for the pending lines. Returns the code of a full disk that refused them. */
  flush(): string | undefined;
}

export interface LogOptions {
  readonly level: LogLevel;
  /** People read along: colours instead of JSON. */
  readonly interactive?: boolean;
  /** The log goes to systemd's journal, which keeps time and priority itself: plain sentences. */
  readonly isJournal?: boolean;
  /** File descriptor; 1, standard output, when absent. */
  readonly fd?: number;
  /** Time of the events, where it is not the machine's. */
  readonly now?: () => Instant;
  /** Called once the reader of the log has closed its pipe; the log drops all further lines. */
  readonly onReaderGone?: (() => void) | undefined;
}

const HIDDEN_TEXT = '[hidden]';
/** Fields of these names are hidden whatever their value, in the event and one level below. */
const SECRET_FIELDS = ['password', 'token', 'authorization', 'Authorization', 'secret', 'credentials'];
/** Shorter base64 is too common in honest words. */
const SHORTEST_ENCODING = 4;

const CONTROL_CHARACTERS = /[\p{Cc}\u2028\u2029]+/gu;

/**
 * A word, a number or a short text stands in honest lines too: hidden there it would show itself by its gaps. Such a secret is hidden in
 * the forms that only a secret has: in an address, and in base64.
 */
const isCommonText = (secret: string) => secret.length < 8 || /^(?:\p{L}{1,15}|\d{1,15})$/u.test(secret);

/** Ways in which the text may stand in a line: as it is, in JSON, in an address, in a basic authorisation. */
function listSecretEncodings(secret: string): string[] {
  const base64 = Buffer.from(secret).toString('base64');
  // The last group of base64 depends on what follows, and the first on what stands before.
  const whole = base64.slice(0, Math.floor((Buffer.byteLength(secret) * 8) / 24) * 4);
  const forms = [base64, whole].filter((text) => text.length >= SHORTEST_ENCODING);
  if (isCommonText(secret)) return [`:${secret}@`, `:${encodeURIComponent(secret)}@`, ...forms];
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), ...forms];
}

export async function createLogging({
  level,
  interactive,
  isJournal,
  fd = 1,
  now,
  onReaderGone,
}: LogOptions): Promise<Logging> {
  /** The longest first: a form may hold another. */
  let hidden: readonly string[] = [];
  const removeSecrets = (line: string) => {
    let text = line;
    for (const secret of hidden) text = text.replaceAll(secret, HIDDEN_TEXT);
    return text;
  };

  const lines = createNonblockingLines(fd, {
    onLost: (count) => log('warn', `${formatCount(count, 'line')} of the log lost: the reader was too slow`),
    onReaderGone,
  });
  const stream = interactive ? await createPrettyStream(lines) : isJournal ? createJournalStream(lines) : lines;
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date(now === undefined ? Date.now() : now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: HIDDEN_TEXT },
      hooks: { streamWrite: removeSecrets },
    },
    stream,
  );
  const log: Log = (at, message, fields) => logger[at](fields ?? {}, message.replace(CONTROL_CHARACTERS, ' '));
  return {
    log,
    flush: lines.flush,
    hideSecret: (secret) => {
      hidden = [...new Set([...hidden, ...listSecretEncodings(secret)])].sort((a, b) => b.length - a.length);
    },
  };
}

async function createPrettyStream(destination: DestinationStream): Promise<DestinationStream> {
  // The default is the module in Node and in a bundle's chunk alike; its names are not.
  const { prettyFactory } = (await import('pino-pretty')).default;
  const formatLine = prettyFactory({ colorize: true, singleLine: true, translateTime: 'SYS:HH:MM:ss' });
  return { write: (line) => destination.write(formatLine(line)) };
}

/** Of sd-daemon(3). */
const PRIORITIES: Readonly<Record<string, number>> = { error: 3, warn: 4, info: 6 };
const DEBUG_PRIORITY = 7;

/** A secret that was hidden may have had a part of an escape sequence: then the line stays as it is. */
function parseLine(line: string): { readonly level: string; readonly texts: readonly string[] } {
  try {
    const { level, msg, err } = JSON.parse(line);
    return { level, texts: [msg, ...(typeof err?.stack === 'string' ? err.stack.split('\n') : [])] };
  } catch {
    return { level: /^\{"level":"(\w+)"/.exec(line)?.[1] ?? '', texts: [line.trimEnd()] };
  }
}

function createJournalStream(destination: DestinationStream): DestinationStream {
  const formatLine = (line: string) => {
    const { level, texts } = parseLine(line);
    const prefix = `<${PRIORITIES[level] ?? DEBUG_PRIORITY}>`;
    return texts.map((text) => `${prefix}${text}\n`).join('');
  };
  return { write: (line) => destination.write(formatLine(line)) };
}

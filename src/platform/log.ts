/** Writes events through pino: one JSON line each, or coloured lines at a terminal. Hides what it was told is secret; never fails its caller. */

import pino, { type DestinationStream } from 'pino';
import type { Instant } from '../units.ts';
import type { Log, LogLevel } from '../world.ts';

export interface Logging {
  readonly log: Log;
  /** From now on `secret` is written nowhere, also not percent-encoded or in base64. */
  conceal(secret: string): void;
}

export interface LogOptions {
  readonly level: LogLevel;
  /** People read along: colours instead of JSON. */
  readonly interactive?: boolean;
  /** File descriptor: 1, standard output, unless said otherwise. */
  readonly fd?: number;
  /** Time of the events, where it is not the machine's. */
  readonly now?: () => Instant;
}

const HIDDEN = '[hidden]';
/** Fields of these names are hidden whatever they hold, in the event and one level below. */
const SECRET_FIELDS = ['password', 'token', 'authorization', 'Authorization', 'secret', 'credentials'];
/** A shorter text is too common in honest words to be hidden wherever it stands. */
const SHORTEST_SECRET = 4;

const CONTROL_CHARACTERS = /[\p{Cc}\u2028\u2029]+/gu;

/** Ways in which the text may stand in a line: as it is, in JSON, in an address, in a basic authorisation. */
function disguises(secret: string): string[] {
  const base64 = Buffer.from(secret).toString('base64');
  // The last group of base64 depends on what follows, and the first on what stands before.
  const whole = base64.slice(0, Math.floor((Buffer.byteLength(secret) * 8) / 24) * 4);
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), base64, whole].filter(
    (text) => text.length >= SHORTEST_SECRET,
  );
}

/** Synchronous, so that the last words of a dying process are written; a reader who has gone away ends the log, not the program. */
function destinationOf(fd: number): DestinationStream {
  const destination = pino.destination({ fd, sync: true });
  let isGone = false;
  const giveUp = () => {
    isGone = true;
  };
  destination.on('error', giveUp);
  return {
    write: (line) => {
      if (isGone) return;
      try {
        destination.write(line);
      } catch {
        giveUp();
      }
    },
  };
}

export async function createLog({ level, interactive = false, fd = 1, now }: LogOptions): Promise<Logging> {
  const hidden = new Set<string>();
  const withoutSecrets = (line: string) => {
    let text = line;
    for (const secret of hidden) text = text.replaceAll(secret, HIDDEN);
    return text;
  };

  const destination = destinationOf(fd);
  const stream = interactive ? await prettyOver(destination) : destination;
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date(now === undefined ? Date.now() : now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: HIDDEN },
      hooks: { streamWrite: withoutSecrets },
    },
    stream,
  );
  return {
    log: (at, message, fields) => logger[at](fields ?? {}, message.replace(CONTROL_CHARACTERS, ' ')),
    conceal: (secret) => {
      for (const text of disguises(secret)) hidden.add(text);
    },
  };
}

async function prettyOver(destination: DestinationStream): Promise<DestinationStream> {
  const { prettyFactory } = await import('pino-pretty');
  const asText = prettyFactory({ colorize: true, singleLine: true, translateTime: 'SYS:HH:MM:ss' });
  return { write: (line) => destination.write(asText(line)) };
}

/** Asks at the terminal, one line an answer, until each is good. Knows no option. */

import type { GivenValue } from '../config/example.ts';
import type { Kind } from '../config/kind.ts';
import { decimalOf } from '../config/written.ts';
import { JobError, type Terminal } from './command.ts';
import { linesOf } from './lines.ts';

export interface Question {
  readonly text: string;
  readonly kind: Kind<unknown>;
  /** Taken for an empty line. */
  readonly fallback?: GivenValue;
  /** An empty line means: none. */
  readonly mayBeNone?: true;
}

export interface Asker {
  /** The value as it is written in the file, or undefined for none. Throws `JobError` when the answers end. */
  ask(question: Question): Promise<GivenValue | undefined>;
  /** Lets go of the input. */
  close(): void;
}

const numberOf = (text: string) => decimalOf(text) ?? text;

const YES_OR_NO = /^(?:y|yes|true|n|no|false)$/i;
const spoken = (value: GivenValue) => (typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value));

/** The text of an answer as YAML would read it for this kind. */
function valueFrom(text: string, { schema }: Kind<unknown>): GivenValue {
  if (schema.type === 'array')
    // In brackets, as the file has it, or without.
    return text
      .replace(/^\[(.*)\]$/, '$1')
      .split(/[\s,]+/)
      .filter((part) => part !== '')
      .map(numberOf);
  if (schema.type === 'boolean' && YES_OR_NO.test(text)) return /^[yt]/i.test(text);
  return schema.type === 'number' || schema.type === 'integer' ? numberOf(text) : text;
}

const NOT_WRITTEN = 'nothing was written; gridtide init --yes writes an example without asking';

export function createAsker(terminal: Terminal): Asker {
  const { out, stop } = terminal;
  const lines = linesOf(terminal);

  async function line(): Promise<string> {
    const next = await lines.next();
    if (next.done !== true) return next.value.trim();
    out('\n'); // the question stands there yet
    throw new JobError(`${stop.aborted ? 'stopped' : 'the answers ended before the questions did'}; ${NOT_WRITTEN}`);
  }

  return {
    async ask({ text, kind, fallback, mayBeNone }) {
      const offered = fallback === undefined ? (mayBeNone === true ? ' [none]' : '') : ` [${spoken(fallback)}]`;
      for (;;) {
        out(`${text}${offered}: `);
        const said = await line();
        if (said === '' && (fallback !== undefined || mayBeNone === true)) return fallback;
        const value = valueFrom(said, kind);
        const mistakes: string[] = [];
        kind.read(value, (says) => mistakes.push(says));
        if (mistakes.length === 0) return value;
        if (kind.schema.type === 'boolean') out(`  ${JSON.stringify(said)} is not yes or no\n`);
        else for (const mistake of mistakes) out(`  ${mistake}\n`);
      }
    },
    close: () => void lines.return(),
  };
}

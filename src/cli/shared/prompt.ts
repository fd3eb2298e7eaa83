/** Asks questions at the terminal, each until its answer is valid. */

import type { ConfigTreeValue } from '../../config/example-config.ts';
import type { ValueType } from '../../config/value-type.ts';
import { parseDecimal } from '../../domain/text-format.ts';
import { JobError, type Terminal } from './command.ts';
import { readStdinLines } from './stdin-lines.ts';

interface Question {
  readonly text: string;
  readonly kind: ValueType<unknown>;
  /** The answer of an empty line. */
  readonly fallback?: ConfigTreeValue;
  /** An empty line means none. */
  readonly isOptional?: boolean;
}

export interface Prompt {
  /** The value as the file has it, or undefined for none. Throws `JobError` when the input ends. */
  ask(question: Question): Promise<ConfigTreeValue | undefined>;
  /** Releases the input. */
  close(): void;
}

const parseNumberOrText = (text: string) => parseDecimal(text) ?? text;

const YES_OR_NO = /^(?:y|yes|true|n|no|false)$/i;
const formatAnswer = (value: ConfigTreeValue) => (typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value));

/** The value of an answer as YAML would read it for this type. */
function parseAnswer(text: string, { schema }: ValueType<unknown>): ConfigTreeValue {
  if (schema.type === 'array')
    // With brackets, as in the file, or without.
    return text
      .replace(/^\[(.*)\]$/, '$1')
      .split(/[\s,]+/)
      .filter((part) => part !== '')
      .map(parseNumberOrText);
  if (schema.type === 'boolean' && YES_OR_NO.test(text)) return /^[yt]/i.test(text);
  return schema.type === 'number' || schema.type === 'integer' ? parseNumberOrText(text) : text;
}

const NOT_WRITTEN = 'nothing was written; gridtide init --yes writes an example without asking';

export function createPrompt(terminal: Terminal): Prompt {
  const { out, stop } = terminal;
  const lines = readStdinLines(terminal);

  async function readReply(): Promise<string> {
    const next = await lines.next();
    if (next.done !== true) return next.value.trim();
    out('\n'); // ends the line of the question
    throw new JobError(`${stop.aborted ? 'stopped' : 'the answers ended before the questions did'}; ${NOT_WRITTEN}`);
  }

  return {
    async ask({ text, kind, fallback, isOptional = false }) {
      const defaultText = fallback === undefined ? (isOptional ? ' [none]' : '') : ` [${formatAnswer(fallback)}]`;
      for (;;) {
        out(`${text}${defaultText}: `);
        const reply = await readReply();
        if (reply === '' && (fallback !== undefined || isOptional)) return fallback;
        const value = parseAnswer(reply, kind);
        const mistakes: string[] = [];
        kind.read(value, (mistake) => mistakes.push(mistake));
        if (mistakes.length === 0) return value;
        if (kind.schema.type === 'boolean') out(`  ${JSON.stringify(reply)} is not yes or no\n`);
        else for (const mistake of mistakes) out(`  ${mistake}\n`);
      }
    },
    close: () => void lines.return(),
  };
}

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
  /** Prints a text between two questions. */
  say(text: string): void;
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

/** The answer that goes back to the question before. */
const BACK = '<';
class GoBack extends Error {}

type Replies = (question: string) => Promise<string>;

/** The replies given so far come first, silently; a new one is recorded. */
function createReplies(terminal: Terminal, lines: AsyncGenerator<string, void>, given: string[]) {
  const { out, stop } = terminal;
  let count = 0;
  const isReplaying = () => count < given.length;
  const readReply: Replies = async (question) => {
    const known = given[count];
    count++;
    if (known !== undefined) return known;
    out(question);
    const next = await lines.next();
    if (next.done === true) {
      out('\n'); // ends the line of the question
      throw new JobError(`${stop.aborted ? 'stopped' : 'the answers ended before the questions did'}; ${NOT_WRITTEN}`);
    }
    const reply = next.value.trim();
    if (reply === BACK) throw new GoBack();
    given.push(reply);
    return reply;
  };
  return { readReply, say: (text: string) => void (isReplaying() || out(text)) };
}

function createPrompt(terminal: Terminal, lines: AsyncGenerator<string, void>, given: string[]): Prompt {
  const { readReply, say } = createReplies(terminal, lines, given);
  return {
    say,
    async ask({ text, kind, fallback, isOptional = false }) {
      const defaultText = fallback === undefined ? (isOptional ? ' [none]' : '') : ` [${formatAnswer(fallback)}]`;
      for (;;) {
        const reply = await readReply(`${text}${defaultText}: `);
        if (reply === '' && (fallback !== undefined || isOptional)) return fallback;
        const value = parseAnswer(reply, kind);
        const mistakes: string[] = [];
        kind.read(value, (mistake) => mistakes.push(mistake));
        if (mistakes.length === 0) return value;
        // Going back leads to the last answer that was accepted.
        given.pop();
        if (kind.schema.type === 'boolean') say(`  ${JSON.stringify(reply)} is not yes or no\n`);
        else for (const mistake of mistakes) say(`  ${mistake}\n`);
      }
    },
  };
}

/** Runs the questions. `<` goes back one: all are asked again, with the replies before it given silently. */
export async function interview<Result>(
  terminal: Terminal,
  askAll: (prompt: Prompt) => Promise<Result>,
): Promise<Result> {
  const lines = readStdinLines(terminal);
  const given: string[] = [];
  try {
    for (;;) {
      try {
        return await askAll(createPrompt(terminal, lines, given));
      } catch (error) {
        if (!(error instanceof GoBack)) throw error;
        given.pop();
      }
    }
  } finally {
    void lines.return();
  }
}

/** Writes answers that arrive in chunks as one document without storing them; completes the document after a failure too. */

import type { Clock } from '../../domain/ports.ts';
import { addDuration, type Duration, type Uptime } from '../../domain/units.ts';
import type { Failure, Outcome } from '../../service/failure.ts';
import { failureText } from '../../service/failure-text.ts';
import { JobError, type Terminal } from './command.ts';
import { toCommandError } from './service-access.ts';

/** Receives the chunks: `begin` with the first of them, `end` once after `begin`. */
export interface StreamWriter<Answer> {
  begin(first: Answer): void;
  chunk(answer: Answer): void;
  end(): void;
}

/** Writes all chunks up to a failure, then throws the failure. `check` may turn an answer into a failure. */
export async function writeStream<Answer>(
  chunks: AsyncIterable<Outcome<Answer>>,
  writer: StreamWriter<Answer>,
  check: (answer: Answer) => Failure | undefined = () => undefined,
): Promise<void> {
  let failure: Failure | undefined;
  let hasBegun = false;
  for await (const outcome of chunks) {
    failure = outcome.ok ? check(outcome.value) : outcome.failure;
    if (!outcome.ok || failure !== undefined) break;
    if (!hasBegun) writer.begin(outcome.value);
    hasBegun = true;
    writer.chunk(outcome.value);
  }
  if (hasBegun) writer.end();
  if (failure === undefined) return;
  throw hasBegun
    ? new JobError(`${failureText(failure)}; the output holds the data before it`)
    : toCommandError(failure);
}

/** Prints one line per wait, although several chunks may wait at once. */
export function createWaitPrinter({ err }: Terminal, clock: Clock): (wait: Duration, failure: Failure) => void {
  let until: Uptime | undefined;
  return (wait, failure) => {
    const { uptime } = clock.now();
    if (until !== undefined && uptime < until) return;
    until = addDuration(uptime, wait);
    // The wait is the fix, so the sentence is printed without its own.
    const why = failure.kind === 'throttled' ? 'too many requests' : failureText(failure).replace(/; [^;]*$/, '');
    err(`waiting ${Math.ceil(wait / 1_000)} s: ${why}\n`);
  };
}

/** One JSON object: the keys of `headOf` for the first answer, then the items of all answers under `name`. */
export function createJsonWriter<Answer>(
  { out }: Terminal,
  name: string,
  { headOf, itemsOf }: { headOf: (first: Answer) => object; itemsOf: (answer: Answer) => readonly unknown[] },
): StreamWriter<Answer> {
  let separator = '';
  return {
    begin: (first) => out(`${JSON.stringify(headOf(first)).slice(0, -1)},"${name}":[`),
    chunk(answer) {
      const items = itemsOf(answer);
      if (items.length === 0) return;
      out(`${separator}${items.map((item) => JSON.stringify(item)).join(',\n')}`);
      separator = ',\n';
    },
    end: () => out(']}\n'),
  };
}

/** Rows under `head`; the unit goes to stderr. */
export function createRowWriter<Answer>(
  { out, err }: Terminal,
  head: string,
  { unitsOf, rowsOf }: { unitsOf: (first: Answer) => string; rowsOf: (answer: Answer) => readonly string[] },
): StreamWriter<Answer> {
  let count = 0;
  return {
    begin(first) {
      err(`values in ${unitsOf(first)}\n`);
      out(`${head}\n`);
    },
    chunk(answer) {
      const rows = rowsOf(answer);
      count += rows.length;
      if (rows.length > 0) out(`${rows.join('\n')}\n`);
    },
    end() {
      if (count === 0) err('no data in this range\n');
    },
  };
}

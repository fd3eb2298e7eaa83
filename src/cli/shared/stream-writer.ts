/** Writes answers that come piece by piece as one document, holding none of them; closes it even when the pieces end early. */

import type { Clock } from '../../domain/ports.ts';
import { addDuration, type Duration, type Uptime } from '../../domain/units.ts';
import type { Failure, Outcome } from '../../service/failure.ts';
import { failureText } from '../../service/failure-text.ts';
import { JobError, type Terminal } from './command.ts';
import { toCommandError } from './service-access.ts';

/** Where the pieces go. `begin` is called with the first of them, `end` once if `begin` was. */
export interface StreamWriter<Answer> {
  begin(first: Answer): void;
  chunk(answer: Answer): void;
  end(): void;
}

/** Writes all pieces up to a failure, which is then thrown in words. `check` may make a failure of an answer. */
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
  throw hasBegun ? new JobError(`${failureText(failure)}; what came before it is printed`) : toCommandError(failure);
}

/** Says a pause between pieces: one line, though several of them wait at a time. */
export function createWaitPrinter({ err }: Terminal, clock: Clock): (wait: Duration, failure: Failure) => void {
  let until: Uptime | undefined;
  return (wait, failure) => {
    const { uptime } = clock.now();
    if (until !== undefined && uptime < until) return;
    until = addDuration(uptime, wait);
    // What to do about it is being done.
    const why = failure.kind === 'throttled' ? 'too many requests' : failureText(failure).replace(/; [^;]*$/, '');
    err(`waiting ${Math.ceil(wait / 1_000)} s: ${why}\n`);
  };
}

/** One JSON object: what `headOf` says of the first answer, then the items of all under `name`. */
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

/** Rows under `head`; what the values are in goes to people. */
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
      if (count === 0) err('nothing fits what was asked\n');
    },
  };
}

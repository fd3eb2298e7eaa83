/** Writes answers that come piece by piece as one document, holding none of them; closes it even when the pieces end early. */

import { sentenceOf } from '../service/describe.ts';
import type { Failure, Outcome } from '../service/failure.ts';
import { after, type Duration, type Uptime } from '../units.ts';
import type { Clock } from '../world.ts';
import { JobError, type Terminal } from './command.ts';
import { errorOf } from './service-access.ts';

/** Where the pieces go. `begin` is called with the first of them, `end` once if `begin` was. */
export interface Writer<Answer> {
  begin(first: Answer): void;
  piece(answer: Answer): void;
  end(): void;
}

/** Writes all pieces up to a failure, which is then thrown in words. `check` may make a failure of an answer. */
export async function written<Answer>(
  pieces: AsyncIterable<Outcome<Answer>>,
  writer: Writer<Answer>,
  check: (answer: Answer) => Failure | undefined = () => undefined,
): Promise<void> {
  let failure: Failure | undefined;
  let begun = false;
  for await (const outcome of pieces) {
    failure = outcome.ok ? check(outcome.value) : outcome.failure;
    if (!outcome.ok || failure !== undefined) break;
    if (!begun) writer.begin(outcome.value);
    begun = true;
    writer.piece(outcome.value);
  }
  if (begun) writer.end();
  if (failure === undefined) return;
  throw begun ? new JobError(`${sentenceOf(failure)}; what came before it is printed`) : errorOf(failure);
}

/** Says a pause between pieces: one line, though several of them wait at a time. */
export function tellingWaits({ err }: Terminal, clock: Clock): (wait: Duration, failure: Failure) => void {
  let until: Uptime | undefined;
  return (wait, failure) => {
    const { uptime } = clock.now();
    if (until !== undefined && uptime < until) return;
    until = after(uptime, wait);
    // What to do about it is being done.
    const why = failure.kind === 'throttled' ? 'too many requests' : sentenceOf(failure).replace(/; [^;]*$/, '');
    err(`waiting ${Math.ceil(wait / 1_000)} s: ${why}\n`);
  };
}

/** One JSON object: what `headOf` says of the first answer, then the items of all under `name`. */
export function jsonWriter<Answer>(
  { out }: Terminal,
  name: string,
  { headOf, itemsOf }: { headOf: (first: Answer) => object; itemsOf: (answer: Answer) => readonly unknown[] },
): Writer<Answer> {
  let separator = '';
  return {
    begin: (first) => out(`${JSON.stringify(headOf(first)).slice(0, -1)},"${name}":[`),
    piece(answer) {
      const items = itemsOf(answer);
      if (items.length === 0) return;
      out(`${separator}${items.map((item) => JSON.stringify(item)).join(',\n')}`);
      separator = ',\n';
    },
    end: () => out(']}\n'),
  };
}

/** Rows under `head`; what the values are in goes to people. */
export function rowWriter<Answer>(
  { out, err }: Terminal,
  head: string,
  { unitsOf, rowsOf }: { unitsOf: (first: Answer) => string; rowsOf: (answer: Answer) => readonly string[] },
): Writer<Answer> {
  let count = 0;
  return {
    begin(first) {
      err(`values in ${unitsOf(first)}\n`);
      out(`${head}\n`);
    },
    piece(answer) {
      const rows = rowsOf(answer);
      count += rows.length;
      if (rows.length > 0) out(`${rows.join('\n')}\n`);
    },
    end() {
      if (count === 0) err('nothing fits what was asked\n');
    },
  };
}

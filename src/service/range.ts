/** Reads the pieces of a range in their order, a few at a time, and holds no more of them; knows no endpoint. */

import { between, type Instant, milliseconds } from '../units.ts';
import { endedBy } from './ending.ts';
import type { Outcome } from './failure.ts';
import { createPieceReader, type PieceParts } from './piece-reader.ts';
import { piecesOf } from './pieces.ts';
import type { Range, Reading } from './queries.ts';

const IN_FLIGHT = 3;

export interface RangeReader<Answer> extends PieceParts<Answer> {
  /** Ends the reading when the service is stopped. */
  readonly stopped: AbortSignal;
}

/**
 * The answers of a range, piece by piece in order; the last may be a failure. Read ahead by `reading.inFlight` pieces and
 * no more, so that memory stays flat however long the range is. Leaving the loop ends it.
 */
export async function* readRange<Answer>(
  range: Range,
  { stopped, ...parts }: RangeReader<Answer>,
  { inFlight = IN_FLIGHT, progress, signal }: Reading = {},
): AsyncGenerator<Outcome<Answer>> {
  const ending = endedBy(stopped, signal);
  const whole = between(range.start, range.end);
  let done = milliseconds(0);
  const reader = createPieceReader(parts, {
    signal: ending.signal,
    waits: (wait, failure) => progress?.({ done, whole, requests: reader.requests(), waiting: { wait, failure } }),
  });

  const pieces = piecesOf(range, reader.span);
  const underWay: { readonly end: Instant; readonly answers: ReturnType<typeof reader.read> }[] = [];
  const readAhead = () => {
    while (underWay.length < Math.max(1, inFlight)) {
      const next = pieces.next();
      if (next.done) return;
      underWay.push({ end: next.value.end, answers: reader.read(next.value) });
    }
  };
  try {
    for (;;) {
      readAhead();
      const first = underWay.shift();
      if (first === undefined) return;
      for (const answer of await first.answers) {
        yield answer;
        if (!answer.ok) return;
      }
      done = between(range.start, first.end);
      progress?.({ done, whole, requests: reader.requests() });
    }
  } finally {
    ending.end();
  }
}

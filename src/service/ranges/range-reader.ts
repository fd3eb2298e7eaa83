/** Reads the pieces of a range in their order, a few at a time, and holds no more of them; knows no endpoint. */

import { durationBetween, type Instant, milliseconds } from '../../domain/units.ts';
import type { RangeReadOptions, TimeRange } from '../api/query-types.ts';
import type { Outcome } from '../failure.ts';
import { anySignal } from '../transport/combined-abort.ts';
import { type ChunkReaderParts, createChunkReader } from './chunk-reader.ts';
import { splitIntoChunks } from './chunks.ts';

const DEFAULT_IN_FLIGHT = 3;

export interface RangeReaderParts<Answer> extends ChunkReaderParts<Answer> {
  /** Ends the reading when the service is stopped. */
  readonly stopSignal: AbortSignal;
}

/**
 * The answers of a range, piece by piece in order; the last may be a failure. Read ahead by `reading.inFlight` pieces and
 * no more, so that memory stays flat however long the range is. Leaving the loop ends it.
 */
export async function* readRange<Answer>(
  range: TimeRange,
  { stopSignal, ...parts }: RangeReaderParts<Answer>,
  { inFlight = DEFAULT_IN_FLIGHT, onProgress, signal }: RangeReadOptions = {},
): AsyncGenerator<Outcome<Answer>> {
  const combined = anySignal(stopSignal, signal);
  const total = durationBetween(range.start, range.end);
  let done = milliseconds(0);
  const reader = createChunkReader(parts, {
    signal: combined.signal,
    onWait: (wait, failure) =>
      onProgress?.({ done, total, requests: reader.requestCount(), waiting: { wait, failure } }),
  });

  const chunks = splitIntoChunks(range, reader.nextSpan);
  const inFlightChunks: { readonly end: Instant; readonly answers: ReturnType<typeof reader.read> }[] = [];
  const readAhead = () => {
    while (inFlightChunks.length < Math.max(1, inFlight)) {
      const next = chunks.next();
      if (next.done) return;
      inFlightChunks.push({ end: next.value.end, answers: reader.read(next.value) });
    }
  };
  try {
    for (;;) {
      readAhead();
      const first = inFlightChunks.shift();
      if (first === undefined) return;
      for (const answer of await first.answers) {
        yield answer;
        if (!answer.ok) return;
      }
      done = durationBetween(range.start, first.end);
      onProgress?.({ done, total, requests: reader.requestCount() });
    }
  } finally {
    combined.end();
  }
}

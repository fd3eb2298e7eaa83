/** Reads the chunks of a range in order, a few at a time. */

import { addDuration, durationBetween, floorTo, milliseconds } from '../../domain/units.ts';
import type { RangeProgress, RangeReadOptions, TimeRange } from '../api/query-types.ts';
import type { Outcome } from '../failure.ts';
import { anySignal } from '../transport/combined-abort.ts';
import { type ChunkReaderParts, createChunkReader } from './chunk-reader.ts';
import { CHUNK_STEP, splitIntoChunks } from './chunks.ts';

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
  { inFlight = DEFAULT_IN_FLIGHT, maxSpan, onProgress, signal }: RangeReadOptions = {},
): AsyncGenerator<Outcome<Answer>> {
  const combined = anySignal(stopSignal, signal);
  const total = durationBetween(range.start, range.end);
  let next = range.start;
  const report = (more: Pick<RangeProgress, 'waiting' | 'split'> = {}): void =>
    onProgress?.({
      done: milliseconds(Math.min(total, durationBetween(range.start, next))),
      total,
      next,
      requests: reader.requestCount(),
      ...more,
    });
  const reader = createChunkReader(
    { ...parts, maxSpan: milliseconds(Math.min(parts.maxSpan, maxSpan ?? parts.maxSpan)) },
    {
      signal: combined.signal,
      onWait: (wait, failure) => report({ waiting: { wait, failure } }),
      onSplit: (span, failure) => report({ split: { span, failure } }),
    },
  );

  const chunks = splitIntoChunks(range, reader.nextSpan);
  const inFlightChunks: ReturnType<typeof reader.read>[] = [];
  const readAhead = () => {
    while (inFlightChunks.length < Math.max(1, inFlight)) {
      const chunk = chunks.next();
      if (chunk.done) return;
      inFlightChunks.push(reader.read(chunk.value));
    }
  };
  try {
    for (;;) {
      readAhead();
      const first = inFlightChunks.shift();
      if (first === undefined) return;
      for (const { piece, outcome } of await first) {
        yield outcome;
        if (!outcome.ok) return;
        next = addDuration(floorTo(piece.end, CHUNK_STEP), CHUNK_STEP);
        report();
      }
    }
  } finally {
    combined.end();
  }
}

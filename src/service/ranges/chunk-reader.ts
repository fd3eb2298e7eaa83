/** Reads one piece of a range: decides when it is asked for in shorter parts, and how long the next may be. */

import type { Clock, Random } from '../../domain/ports.ts';
import { type Duration, durationBetween, milliseconds, seconds } from '../../domain/units.ts';
import { invalidResponse } from '../api/decode-body.ts';
import type { TimeRange } from '../api/query-types.ts';
import type { Failure, Outcome } from '../failure.ts';
import { createRetry, type RetryParts } from '../limits/retry.ts';
import { CHUNK_STEP, splitIntoChunks } from './chunks.ts';

/** After a piece this quick the next may be longer again. */
const QUICK_RESPONSE = seconds(8);

export interface ChunkReaderParts<Answer> {
  readonly clock: Clock;
  readonly random: Random;
  /** The longest piece (specification 8). */
  readonly maxSpan: Duration;
  readonly fetchChunk: (piece: TimeRange) => Promise<Outcome<Answer>>;
  /** The spacing the pieces were cut by must hold for the answer. */
  readonly periodOf: (answer: Answer) => Duration | undefined;
}

export interface ChunkReader<Answer> {
  /** The answers of a piece in order: one, or those of its parts; the last may be a failure. */
  read(piece: TimeRange): Promise<readonly Outcome<Answer>[]>;
  /** How long the next piece may be. */
  nextSpan(): Duration;
  requestCount(): number;
}

const isTooLarge = (failure: Failure) => failure.kind === 'unreachable' && failure.reason === 'too-large';
/** A shorter piece may come through. */
const isWorthSplitting = (failure: Failure) =>
  isTooLarge(failure) || (failure.kind === 'unreachable' && failure.reason === 'deadline');

function checkPeriod<Answer>(value: Answer, period: Duration | undefined): Outcome<Answer> {
  if (period === undefined || period % CHUNK_STEP === 0) return { ok: true, value };
  return invalidResponse('meta', `periods of whole ${CHUNK_STEP / 60_000} minutes`, `${period / 1_000} s`);
}

export function createChunkReader<Answer>(
  { clock, random, maxSpan, fetchChunk, periodOf }: ChunkReaderParts<Answer>,
  retryOptions: Pick<RetryParts, 'signal' | 'onWait'>,
): ChunkReader<Answer> {
  const retry = createRetry({ clock, random, ...retryOptions });
  let longestSpan = maxSpan;
  let span = maxSpan;
  let requests = 0;
  const fetchWithRetry = (piece: TimeRange) =>
    retry(() => {
      requests += 1;
      return fetchChunk(piece);
    });

  async function readInParts(piece: TimeRange): Promise<readonly Outcome<Answer>[]> {
    const answers: Outcome<Answer>[] = [];
    for (const part of splitIntoChunks(piece, () => span)) {
      answers.push(...(await read(part)));
      if (!answers.every(({ ok }) => ok)) break;
    }
    return answers;
  }

  async function read(piece: TimeRange): Promise<readonly Outcome<Answer>[]> {
    const from = clock.now().uptime;
    const outcome = await fetchWithRetry(piece);
    if (outcome.ok) {
      if (durationBetween(from, clock.now().uptime) < QUICK_RESPONSE)
        span = milliseconds(Math.min(longestSpan, span * 2));
      return [checkPeriod(outcome.value, periodOf(outcome.value))];
    }
    const length = durationBetween(piece.start, piece.end);
    if (!isWorthSplitting(outcome.failure) || length < CHUNK_STEP) return [outcome];
    span = milliseconds(Math.min(span, Math.max(CHUNK_STEP, length / 2)));
    if (isTooLarge(outcome.failure)) longestSpan = span;
    return readInParts(piece);
  }

  return { read, nextSpan: () => span, requestCount: () => requests };
}

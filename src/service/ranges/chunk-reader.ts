/** Reads one chunk of a range; requests it in shorter parts when it is too large, and adapts the length of the next. */

import type { Clock, Random } from '../../domain/ports.ts';
import { addDuration, type Duration, durationBetween, milliseconds, seconds } from '../../domain/units.ts';
import { invalidResponse } from '../api/decode-body.ts';
import type { TimeRange } from '../api/query-types.ts';
import type { Failure, Outcome } from '../failure.ts';
import { createRetry, type RetryParts } from '../limits/retry.ts';
import { CHUNK_STEP, splitIntoChunks } from './chunks.ts';

/** What a request should take: the next piece is as long as this one's time says, at most twice as long. */
const TARGET_RESPONSE = seconds(8);
/** Half of the usual deadline: a piece this slow is a warning, and the next are shorter. */
const SLOW_RESPONSE = seconds(15);
const MAX_GROWTH = 2;
/** A piece that met its deadline may need many times as long: some services are slower for a long range than for all its parts. */
const DEADLINE_CUT = 4;

export interface ChunkReaderParts<Answer> {
  readonly clock: Clock;
  readonly random: Random;
  /** The longest piece (specification 8). */
  readonly maxSpan: Duration;
  readonly fetchChunk: (piece: TimeRange) => Promise<Outcome<Answer>>;
  /** The spacing by which the range was split must fit the answer. */
  readonly periodOf: (answer: Answer) => Duration | undefined;
}

/** The part of a chunk sent as one request, and its answer. */
interface ReadPiece<Answer> {
  readonly piece: TimeRange;
  readonly outcome: Outcome<Answer>;
}

export interface ChunkReports extends Pick<RetryParts, 'signal' | 'onWait'> {
  /** Called when a piece did not come through and is asked for in parts of `span`. */
  readonly onSplit: (span: Duration, failure: Failure) => void;
}

export interface ChunkReader<Answer> {
  /** A piece in one request, or its parts in order; the last may be a failure. */
  read(piece: TimeRange): Promise<readonly ReadPiece<Answer>[]>;
  /** How long the next piece may be. */
  nextSpan(): Duration;
  requestCount(): number;
}

/** How long the next piece may be after one of `length` that took `elapsed`. */
function computeNextSpan(span: Duration, length: Duration, elapsed: Duration): Duration {
  const growth = Math.min(MAX_GROWTH, TARGET_RESPONSE / Math.max(1, elapsed));
  const suited = milliseconds(length * growth);
  if (elapsed > SLOW_RESPONSE) return milliseconds(Math.min(span, suited));
  return elapsed < TARGET_RESPONSE ? milliseconds(Math.max(span, suited)) : span;
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
  { onSplit, ...retryOptions }: ChunkReports,
): ChunkReader<Answer> {
  const retry = createRetry({ clock, random, ...retryOptions });
  let longestSpan = maxSpan;
  let span = maxSpan;
  let requests = 0;
  /** The last answer and its own time, without the waits before it. */
  async function fetchWithRetry(piece: TimeRange) {
    let startedAt = clock.now().uptime;
    const outcome = await retry(() => {
      requests += 1;
      startedAt = clock.now().uptime;
      return fetchChunk(piece);
    });
    return { outcome, elapsed: durationBetween(startedAt, clock.now().uptime) };
  }

  async function readInParts(piece: TimeRange): Promise<readonly ReadPiece<Answer>[]> {
    const parts: ReadPiece<Answer>[] = [];
    for (const part of splitIntoChunks(piece, () => span)) {
      parts.push(...(await read(part)));
      if (!parts.every(({ outcome }) => outcome.ok)) break;
    }
    return parts;
  }

  async function read(piece: TimeRange): Promise<readonly ReadPiece<Answer>[]> {
    const { outcome, elapsed } = await fetchWithRetry(piece);
    // Both ends are inclusive.
    const length = durationBetween(piece.start, addDuration(piece.end, CHUNK_STEP));
    if (outcome.ok) {
      const suited = computeNextSpan(span, length, elapsed);
      span = milliseconds(Math.min(longestSpan, Math.max(CHUNK_STEP, suited)));
      return [{ piece, outcome: checkPeriod(outcome.value, periodOf(outcome.value)) }];
    }
    if (!isWorthSplitting(outcome.failure) || length <= CHUNK_STEP) return [{ piece, outcome }];
    const isTooLong = isTooLarge(outcome.failure);
    span = milliseconds(Math.min(span, Math.max(CHUNK_STEP, length / (isTooLong ? 2 : DEADLINE_CUT))));
    if (isTooLong) longestSpan = span;
    onSplit(span, outcome.failure);
    return readInParts(piece);
  }

  return { read, nextSpan: () => span, requestCount: () => requests };
}

/** Reads one piece of a range: decides when it is asked for in shorter parts, and how long the next may be. */

import { between, type Duration, milliseconds, seconds } from '../units.ts';
import type { Clock, Random } from '../world.ts';
import { nonsense } from './decoding.ts';
import type { Failure, Outcome } from './failure.ts';
import { piecesOf, STEP } from './pieces.ts';
import type { Range } from './queries.ts';
import { createRetry, type RetryParts } from './retries.ts';

/** After a piece this quick the next may be longer again. */
const QUICK = seconds(8);

export interface PieceParts<Answer> {
  readonly clock: Clock;
  readonly random: Random;
  /** The longest piece (specification 8). */
  readonly most: Duration;
  readonly ask: (piece: Range) => Promise<Outcome<Answer>>;
  /** The spacing the pieces were cut by must hold for the answer. */
  readonly periodOf: (answer: Answer) => Duration | undefined;
}

export interface PieceReader<Answer> {
  /** The answers of a piece in order: one, or those of its parts; the last may be a failure. */
  read(piece: Range): Promise<readonly Outcome<Answer>[]>;
  /** How long the next piece may be. */
  span(): Duration;
  requests(): number;
}

const isTooLarge = (failure: Failure) => failure.kind === 'unreachable' && failure.reason === 'too-large';
/** A shorter piece may come through. */
const isSlow = (failure: Failure) =>
  isTooLarge(failure) || (failure.kind === 'unreachable' && failure.reason === 'deadline');

function matching<Answer>(value: Answer, period: Duration | undefined): Outcome<Answer> {
  if (period === undefined || period % STEP === 0) return { ok: true, value };
  return nonsense('meta', `periods of whole ${STEP / 60_000} minutes`, `${period / 1_000} s`);
}

export function createPieceReader<Answer>(
  { clock, random, most, ask, periodOf }: PieceParts<Answer>,
  ending: Pick<RetryParts, 'signal' | 'waits'>,
): PieceReader<Answer> {
  const retry = createRetry({ clock, random, ...ending });
  let longest = most;
  let span = most;
  let requests = 0;
  const tried = (piece: Range) =>
    retry(() => {
      requests += 1;
      return ask(piece);
    });

  async function readInParts(piece: Range): Promise<readonly Outcome<Answer>[]> {
    const answers: Outcome<Answer>[] = [];
    for (const part of piecesOf(piece, () => span)) {
      answers.push(...(await read(part)));
      if (!answers.every(({ ok }) => ok)) break;
    }
    return answers;
  }

  async function read(piece: Range): Promise<readonly Outcome<Answer>[]> {
    const from = clock.now().uptime;
    const outcome = await tried(piece);
    if (outcome.ok) {
      if (between(from, clock.now().uptime) < QUICK) span = milliseconds(Math.min(longest, span * 2));
      return [matching(outcome.value, periodOf(outcome.value))];
    }
    const length = between(piece.start, piece.end);
    if (!isSlow(outcome.failure) || length < STEP) return [outcome];
    span = milliseconds(Math.min(span, Math.max(STEP, length / 2)));
    if (isTooLarge(outcome.failure)) longest = span;
    return readInParts(piece);
  }

  return { read, span: () => span, requests: () => requests };
}

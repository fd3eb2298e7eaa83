/** Reads one piece of a range: decides how often it is tried, how long is waited, and when it is asked for in shorter parts. */

import { after, between, type Duration, milliseconds, seconds } from '../units.ts';
import type { Clock, Random } from '../world.ts';
import { afterFailure } from './after-failure.ts';
import { failed, nonsense } from './decoding.ts';
import type { Failure, Outcome } from './failure.ts';
import { piecesOf, STEP } from './pieces.ts';
import type { Range } from './queries.ts';

const MOST_TRIES = 5;
const MOST_WAITS = 20;
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

/** How often a piece is tried: repeating a GET is safe, and these failures pass by themselves, unless nothing was ever answered. */
function mostTries(failure: Failure, isAnswering: boolean): number {
  if (failure.kind === 'throttled') return MOST_WAITS;
  if (failure.kind === 'unwell') return MOST_TRIES;
  const isLink = failure.kind === 'unreachable' && ['no-connection', 'cut-short'].includes(failure.reason);
  return isLink && isAnswering ? MOST_TRIES : 1;
}

/** Resolves after `wait`, or at once when `signal` is aborted. */
function pause(clock: Clock, wait: Duration, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resume) => {
    const done = () => {
      cancel();
      signal.removeEventListener('abort', done);
      resume();
    };
    const cancel = clock.wakeAt(after(clock.now().uptime, wait), 'retry of a range', done);
    signal.addEventListener('abort', done, { once: true });
  });
}

function matching<Answer>(value: Answer, period: Duration | undefined): Outcome<Answer> {
  if (period === undefined || period % STEP === 0) return { ok: true, value };
  return nonsense('meta', `periods of whole ${STEP / 60_000} minutes`, `${period / 1_000} s`);
}

/** `waits` is told before each wait; `signal` ends waits and tries. */
export function createPieceReader<Answer>(
  { clock, random, most, ask, periodOf }: PieceParts<Answer>,
  { signal, waits }: { readonly signal: AbortSignal; readonly waits: (wait: Duration, failure: Failure) => void },
): PieceReader<Answer> {
  let longest = most;
  let span = most;
  let requests = 0;
  let isAnswering = false;

  async function tried(piece: Range): Promise<Outcome<Answer>> {
    for (let tries = 1; ; tries++) {
      if (signal.aborted) return failed({ kind: 'stopped' });
      requests += 1;
      const outcome = await ask(piece);
      if (outcome.ok || isSlow(outcome.failure) || tries >= mostTries(outcome.failure, isAnswering)) return outcome;
      const wait = afterFailure(outcome.failure, tries, random.fraction());
      waits(wait, outcome.failure);
      await pause(clock, wait, signal);
    }
  }

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
      isAnswering = true;
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

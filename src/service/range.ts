/** Decides into which requests a range of any length is split and reads them in order, a few at a time; knows no endpoint. */

import {
  after,
  before,
  between,
  type Duration,
  floorTo,
  type Instant,
  milliseconds,
  minutes,
  seconds,
} from '../units.ts';
import type { Clock, Random } from '../world.ts';
import { afterFailure } from './after-failure.ts';
import { failed, nonsense } from './decoding.ts';
import type { Failure, Outcome } from './failure.ts';
import type { Range, Reading } from './queries.ts';

/** Every period of the service is a whole number of these, counted from 1970. */
export const STEP = minutes(5);
const IN_FLIGHT = 3;
const MOST_TRIES = 5;
const MOST_WAITS = 20;
/** After a piece this quick the next may be longer again. */
const QUICK = seconds(8);

/**
 * The first piece of `range`, at most `span` long and ending one step before a cut on the grid, and the rest of it.
 * Both ends of a request are inclusive, so that no point is asked for twice and none is left out.
 */
export function firstPiece(range: Range, span: Duration): { readonly piece: Range; readonly rest?: Range } {
  const cut = after(floorTo(range.start, STEP), milliseconds(Math.max(STEP, floorTo(span as number as Instant, STEP))));
  const last = Math.max(range.start, before(cut, STEP)) as Instant;
  if (range.end < cut) return { piece: { start: range.start, end: Math.min(last, range.end) as Instant } };
  return { piece: { start: range.start, end: last }, rest: { start: cut, end: range.end } };
}

/** The pieces of a range in order, each made only when it is asked for. */
export function* piecesOf(range: Range, span: () => Duration): Generator<Range> {
  for (let left: Range | undefined = range; left !== undefined; ) {
    const { piece, rest } = firstPiece(left, span());
    yield piece;
    left = rest;
  }
}

export interface RangeReader<Answer> {
  readonly clock: Clock;
  readonly random: Random;
  /** Ends waits when the service is stopped. */
  readonly stopped: AbortSignal;
  /** The longest piece (specification 8). */
  readonly most: Duration;
  readonly ask: (piece: Range) => Promise<Outcome<Answer>>;
  /** The spacing the pieces were cut by must hold for the answer. */
  readonly periodOf: (answer: Answer) => Duration | undefined;
}

/** A shorter piece may come through. */
const isSlow = (failure: Failure) =>
  failure.kind === 'unreachable' && (failure.reason === 'deadline' || failure.reason === 'too-large');

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

const STOPPED = failed({ kind: 'stopped' });

/**
 * The answers of a range, piece by piece in order; the last may be a failure. Read ahead by `reading.inFlight` pieces and
 * no more, so that memory stays flat however long the range is. Leaving the loop ends it.
 */
export async function* readRange<Answer>(
  range: Range,
  reader: RangeReader<Answer>,
  { inFlight = IN_FLIGHT, progress, signal }: Reading = {},
): AsyncGenerator<Outcome<Answer>> {
  const { clock, random, stopped, ask, periodOf } = reader;
  const ending = new AbortController();
  const end = () => ending.abort();
  const outer = [stopped, ...(signal === undefined ? [] : [signal])];
  for (const one of outer) {
    if (one.aborted) end();
    else one.addEventListener('abort', end, { once: true });
  }

  const whole = between(range.start, range.end);
  let most = reader.most;
  let span = most;
  let requests = 0;
  let isAnswering = false;
  let done = milliseconds(0);

  async function tried(piece: Range): Promise<Outcome<Answer>> {
    for (let tries = 1; ; tries++) {
      if (ending.signal.aborted) return STOPPED;
      requests += 1;
      const outcome = await ask(piece);
      if (outcome.ok || isSlow(outcome.failure) || tries >= mostTries(outcome.failure, isAnswering)) return outcome;
      const wait = afterFailure(outcome.failure, tries, random.fraction());
      progress?.({ done, whole, requests, waiting: { wait, failure: outcome.failure } });
      await pause(clock, wait, ending.signal);
    }
  }

  async function readPiece(piece: Range): Promise<readonly Outcome<Answer>[]> {
    const from = clock.now().uptime;
    const outcome = await tried(piece);
    if (outcome.ok) {
      isAnswering = true;
      if (between(from, clock.now().uptime) < QUICK) span = milliseconds(Math.min(most, span * 2));
      return [matching(outcome, periodOf(outcome.value))];
    }
    const length = between(piece.start, piece.end);
    if (!isSlow(outcome.failure) || length < STEP) return [outcome];
    span = milliseconds(Math.min(span, Math.max(STEP, length / 2)));
    if (outcome.failure.kind === 'unreachable' && outcome.failure.reason === 'too-large') most = span;
    const answers: Outcome<Answer>[] = [];
    for (const part of piecesOf(piece, () => span)) {
      answers.push(...(await readPiece(part)));
      if (!answers.every(({ ok }) => ok)) break;
    }
    return answers;
  }

  const pieces = piecesOf(range, () => span);
  const underWay: { readonly end: Instant; readonly answers: ReturnType<typeof readPiece> }[] = [];
  try {
    for (;;) {
      while (underWay.length < Math.max(1, inFlight)) {
        const next = pieces.next();
        if (next.done) break;
        underWay.push({ end: next.value.end, answers: readPiece(next.value) });
      }
      const first = underWay.shift();
      if (first === undefined) return;
      for (const answer of await first.answers) {
        yield answer;
        if (!answer.ok) return;
      }
      done = between(range.start, first.end);
      progress?.({ done, whole, requests });
    }
  } finally {
    end();
    for (const one of outer) one.removeEventListener('abort', end);
  }
}

function matching<Answer>(outcome: Outcome<Answer>, period: Duration | undefined): Outcome<Answer> {
  if (period === undefined || period % STEP === 0) return outcome;
  return nonsense('meta', `periods of whole ${STEP / 60_000} minutes`, `${period / 1_000} s`);
}

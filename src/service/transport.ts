/** Sends one request within the budgets and the waits the service asked for, and counts; knows no token and no endpoint. */

import { setMaxListeners } from 'node:events';
import { between, type Duration, milliseconds, minutes, type Uptime } from '../units.ts';
import {
  type Clock,
  type Http,
  HttpError,
  type HttpFailure,
  type HttpHead,
  type HttpReply,
  type HttpRequest,
  type HttpStream,
  type Log,
  type Random,
} from '../world.ts';
import { type Budget, createBudget, shareOf } from './budget.ts';
import { failed, ok } from './decoding.ts';
import { withoutEcho } from './echo.ts';
import type { Failure, Outcome } from './failure.ts';
import { createHolds, type Lane } from './holds.ts';
import { failureOfTransfer, isJson, judge, type Verdict } from './judge.ts';
import { createSkew } from './skew.ts';

const WINDOW = minutes(5);
const MOST_REQUESTS = 3_000;
const MOST_LOGINS = 100;
/** An error body beyond this says nothing more. */
const MOST_ERROR_BYTES = 65_536;

export interface Sending {
  readonly lane: Lane;
  /** Name of the endpoint for the log; a path, without its query. */
  readonly name: string;
  readonly request: HttpRequest;
}

/** A 429 has become a hold of its lane. */
export type Concluded = Exclude<Verdict, { readonly kind: 'throttled' }>;
export type Sent = { readonly verdict: Concluded } | { readonly stream: HttpStream };

export interface Transport {
  /** Why nothing may be sent on this lane now, if so. */
  blocked(lane: Lane): Failure | undefined;
  send(sending: Sending): Promise<Concluded>;
  /** As `send`; a 200 with JSON comes back as a stream instead. */
  open(sending: Sending): Promise<Sent>;
  counts(): { readonly requests: number; readonly logins: number; readonly bytesIn: number };
  skew(): Duration | undefined;
}

export interface TransportOptions {
  readonly http: Http;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly fleet: number;
  /** Ends what is under way; nothing is sent after it. */
  readonly stopped: AbortSignal;
  /** Instead of each call's own. */
  readonly deadline?: Duration | undefined;
}

export function createTransport({ http, clock, random, log, fleet, stopped, deadline }: TransportOptions): Transport {
  const requests = createBudget(shareOf(MOST_REQUESTS, fleet), WINDOW);
  const logins = createBudget(shareOf(MOST_LOGINS, fleet), WINDOW);
  const budgets: Readonly<Record<Lane, readonly Budget[]>> = {
    data: [requests],
    login: [requests, logins],
    v1: [requests],
  };
  const holds = createHolds({ clock, random, log });
  const skew = createSkew();
  // As many listeners as requests under way.
  setMaxListeners(0, stopped);
  const sent = { requests: 0, logins: 0, bytesIn: 0 };

  const inTime = ({ request }: Sending) => (deadline === undefined ? request : { ...request, deadline });
  function blocked(lane: Lane): Failure | undefined {
    if (stopped.aborted) return { kind: 'stopped' };
    const { uptime } = clock.now();
    const wait = Math.max(holds.left(lane), ...budgets[lane].map((budget) => budget.wait(uptime)));
    return wait > 0 ? { kind: 'throttled', retryAfter: milliseconds(wait) } : undefined;
  }

  const verdictOf = ({ request }: Sending, reply: HttpReply) => judge(withoutEcho(reply, request), clock.now().wall);

  function concluded(verdict: Verdict, lane: Lane, startedAt: Uptime): Concluded {
    if (verdict.kind === 'throttled') return failedWith(holds.throttled(lane, startedAt, verdict.retryAfter));
    if (verdict.kind === 'answer') holds.answered(lane, startedAt);
    return verdict;
  }

  /** Takes the places, sends, notes what came: for `request` and `stream` alike. */
  async function attempt<Answer extends HttpHead>(
    { lane, name }: Sending,
    go: () => Promise<Answer | HttpFailure>,
  ): Promise<Outcome<Answer>> {
    const before = clock.now();
    const places = budgets[lane].map((budget) => budget.take(before.uptime));
    sent.requests += 1;
    if (lane === 'login') sent.logins += 1;
    const answer = await go();
    const now = clock.now();
    for (const place of places) place.ended(now.uptime);
    const ms = Math.round(between(before.uptime, now.uptime));
    if ('kind' in answer) {
      log('debug', `${name}: ${answer.cause}`, { failure: answer.kind, ms });
      return failed(failureOfTransfer(answer));
    }
    // A stranger in the service's place may be on a stranger's time.
    if (isJson(answer)) skew.seen(answer.date, before, now);
    log('debug', `${name}: ${answer.status}`, { ms, requestId: answer.headers['x-request-id'] });
    return ok(answer);
  }

  async function* counted(chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      sent.bytesIn += chunk.length;
      yield chunk;
    }
  }

  return {
    blocked,
    async send(sending) {
      const why = blocked(sending.lane);
      if (why !== undefined) return failedWith(why);
      const startedAt = clock.now().uptime;
      const reply = await attempt(sending, () => http.request(inTime(sending), stopped));
      if (!reply.ok) return failedWith(reply.failure);
      sent.bytesIn += reply.value.body.length;
      return concluded(verdictOf(sending, reply.value), sending.lane, startedAt);
    },
    async open(sending) {
      const why = blocked(sending.lane);
      if (why !== undefined) return { verdict: failedWith(why) };
      const startedAt = clock.now().uptime;
      const stream = await attempt(sending, () => http.stream(inTime(sending), stopped));
      if (!stream.ok) return { verdict: failedWith(stream.failure) };
      const { value } = stream;
      if (value.status === 200 && isJson(value)) {
        holds.answered(sending.lane, startedAt);
        return { stream: { ...value, chunks: counted(value.chunks) } };
      }
      const body = await opening(value.chunks);
      return { verdict: concluded(verdictOf(sending, { ...value, body }), sending.lane, startedAt) };
    },
    counts: () => ({ ...sent }),
    skew: () => skew.now(clock.now()),
  };
}

const failedWith = (failure: Failure): Concluded => ({ kind: 'failed', failure });

/** The first bytes of an error body, however it ends. */
async function opening(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      parts.push(chunk.slice());
      bytes += chunk.length;
      if (bytes > MOST_ERROR_BYTES) break;
    }
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
  }
  return Buffer.concat(parts);
}

/** Sends one request within the budgets and the waits the service asked for, and counts; knows no token and no endpoint. */

import { setMaxListeners } from 'node:events';
import {
  type Clock,
  type Http,
  HttpError,
  type HttpFailure,
  type HttpRequest,
  type HttpResponse,
  type HttpResponseHead,
  type HttpStream,
  type Log,
  type Random,
} from '../../domain/ports.ts';
import { type Duration, durationBetween, milliseconds, minutes, type Uptime } from '../../domain/units.ts';
import { failed, ok } from '../api/decode-body.ts';
import type { Failure, Outcome } from '../failure.ts';
import { createCooldowns, type RateLimitGroup } from '../limits/cooldown.ts';
import { computeDeviceLimit, createRequestWindow, type RequestWindow } from '../limits/request-window.ts';
import { classifyHttpFailure, classifyResponse, isJsonResponse, type ResponseVerdict } from './classify-response.ts';
import { createClockSkew } from './clock-skew.ts';
import { redactEcho } from './redact-echo.ts';

const RATE_LIMIT_WINDOW = minutes(5);
const MAX_REQUESTS = 3_000;
const MAX_LOGINS = 100;
/** An error body beyond this says nothing more. */
const MAX_ERROR_BYTES = 65_536;

export interface OutgoingRequest {
  readonly rateLimitGroup: RateLimitGroup;
  /** Name of the endpoint for the log; a path, without its query. */
  readonly name: string;
  readonly request: HttpRequest;
}

/** A 429 has become a hold of its lane. */
export type FinalVerdict = Exclude<ResponseVerdict, { readonly kind: 'throttled' }>;
export type SendResult = { readonly verdict: FinalVerdict } | { readonly stream: HttpStream };

export interface Transport {
  /** Why nothing may be sent on this lane now, if so. */
  checkBlocked(lane: RateLimitGroup): Failure | undefined;
  send(sending: OutgoingRequest): Promise<FinalVerdict>;
  /** As `send`; a 200 with JSON comes back as a stream instead. */
  open(sending: OutgoingRequest): Promise<SendResult>;
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
  readonly stopSignal: AbortSignal;
  /** Instead of each call's own. */
  readonly deadline?: Duration | undefined;
}

export function createTransport({
  http,
  clock,
  random,
  log,
  fleet,
  stopSignal,
  deadline,
}: TransportOptions): Transport {
  const requests = createRequestWindow(computeDeviceLimit(MAX_REQUESTS, fleet), RATE_LIMIT_WINDOW);
  const logins = createRequestWindow(computeDeviceLimit(MAX_LOGINS, fleet), RATE_LIMIT_WINDOW);
  const requestWindows: Readonly<Record<RateLimitGroup, readonly RequestWindow[]>> = {
    data: [requests],
    login: [requests, logins],
    v1: [requests],
  };
  const cooldowns = createCooldowns({ clock, random, log });
  const skew = createClockSkew();
  // As many listeners as requests under way.
  setMaxListeners(0, stopSignal);
  const totals = { requests: 0, logins: 0, bytesIn: 0 };

  const withDeadline = ({ request }: OutgoingRequest) => (deadline === undefined ? request : { ...request, deadline });
  function checkBlocked(lane: RateLimitGroup): Failure | undefined {
    if (stopSignal.aborted) return { kind: 'stopped' };
    const { uptime } = clock.now();
    const wait = Math.max(
      cooldowns.remaining(lane),
      ...requestWindows[lane].map((budget) => budget.computeWait(uptime)),
    );
    return wait > 0 ? { kind: 'throttled', retryAfter: milliseconds(wait) } : undefined;
  }

  const classifyReply = ({ request }: OutgoingRequest, reply: HttpResponse) =>
    classifyResponse(redactEcho(reply, request), clock.now().wall);

  function applyVerdict(verdict: ResponseVerdict, lane: RateLimitGroup, startedAt: Uptime): FinalVerdict {
    if (verdict.kind === 'throttled')
      return toFinalFailure(cooldowns.recordThrottled(lane, startedAt, verdict.retryAfter));
    if (verdict.kind === 'answer') cooldowns.recordAnswered(lane, startedAt);
    return verdict;
  }

  /** Takes the places, sends, notes what came: for `request` and `stream` alike. */
  async function attempt<Answer extends HttpResponseHead>(
    { rateLimitGroup: lane, name }: OutgoingRequest,
    go: () => Promise<Answer | HttpFailure>,
  ): Promise<Outcome<Answer>> {
    const before = clock.now();
    const reservations = requestWindows[lane].map((budget) => budget.reserve(before.uptime));
    totals.requests += 1;
    if (lane === 'login') totals.logins += 1;
    const answer = await go();
    const now = clock.now();
    for (const place of reservations) place.ended(now.uptime);
    const ms = Math.round(durationBetween(before.uptime, now.uptime));
    if ('kind' in answer) {
      log('debug', `${name}: ${answer.cause}`, { failure: answer.kind, ms });
      return failed(classifyHttpFailure(answer));
    }
    // A stranger in the service's place may be on a stranger's time.
    if (isJsonResponse(answer)) skew.record(answer.date, before, now);
    log('debug', `${name}: ${answer.status}`, { ms, requestId: answer.headers['x-request-id'] });
    return ok(answer);
  }

  async function* countBytes(chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      totals.bytesIn += chunk.length;
      yield chunk;
    }
  }

  return {
    checkBlocked,
    async send(sending) {
      const why = checkBlocked(sending.rateLimitGroup);
      if (why !== undefined) return toFinalFailure(why);
      const startedAt = clock.now().uptime;
      const reply = await attempt(sending, () => http.request(withDeadline(sending), stopSignal));
      if (!reply.ok) return toFinalFailure(reply.failure);
      totals.bytesIn += reply.value.body.length;
      return applyVerdict(classifyReply(sending, reply.value), sending.rateLimitGroup, startedAt);
    },
    async open(sending) {
      const why = checkBlocked(sending.rateLimitGroup);
      if (why !== undefined) return { verdict: toFinalFailure(why) };
      const startedAt = clock.now().uptime;
      const stream = await attempt(sending, () => http.stream(withDeadline(sending), stopSignal));
      if (!stream.ok) return { verdict: toFinalFailure(stream.failure) };
      const { value } = stream;
      if (value.status === 200 && isJsonResponse(value)) {
        cooldowns.recordAnswered(sending.rateLimitGroup, startedAt);
        return { stream: { ...value, chunks: countBytes(value.chunks) } };
      }
      const body = await readErrorBody(value.chunks);
      return { verdict: applyVerdict(classifyReply(sending, { ...value, body }), sending.rateLimitGroup, startedAt) };
    },
    counts: () => ({ ...totals }),
    skew: () => skew.estimate(clock.now()),
  };
}

const toFinalFailure = (failure: Failure): FinalVerdict => ({ kind: 'failed', failure });

/** The first bytes of an error body, however it ends. */
async function readErrorBody(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      parts.push(chunk.slice());
      bytes += chunk.length;
      if (bytes > MAX_ERROR_BYTES) break;
    }
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
  }
  return Buffer.concat(parts);
}

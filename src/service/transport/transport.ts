/** Sends one request within the rate limits and cooldowns, and counts it. */

import { setMaxListeners } from 'node:events';
import {
  type Http,
  HttpError,
  type HttpFailure,
  type HttpRequest,
  type HttpResponse,
  type HttpResponseHead,
  type HttpStream,
} from '../../domain/ports.ts';
import { type Duration, durationBetween, type Uptime } from '../../domain/units.ts';
import { failed, ok, quoteReceived } from '../api/decode-body.ts';
import type { Failure, Outcome } from '../failure.ts';
import type { RateLimitGroup } from '../limits/cooldown.ts';
import { createRateLimits, type RateLimitOptions } from '../limits/rate-limits.ts';
import {
  classifyHttpFailure,
  classifyResponse,
  isJsonResponse,
  type ResponseVerdict,
  toFailedVerdict,
} from './classify-response.ts';
import { createClockSkew } from './clock-skew.ts';
import { redactEcho } from './redact-echo.ts';

/** The rest of a longer error body adds nothing. */
const MAX_ERROR_BYTES = 65_536;

export interface OutgoingRequest {
  readonly rateLimitGroup: RateLimitGroup;
  /** Name of the endpoint for the log; a path, without its query. */
  readonly name: string;
  readonly request: HttpRequest;
}

/** A 429 has become a cooldown of its group. */
export type FinalVerdict = Exclude<ResponseVerdict, { readonly kind: 'throttled' }>;
export type SendResult = { readonly verdict: FinalVerdict } | { readonly stream: HttpStream };

export interface Transport {
  /** The reason why no request of this group may be sent now. */
  checkBlocked(group: RateLimitGroup): Failure | undefined;
  send(sending: OutgoingRequest): Promise<FinalVerdict>;
  /** As `send`; a 200 with JSON, and a 304 to a request that names a version, comes back as a stream instead. */
  open(sending: OutgoingRequest): Promise<SendResult>;
  counts(): { readonly requests: number; readonly logins: number; readonly bytesIn: number };
  skew(): Duration | undefined;
}

export interface TransportOptions extends RateLimitOptions {
  readonly http: Http;
  /** Ends pending requests; nothing is sent after it. */
  readonly stopSignal: AbortSignal;
  /** Instead of each call's own. */
  readonly deadline?: Duration | undefined;
}

/** Measures and logs what is sent: counts, bytes, and the skew of the service's clock. */
function createRecorder({ clock, log }: Pick<TransportOptions, 'clock' | 'log'>) {
  const skew = createClockSkew();
  const totals = { requests: 0, logins: 0, bytesIn: 0 };
  return {
    counts: () => ({ ...totals }),
    skew: () => skew.estimate(clock.now()),
    countBytes(bytes: number) {
      totals.bytesIn += bytes;
    },
    /** Sends by `go` and records the head of the answer. */
    async record<Answer extends HttpResponseHead>(
      { rateLimitGroup, name }: OutgoingRequest,
      go: () => Promise<Answer | HttpFailure>,
    ): Promise<Outcome<Answer>> {
      const before = clock.now();
      totals.requests += 1;
      if (rateLimitGroup === 'login') totals.logins += 1;
      const answer = await go();
      const now = clock.now();
      const ms = Math.round(durationBetween(before.uptime, now.uptime));
      if ('kind' in answer) {
        log('debug', `${name}: ${answer.cause}`, { failure: answer.kind, ms });
        return failed(classifyHttpFailure(answer));
      }
      // Whatever answers in the service's place may have another clock.
      if (isJsonResponse(answer)) skew.record(answer.date, before, now);
      log('debug', `${name}: ${answer.status}`, { ms, requestId: answer.headers['x-request-id'] });
      return ok(answer);
    },
  };
}

function addRequestId(failure: Failure, { headers }: HttpResponseHead): Failure {
  const requestId = headers['x-request-id'];
  return requestId === undefined ? failure : { ...failure, requestId: quoteReceived(requestId) };
}

interface Attempts {
  readonly checkBlocked: Transport['checkBlocked'];
  /** Sends one request within the limits and classifies its answer by `judge` unless it failed. */
  attempt<Answer extends HttpResponseHead, Result>(
    outgoing: OutgoingRequest,
    go: (request: HttpRequest) => Promise<Answer | HttpFailure>,
    judge: (answer: Answer, startedAt: Uptime) => Promise<Result>,
  ): Promise<Result | FinalVerdict>;
}

function createAttempts(
  { clock, stopSignal, deadline }: TransportOptions,
  limits: ReturnType<typeof createRateLimits>,
  { record }: Pick<ReturnType<typeof createRecorder>, 'record'>,
): Attempts {
  const checkBlocked: Transport['checkBlocked'] = (group) => {
    if (stopSignal.aborted) return { kind: 'stopped' };
    const wait = limits.computeWait(group);
    return wait > 0 ? { kind: 'throttled', retryAfter: wait } : undefined;
  };
  return {
    checkBlocked,
    async attempt(outgoing, go, judge) {
      const { rateLimitGroup, request } = outgoing;
      const blocked = checkBlocked(rateLimitGroup);
      if (blocked !== undefined) return toFailedVerdict(blocked);
      const startedAt = clock.now().uptime;
      const end = limits.reserve(rateLimitGroup);
      const answer = await record(outgoing, () => go(deadline === undefined ? request : { ...request, deadline }));
      end(clock.now().uptime);
      return answer.ok ? judge(answer.value, startedAt) : toFailedVerdict(answer.failure);
    },
  };
}

export function createTransport(options: TransportOptions): Transport {
  const { http, clock, stopSignal } = options;
  const limits = createRateLimits(options);
  const { record, countBytes, counts, skew } = createRecorder(options);
  // As many listeners as requests under way.
  setMaxListeners(0, stopSignal);
  const { checkBlocked, attempt } = createAttempts(options, limits, { record });

  function applyVerdict({ rateLimitGroup, request }: OutgoingRequest, reply: HttpResponse, startedAt: Uptime) {
    const safeReply = redactEcho(reply, request);
    const verdict = classifyResponse(safeReply, clock.now().wall);
    if (verdict.kind === 'throttled') {
      const failure = limits.recordThrottled(rateLimitGroup, startedAt, verdict.retryAfter);
      return toFailedVerdict(addRequestId(failure, safeReply));
    }
    if (verdict.kind === 'failed') return toFailedVerdict(addRequestId(verdict.failure, safeReply));
    if (verdict.kind === 'answer') limits.recordAnswered(rateLimitGroup, startedAt);
    return verdict;
  }

  async function* countChunks(chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      countBytes(chunk.length);
      yield chunk;
    }
  }

  async function judgeStream(outgoing: OutgoingRequest, stream: HttpStream, startedAt: Uptime) {
    const isUnchanged = stream.status === 304 && outgoing.request.headers['if-none-match'] !== undefined;
    const isMap = stream.status === 200 && isJsonResponse(stream);
    // A 304 has no body, but its end must be read to free the connection.
    const body = isMap ? undefined : await readShortBody(stream.chunks);
    if (body !== undefined && !isUnchanged) return applyVerdict(outgoing, { ...stream, body }, startedAt);
    limits.recordAnswered(outgoing.rateLimitGroup, startedAt);
    return { stream: { ...stream, chunks: countChunks(stream.chunks) } };
  }

  return {
    checkBlocked,
    send: (outgoing) =>
      attempt(
        outgoing,
        (request) => http.request(request, stopSignal),
        async (reply, startedAt) => {
          countBytes(reply.body.length);
          return applyVerdict(outgoing, reply, startedAt);
        },
      ),
    async open(outgoing) {
      const send = (request: HttpRequest) => http.stream(request, stopSignal);
      const result = await attempt(outgoing, send, (stream, startedAt) => judgeStream(outgoing, stream, startedAt));
      return 'stream' in result ? result : { verdict: result };
    },
    counts,
    skew,
  };
}

/** The first bytes of a body that is no map, however it ends. */
async function readShortBody(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
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

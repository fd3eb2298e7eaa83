/** The network between the agent and the reference service: it delays, loses, cuts and falsifies, and serves without a socket. */

import {
  type Cancel,
  type Http,
  HttpError,
  type HttpFailure,
  type HttpRequest,
  type HttpResponse,
  type HttpStream,
} from '../../src/domain/ports.ts';
import type { Instant } from '../../src/domain/units.ts';
import { formatBody } from '../../src/reference/http/send-response.ts';
import type { ReferenceService } from '../../src/reference/reference-service.ts';
import type { Chance } from './chance.ts';
import type { NetworkTrouble } from './incidents.ts';
import type { SimClock } from './sim-clock.ts';

export interface NetworkState {
  trouble: { readonly kind: NetworkTrouble; readonly path?: string | undefined } | undefined;
}

export interface ModelNetworkParts {
  readonly clock: SimClock;
  readonly chance: Chance;
  readonly reference: Pick<ReferenceService, 'answer'>;
  /** The service's wall clock, for the `Date` header. */
  readonly serviceTime: () => number;
  readonly state: NetworkState;
  readonly origin: string;
  readonly onRequest: (request: HttpRequest) => void;
  /** The body of each answer, as it reached the agent. */
  readonly onAnswer: (path: string, status: number, body: Uint8Array) => void;
}

interface Answer extends HttpResponse {
  /** Bytes of the body that arrive before the connection breaks. */
  readonly cutAt?: number;
}

const FOREIGN_PAGE = '<!doctype html>\n<html><head><title>Welcome</title></head><body>Please sign in</body></html>\n';

/** Answers of other requests arrive in place of the own. */
const SWAPPED_PATHS = ['/v3/signal-index', '/v3/forecast', '/v3/my-access'];

export function createModelNetwork(parts: ModelNetworkParts): Http {
  const { clock, chance, reference, serviceTime, state, origin, onRequest, onAnswer } = parts;

  const serve = async (request: HttpRequest, path: string): Promise<HttpResponse> => {
    const { searchParams } = new URL(request.url);
    const answer = await reference.answer({
      method: request.method,
      path,
      query: searchParams,
      headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value])),
      body: Buffer.from(request.body ?? ''),
      address: '192.0.2.7',
      origin,
    });
    const { body } = answer;
    const type = body.kind === 'text' ? body.type : 'application/json; charset=utf-8';
    const date = Math.floor(serviceTime() / 1_000) * 1_000;
    return {
      status: answer.status,
      headers: { 'content-type': type, date: new Date(date).toUTCString(), ...answer.headers },
      date: date as Instant,
      body: body.kind === 'ready' ? new Uint8Array(body.bytes) : new TextEncoder().encode(formatBody(answer)),
    };
  };

  const exchange = async (request: HttpRequest): Promise<Answer | HttpFailure> => {
    const { pathname } = new URL(request.url);
    onRequest(request);
    const trouble =
      state.trouble?.path === undefined || state.trouble.path === pathname ? state.trouble?.kind : undefined;
    if (trouble === 'down') {
      await clock.wait(chance.within(1, 4_000));
      return { kind: 'unreachable', cause: 'the network is down (ENETUNREACH)' };
    }
    await clock.wait(trouble === 'slow' ? chance.spread(100, 60_000) : chance.within(5, 60));
    const servedPath = trouble === 'swapped' && pathname.startsWith('/v3/') ? chance.pick(SWAPPED_PATHS) : pathname;
    const answer = await serve(request, servedPath);
    await clock.wait(trouble === 'slow' ? chance.spread(100, 60_000) : chance.within(5, 120));
    switch (trouble) {
      case 'lost':
        return { kind: 'unreachable', cause: 'the connection was reset (ECONNRESET)' };
      case 'hang':
        await clock.wait(24 * 3_600_000);
        return { kind: 'unreachable', cause: 'the connection was reset (ECONNRESET)' };
      case 'cut':
        return { ...answer, cutAt: Math.floor(chance.fraction() * answer.body.length) };
      case 'foreign':
        return {
          status: chance.pick([200, 200, 302, 403, 404, 511]),
          headers: { 'content-type': 'text/html' },
          body: new TextEncoder().encode(FOREIGN_PAGE),
        };
      default:
        return answer;
    }
  };

  /** The answer, or what ended the wait for it first: its deadline, or the caller. */
  const send = (request: HttpRequest, signal: AbortSignal | undefined): Promise<Answer | HttpFailure> =>
    new Promise((resolve) => {
      let cancelDeadline: Cancel = () => {};
      const stop = () => finish({ kind: 'stopped', cause: 'stopped' });
      const finish = (result: Answer | HttpFailure) => {
        cancelDeadline();
        signal?.removeEventListener('abort', stop);
        resolve(result);
      };
      if (signal?.aborted === true) return finish({ kind: 'stopped', cause: 'stopped' });
      signal?.addEventListener('abort', stop, { once: true });
      cancelDeadline = clock.runAt(clock.now() + request.deadline, () =>
        finish({ kind: 'deadline', cause: `no whole answer within ${request.deadline / 1_000} s` }),
      );
      exchange(request).then(finish);
    });

  return {
    async request(request, signal) {
      const answer = await send(request, signal);
      if ('kind' in answer) return answer;
      if (answer.body.length > request.maxBytes)
        return { kind: 'too-large', cause: `more than ${request.maxBytes} bytes` };
      if (answer.cutAt !== undefined) return { kind: 'cut-short', cause: 'the answer ended early' };
      onAnswer(new URL(request.url).pathname, answer.status, answer.body);
      return answer;
    },
    async stream(request, signal): Promise<HttpStream | HttpFailure> {
      const answer = await send(request, signal);
      if ('kind' in answer) return answer;
      const { body, cutAt = Number.POSITIVE_INFINITY, ...head } = answer;
      async function* readChunks() {
        for (let from = 0; from < Math.min(body.length, cutAt); from += 65_536) {
          await clock.wait(1);
          yield body.subarray(from, Math.min(from + 65_536, cutAt));
        }
        if (cutAt < body.length) throw new HttpError({ kind: 'cut-short', cause: 'the answer ended early' });
      }
      return { ...head, chunks: readChunks() };
    },
    async close() {},
  };
}

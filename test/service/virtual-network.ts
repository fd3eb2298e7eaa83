/** A service and the network before it, both on the virtual clock: each request travels as long as it is told, and is seen when it arrives. */

import type { Http, HttpFailure, HttpRequest, HttpResponse } from '../../src/domain/ports.ts';
import { addDuration, type Duration, milliseconds, type Uptime } from '../../src/domain/units.ts';
import type { VirtualClock } from '../../src/simulation/virtual-clock.ts';

/** What the service makes of a request when it arrives. */
export type NetworkAnswer =
  | { readonly status?: number; readonly json: unknown; readonly headers?: Readonly<Record<string, string>> }
  | { readonly status?: number; readonly text: string; readonly headers?: Readonly<Record<string, string>> }
  | HttpFailure;

interface Arrival {
  readonly at: Uptime;
  readonly path: string;
}

export interface VirtualNetwork {
  readonly http: Http;
  /** In the order of their coming. */
  readonly arrivals: readonly Arrival[];
}

export interface Journey {
  readonly lasts: Duration;
  /** At which part of it the service sees the request, 0 to 1. */
  readonly arrives: number;
}

export function createVirtualNetwork(
  clock: VirtualClock,
  journey: () => Journey,
  answer: (path: string, query: URLSearchParams, request: HttpRequest) => NetworkAnswer,
): VirtualNetwork {
  const arrivals: Arrival[] = [];
  const pass = (time: number) =>
    new Promise<void>((resume) => {
      clock.wakeAt(addDuration(clock.now().uptime, milliseconds(time)), 'network', resume);
    });

  async function send(request: HttpRequest): Promise<HttpResponse | HttpFailure> {
    const { lasts, arrives } = journey();
    await pass(lasts * arrives);
    const { pathname, searchParams } = new URL(request.url);
    arrivals.push({ at: clock.now().uptime, path: pathname });
    const answered = answer(pathname, searchParams, request);
    await pass(lasts * (1 - arrives));
    if ('kind' in answered) return answered;
    return {
      status: answered.status ?? 200,
      headers: { 'content-type': 'application/json', ...answered.headers },
      body: new TextEncoder().encode('text' in answered ? answered.text : JSON.stringify(answered.json)),
    };
  }

  return {
    arrivals,
    http: {
      request: send,
      async stream(request) {
        const reply = await send(request);
        if ('kind' in reply) return reply;
        const { body, ...head } = reply;
        return {
          ...head,
          chunks: (async function* () {
            yield body;
          })(),
        };
      },
      close: async () => {},
    },
  };
}

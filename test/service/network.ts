/** A service and the network before it, both on the virtual clock: each request travels as long as it is told, and is seen when it arrives. */

import type { VirtualClock } from '../../src/replay/clock.ts';
import { after, type Duration, milliseconds, type Uptime } from '../../src/units.ts';
import type { Http, HttpFailure, HttpReply, HttpRequest } from '../../src/world.ts';

/** What the service makes of a request when it arrives. */
export type Answer = { readonly status?: number; readonly json: unknown } | HttpFailure;

export interface Arrival {
  readonly at: Uptime;
  readonly path: string;
}

export interface Network {
  readonly http: Http;
  /** In the order of their coming. */
  readonly arrivals: readonly Arrival[];
}

export interface Journey {
  readonly lasts: Duration;
  /** At which part of it the service sees the request, 0 to 1. */
  readonly arrives: number;
}

export function createNetwork(
  clock: VirtualClock,
  journey: () => Journey,
  answer: (path: string, query: URLSearchParams, request: HttpRequest) => Answer,
): Network {
  const arrivals: Arrival[] = [];
  const pass = (time: number) =>
    new Promise<void>((resume) => {
      clock.wakeAt(after(clock.now().uptime, milliseconds(time)), 'network', resume);
    });

  async function send(request: HttpRequest): Promise<HttpReply | HttpFailure> {
    const { lasts, arrives } = journey();
    await pass(lasts * arrives);
    const { pathname, searchParams } = new URL(request.url);
    arrivals.push({ at: clock.now().uptime, path: pathname });
    const said = answer(pathname, searchParams, request);
    await pass(lasts * (1 - arrives));
    if ('kind' in said) return said;
    return {
      status: said.status ?? 200,
      headers: { 'content-type': 'application/json' },
      body: new TextEncoder().encode(JSON.stringify(said.json)),
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

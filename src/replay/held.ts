/** Puts the real adapters into virtual time: while one of them works, the clock stands still, and requests go one after the other. */

import type { Broker, BrokerOptions, Cancel, Http, HttpFailure, HttpRequest, HttpStream } from '../world.ts';

interface Holding {
  hold(): Cancel;
}

async function during<Value>(clock: Holding, work: () => Promise<Value>): Promise<Value> {
  const release = clock.hold();
  try {
    return await work();
  } finally {
    release();
  }
}

/** One request at a time, so that answers arrive in the order of asking on every machine. */
export function heldHttp(http: Http, clock: Holding): Http {
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <Value>(work: () => Promise<Value>) => {
    const mine = last.then(() => during(clock, work));
    last = mine.catch(() => {});
    return mine;
  };
  return {
    request: (request, signal) => inTurn(() => http.request(request, signal)),
    stream: async (request: HttpRequest, signal?: AbortSignal): Promise<HttpStream | HttpFailure> => {
      const release = clock.hold();
      const answer = await inTurn(() => http.stream(request, signal));
      if (!('chunks' in answer)) {
        release();
        return answer;
      }
      return { ...answer, chunks: releasing(answer.chunks, release) };
    },
    close: () => during(clock, () => http.close()),
  };
}

async function* releasing(chunks: AsyncIterable<Uint8Array>, release: Cancel) {
  try {
    yield* chunks;
  } finally {
    release();
  }
}

/** Time stands still from the start of the link until it is online or has failed, and during each message out. */
export function heldBroker(
  broker: (options: BrokerOptions) => Broker,
  clock: Holding,
): (options: BrokerOptions) => Broker {
  return (options) => {
    const real = broker(options);
    return {
      start() {
        const release = clock.hold();
        const cancel = real.watch((state) => {
          if (state.kind === 'connecting') return;
          release();
          cancel();
        });
        real.start();
      },
      get state() {
        return real.state;
      },
      watch: (report) => real.watch(report),
      publish: (...message) => during(clock, () => real.publish(...message)),
      subscribe: (...wish) => during(clock, () => real.subscribe(...wish)),
      stop: (last) => during(clock, () => real.stop(last)),
    };
  };
}

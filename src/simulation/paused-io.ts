/** Stops the virtual clock while a real adapter works, and sends requests one after the other. */

import type { Broker, BrokerOptions, Cancel, Http, HttpFailure, HttpRequest, HttpStream } from '../domain/ports.ts';

interface PausableClock {
  pause(): Cancel;
}

async function pauseWhile<Value>(clock: PausableClock, work: () => Promise<Value>): Promise<Value> {
  const resume = clock.pause();
  try {
    return await work();
  } finally {
    resume();
  }
}

/** One request at a time, so that answers arrive in the order of asking on every machine. */
export function createPausingHttp(http: Http, clock: PausableClock): Http {
  let previous: Promise<unknown> = Promise.resolve();
  const runInTurn = <Value>(work: () => Promise<Value>) => {
    const result = previous.then(() => pauseWhile(clock, work));
    previous = result.catch(() => {});
    return result;
  };
  return {
    request: (request, signal) => runInTurn(() => http.request(request, signal)),
    stream: async (request: HttpRequest, signal?: AbortSignal): Promise<HttpStream | HttpFailure> => {
      const resume = clock.pause();
      const answer = await runInTurn(() => http.stream(request, signal));
      if (!('chunks' in answer)) {
        resume();
        return answer;
      }
      return { ...answer, chunks: resumeAfter(answer.chunks, resume) };
    },
    close: () => pauseWhile(clock, () => http.close()),
  };
}

async function* resumeAfter(chunks: AsyncIterable<Uint8Array>, resume: Cancel) {
  try {
    yield* chunks;
  } finally {
    resume();
  }
}

/** Time stands still from the start of the link until it is online or has failed, and during each message out. */
export function createPausingBroker(
  createBroker: (options: BrokerOptions) => Broker,
  clock: PausableClock,
): (options: BrokerOptions) => Broker {
  return (options) => {
    const real = createBroker(options);
    return {
      start() {
        const resume = clock.pause();
        const cancel = real.watchState((state) => {
          if (state.kind === 'connecting') return;
          resume();
          cancel();
        });
        real.start();
      },
      get state() {
        return real.state;
      },
      watchState: (report) => real.watchState(report),
      publish: (...message) => pauseWhile(clock, () => real.publish(...message)),
      subscribe: (...subscription) => pauseWhile(clock, () => real.subscribe(...subscription)),
      ping: () => pauseWhile(clock, () => real.ping()),
      stop: (last) => pauseWhile(clock, () => real.stop(last)),
    };
  };
}

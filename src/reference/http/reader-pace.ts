/** Ends the connection of a client that reads too slowly, so that a dripping reader cannot hold an answer in memory for hours. */

import type { Socket } from 'node:net';

interface ReaderPace {
  /** A client with an answer waiting must take so many bytes a second. */
  readonly bytesPerSecond: number;
  /** Between two looks, milliseconds. */
  readonly interval: number;
  /** Looks in a row at which the client was too slow before its connection ends. */
  readonly patience: number;
}

/** A map of 2 MB takes at most about four minutes; who reads nothing is ended within a minute. */
const DEFAULT_PACE: ReaderPace = { bytesPerSecond: 8_192, interval: 15_000, patience: 3 };

/** Watches a connection until it closes. */
export function watchReader(socket: Socket, { bytesPerSecond, interval, patience }: ReaderPace = DEFAULT_PACE): void {
  const countTaken = () => socket.bytesWritten - socket.writableLength;
  let taken = 0;
  let slowChecks = 0;
  const timer = setInterval(() => {
    const before = taken;
    taken = countTaken();
    const isSlow = socket.writableLength > 0 && taken - before < (bytesPerSecond * interval) / 1_000;
    slowChecks = isSlow ? slowChecks + 1 : 0;
    if (slowChecks >= patience) socket.destroy();
  }, interval);
  timer.unref();
  socket.once('close', () => clearInterval(timer));
}

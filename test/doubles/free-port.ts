/** A port of loopback that nothing listens on. */

import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below those that Linux gives to whoever asks for any (from 32,768 on): such a one may be taken before its user listens on it. */
const [FROM, TO] = [15_000, 32_768];

/** Ports of this process: one that is given out is free until its user listens. A hundred brokers side by side would draw one twice in one run of four. */
const given = new Set<number>();

export async function freePort(): Promise<number> {
  const port = randomInt(FROM, TO);
  if (given.has(port)) return freePort();
  given.add(port);
  const server = createServer();
  const isFree = await new Promise<boolean>((resolve) =>
    server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true)),
  );
  if (!isFree) return freePort();
  await new Promise<void>((closed) => server.close(() => closed()));
  return port;
}

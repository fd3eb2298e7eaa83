/** A wire between a client and a server that can freeze, be cut, or say things twice. */

import { connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  /** Connections taken so far. */
  readonly connectionCount: number;
  /** Nothing passes any more and nobody is told: the half-open link. */
  freeze(): void;
  stop(): Promise<void>;
}

/** `towardsClient` may turn one chunk into several. */
export async function startTcpProxy(
  target: number,
  towardsClient: (chunk: Buffer) => readonly Buffer[] = (chunk) => [chunk],
  host = '127.0.0.1',
): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let frozen = false;
  let receivedBytes = 0;
  const server = createServer((client) => {
    receivedBytes += 1;
    const upstream = connect(target, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    client.on('data', (chunk) => {
      if (!frozen) upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (frozen) return;
      for (const part of towardsClient(chunk)) client.write(part);
    });
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => {
      if (!frozen) client.destroy();
    });
  });
  await new Promise<void>((listening) => server.listen(0, host, listening));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the wire has no port');
  return {
    port: address.port,
    get connectionCount() {
      return receivedBytes;
    },
    freeze() {
      frozen = true;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((closed) => server.close(() => closed()));
    },
  };
}

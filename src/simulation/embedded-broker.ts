/** A small MQTT broker inside the program, on loopback, for the demo and for tests. */

import { createServer, type Socket } from 'node:net';
import { Aedes } from 'aedes';

/** `payload` as text. The broker acknowledges the message after the returned promise. */
type PublishListener = (topic: string, payload: string, retain: boolean) => void | Promise<void>;

export interface EmbeddedBroker {
  /** `mqtt://127.0.0.1:PORT` */
  readonly url: string;
  /** The retained message of a topic, if any. */
  findRetained(topic: string): string | undefined;
  /** Hears every message of a client. */
  onPublish(listener: PublishListener): void;
  /** A message of its own, as from a device on the wire; resolves when it is on its way to those who read it. */
  publish(topic: string, payload: string, options: { readonly retain: boolean }): Promise<void>;
  close(): Promise<void>;
}

export async function startEmbeddedBroker(): Promise<EmbeddedBroker> {
  const listeners: PublishListener[] = [];
  const retainedMessages = new Map<string, string>();
  const aedes = await Aedes.createBroker({
    authorizePublish(_client, packet, done) {
      const text = packet.payload.toString();
      Promise.all(listeners.map((listener) => listener(packet.topic, text, packet.retain))).then(
        () => done(null),
        (error: unknown) => done(error instanceof Error ? error : new Error(`${error}`)),
      );
    },
  });
  aedes.on('publish', ({ topic, payload, retain }) => {
    if (!retain) return;
    const text = payload.toString();
    if (text === '') retainedMessages.delete(topic);
    else retainedMessages.set(topic, text);
  });

  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    aedes.handle(socket);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the embedded broker has no port');

  return {
    url: `mqtt://127.0.0.1:${address.port}`,
    findRetained: (topic) => retainedMessages.get(topic),
    onPublish: (listener) => void listeners.push(listener),
    publish: (topic, payload, { retain }) =>
      new Promise((resolve, reject) =>
        aedes.publish({ cmd: 'publish', topic, payload, retain, qos: 0, dup: false }, (error) =>
          error ? reject(error) : resolve(),
        ),
      ),
    close: () =>
      new Promise((resolve) =>
        aedes.close(() => {
          for (const socket of sockets) socket.destroy();
          server.close(() => resolve());
        }),
      ),
  };
}

/** A broker in memory that several clients share: retained messages, links that break, and topics it denies. */

import type { Broker, BrokerMessage, BrokerState } from '../../src/domain/ports.ts';

interface Subscription {
  readonly filter: string;
  readonly receive: (message: BrokerMessage) => void;
}

export interface SharedBroker {
  readonly retained: ReadonlyMap<string, Uint8Array>;
  /** Filters that no client may read. */
  readonly denied: Set<string>;
  /** Whether a message on its way is lost, as at QoS 0. */
  isLossy: boolean;
  readonly subscriptions: { count: number };
  connect(): Broker & { setOnline(isOnline: boolean): void };
  /** Every link breaks and comes back; nothing that was stored is left. */
  restart(): void;
  /** As a client of its own. */
  publish(topic: string, payload: string | Uint8Array): void;
}

const isMatch = (filter: string, topic: string): boolean => {
  const [wanted, found] = [filter.split('/'), topic.split('/')];
  return wanted.length === found.length && wanted.every((level, i) => level === '+' || level === found[i]);
};

export function createSharedBroker(): SharedBroker {
  const retained = new Map<string, Uint8Array>();
  const links = new Set<Subscription[]>();
  const clients = new Set<ReturnType<SharedBroker['connect']>>();
  const accept = (topic: string, payload: string | Uint8Array, retain: boolean): void => {
    const bytes = typeof payload === 'string' ? new TextEncoder().encode(payload) : payload;
    if (retain && bytes.length > 0) retained.set(topic, bytes);
    else if (retain) retained.delete(topic);
    if (shared.isLossy) return;
    for (const link of links)
      for (const { filter, receive } of link)
        if (isMatch(filter, topic)) receive({ topic, payload: bytes, retained: false, duplicate: false });
  };

  const shared: SharedBroker = {
    retained,
    denied: new Set(),
    isLossy: false,
    subscriptions: { count: 0 },
    publish: (topic, payload) => accept(topic, payload, true),
    restart() {
      for (const client of clients) client.setOnline(false);
      retained.clear();
      for (const client of clients) client.setOnline(true);
    },
    connect() {
      let state: BrokerState = { kind: 'online', version: 5, denied: [] };
      let subscriptions: Subscription[] = [];
      const watchers = new Set<(state: BrokerState) => void>();
      links.add(subscriptions);
      const client: ReturnType<SharedBroker['connect']> = {
        get state() {
          return state;
        },
        start() {},
        watchState(report) {
          watchers.add(report);
          return () => void watchers.delete(report);
        },
        async publish(topic, payload, { retain }) {
          if (state.kind === 'online') accept(topic, payload, retain);
          return state.kind === 'online';
        },
        async subscribe(filter, receive) {
          if (state.kind !== 'online' || shared.denied.has(filter)) return false;
          shared.subscriptions.count += 1;
          if (!subscriptions.some((one) => one.filter === filter && one.receive === receive))
            subscriptions.push({ filter, receive });
          for (const [topic, payload] of retained)
            if (isMatch(filter, topic)) receive({ topic, payload, retained: true, duplicate: false });
          return true;
        },
        ping: async () => state.kind === 'online',
        async stop() {
          links.delete(subscriptions);
          clients.delete(client);
        },
        setOnline(isOnline) {
          links.delete(subscriptions);
          subscriptions = [];
          if (isOnline) links.add(subscriptions);
          state = isOnline
            ? { kind: 'online', version: 5, denied: [] }
            : { kind: 'offline', cause: 'the broker closed the connection', refused: false };
          for (const report of [...watchers]) report(state);
        },
      };
      clients.add(client);
      return client;
    },
  };
  return shared;
}

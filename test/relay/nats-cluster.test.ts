/** Relays and houses on a cluster of three NATS nodes: rights, a foreign publisher, a node that dies, and all of them begun again. scripts/nightly nats runs it. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Broker, BrokerCredentials } from '../../src/domain/ports.ts';
import { type Instant, minutes } from '../../src/domain/units.ts';
import { createBrokerFactory } from '../../src/platform/mqtt-broker.ts';
import { createSystemRandom } from '../../src/platform/random.ts';
import { createSystemClock } from '../../src/platform/system-clock.ts';
import { encodeRelayMessage } from '../../src/relay/relay-message.ts';
import { createRelayedService, type SignalService } from '../../src/relay/relayed-service.ts';
import { startSignalPublisher } from '../../src/relay/signal-publisher.ts';
import { formatPublicKey } from '../../src/relay/signing-key.ts';
import { type NatsCluster, startNatsCluster } from '../doubles/nats-cluster.ts';
import { buildForecastAt, QUERY, readSigningKey } from './relay-fixture.ts';

const HOUSES = 30;
const TOPIC = 'gridtide-signal/CAISO_NORTH/co2_moer/forecast';
const ROUND = minutes(1);

/** As docs/relay.md has it. */
const RIGHTS = `authorization { users = [
  { user: relay, password: relay-word
    permissions: { publish: ["gridtide-signal.>"], subscribe: ["gridtide-signal.>"] } }
  { user: house, password: house-word
    permissions: {
      publish: ["gridtide.house.>"]
      subscribe: ["gridtide-signal.>", "gridtide.house.>", "$MQTT.sub.>"] } }
] }`;

const clock = createSystemClock();
const random = createSystemRandom();
const signingKey = readSigningKey();
const createBroker = createBrokerFactory({ clock, random });
const wait = (ms: number) => new Promise((resume) => setTimeout(resume, ms));

interface House {
  readonly link: Broker;
  readonly service: SignalService;
  /** `generated_at` of each forecast, as it came. */
  readonly heard: Instant[];
}

const LOGINS: Readonly<Record<string, BrokerCredentials>> = {
  relay: { username: 'relay', password: 'relay-word' },
  house: { username: 'house', password: 'house-word' },
};

describe.skipIf(process.env.GRIDTIDE_NATS_TEST === undefined)('a cluster of three NATS nodes', () => {
  let cluster: NatsCluster;
  const links: Broker[] = [];
  const houses: House[] = [];
  const relays: { stop(): void }[] = [];
  let asked = 0;

  const connect = (node: number, user: string, clientId: string): Broker => {
    const link = createBroker({
      url: cluster.nodes[node % 3]?.url ?? '',
      clientId,
      credentials: async () => LOGINS[user],
    });
    links.push(link);
    link.start();
    return link;
  };
  const startRelay = (n: number) =>
    relays.push(
      startSignalPublisher({
        ...{ broker: connect(n, 'relay', `relay-${n}`), clock, random, signingKey, publicKeys: [signingKey] },
        signals: [QUERY],
        log() {},
        service: {
          async forecast() {
            asked += 1;
            const now = clock.now().wall;
            const generatedAt = (now - (now % ROUND)) as Instant;
            return { ok: true, value: { ...buildForecastAt(now), generatedAt, generatedPeriod: ROUND } };
          },
          signalIndex: async () => ({ ok: false, failure: { kind: 'stopped' } }),
          history: async () => ({ ok: false, failure: { kind: 'stopped' } }),
        },
      }),
    );
  const startHouse = (n: number): House => {
    const link = connect(n, 'house', `house-${n}`);
    const heard: Instant[] = [];
    const publicKeys = [formatPublicKey(signingKey)];
    const onNews = () =>
      void service.forecast(QUERY).then((outcome) => {
        if (outcome.ok && outcome.value.generatedAt !== heard.at(-1)) heard.push(outcome.value.generatedAt);
      });
    const parts = { broker: link, clock, random, publicKeys, account: undefined, onNews, onRefusal() {} };
    const service: SignalService = createRelayedService(parts);
    return { link, service, heard };
  };
  /** Every one of these houses has a forecast of now, asked for as an agent does. */
  const awaitForecasts = async (wanted: readonly House[], since: number) => {
    for (const { service, heard } of wanted)
      while ((heard.at(-1) ?? 0) < since) {
        await service.forecast(QUERY);
        await wait(200);
      }
  };

  beforeAll(async () => {
    cluster = await startNatsCluster(RIGHTS);
    await cluster.awaitReady();
    startRelay(0);
    startRelay(1);
    for (let n = 0; n < HOUSES; n++) houses.push(startHouse(n));
  });
  afterAll(async () => {
    for (const one of [...relays, ...houses.map(({ service }) => service)]) one.stop();
    for (const link of links) await link.stop();
    await cluster.stop();
  });

  it('every house of every node has the forecast, by MQTT 3.1.1', async () => {
    await awaitForecasts(houses, clock.now().wall - 2 * ROUND);
    expect(houses.map(({ link }) => link.state)).toEqual(
      houses.map(() => ({ kind: 'online', version: 4, denied: [] })),
    );
  });

  it('a house cannot write the signal, although the node acknowledges it', async () => {
    const future = (clock.now().wall + ROUND) as Instant;
    const forged = encodeRelayMessage(
      'forecast',
      { answer: buildForecastAt(future), issuedAt: future, validUntil: (future + 10 * ROUND) as Instant },
      signingKey,
    );
    const [first, second] = [houses[0], houses[1]];
    expect(await first?.link.publish(TOPIC, forged, { retain: true })).toBe(true);
    const visitor = startHouse(HOUSES);
    await awaitForecasts([visitor], clock.now().wall - 2 * ROUND);
    for (const house of [first, second, visitor]) expect(house?.heard.at(-1)).toBeLessThan(future);
  });

  it('a house cannot read the topics of others', async () => {
    while (houses[3]?.link.state.kind !== 'online') await wait(100);
    const read = (filter: string) => houses[3]?.link.subscribe(filter, () => {}, { wantsRetained: true });
    expect([
      await read('gridtide/house/health'),
      await read('gridtide/other/health'),
      await read('gridtide/+/health'),
    ]).toEqual([true, false, false]);
  });

  it('a topic with a point ends the link', async () => {
    const link = connect(2, 'relay', 'pointed');
    while (link.state.kind !== 'online') await wait(100);
    const ended = new Promise((resolve) => link.watchState(({ kind }) => kind === 'offline' && resolve(kind)));
    await link.publish('gridtide-signal/a.b', 'x', { retain: false });
    expect(await ended).toBe('offline');
  });

  it('a node and a relay die: the other houses have the next forecasts, one request a round', async () => {
    await cluster.nodes[0]?.kill();
    relays[0]?.stop();
    const [begun, before] = [clock.now().wall, asked];
    const others = houses.filter((_, n) => n % 3 !== 0);
    await awaitForecasts(others, begun + ROUND);
    expect(asked - before).toBeLessThanOrEqual(Math.ceil((clock.now().wall - begun) / ROUND) + 1);
  }, 300_000);

  it('all nodes begin again: every session is back, and no house takes anything older', async () => {
    for (const node of cluster.nodes) await node.kill();
    for (const node of cluster.nodes) await node.start();
    await cluster.awaitReady();
    await awaitForecasts(houses, clock.now().wall - ROUND);
    for (const { link, heard } of houses) {
      expect(link.state.kind).toBe('online');
      expect(heard).toEqual(heard.toSorted((a, b) => a - b));
    }
  }, 300_000);
});

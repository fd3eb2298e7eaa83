/** The whole agent behind a relay, in virtual time: what it takes for a signal, what it says of one it refuses, and what its account is for. */

import { afterEach, describe, expect, it } from 'vitest';
import { hashFraction } from '../../src/domain/hash-fraction.ts';
import type { Random } from '../../src/domain/ports.ts';
import { addDuration, type Duration, hours, minutes, seconds } from '../../src/domain/units.ts';
import { createHttp } from '../../src/platform/http-client.ts';
import { createSeededRandom } from '../../src/platform/random.ts';
import { createReferenceService } from '../../src/reference/reference-service.ts';
import { startMapPublisher } from '../../src/relay/map-publisher.ts';
import { decodeRelayMessage, encodeRelayMessage, type SignalKind } from '../../src/relay/relay-message.ts';
import { startSignalPublisher } from '../../src/relay/signal-publisher.ts';
import { formatPublicKey } from '../../src/relay/signing-key.ts';
import { createServiceClient } from '../../src/service/client.ts';
import { createPausingHttp } from '../../src/simulation/paused-io.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { createSharedBroker } from '../doubles/shared-broker.ts';
import {
  CAR_LINE,
  createVirtualAgent,
  START,
  type VirtualAgent,
  type VirtualAgentOptions,
  WATER_LINE,
} from '../faults/virtual-agent.ts';
import { readSigningKey } from './relay-fixture.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one();
});

const REGION = 'CAISO_NORTH';
const QUERY = { region: REGION, signalType: 'co2_moer' };
const FORECAST_TOPIC = `gridtide-signal/${REGION}/co2_moer/forecast`;
const ACCOUNT = { username: 'relay', password: 'clean-grid-2' };
const MAPPER = { username: 'mapper', password: 'clean-grid-3', plan: 'pro' } as const;
const OWNER = { username: 'owner', password: 'clean-grid-1', plan: 'basic' } as const;

/** One reference service, one broker, relays, and agents behind them. */
async function createNeighbourhood() {
  const clock = createVirtualClock(START);
  const bus = createSharedBroker();
  const reference = await createReferenceService({
    seed: 4,
    clock: () => clock.now().wall,
    accounts: [{ ...ACCOUNT, plan: 'basic' }, MAPPER, OWNER],
  });
  undo.push(() => reference.close());
  const { url } = await reference.listen();
  const signingKey = readSigningKey();
  const publicKey = formatPublicKey(signingKey);
  let relays = 0;
  const agents: VirtualAgent[] = [];
  return {
    ...{ clock, bus, reference, url, signingKey, publicKey },
    startRelay(random: Random = createSeededRandom(100 + relays)) {
      relays += 1;
      const http = createPausingHttp(createHttp({}), clock);
      const log = () => {};
      const service = createServiceClient({ url, http, clock, random, credentials: async () => ACCOUNT, log });
      const link = bus.connect();
      const publisher = startSignalPublisher({
        ...{ service, broker: link, clock, random, log, signingKey, publicKeys: [signingKey], signals: [QUERY] },
      });
      let isStopped = false;
      const stop = async () => {
        if (isStopped) return;
        isStopped = true;
        publisher.stop();
        service.stop();
        await link.stop();
        await http.close();
      };
      undo.push(stop);
      return { stop, requests: () => service.counts().requests };
    },
    /** The part of a relay that publishes the map. */
    startMapRelay() {
      const http = createPausingHttp(createHttp({}), clock);
      const common = { clock, random: createSeededRandom(1), log() {} };
      const service = createServiceClient({ url, http, ...common, credentials: async () => MAPPER });
      const { stop } = startMapPublisher(
        { ...common, service, broker: bus.connect(), signingKey, publicKeys: [signingKey] },
        QUERY.signalType,
      );
      undo.push(async () => {
        stop();
        service.stop();
        await http.close();
      });
    },
    async startAgent(options: Partial<VirtualAgentOptions> & { readonly fallback?: string } = {}) {
      const { fallback = '', ...rest } = options;
      const relay = `relay: true, publicKey: "${publicKey}", region: ${REGION}${fallback}`;
      const agent = await createVirtualAgent({ seed: 1, clock, reference, url, relay, bus, ...rest });
      agents.push(agent);
      undo.push(() => agent.close());
      await agent.start();
      return agent;
    },
    pass: (length: Duration) => clock.runUntil(addDuration(clock.now().wall, length)),
  };
}
type Neighbourhood = Awaited<ReturnType<typeof createNeighbourhood>>;

const basisOf = (home: VirtualAgent) => home.agent.snapshot().view?.horizon?.basis;
const problemOf = (home: VirtualAgent) => home.health().problem;
const readStored = ({ bus, clock, signingKey }: Neighbourhood, kind: SignalKind = 'forecast') => {
  const payload = bus.retained.get(FORECAST_TOPIC.replace('forecast', kind)) ?? new Uint8Array();
  const opened = decodeRelayMessage(payload, { kind, query: QUERY, keys: [signingKey], now: clock.now().wall });
  if (!opened.ok) throw new Error(opened.problem);
  return { payload, signal: opened.signal };
};

describe('an agent behind a relay', () => {
  it('runs by its forecast and index without a request of its own', async () => {
    const world = await createNeighbourhood();
    world.startRelay();
    const home = await world.startAgent();
    await world.pass(hours(1));
    expect(home.agent.snapshot()).toMatchObject({ requests: 0, logins: 0, region: { region: REGION } });
    expect(home.agent.snapshot().view).toMatchObject({
      horizon: { basis: 'fresh-forecast' },
      index: { basis: 'live-index' },
    });
    expect(problemOf(home)).toBe('');
  });

  it('finds its region in the map of the relay', async () => {
    const world = await createNeighbourhood();
    world.startRelay();
    const home = await world.startAgent({ relay: `relay: true, publicKey: "${world.publicKey}"` });
    await world.pass(minutes(10));
    expect(home.health().basis).toBe('fail-safe');
    world.startMapRelay();
    // Compression works beside the virtual clock.
    await expect
      .poll(async () => {
        await world.pass(minutes(10));
        return basisOf(home);
      })
      .toBe('fresh-forecast');
    expect(home.agent.snapshot()).toMatchObject({ requests: 0, logins: 0, region: { region: REGION, source: 'map' } });
    expect(problemOf(home)).toBe('');
  });

  it('computes the index itself where the relay publishes none, which is no problem', async () => {
    const world = await createNeighbourhood();
    const relay = world.startRelay();
    await world.pass(minutes(1));
    await relay.stop();
    world.bus.publish(FORECAST_TOPIC.replace('forecast', 'index'), '');
    const home = await world.startAgent();
    await world.pass(minutes(6));
    expect([home.agent.snapshot().view?.index?.basis, problemOf(home)]).toEqual(['fresh-forecast', '']);
  });

  it('runs on by its last forecast when the relay ends, and says so', async () => {
    const world = await createNeighbourhood();
    const relay = world.startRelay();
    const home = await world.startAgent();
    await world.pass(hours(1));
    await relay.stop();
    await world.pass(hours(1));
    expect(basisOf(home)).toBe('ageing-forecast');
    expect(problemOf(home)).toMatch(
      /no forecast: the message on \S+forecast was valid until .*; check that the relay runs/,
    );
    world.startRelay();
    await world.pass(minutes(10));
    expect([basisOf(home), problemOf(home)]).toEqual(['fresh-forecast', '']);
  });

  it('asks its account while the relay is silent, and no longer', async () => {
    const world = await createNeighbourhood();
    const relay = world.startRelay();
    await world.pass(minutes(1));
    const home = await world.startAgent({
      fallback: `, url: "${world.url}", usernameFile: username, passwordFile: password`,
    });
    await world.pass(hours(1));
    expect(home.requests).toEqual([]);
    await relay.stop();
    await world.pass(hours(1));
    expect([basisOf(home), problemOf(home)]).toEqual(['fresh-forecast', '']);
    expect(home.countRequests('/v3/forecast')).toBeGreaterThanOrEqual(8);
    world.startRelay();
    await world.pass(minutes(15));
    const before = home.requests.length;
    await world.pass(hours(1));
    expect([basisOf(home), home.requests.length]).toEqual(['fresh-forecast', before]);
  });

  it('reads the stored message again when one was lost on its way', async () => {
    const world = await createNeighbourhood();
    world.startRelay();
    await world.pass(minutes(1));
    const home = await world.startAgent();
    world.bus.isLossy = true;
    for (let round = 0; round < 24; round++) {
      await world.pass(minutes(5));
      expect(world.clock.now().wall - Date.parse(home.health().lastForecast ?? '')).toBeLessThanOrEqual(minutes(6));
    }
    expect([basisOf(home), problemOf(home)]).toEqual(['fresh-forecast', '']);
  });

  it('asks again where the broker denies the topic, and says which right is missing', async () => {
    const world = await createNeighbourhood();
    world.startRelay();
    for (const kind of ['forecast', 'index']) world.bus.denied.add(FORECAST_TOPIC.replace('forecast', kind));
    const home = await world.startAgent();
    await world.pass(minutes(30));
    expect(problemOf(home)).toMatch(/the broker denies reading \S+forecast: let this user read it/);
    world.bus.denied.clear();
    await world.pass(minutes(1));
    expect([basisOf(home), problemOf(home)]).toEqual(['fresh-forecast', '']);
  });
});

describe('a signal that is refused: one sentence in health, no load moved', () => {
  const reencode = (
    world: Neighbourhood,
    change: { at?: Duration; key?: ReturnType<typeof readSigningKey>; region?: string },
  ) => {
    const { signal } = readStored(world);
    const { at = 0 as Duration, key = world.signingKey, region = REGION } = change;
    return encodeRelayMessage(
      'forecast',
      {
        answer: { ...signal.answer, region },
        issuedAt: addDuration(signal.issuedAt, at),
        validUntil: addDuration(signal.validUntil, Math.max(0, at) as Duration),
      },
      key,
    );
  };
  //  what it is               the message                                                                sentence
  const rows: readonly (readonly [string, (world: Neighbourhood) => Uint8Array | string, RegExp])[] = [
    ['text of a neighbour', () => 'clean now', /is no signed signal; let nobody but the relay write this topic/],
    [
      'signed with another key',
      (world) => reencode(world, { key: readSigningKey() }),
      /is not signed with the key of service.publicKey/,
    ],
    ['cut short', (world) => readStored(world).payload.subarray(0, 900), /is not signed with the key/],
    ['huge', () => new Uint8Array(60_000), /has 60000 bytes; expected at most 49152/],
    ['of another region', (world) => reencode(world, { region: 'PSCO' }), /is of region PSCO; expected CAISO_NORTH/],
    ['of the future', (world) => reencode(world, { at: minutes(30) }), /after the time of this machine/],
    [
      'older than the present one',
      (world) => reencode(world, { at: -minutes(1) as Duration }),
      /is older than one before it/,
    ],
  ];
  it.each(rows)('%s', async (_, build, sentence) => {
    const world = await createNeighbourhood();
    const relay = world.startRelay();
    const home = await world.startAgent();
    await world.pass(minutes(3));
    await relay.stop();
    const message = build(world);
    const before = home.edges.length;
    world.bus.publish(FORECAST_TOPIC, message);
    await world.clock.waitUntilIdle();
    expect(problemOf(home)).toMatch(sentence);
    expect([basisOf(home), home.edges.length]).toEqual(['fresh-forecast', before]);
  });

  it.each(rows.slice(0, 6))(
    '%s, where nothing else is known: the loads stay at their fail-safe level',
    async (_, build, sentence) => {
      const world = await createNeighbourhood();
      const relay = world.startRelay();
      await world.pass(minutes(3));
      await relay.stop();
      world.bus.publish(FORECAST_TOPIC, build(world));
      world.bus.publish(FORECAST_TOPIC.replace('forecast', 'index'), '');
      const home = await world.startAgent();
      await world.pass(minutes(9));
      expect(problemOf(home)).toMatch(sentence);
      expect([home.health().basis, home.edges.filter(({ high }) => high)]).toEqual(['fail-safe', []]);
    },
  );

  it('is no longer told of once the present signal is back', async () => {
    const world = await createNeighbourhood();
    const relay = world.startRelay();
    const home = await world.startAgent();
    await world.pass(minutes(3));
    await relay.stop();
    const present = readStored(world).payload;
    world.bus.publish(FORECAST_TOPIC, 'clean now');
    await world.clock.waitUntilIdle();
    expect(problemOf(home)).toMatch(/is no signed signal/);
    world.bus.publish(FORECAST_TOPIC, present);
    await world.pass(seconds(2));
    expect(problemOf(home)).toBe('');
  });

  it('one of yesterday, stored by a broker that knows no expiry', async () => {
    const world = await createNeighbourhood();
    const relay = world.startRelay();
    await world.pass(minutes(3));
    await relay.stop();
    await world.pass(hours(24));
    const home = await world.startAgent();
    await world.pass(hours(1));
    expect(problemOf(home)).toMatch(/was valid until 2026-03-02T20:15:00\+00:00; check that the relay runs/);
    expect([home.health().basis, home.edges.filter(({ high }) => high)]).toEqual(['fail-safe', []]);
  });

  it('a region that nobody relays', async () => {
    const world = await createNeighbourhood();
    world.startRelay();
    const home = await world.startAgent({ relay: `relay: true, publicKey: "${world.publicKey}", region: PSCO` });
    await world.pass(hours(1));
    expect(problemOf(home)).toMatch(
      /no forecast: no relay has published gridtide-signal\/PSCO\/co2_moer\/forecast: check the region/,
    );
    expect([home.health().basis, home.edges.filter(({ high }) => high)]).toEqual(['fail-safe', []]);
  });

  it('no region at all', async () => {
    const world = await createNeighbourhood();
    world.startRelay();
    const home = await world.startAgent({ relay: `relay: true, publicKey: "${world.publicKey}"` });
    await world.pass(hours(1));
    expect(problemOf(home)).toMatch(
      /map: no region is known.*set service.region, or import a map with gridtide map import/,
    );
  });
});

describe('decisions behind a relay', () => {
  /** The check compares two; scripts/nightly relay compares 50. */
  const AGENTS = Number(process.env.GRIDTIDE_AGENTS ?? 2);
  /** The relay's moment in each round, and that of an account of one's own: agents whose moments are those of the relay. */
  const TURN = 0.3;
  const TURN_SECONDS = TURN * 30;
  const hasTurnOfRelay = (device: string) => Math.abs(hashFraction(device) * 150 - TURN_SECONDS) < 2;
  const devices = Array.from({ length: 60 * AGENTS }, (_, i) => `house-${i}`)
    .filter(hasTurnOfRelay)
    .slice(0, AGENTS);
  const edgesOf = (home: VirtualAgent, wanted: number) => home.edges.filter(({ line }) => line === wanted);

  it(
    `of ${AGENTS} agents are those with accounts of their own at the same moment`,
    async () => {
      const world = await createNeighbourhood();
      world.startRelay({ fraction: () => TURN });
      await world.pass(minutes(1));
      const pairs: (readonly [VirtualAgent, VirtualAgent])[] = [];
      for (const device of devices) {
        const { clock, reference, url } = world;
        const own = await createVirtualAgent({ seed: 1, clock, reference, url, device });
        undo.push(() => own.close());
        await own.start();
        pairs.push([own, await world.startAgent({ seed: 1, device })]);
      }
      expect(pairs).toHaveLength(AGENTS);
      await world.pass(minutes(11 * 60 + 45));
      for (const [own, relayed] of pairs)
        for (const line of [WATER_LINE, CAR_LINE]) {
          const [ownEdges, relayedEdges] = [edgesOf(own, line), edgesOf(relayed, line)];
          expect(relayedEdges.map(({ high }) => high)).toEqual(ownEdges.map(({ high }) => high));
          expect(ownEdges.length).toBeGreaterThan(2);
          relayedEdges.forEach(({ at }, i) => {
            expect(Math.abs(at - (ownEdges[i]?.at ?? 0))).toBeLessThanOrEqual(minutes(1));
          });
        }
    },
    300_000 + AGENTS * 30_000,
  );
});

/** The map of a relay: cut into signed pieces, read piece by piece, and refused when anything about it is wrong. */

import { describe, expect, it } from 'vitest';
import { addDuration, type Duration, days, hours, minutes } from '../../src/domain/units.ts';
import { buildMapTopic } from '../../src/mqtt/topics.ts';
import { createSeededRandom } from '../../src/platform/random.ts';
import { decodeMapMessage, encodeMapMessage } from '../../src/relay/map-message.ts';
import { startMapPublisher } from '../../src/relay/map-publisher.ts';
import { readRelayedMap } from '../../src/relay/map-reader.ts';
import { createRelayedService, type SignalService } from '../../src/relay/relayed-service.ts';
import { formatPublicKey } from '../../src/relay/signing-key.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { createSharedBroker } from '../doubles/shared-broker.ts';
import { createRelayWorld, EVENING, readSigningKey } from './relay-fixture.ts';

const TYPE = 'co2_moer';
const INFO = buildMapTopic(TYPE, 'info');
const MAX_MESSAGE = 48 * 1024;

/** Text that hardly compresses. */
const buildText = (length: number, seed = 7) => {
  const random = createSeededRandom(seed);
  return Array.from({ length }, () => String.fromCharCode(33 + Math.floor(90 * random.fraction()))).join('');
};

async function readText(map: Awaited<ReturnType<typeof readRelayedMap>>) {
  if (!('chunks' in map)) throw new Error(JSON.stringify(map));
  const chunks: Uint8Array[] = [];
  for await (const chunk of map.chunks) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** A service with one map, relays that ask it, and a house that reads. */
function createMapWorld() {
  const clock = createVirtualClock(EVENING);
  const bus = createSharedBroker();
  const signingKey = readSigningKey();
  const service = { text: buildText(150_000), version: 'map-1', asked: 0, sent: 0 };
  const logLines: string[] = [];
  const links = { open: 0, areOnline: true };
  const parts = {
    ...{ clock, keys: [signingKey], signal: new AbortController().signal, onFailure() {} },
    createLink() {
      const link = bus.connect();
      links.open += 1;
      link.setOnline(links.areOnline);
      return {
        ...link,
        async stop() {
          links.open -= 1;
        },
      };
    },
  };
  const pass = (length: Duration) => clock.runUntil(addDuration(clock.now().wall, length));
  return {
    ...{ bus, service, signingKey, logLines, links, pass },
    startRelay(random: number) {
      const map = async ({ knownVersion }: { readonly knownVersion?: string | undefined }) => {
        service.asked += 1;
        const { text, version } = service;
        if (knownVersion === version) return { ok: true, value: { unchanged: true } } as const;
        service.sent += 1;
        const chunks = (async function* () {
          for (let at = 0; at < text.length; at += 10_000) yield new TextEncoder().encode(text.slice(at, at + 10_000));
        })();
        return { ok: true, value: { chunks, version } } as const;
      };
      const link = bus.connect();
      const { stop } = startMapPublisher(
        {
          ...{ service: { map }, broker: link, clock, random: { fraction: () => random } },
          ...{ signingKey, publicKeys: [signingKey], log: (_: string, message: string) => void logLines.push(message) },
        },
        TYPE,
      );
      return { link, stop };
    },
    /** Compression works beside the virtual clock. */
    awaitMap: (version: string) =>
      expect
        .poll(() => {
          const message = decodeMapMessage(bus.retained.get(INFO) ?? new Uint8Array(), [signingKey]);
          return typeof message === 'string' ? message : message.header.version;
        })
        .toBe(version),
    read: (knownVersion?: string) => readRelayedMap(parts, { signalType: TYPE, knownVersion }),
    /** As an agent has it, with or without an account of its own. */
    createHouse: (account?: SignalService) =>
      createRelayedService({
        ...{ broker: bus.connect(), clock, random: createSeededRandom(1), account, createLink: parts.createLink },
        ...{ publicKeys: [formatPublicKey(signingKey)], onNews() {}, onRefusal() {} },
      }),
    readText,
  };
}

/** A broker that stores the first map, and the relay that has published it. */
async function startPublishedMap(turn: number) {
  const world = createMapWorld();
  const relay = world.startRelay(turn);
  await world.pass(hours(1));
  await world.awaitMap('map-1');
  return { world, relay };
}

describe('the map of a relay', () => {
  it('comes in signed pieces below 48 kB, and is the same text', async () => {
    const { world } = await startPublishedMap(0);
    expect(world.bus.retained.size).toBe(4);
    expect(Math.max(...[...world.bus.retained.values()].map(({ length }) => length))).toBeLessThanOrEqual(MAX_MESSAGE);
    const map = await world.read();
    expect(map).toMatchObject({ version: 'relay map-1', isRelayed: true });
    expect(await world.readText(map)).toBe(world.service.text);
    expect(await world.read('relay map-1')).toEqual({ unchanged: true });
    expect(world.links.open).toBe(0);
  });

  it('costs the service one download for two relays, and one question a week', async () => {
    const { world } = await startPublishedMap(0);
    world.startRelay(0.5);
    await world.pass(days(6));
    expect(world.service).toMatchObject({ asked: 1, sent: 1 });
    await world.pass(days(2));
    expect(world.service).toMatchObject({ asked: 2, sent: 1 });
  });

  it('is replaced whole by a smaller one', async () => {
    const { world } = await startPublishedMap(0);
    Object.assign(world.service, { text: buildText(20_000), version: 'map-2' });
    await world.pass(days(8));
    await world.awaitMap('map-2');
    expect(await world.readText(await world.read('relay map-1'))).toBe(world.service.text);
    await expect.poll(() => world.bus.retained.size).toBe(2);
  });

  it('is published again, pieces and all, after a broker has come back without what it stored', async () => {
    const { world } = await startPublishedMap(0.5);
    world.bus.restart();
    expect(world.bus.retained.size).toBe(0);
    await world.pass(minutes(1));
    await world.awaitMap('map-1');
    expect(await world.readText(await world.read())).toBe(world.service.text);
    expect(world.service).toMatchObject({ asked: 2, sent: 2 });
  });

  it('is not asked for again after a broker has come back with what it stored', async () => {
    const { world, relay } = await startPublishedMap(0.5);
    relay.link.setOnline(false);
    await world.pass(minutes(10));
    relay.link.setOnline(true);
    await world.pass(hours(1));
    expect(world.service).toMatchObject({ asked: 1, sent: 1 });
  });

  const PIECE = buildMapTopic(TYPE, 1);
  const PUBLISHED = 'the map of co2_moer is published in 3 pieces';
  const LOST = 'the broker does not store every announced piece of the map: asking for it anew';
  it.each([
    ['lost', ''],
    ['overwritten', 'hello'],
  ])('is published again within two hours after one piece alone was %s', async (_, payload) => {
    const { world } = await startPublishedMap(0.5);
    world.bus.publish(PIECE, payload);
    await world.pass(hours(2));
    await expect.poll(() => world.logLines).toEqual([PUBLISHED, LOST, PUBLISHED]);
    expect(await world.readText(await world.read())).toBe(world.service.text);
    await world.pass(days(3));
    expect(world.service).toMatchObject({ asked: 2, sent: 2 });
  });

  it('is published again where the broker has come back without one piece', async () => {
    const { world, relay } = await startPublishedMap(0.5);
    relay.link.setOnline(false);
    world.bus.publish(PIECE, '');
    relay.link.setOnline(true);
    await world.pass(minutes(1));
    await expect.poll(() => world.bus.retained.has(PIECE)).toBe(true);
    await world.awaitMap('map-1');
    expect(await world.readText(await world.read())).toBe(world.service.text);
  });

  type World = ReturnType<typeof createMapWorld>;
  const spoil = (world: World, topic: string, change: (bytes: Uint8Array) => Uint8Array) =>
    world.bus.publish(topic, change(world.bus.retained.get(topic)?.slice() ?? new Uint8Array()));
  const flip = (bytes: Uint8Array) => bytes.map((byte, i) => (i === bytes.length - 1 ? byte ^ 1 : byte));
  const rows: readonly (readonly [string, (world: World) => void, RegExp])[] = [
    ['a changed byte', (world) => spoil(world, PIECE, flip), /gridtide-signal\/map\/co2_moer\/1 is not signed/],
    ['a piece cut short', (world) => spoil(world, PIECE, (bytes) => bytes.subarray(0, 9_000)), /is not signed/],
    ['a text', (world) => world.bus.publish(PIECE, 'hello'), /is no signed map/],
    ['a huge piece', (world) => world.bus.publish(PIECE, new Uint8Array(60_000)), /has 60000 bytes; expected at most/],
    ['a missing piece', (world) => world.bus.publish(PIECE, ''), /no relay has published .*\/1/],
    ['a denied piece', (world) => void world.bus.denied.add(PIECE), /the broker denies reading .*\/1/],
    [
      'another piece in its place',
      (world) => spoil(world, PIECE, () => world.bus.retained.get(buildMapTopic(TYPE, 0)) ?? new Uint8Array()),
      /the relay has just replaced it/,
    ],
  ];
  it.each(rows)('%s ends the reading in one sentence', async (_, change, sentence) => {
    const { world, relay } = await startPublishedMap(0);
    // It would publish the map again.
    relay.stop();
    change(world);
    const reading = world.read().then(world.readText);
    const ended = expect(reading).rejects.toThrow(sentence);
    // A message that does not come is waited for.
    await expect
      .poll(async () => {
        await world.pass(hours(1));
        return world.links.open;
      })
      .toBe(0);
    await ended;
  });

  it('leaves no link behind where the import ends before it reads', async () => {
    const { world } = await startPublishedMap(0);
    expect(await world.read()).toHaveProperty('chunks');
    expect(world.links.open).toBe(0);
  });

  it.each([
    ['the link', false],
    ['the announcement', true],
  ])('is no longer waited for once the agent stops: %s', async (_, areOnline) => {
    const world = createMapWorld();
    Object.assign(world.links, { areOnline });
    const house = world.createHouse();
    const reading = house.map({ signalType: TYPE });
    await expect.poll(() => world.links.open).toBe(1);
    house.stop();
    // Virtual time stands: a wait that goes on never ends.
    expect(await reading).toMatchObject({ ok: false, failure: { cause: 'the reading of the map was stopped' } });
    expect(world.links.open).toBe(0);
  });

  it('is no longer read once the agent stops', async () => {
    const { world } = await startPublishedMap(0);
    world.bus.publish(PIECE, '');
    const house = world.createHouse();
    const outcome = await house.map({ signalType: TYPE });
    if (!outcome.ok) throw new Error(outcome.failure.kind);
    const ended = expect(readText(outcome.value)).rejects.toThrow('the reading of the map was stopped');
    await expect.poll(() => world.bus.subscriptions.count).toBeGreaterThanOrEqual(4);
    house.stop();
    await ended;
    expect(world.links.open).toBe(0);
  });

  it('comes from the own account at the next try where a piece of it failed', async () => {
    const { world } = await startPublishedMap(0);
    spoil(world, PIECE, flip);
    const chunks = (async function* () {
      yield new TextEncoder().encode('the map of the account');
    })();
    const { account } = createRelayWorld();
    const house = world.createHouse({ ...account, map: async () => ({ ok: true, value: { chunks } }) });
    const readMap = async () => {
      const outcome = await house.map({ signalType: TYPE });
      if (!outcome.ok) throw new Error(outcome.failure.kind);
      return readText(outcome.value);
    };
    await expect(readMap()).rejects.toThrow(/is not signed/);
    expect(await readMap()).toBe('the map of the account');
    await expect(readMap()).rejects.toThrow(/is not signed/);
  });

  it('is none where nobody publishes one, or with another key', async () => {
    const world = createMapWorld();
    const reading = world.read();
    await world.pass(hours(1));
    expect(await reading).toEqual({ cause: `no relay has published ${INFO}`, isAbsent: true });
    const header = { signalType: TYPE, version: '1', pieces: 1, fetchedAt: EVENING };
    world.bus.publish(INFO, encodeMapMessage(header, new Uint8Array(), readSigningKey()));
    expect(await world.read()).toMatchObject({ cause: expect.stringContaining('is not signed with the key') });
    world.bus.publish(
      INFO,
      encodeMapMessage({ ...header, signalType: 'co2_aoer' }, new Uint8Array(), world.signingKey),
    );
    expect(await world.read()).toMatchObject({ cause: expect.stringContaining('is of another map') });
    expect(world.links.open).toBe(0);
  });
});

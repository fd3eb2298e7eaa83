/** The relay in virtual time: how often it asks, alone and beside another, and what it makes of silence, failure and foreign messages. */

import { describe, expect, it } from 'vitest';
import { addDuration, floorTo, hours, minutes } from '../../src/domain/units.ts';
import { decodeRelayMessage, encodeRelayMessage } from '../../src/relay/relay-message.ts';
import { buildForecastAt, createRelayWorld, EVENING, QUERY, readSigningKey } from './relay-fixture.ts';

const TOPIC = 'gridtide-signal/CAISO_NORTH/co2_moer/forecast';
const ROUNDS = 24;

type World = ReturnType<typeof createRelayWorld>;
const passHours = (world: World, n: number) => world.clock.runUntil(addDuration(EVENING, hours(n)));
const openStored = ({ broker, clock, signingKey }: World) =>
  decodeRelayMessage(broker.retained.get(TOPIC) ?? new Uint8Array(), {
    ...{ kind: 'forecast', query: QUERY, keys: [signingKey], now: clock.now().wall },
  });

describe('how often a relay asks', () => {
  it('alone: once a round for index and forecast, once in six hours for the past', async () => {
    const world = createRelayWorld();
    const relay = world.startRelay();
    await passHours(world, 2);
    expect(world.countAsked('forecast')).toBe(ROUNDS);
    expect(world.countAsked('index')).toBe(ROUNDS);
    expect(world.countAsked('history')).toBe(1);
    relay.stop();
  });

  it('two relays ask like one, and five too', async () => {
    for (const relays of [2, 5]) {
      const world = createRelayWorld();
      const started = Array.from({ length: relays }, () => world.startRelay());
      await passHours(world, 2);
      expect(world.countAsked('forecast')).toBe(ROUNDS);
      for (const { stop } of started) stop();
    }
  });

  it('begun again within a round it does not ask again', async () => {
    const world = createRelayWorld();
    for (let i = 0; i < 5; i++) {
      const relay = world.startRelay();
      await world.clock.runUntil(addDuration(EVENING, minutes(0.9 * (i + 1))));
      relay.stop();
    }
    expect(world.countAsked('forecast')).toBe(1);
  });

  it('one takes over within a round when the other ends', async () => {
    const world = createRelayWorld();
    const [first, second] = [world.startRelay(), world.startRelay()];
    await passHours(world, 1);
    first.stop();
    await first.link.stop();
    for (let round = 1; round <= 12; round++) {
      await world.clock.runUntil(addDuration(EVENING, minutes(60 + 5 * round) as never));
      const opened = openStored(world);
      expect(opened.ok && world.clock.now().wall - opened.signal.issuedAt).toBeLessThanOrEqual(minutes(5));
    }
    expect(world.countAsked('forecast')).toBe(ROUNDS);
    second.stop();
  });
});

describe('a service of another rhythm', () => {
  it('a relay learns it from what the other publishes, and takes over in time', async () => {
    const world = createRelayWorld();
    const everyMinute = async () => {
      world.asked.push({ kind: 'forecast', at: world.clock.now().wall });
      const forecast = buildForecastAt(world.clock.now().wall);
      const generatedAt = floorTo(world.clock.now().wall, minutes(1));
      return { ok: true, value: { ...forecast, generatedAt, generatedPeriod: minutes(1) } } as const;
    };
    const stopped = async () => ({ ok: false, failure: { kind: 'stopped' } }) as const;
    const service = { forecast: everyMinute, signalIndex: stopped, history: stopped };
    const [first, second] = [0.1, 0.9].map((turn) => world.startRelay({ service, random: { fraction: () => turn } }));
    await world.clock.runUntil(addDuration(EVENING, minutes(11)));
    expect(world.countAsked('forecast')).toBe(11);
    first?.stop();
    await first?.link.stop();
    await world.clock.runUntil(addDuration(EVENING, minutes(20)));
    expect(world.countAsked('forecast')).toBe(20);
    second?.stop();
  });
});

describe('what a relay publishes', () => {
  it('the newest forecast, retained and signed', async () => {
    const world = createRelayWorld();
    const relay = world.startRelay();
    await passHours(world, 1);
    expect(openStored(world)).toMatchObject({ ok: true, signal: { answer: { region: 'CAISO_NORTH' } } });
    relay.stop();
  });

  it('nothing while the service fails; the log has one line for each kind of signal', async () => {
    const world = createRelayWorld();
    world.service.failure = { kind: 'no-credentials' };
    const relay = world.startRelay();
    await passHours(world, 1);
    expect([...world.broker.retained]).toEqual([]);
    expect(world.logLines.filter((line) => line.startsWith('no user name and password'))).toHaveLength(3);
    world.service.failure = undefined;
    await passHours(world, 2);
    expect(openStored(world).ok).toBe(true);
    relay.stop();
  });

  it('no forecast that is too old to be valid', async () => {
    const world = createRelayWorld();
    const old = buildForecastAt(addDuration(EVENING, -hours(1) as never));
    const relay = world.startRelay({
      service: {
        forecast: async () => ({ ok: true, value: old }),
        signalIndex: async () => ({ ok: false, failure: { kind: 'stopped' } }),
        history: async () => ({ ok: false, failure: { kind: 'stopped' } }),
      },
    });
    await passHours(world, 1);
    expect([...world.broker.retained]).toEqual([]);
    expect(world.logLines).toContain(
      'the newest forecast of the service was valid until 2026-03-02T19:15:00+00:00: not published',
    );
    relay.stop();
  });

  it('again what a foreign message has replaced, within a round', async () => {
    const world = createRelayWorld();
    const relay = world.startRelay();
    await passHours(world, 1);
    const signal = { answer: buildForecastAt(EVENING), issuedAt: EVENING, validUntil: addDuration(EVENING, hours(2)) };
    for (const forged of ['off', encodeRelayMessage('forecast', signal, readSigningKey())]) {
      world.broker.publish(TOPIC, forged);
      expect(openStored(world).ok).toBe(false);
      await world.clock.runUntil(addDuration(world.clock.now().wall, minutes(6)));
      expect(openStored(world).ok).toBe(true);
    }
    expect(world.logLines.join('\n')).toMatch(
      /is no signed signal; .*\n.*is not signed with the key of this relay or of a --peer-key;/s,
    );
    relay.stop();
  });

  it('what the service has now, after a round in which only the other relay reached the broker', async () => {
    const world = createRelayWorld();
    const [first, second] = [0.1, 0.9].map((turn) => world.startRelay({ random: { fraction: () => turn } }));
    first?.link.setOnline(false);
    await world.clock.runUntil(addDuration(EVENING, minutes(2)));
    first?.link.setOnline(true);
    await world.clock.runUntil(addDuration(EVENING, minutes(4)));
    second?.stop();
    await second?.link.stop();
    await world.clock.runUntil(addDuration(EVENING, minutes(5.7)));
    const opened = openStored(world);
    expect(opened.ok && opened.signal.issuedAt).toBe(addDuration(EVENING, minutes(5)));
    first?.stop();
  });

  it('the newest after rounds without a broker', async () => {
    const world = createRelayWorld();
    const relay = world.startRelay();
    relay.link.setOnline(false);
    await world.clock.runUntil(addDuration(EVENING, minutes(14)));
    expect(world.countAsked('forecast')).toBe(3);
    relay.link.setOnline(true);
    await world.clock.runUntil(addDuration(EVENING, minutes(14.5)));
    const opened = openStored(world);
    expect(opened.ok && opened.signal.issuedAt).toBe(addDuration(EVENING, minutes(10)));
    relay.stop();
  });

  it('without asking again what the broker did not take', async () => {
    const world = createRelayWorld();
    const relay = world.startRelay();
    relay.link.setOnline(false);
    await world.clock.runUntil(addDuration(EVENING, minutes(2)));
    expect([world.countAsked('forecast'), world.broker.retained.size]).toEqual([1, 0]);
    relay.link.setOnline(true);
    await world.clock.runUntil(addDuration(EVENING, minutes(3)));
    expect([world.countAsked('forecast'), openStored(world).ok]).toEqual([1, true]);
    relay.stop();
  });

  it('every kind again, from one relay and without asking, after a broker has come back without what it stored', async () => {
    const world = createRelayWorld();
    const relays = [world.startRelay(), world.startRelay()];
    await world.clock.runUntil(addDuration(EVENING, minutes(2)));
    const [before, asked] = [new Map(world.broker.retained), world.asked.length];
    expect(before.size).toBe(3);
    world.broker.restart();
    expect(world.broker.retained.size).toBe(0);
    await world.clock.runUntil(addDuration(EVENING, minutes(3)));
    expect([new Map(world.broker.retained), world.asked.length]).toEqual([before, asked]);
    for (const relay of relays) relay.stop();
  });

  it('nothing older than the other relay has, after its own link was lost', async () => {
    const world = createRelayWorld();
    const [first, second] = [world.startRelay(), world.startRelay()];
    await world.clock.runUntil(addDuration(EVENING, minutes(2)));
    first?.link.setOnline(false);
    await world.clock.runUntil(addDuration(EVENING, minutes(7)));
    const stored = [...world.broker.retained];
    world.broker.denied.add(TOPIC);
    first?.link.setOnline(true);
    await world.clock.runUntil(addDuration(EVENING, minutes(7.5)));
    expect([...world.broker.retained]).toEqual(stored);
    second?.stop();
    first?.stop();
  });
});

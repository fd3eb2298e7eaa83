/** The broker link against a real mosquitto, which speaks version 5, and the embedded broker, which speaks 3.1.1 only. */

import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { Broker, BrokerMessage, BrokerNames, BrokerOptions, BrokerState } from '../../src/domain/ports.ts';
import {
  adviseReconnect,
  CONFIGURED_NAMES,
  type DisconnectReason,
  describeUnreadableFile,
  describeUnusableOptions,
  type ReconnectAdvice,
} from '../../src/platform/broker-disconnect.ts';
import { createBrokerFactory, getReconnectWait } from '../../src/platform/mqtt-broker.ts';
import { createMqttLink } from '../../src/platform/mqtt-link.ts';
import { isTopic, isTopicFilter, matchesFilter } from '../../src/platform/mqtt-topics.ts';
import { createSystemClock } from '../../src/platform/system-clock.ts';
import { startEmbeddedBroker } from '../../src/simulation/embedded-broker.ts';
import { describeWithMosquitto, freePort, startMosquitto } from '../doubles/mosquitto.ts';
import { startMqttSpy } from '../doubles/mqtt-spy.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';

const cleaned = async <Thing extends { stop(): Promise<unknown> }>(made: Promise<Thing>) => stopAfterTest(await made);

function link(options: Partial<BrokerOptions> & { url: string }): Broker {
  const clock = createSystemClock();
  const broker = createBrokerFactory({ clock, random: { fraction: () => 0.5 } })({
    clientId: 'gridtide-test',
    ...options,
  });
  return stopAfterTest(broker);
}

/** Resolves with the first state, from now on or at present, that `wanted` says yes to. */
const reaches = (broker: Broker, wanted: (state: BrokerState) => boolean) =>
  new Promise<BrokerState>((resolve) => {
    if (wanted(broker.state)) return resolve(broker.state);
    const cancel = broker.watchState((state) => {
      if (!wanted(state)) return;
      cancel();
      resolve(state);
    });
  });
const isOnline = (state: BrokerState) => state.kind === 'online';
const isOffline = (state: BrokerState) => state.kind === 'offline';

async function connected(options: Partial<BrokerOptions> & { url: string }): Promise<Broker> {
  const broker = link(options);
  const online = reaches(broker, isOnline);
  broker.start();
  await online;
  return broker;
}

const contract = (start: () => Promise<{ url: string; stop(): Promise<void> }>, version: 4 | 5) => {
  it(`comes online and speaks version ${version}`, async () => {
    const { url } = await cleaned(start());
    const broker = await connected({ url });
    expect(broker.state).toEqual({ kind: 'online', version, denied: [] });
  });

  it('answers each ping, and none once it is gone', async () => {
    const service = await start();
    const broker = await connected({ url: service.url });
    expect([await broker.ping(), await broker.ping()]).toEqual([true, true]);
    const gone = reaches(broker, isOffline);
    await service.stop();
    await gone;
    expect(await broker.ping()).toBe(false);
  });

  it('publishes, and retains where asked', async () => {
    const { url } = await cleaned(start());
    const broker = await connected({ url });
    expect(await broker.publish('a/kept', 'one', { retain: true })).toBe(true);
    expect(await broker.publish('a/passing', 'two', { retain: false })).toBe(true);
    const spy = await cleaned(startMqttSpy(url));
    await broker.publish('a/end', '', { retain: false });
    await spy.waitFor(({ topic }) => topic === 'a/end');
    expect(spy.messages.map(({ topic, text }) => `${topic} ${text}`)).toEqual(['a/kept one', 'a/end ']);
  });

  it('waits for many answers at once, without a warning of Node', async () => {
    const { url } = await cleaned(start());
    const broker = await connected({ url });
    const warnings: string[] = [];
    const note = ({ message }: Error) => void warnings.push(message);
    process.on('warning', note);
    const answers = Array.from({ length: 30 }, (_, i) =>
      broker.subscribe(`many/${i}`, () => {}, { wantsRetained: false }),
    );
    await Promise.all(answers);
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });

  it('hears an exact topic, also twice', async () => {
    const { url } = await cleaned(start());
    const broker = await connected({ url });
    const spy = await cleaned(startMqttSpy(url));
    const messages: string[] = [];
    const both = new Promise<void>((resolve) => {
      const hear = (who: string) => (message: BrokerMessage) => {
        messages.push(`${who} ${Buffer.from(message.payload).toString()}`);
        if (messages.length === 2) resolve();
      };
      void broker.subscribe('b/in', hear('first'), { wantsRetained: false });
      void broker.subscribe('b/in', hear('second'), { wantsRetained: false }).then(() => spy.publish('b/in', 'x'));
    });
    await both;
    expect(messages).toEqual(['first x', 'second x']);
  });

  it('hears each topic of a filter once, under its own name', async () => {
    const { url } = await cleaned(start());
    const broker = await connected({ url });
    const spy = await cleaned(startMqttSpy(url));
    const messages: string[] = [];
    const end = new Promise<void>((resolve) => {
      void broker.subscribe('loads/+/set', ({ topic }) => void messages.push(topic), { wantsRetained: false });
      void broker
        .subscribe('loads/end', () => resolve(), { wantsRetained: false })
        .then(async () => {
          for (const topic of ['loads/car/set', 'loads//set', 'loads/a/b/set', 'loads/car/get', 'loads/end'])
            await spy.publish(topic, 'x');
        });
    });
    await end;
    expect(messages).toEqual(['loads/car/set', 'loads//set']);
  });

  it('hands over a stored message marked as retained where it is wanted', async () => {
    const { url } = await cleaned(start());
    const spy = await cleaned(startMqttSpy(url));
    await spy.publish('c/state', 'on', { retain: true });
    const broker = await connected({ url });
    const message = await new Promise<BrokerMessage>((resolve) => {
      void broker.subscribe('c/state', resolve, { wantsRetained: true });
    });
    expect({ ...message, payload: Buffer.from(message.payload).toString() }).toEqual({
      topic: 'c/state',
      payload: 'on',
      retained: true,
      duplicate: false,
    });
  });

  it('says goodbye at stop, in place of the will', async () => {
    const { url } = await cleaned(start());
    const spy = await cleaned(startMqttSpy(url));
    const broker = await connected({ url, will: { topic: 'd/availability', payload: 'will' } });
    await broker.stop({ topic: 'd/availability', payload: 'offline' });
    await broker.stop();
    await spy.publish('d/end', 'x');
    await spy.waitFor(({ topic }) => topic === 'd/end');
    expect(spy.messages.filter(({ topic }) => topic === 'd/availability').map(({ text }) => text)).toEqual(['offline']);
    expect(await broker.publish('d/late', 'x', { retain: false })).toBe(false);
  });

  it('takes nothing above 64 KiB, and lives on', async () => {
    const { url } = await cleaned(start());
    const spy = await cleaned(startMqttSpy(url));
    const broker = await connected({ url });
    const hear = (topic: string) =>
      new Promise<BrokerMessage>((resolve) => void broker.subscribe(topic, resolve, { wantsRetained: true }));
    const sizes: number[] = [];
    await broker.subscribe('g/in', ({ payload }) => void sizes.push(payload.byteLength), { wantsRetained: false });
    const end = version === 5 ? hear('g/end') : reaches(broker, isOffline);
    await spy.publish('g/in', 'x'.repeat(60_000));
    await spy.publish('g/in', 'x'.repeat(1_000_000));
    await spy.publish('g/end', 'x', { retain: true });
    await end;
    // Version 5 has the broker leave the message out; in version 3.1.1 the link is the price, and it comes back.
    if (version === 4) await reaches(broker, isOnline);
    await hear('g/end');
    expect(sizes).toEqual([60_000]);
  });

  it('refuses a topic that would make the broker hang up, and stays online', async () => {
    const { url } = await cleaned(start());
    const broker = await connected({ url });
    expect(await broker.publish('a/+/b', 'x', { retain: false })).toBe(false);
    for (const topic of ['', 'a/+b', 'a/#', 'a\0b', 'x'.repeat(65_536)]) {
      expect(await broker.publish(topic, 'x', { retain: false })).toBe(false);
      expect(await broker.subscribe(topic, () => {}, { wantsRetained: false })).toBe(false);
    }
    expect(await broker.publish('still/here', 'x', { retain: false })).toBe(true);
  });
};

describe('the embedded broker', () =>
  contract(async () => {
    const { url, close } = await startEmbeddedBroker();
    return { url, stop: close };
  }, 4));

describeWithMosquitto('mosquitto', () => {
  contract(() => startMosquitto(), 5);

  it('sends no stored message where none is wanted, and marks a live retained one', async () => {
    const { url } = await cleaned(startMosquitto());
    const spy = await cleaned(startMqttSpy(url));
    await spy.publish('e/set', 'stored', { retain: true });
    const broker = await connected({ url });
    const messages: string[] = [];
    const end = new Promise<void>((resolve) => {
      void broker
        .subscribe(
          'e/set',
          ({ payload, retained }) => {
            messages.push(`${Buffer.from(payload).toString()} ${retained}`);
            if (messages.length === 2) resolve();
          },
          { wantsRetained: false },
        )
        .then(() => spy.publish('e/set', 'live', { retain: true }))
        .then(() => spy.publish('e/set', 'plain'));
    });
    await end;
    expect(messages).toEqual(['live true', 'plain false']);
  });

  it('comes back by itself when the broker does, and is offline in between', async () => {
    const mosquitto = await cleaned(startMosquitto());
    const broker = await connected({ url: mosquitto.url });
    const offline = reaches(broker, isOffline);
    await mosquitto.kill();
    expect(await offline).toMatchObject({ refused: false });
    expect(await broker.publish('x', 'y', { retain: false })).toBe(false);
    const online = reaches(broker, isOnline);
    await mosquitto.restart();
    await online;
    expect(await broker.publish('x', 'y', { retain: false })).toBe(true);
  });

  it('starts without a broker and says so', async () => {
    const broker = link({ url: `mqtt://127.0.0.1:${await freePort()}` });
    const offline = reaches(broker, isOffline);
    broker.start();
    const state = await offline;
    expect(state.kind === 'offline' && state.cause).toMatch(/start the broker or correct mqtt\.url/);
  });

  it('leaves the will behind when it dies without a word', async () => {
    const { url } = await cleaned(startMosquitto());
    const spy = await cleaned(startMqttSpy(url));
    const will = { topic: 'f/availability', payload: 'offline' };
    await connected({ url, will, clientId: 'same' });
    // A second holder of the id makes the broker cut the first one off.
    const second = await connected({ url, clientId: 'same' });
    expect(await spy.waitFor(({ topic }) => topic === 'f/availability')).toMatchObject({ text: 'offline' });
    await second.stop();
  });
});

describe('the verdict over an ended link', () => {
  const base: DisconnectReason = {
    address: 'broker:1883',
    clientId: 'gridtide-cellar',
    wasOnline: false,
    shortLinks: 0,
    names: { program: 'agent', ...CONFIGURED_NAMES },
  };
  //  what was seen                               refused  version    the sentence says
  const rows: readonly (readonly [Partial<DisconnectReason>, boolean, ReconnectAdvice['otherVersion'], RegExp])[] = [
    [{ code: 'ECONNREFUSED' }, false, 'no', /no broker answers at broker:1883 \(ECONNREFUSED\)/],
    [{ code: 1 }, false, 'certain', /another version of MQTT/],
    [{ code: 132 }, false, 'certain', /another version of MQTT/],
    [{}, false, 'maybe', /closed the link before accepting it/],
    [{ code: 4 }, true, 'no', /refused the user name or password.*give or correct.*mqtt\.passwordFile/],
    [{ code: 135 }, true, 'no', /refused the user name or password/],
    [{ code: 133 }, true, 'no', /refused the client id "gridtide-cellar"/],
    [{ code: 136 }, false, 'no', /refused the link \(136\)/],
    [{ code: 'SELF_SIGNED_CERT_IN_CHAIN' }, true, 'no', /is not trusted.*authority.*mqtt\.ca/],
    [{ code: 'ERR_TLS_CERT_ALTNAME_INVALID' }, true, 'no', /made for another name.*write that name in mqtt\.url/],
    [{ code: 'CERT_HAS_EXPIRED' }, true, 'no', /not valid at this machine's time.*renew it, or set the clock/],
    [{ code: 'EPROTO' }, true, 'no', /check mqtt\.ca, the certificates and the clock/],
    [{ code: 'ECONNRESET' }, false, 'no', /closed the connection immediately.*mqtts:\/\/ where the broker uses TLS/],
    [{ wasOnline: true }, false, 'no', /was lost; the agent reconnects/],
    [{ wasOnline: true, reasonCode: 142 }, true, 'no', /two agents use one device name; stop one/],
    [{ wasOnline: true, shortLinks: 2 }, false, 'no', /was lost/],
    [{ wasOnline: true, shortLinks: 3 }, true, 'no', /two agents use one device name/],
    [{ wasOnline: true, message: 'Keepalive timeout' }, false, 'no', /was lost \(Keepalive timeout\)/],
  ];
  it.each(rows)('%j', (seen, refused, otherVersion, sentence) => {
    const verdict = adviseReconnect({ ...base, ...seen });
    expect(verdict).toMatchObject({ refused, otherVersion });
    expect(verdict.cause).toMatch(sentence);
  });
});

describe('the names in the sentences about a link', () => {
  const login = ['--mqtt-username-file', '--mqtt-password-file'] as const;
  const relay = { program: 'relay', url: '--broker', login, ca: '--mqtt-ca' } as const;
  const command = { ...relay, program: undefined };
  const page = { ...CONFIGURED_NAMES, program: 'page', login } as const;
  const advise = (names: BrokerNames, seen: Partial<DisconnectReason>) =>
    adviseReconnect({ address: 'a:1', clientId: 'c', wasOnline: false, shortLinks: 0, names, ...seen }).cause;
  const taken = { wasOnline: true, reasonCode: 142 };
  //  sentence                                                expected
  it.each([
    [
      advise(relay, { code: 'ECONNREFUSED' }),
      'no broker answers at a:1 (ECONNREFUSED); start the broker or correct --broker',
    ],
    [
      advise(page, { code: 'ECONNREFUSED' }),
      'no broker answers at a:1 (ECONNREFUSED); start the broker or correct mqtt.url',
    ],
    [
      advise(relay, { code: 5 }),
      `the broker at a:1 refused the user name or password (5); give or correct ${login.join(' and ')}`,
    ],
    [advise(relay, { wasOnline: true }), 'the link to the broker at a:1 was lost; the relay reconnects'],
    [advise(page, { code: 136 }), 'the broker at a:1 refused the link (136); the page reconnects'],
    [advise(command, { wasOnline: true, shortLinks: 9 }), 'the link to the broker at a:1 was lost'],
    [advise(command, {}), 'the broker at a:1 closed the link before accepting it'],
    [advise(relay, taken), 'another client with the id "c" took over the link to the broker'],
    [advise(relay, { code: 2 }), 'the broker at a:1 refused the client id "c"'],
    [
      describeUnreadableFile(relay),
      'a file for the broker cannot be read; check --mqtt-username-file, --mqtt-password-file and --mqtt-ca',
    ],
    [
      describeUnreadableFile({ program: 'agent', ...CONFIGURED_NAMES }),
      'a file for the broker cannot be read: MQTT is off; check mqtt.usernameFile, mqtt.passwordFile, mqtt.ca, mqtt.certificate and mqtt.key',
    ],
    [describeUnusableOptions(command, 'x'), '--broker or the certificates cannot be used (x); correct them'],
  ])('%s', (sentence, expected) => expect(sentence).toBe(expected));

  it.each(['EPROTO', 'ECONNRESET', 'SELF_SIGNED_CERT', 'ALTNAME_INVALID'])('%s names no option of an agent', (code) =>
    expect(advise(relay, { code })).not.toMatch(/mqtt\.|MQTT is off|agent/),
  );
});

describe('the wait before the next attempt', () => {
  const lost: ReconnectAdvice = { cause: '', refused: false, otherVersion: 'no' };
  //  verdict                               failures  fraction  seconds
  const rows: readonly (readonly [Partial<ReconnectAdvice>, number, number, number])[] = [
    [{}, 1, 0, 0.25],
    [{}, 1, 1, 0.5],
    [{}, 4, 1, 4],
    [{}, 8, 1, 10],
    [{}, 2_000, 1, 10],
    [{ otherVersion: 'certain' }, 1, 1, 0],
    [{ otherVersion: 'certain' }, 2, 1, 1],
    [{ refused: true }, 1, 1, 300],
  ];
  it.each(rows)('%j after %d: %d', (more, failures, fraction, wanted) =>
    expect(getReconnectWait({ ...lost, ...more }, failures, fraction)).toBe(wanted * 1_000),
  );
});

describe('a topic', () => {
  const rows: readonly (readonly [string, boolean])[] = [
    ['gridtide/cellar/signal', true],
    ['/leading/slash', true],
    ['shelly/command/switch:0', true],
    ['', false],
    ['a/+', false],
    ['#', false],
    ['nul\0', false],
    ['bell\u0007', false],
    ['half\ud800', false],
    ['\ufdd0', false],
    ['wärmepumpe/電', true],
    ['ä'.repeat(32_768), false],
  ];
  it.each(rows)('%j: %s', (topic, wanted) => expect(isTopic(topic)).toBe(wanted));
});

describe('a filter', () => {
  //  filter     topic       covers it
  const rows: readonly (readonly [string, string, boolean])[] = [
    ['a/b', 'a/b', true],
    ['a/b', 'a/b/c', false],
    ['a/+/c', 'a/b/c', true],
    ['a/+/c', 'a//c', true],
    ['a/+/c', 'a/b/b/c', false],
    ['a/+', 'a', false],
    ['+/+', 'a/b', true],
  ];
  it.each(rows)('%j and %j: %s', (filter, topic, wanted) =>
    expect([isTopicFilter(filter), matchesFilter(filter, topic)]).toEqual([true, wanted]),
  );

  it.each(['', '#', 'a/#', 'a/b+', '+a', 'a\0/+'])('%j is none', (filter) => expect(isTopicFilter(filter)).toBe(false));
});

describe('a ping of a link', () => {
  it('is not answered by the answer to an earlier one', async () => {
    const client = Object.assign(Object.create(EventEmitter.prototype), {
      sendPing: () => client.emit('packetsend', { cmd: 'pingreq' }),
    });
    const link = createMqttLink({ client, clock: createSystemClock(), version: 5 }, () => {});
    // The keepalive.
    client.sendPing();
    let isAnswered = false;
    const answer = link.ping().then((one) => (isAnswered = one));
    client.emit('packetreceive', { cmd: 'pingresp' });
    await new Promise((turn) => setImmediate(turn));
    expect(isAnswered).toBe(false);
    client.emit('packetreceive', { cmd: 'pingresp' });
    expect(await answer).toBe(true);
  });
});

/** Faults of the link to the broker, rows 36 to 41, 47, 48 and 50 of the fault table: the monitor over the real link to a real mosquitto. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import type { BrokerState } from '../../src/domain/ports.ts';
import { type Instant, seconds } from '../../src/domain/units.ts';
import { formatBrokerProblem } from '../../src/mqtt/health.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { createCertificate } from '../doubles/certificate.ts';
import { describeWithMosquitto, freePort, type Mosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { type MqttSpy, startMqttSpy } from '../doubles/mqtt-spy.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';
import { startTcpProxy } from '../doubles/tcp-proxy.ts';
import { type MonitorFixture, sampleDecision, sampleHealth, startMonitorFixture } from '../mqtt/monitor-fixture.ts';

const isOnline = ({ kind }: BrokerState) => kind === 'online';
const isOffline = ({ kind }: BrokerState) => kind === 'offline';
const saysOnline = (spy: MqttSpy) =>
  spy.waitFor(({ topic, text }) => topic === 'gridtide/cellar/availability' && text === 'online');

/** All that is retained of the house, as a newcomer finds it. */
async function stored(url: string): Promise<readonly string[]> {
  const spy = await startMqttSpy(url);
  await spy.waitFor(({ topic, text, retained }) => topic.endsWith('/availability') && text === 'online' && retained);
  await spy.publish('end/of/list', 'x');
  await spy.waitFor(({ topic }) => topic === 'end/of/list');
  const topics = spy.messages.filter(({ retained }) => retained).map(({ topic }) => topic);
  await spy.stop();
  return topics.sort();
}

const WHOLE_TREE = [
  'gridtide/cellar/availability',
  'gridtide/cellar/health',
  'gridtide/cellar/info',
  'gridtide/cellar/loads/car',
  'gridtide/cellar/loads/heating',
  'gridtide/cellar/signal',
  'homeassistant/device/gridtide_cellar/car/config',
  'homeassistant/device/gridtide_cellar/config',
  'homeassistant/device/gridtide_cellar/heating/config',
];

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

const causeOf = (state: BrokerState) => (state.kind === 'offline' ? state.cause : '');

describeWithMosquitto('the link to the broker', () => {
  it('row 36: the broker is down at the start; the house runs without it and is all there once it comes', async () => {
    const mosquitto = stopAfterTest(await startMosquitto());
    await mosquitto.kill();
    const house = stopAfterTest(startMonitorFixture(mosquitto.url));
    expect(await house.waitForState(isOffline)).toMatchObject({ refused: false });
    const online = house.waitForState(isOnline);
    await mosquitto.restart();
    await online;
    await saysOnline(stopAfterTest(await startMqttSpy(mosquitto.url)));
    expect(await stored(mosquitto.url)).toEqual(WHOLE_TREE);
  });

  it('row 37: the broker restarts and has forgotten everything; all of it is back with the link, for which the monitor waits no time of its own', async () => {
    const mosquitto = stopAfterTest(await startMosquitto());
    const clock = createVirtualClock(Date.now() as Instant);
    const house = stopAfterTest(startMonitorFixture(mosquitto.url, { clock }));
    await saysOnline(stopAfterTest(await startMqttSpy(mosquitto.url)));
    const offline = house.waitForState(isOffline);
    await mosquitto.kill();
    await offline;
    house.monitor.publishDecision(sampleDecision({ level: 'off', wanted: 'off', why: 'dirty' }), 'index 61: too dirty');
    const online = house.waitForState(isOnline);
    await mosquitto.restart();
    await online;
    const spy = stopAfterTest(await startMqttSpy(mosquitto.url));
    await saysOnline(spy);
    expect(await stored(mosquitto.url)).toEqual(WHOLE_TREE);
    expect(JSON.parse(spy.lastText('gridtide/cellar/loads/car') ?? '')).toMatchObject({ level: 'off', why: 'dirty' });
  });

  it('row 38: Home Assistant restarts; its birth brings everything again, availability included', async () => {
    const { url } = stopAfterTest(await startMosquitto());
    stopAfterTest(startMonitorFixture(url));
    const spy = stopAfterTest(await startMqttSpy(url));
    await saysOnline(spy);
    spy.clear();
    await spy.publish('homeassistant/status', 'online');
    await saysOnline(spy);
    const again = new Set(spy.messages.map(({ topic }) => topic));
    for (const topic of [...WHOLE_TREE, 'gridtide/cellar/signal']) expect(again).toContain(topic);
  });

  it('row 39: the link dies without a word; it is noticed though publishing goes on', async () => {
    const mosquitto = stopAfterTest(await startMosquitto());
    const wire = stopAfterTest(await startTcpProxy(mosquitto.port));
    const house = stopAfterTest(
      startMonitorFixture(`mqtt://127.0.0.1:${wire.port}`, { link: { keepalive: seconds(2) } }),
    );
    await house.waitForState(isOnline);
    wire.freeze();
    let publications = 0;
    const chatter = setInterval(() => house.monitor.publishHealth(sampleHealth({ plan: `${++publications}` })), 100);
    const state = await house.waitForState(isOffline);
    clearInterval(chatter);
    // Twice the keepalive is 4 s at most; half as much again leaves no room for an endless postponement. Counted by what this process published: no time it
    // was stopped in is among them.
    expect(publications).toBeLessThan(seconds(6) / 100);
    expect(publications).toBeGreaterThan(3);
    expect(causeOf(state)).toMatch(/was lost/);
  });

  it('row 40: a long time offline costs one value a topic', async () => {
    const mosquitto = stopAfterTest(await startMosquitto());
    await mosquitto.kill();
    const house = stopAfterTest(startMonitorFixture(mosquitto.url));
    const tell = (from: number, count: number) => {
      for (let n = from; n < from + count; n += 1) {
        house.monitor.publishHealth(sampleHealth({ plan: `${n}` }));
        house.monitor.publishDecision(sampleDecision({ priority: 8 }), `news ${n}`);
      }
    };
    tell(0, 20_000);
    const before = heapUsed();
    tell(20_000, 100_000);
    // 100,000 queued messages of 400 bytes would be 40 MB and more.
    expect(heapUsed() - before).toBeLessThan(10e6);
    await mosquitto.restart();
    const spy = stopAfterTest(await startMqttSpy(mosquitto.url));
    await saysOnline(spy);
    const loads = spy.messages.filter(({ topic }) => topic === 'gridtide/cellar/loads/car');
    expect(new Set(loads.map(({ text }) => JSON.parse(text).text))).toEqual(new Set(['news 119999']));
  });

  it('row 41: two agents with one name; after three rounds one of them says so and waits minutes, the other goes on', async () => {
    const mosquitto = stopAfterTest(await startMosquitto());
    const wire = stopAfterTest(await startTcpProxy(mosquitto.port));
    const first = stopAfterTest(startMonitorFixture(`mqtt://127.0.0.1:${wire.port}`));
    await first.waitForState(isOnline);
    const second = stopAfterTest(startMonitorFixture(`mqtt://127.0.0.1:${wire.port}`));
    const gaveUp = (house: MonitorFixture) => house.waitForState((state) => state.kind === 'offline' && state.refused);
    const state = await Promise.race([gaveUp(first), gaveUp(second)]);
    expect(causeOf(state)).toMatch(/two agents use one device name; stop one, or give each its own "device"/);
    await Promise.race([first.waitForState(isOnline), second.waitForState(isOnline)]);
    expect(wire.connectionCount).toBeLessThanOrEqual(7);
  });

  it('row 47: the broker denies topics; that is shown with the cure, the rest goes on, the link stays', async () => {
    const acl = [
      'topic readwrite #',
      'topic deny gridtide/cellar/health',
      'topic deny gridtide/cellar/loads/+/set',
      '',
    ];
    const mosquitto = stopAfterTest(
      await startMosquitto({ lines: ['allow_anonymous true', 'acl_file DIR/acl'], files: { acl: acl.join('\n') } }),
    );
    const wire = stopAfterTest(await startTcpProxy(mosquitto.port));
    const house = stopAfterTest(startMonitorFixture(`mqtt://127.0.0.1:${wire.port}`));
    const state = await house.waitForState((now) => now.kind === 'online' && now.denied.length >= 3);
    expect(formatBrokerProblem(state)).toMatch(/denies .*publishing gridtide\/cellar\/health.*let this user write/);
    const spy = stopAfterTest(await startMqttSpy(mosquitto.url));
    await saysOnline(spy);
    expect(spy.lastText('gridtide/cellar/loads/car')).toBeDefined();
    expect(house.broker.state.kind).toBe('online');
    expect(wire.connectionCount).toBe(1);
  });

  it('row 48: the last will tells of a death, a farewell of a stop, and online comes after the state', async () => {
    const mosquitto = stopAfterTest(await startMosquitto());
    const spy = stopAfterTest(await startMqttSpy(mosquitto.url));
    const wire = await startTcpProxy(mosquitto.port);
    const house = stopAfterTest(startMonitorFixture(`mqtt://127.0.0.1:${wire.port}`));
    await saysOnline(spy);
    const order = spy.messages.map(({ topic }) => topic).filter((topic) => !topic.endsWith('/set'));
    expect(order.indexOf('gridtide/cellar/availability')).toBe(order.length - 1);
    await wire.stop();
    await spy.waitFor(({ topic, text }) => topic === 'gridtide/cellar/availability' && text === 'offline');
    await house.stop();

    spy.clear();
    const other = startMonitorFixture(mosquitto.url);
    await saysOnline(spy);
    await other.stop();
    await spy.waitFor(({ topic, text }) => topic === 'gridtide/cellar/availability' && text === 'offline');
  });

  it("row 50: the broker wants TLS; without the authority nothing is told, with it all is, also with a certificate of one's own", async () => {
    const { cert: certificate, key } = createCertificate();
    const tls = (more: readonly string[]) =>
      startMosquitto({
        lines: ['allow_anonymous true', 'cafile DIR/cert.pem', 'certfile DIR/cert.pem', 'keyfile DIR/key.pem', ...more],
        files: { 'cert.pem': certificate, 'key.pem': key },
      });
    const reach = (mosquitto: Mosquitto, secrets: object): MonitorFixture =>
      stopAfterTest(
        startMonitorFixture(`mqtts://127.0.0.1:${mosquitto.port}`, { link: { credentials: async () => secrets } }),
      );

    const plain = stopAfterTest(await tls([]));
    const stranger = await reach(plain, {}).waitForState(isOffline);
    expect(stranger).toMatchObject({ refused: true });
    expect(causeOf(stranger)).toMatch(
      /is not trusted .*give the certificate of the authority that signed its own as mqtt\.ca/,
    );
    await reach(plain, { ca: certificate }).waitForState(isOnline);

    const strict = stopAfterTest(await tls(['require_certificate true']));
    const nameless = await reach(strict, { ca: certificate }).waitForState(isOffline);
    expect(causeOf(nameless)).not.toBe('');
    await reach(strict, { ca: certificate, certificate, key }).waitForState(isOnline);
  });

  it('a refused password is named, and counts as soon as it is corrected in its file', async () => {
    const port = await freePort();
    const house = stopAfterTest(
      startMonitorFixture(`mqtt://127.0.0.1:${port}`, { link: { credentials: async () => undefined } }),
    );
    expect(causeOf(await house.waitForState(isOffline))).toMatch(/cannot be read.*check mqtt\.usernameFile/);
  });
});

/** The MQTT tree as others see it: topics, retention, order, the answers to commands; on the embedded broker and on mosquitto. */

import { createServer } from 'node:net';
import { Aedes } from 'aedes';
import { describe, expect, it } from 'vitest';
import { startEmbeddedBroker } from '../../src/simulation/embedded-broker.ts';
import { describeWithMosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { type MqttSpy, startMqttSpy } from '../doubles/mqtt-spy.ts';
import { afterTest, stopAfterTest } from '../doubles/stop-after-test.ts';
import { sampleDecision, sampleHealth, startMonitorFixture } from './monitor-fixture.ts';

const online = (spy: MqttSpy) =>
  spy.waitFor(({ topic, text }) => topic === 'gridtide/cellar/availability' && text === 'online');
const result = (spy: MqttSpy, id: string) =>
  spy
    .waitFor(({ topic, text }) => topic.endsWith('/result') && JSON.parse(text).id === id)
    .then(({ text }) => JSON.parse(text));

const tree = (start: () => Promise<{ readonly url: string; stop(): Promise<void> }>) => {
  const house = async () => {
    const { url } = stopAfterTest(await start());
    const spy = stopAfterTest(await startMqttSpy(url));
    const here = stopAfterTest(startMonitorFixture(url));
    await online(spy);
    return { ...here, url, spy };
  };

  it('tells the whole tree, and says online last', async () => {
    const { spy } = await house();
    const first = spy.messages.map(({ topic }) => topic).filter((topic) => !topic.endsWith('/set'));
    expect(first.at(-1)).toBe('gridtide/cellar/availability');
    expect(new Set(first.slice(0, -1))).toEqual(
      new Set([
        'homeassistant/device/gridtide_cellar/config',
        'homeassistant/device/gridtide_cellar/car/config',
        'homeassistant/device/gridtide_cellar/heating/config',
        'gridtide/cellar/info',
        'gridtide/cellar/signal',
        'gridtide/cellar/loads/car',
        'gridtide/cellar/loads/heating',
        'gridtide/cellar/health',
      ]),
    );
  });

  it('retains everything, the signal only where it expires by itself', async () => {
    const { url, broker } = await house();
    const { state } = broker;
    const late = stopAfterTest(await startMqttSpy(url));
    await late.waitFor(({ topic }) => topic === 'gridtide/cellar/availability');
    const stored = late.messages.filter(({ retained }) => retained).map(({ topic }) => topic);
    expect(stored).toContain('gridtide/cellar/loads/car');
    expect(stored).toContain('gridtide/cellar/health');
    expect(stored).toContain('gridtide/cellar/info');
    expect(stored.includes('gridtide/cellar/signal')).toBe(state.kind === 'online' && state.version === 5);
  });

  it('publishes a change once, with its sentence, and nothing when nothing changed', async () => {
    const { spy, monitor } = await house();
    spy.clear();
    const off = sampleDecision({ level: 'off', wanted: 'off', why: 'dirty' });
    monitor.publishDecision(off, 'index 61: too dirty');
    monitor.publishDecision(off, 'index 61: too dirty');
    monitor.publishHealth(sampleHealth({ plan: 'pro' }));
    await spy.waitFor(({ topic }) => topic.endsWith('/health'));
    const loads = spy.messages.filter(({ topic }) => topic === 'gridtide/cellar/loads/car');
    expect(loads.map(({ text }) => JSON.parse(text))).toMatchObject([
      { level: 'off', running: false, why: 'dirty', text: 'index 61: too dirty', override: 'auto', priority: 8 },
    ]);
  });

  it('removes the entities of a load that is gone from the configuration, and of no other', async () => {
    const { url } = stopAfterTest(await start());
    const spy = stopAfterTest(await startMqttSpy(url));
    const first = startMonitorFixture(url);
    await online(spy);
    await first.stop();
    spy.clear();
    const [car] = first.config.loads;
    stopAfterTest(startMonitorFixture(url, { config: { loads: car === undefined ? [] : [car] } }));
    await online(spy);
    const stored = stopAfterTest(await startMqttSpy(url));
    await online(stored);
    const devices = stored.messages.filter(({ topic }) => topic.startsWith('homeassistant/device/'));
    expect(devices.map(({ topic }) => topic)).toEqual([
      'homeassistant/device/gridtide_cellar/config',
      'homeassistant/device/gridtide_cellar/car/config',
    ]);
  });

  it('erases the documents of a load that is gone from the configuration, and of no other', async () => {
    const { url } = stopAfterTest(await start());
    const spy = stopAfterTest(await startMqttSpy(url));
    const first = startMonitorFixture(url);
    await online(spy);
    await first.stop();
    for (const load of ['car', 'heating']) await spy.publish(`gridtide/cellar/loads/${load}`, '{}', { retain: true });
    await spy.publish('gridtide/cellar/info', '{"loads":[{"name":"car"},{"name":"heating"},{"name":"../x"}]}', {
      retain: true,
    });
    spy.clear();
    const [car] = first.config.loads;
    stopAfterTest(startMonitorFixture(url, { config: { loads: car === undefined ? [] : [car] } }));
    await online(spy);
    const erased = spy.messages.filter(({ text, topic }) => text === '' && !topic.endsWith('/set'));
    expect(erased.map(({ topic }) => topic)).toEqual([
      'gridtide/cellar/loads/heating',
      'gridtide/cellar/loads/heating/plan',
      'homeassistant/device/gridtide_cellar/heating/config',
    ]);
  });

  it('leaves offline behind when it stops', async () => {
    const { spy, monitor } = await house();
    await monitor.stop();
    await spy.waitFor(({ topic, text }) => topic === 'gridtide/cellar/availability' && text === 'offline');
  });

  it('tells everything again when Home Assistant is born', async () => {
    const { spy } = await house();
    spy.clear();
    await spy.publish('homeassistant/status', 'online');
    await spy.waitFor(({ topic }) => topic === 'homeassistant/device/gridtide_cellar/config');
    await online(spy);
  });
};

describe('on the embedded broker', () =>
  tree(async () => {
    const { url, close } = await startEmbeddedBroker();
    return { url, stop: close };
  }));

describeWithMosquitto('on mosquitto', () => {
  tree(() => startMosquitto());

  const commanded = async () => {
    const { url } = stopAfterTest(await startMosquitto());
    const spy = stopAfterTest(await startMqttSpy(url));
    const here = stopAfterTest(startMonitorFixture(url));
    await online(spy);
    const send = (payload: string, id: string) =>
      spy.publish('gridtide/cellar/loads/car/set', payload).then(() => result(spy, id));
    return { ...here, url, spy, send };
  };

  it('hands a good command on and answers with the sentence of the agent', async () => {
    const { commands, send } = await commanded();
    expect(await send('{"id":"1","command":"override","level":"on","for":"2h"}', '1')).toMatchObject({
      ok: true,
      command: 'override',
      level: 'on',
      minutes: 120,
      message: 'car does as told',
    });
    expect(commands).toEqual([{ load: 'car', kind: 'override', level: 'on', for: 7_200_000 }]);
  });

  it('carries a repeated id out once and gives its first answer again', async () => {
    const { commands, spy, send } = await commanded();
    await send('{"id":"1","command":"clear"}', '1');
    await spy.publish('gridtide/cellar/loads/car/set', '{"id":"1","command":"override","level":"on"}');
    const second = await spy.waitFor(
      ({ text, topic }) => topic.endsWith('/result') && JSON.parse(text).duplicate === true,
    );
    expect(JSON.parse(second.text)).toMatchObject({ id: '1', command: 'clear', ok: true, duplicate: true });
    expect(commands.length).toBe(1);
  });

  it('answers a bad one with what is wrong', async () => {
    const { commands, send } = await commanded();
    expect(await send('{"id":"1","command":"override","level":"up"}', '1')).toMatchObject({
      ok: false,
      message: 'level "up": expected on, off or auto',
    });
    expect(commands).toEqual([]);
  });

  //  for whom               said                                             the answer's id
  const strangers: readonly (readonly [string, string, string | null])[] = [
    ['boiler', '{"id":"1","command":"override","level":"on"}', '1'],
    ['boiler', '{"command":"clear"}', null],
    ['boiler', 'on', null],
    ['Wärme "1"', '{"id":7,"command":"toggle"}', '7'],
    ['x'.repeat(300), '{"id":"1","command":"clear"}', '1'],
    ['', '{"id":"1","command":"clear"}', '1'],
  ];
  it.each(strangers)('answers a command for "%s", which is no load: %s', async (name, answer, id) => {
    const { commands, spy, broker } = await commanded();
    await spy.publish(`gridtide/cellar/loads/${name}/set`, answer);
    const { text, retained } = await spy.waitFor(({ topic }) => topic === `gridtide/cellar/loads/${name}/result`);
    expect(JSON.parse(text)).toMatchObject({
      id,
      ok: false,
      message: expect.stringMatching(/^there is no load ".*; the configuration has car, heating$/),
    });
    expect([commands, retained, broker.state]).toEqual([[], false, { kind: 'online', version: 5, denied: [] }]);
  });

  it('leaves no trace of loads that are not there on the broker, and soon stops answering for them', async () => {
    const { url, commands, spy, send, logLines } = await commanded();
    for (let n = 0; n < 100; n += 1)
      await spy.publish(`gridtide/cellar/loads/boiler-${n}/set`, '{"id":"1","command":"clear"}', { retain: n % 2 > 0 });
    await send('{"id":"end","command":"clear"}', 'end');
    const answers = spy.messages
      .filter(({ topic }) => /boiler-\d+\/result$/.test(topic))
      .map(({ text }) => JSON.parse(text));
    expect(answers.filter(({ message }) => /no load|retained/.test(message)).length).toBeLessThan(20);
    expect(answers.filter(({ message }) => /too many/.test(message)).length).toBeGreaterThan(0);
    expect([commands.length, logLines.length]).toEqual([1, answers.length + 1]);
    const late = stopAfterTest(await startMqttSpy(url));
    await late.publish('end/of/list', 'x');
    await late.waitFor(({ topic }) => topic === 'end/of/list');
    expect(late.messages.filter(({ topic }) => topic.endsWith('/result'))).toEqual([]);
  });
});

describe('a broker that lets its user read the topics of the loads alone', () => {
  it('brings the commands for them all the same', async () => {
    const { url } = await startNarrow();
    const spy = stopAfterTest(await startMqttSpy(url));
    const { commands } = stopAfterTest(startMonitorFixture(url));
    await online(spy);
    // Version 4: for a second nothing is believed, and that is answered too.
    await spy.publish('gridtide/cellar/loads/car/set', '{"id":"1","command":"clear"}');
    const { text } = await spy.waitFor(({ topic }) => topic === 'gridtide/cellar/loads/car/result');
    expect([JSON.parse(text).message, commands]).toEqual([expect.stringMatching(/has just come up/), []]);
  });
});

async function startNarrow(): Promise<{ readonly url: string }> {
  const aedes = await Aedes.createBroker({
    authorizeSubscribe: (_client, wish, done) => done(null, wish.topic.includes('+') ? null : wish),
  });
  const server = createServer(aedes.handle);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  afterTest(() => new Promise<void>((closed) => aedes.close(() => server.close(() => closed()))));
  const address = server.address();
  return { url: `mqtt://127.0.0.1:${typeof address === 'object' ? address?.port : ''}` };
}

describe('without the right to be commanded', () => {
  it('offers no override and listens to none', async () => {
    const { url, close } = await startEmbeddedBroker();
    afterTest(close);
    const spy = stopAfterTest(await startMqttSpy(url));
    stopAfterTest(startMonitorFixture(url, { config: { mqtt: { ...mqttOf(url), commands: 'off' } } }));
    await online(spy);
    const config = await spy.waitFor(({ topic }) => topic.startsWith('homeassistant/device/'));
    expect(config.text).not.toContain('select');
    expect(spy.messages.some(({ topic }) => topic.endsWith('/set'))).toBe(false);
  });
});

const mqttOf = (url: string) => ({ url, discovery: 'homeassistant' });

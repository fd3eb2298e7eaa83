/** The MQTT tree as others see it: topics, retention, order, the answers to commands; on the embedded broker and on mosquitto. */

import { describe, expect, it } from 'vitest';
import { startEmbeddedBroker } from '../../src/replay/broker.ts';
import { afterwards, kept } from '../doubles/kept.ts';
import { describeWithMosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { type Spy, startSpy } from '../doubles/mqtt-spy.ts';
import { decision, health, startHouse } from './house.ts';

const online = (spy: Spy) =>
  spy.until(({ topic, text }) => topic === 'gridtide/cellar/availability' && text === 'online');
const result = (spy: Spy, id: string) =>
  spy
    .until(({ topic, text }) => topic.endsWith('/result') && JSON.parse(text).id === id)
    .then(({ text }) => JSON.parse(text));

const tree = (start: () => Promise<{ readonly url: string; stop(): Promise<void> }>) => {
  const house = async () => {
    const { url } = kept(await start());
    const spy = kept(await startSpy(url));
    const here = kept(startHouse(url));
    await online(spy);
    return { ...here, url, spy };
  };

  it('tells the whole tree, and says online last', async () => {
    const { spy } = await house();
    const first = spy.heard.map(({ topic }) => topic).filter((topic) => !topic.endsWith('/set'));
    expect(first.at(-1)).toBe('gridtide/cellar/availability');
    expect(new Set(first.slice(0, -1))).toEqual(
      new Set([
        'homeassistant/device/gridtide_cellar/config',
        'gridtide/cellar/info',
        'gridtide/cellar/signal',
        'gridtide/cellar/loads/car',
        'gridtide/cellar/loads/heating',
        'gridtide/cellar/health',
      ]),
    );
  });

  it('retains everything but the signal', async () => {
    const { url } = await house();
    const late = kept(await startSpy(url));
    await late.until(({ topic }) => topic === 'gridtide/cellar/availability');
    const stored = late.heard.filter(({ retained }) => retained).map(({ topic }) => topic);
    expect(stored).toContain('gridtide/cellar/loads/car');
    expect(stored).toContain('gridtide/cellar/health');
    expect(stored).toContain('gridtide/cellar/info');
    expect(stored).not.toContain('gridtide/cellar/signal');
  });

  it('says a change once, with its words, and nothing when nothing changed', async () => {
    const { spy, monitor } = await house();
    spy.clear();
    const off = decision({ level: 'off', wanted: 'off', why: 'dirty' });
    monitor.decision(off, 'index 61: too dirty');
    monitor.decision(off, 'index 61: too dirty');
    monitor.health(health({ requests: 13 }));
    await spy.until(({ topic }) => topic.endsWith('/health'));
    const loads = spy.heard.filter(({ topic }) => topic === 'gridtide/cellar/loads/car');
    expect(loads.map(({ text }) => JSON.parse(text))).toMatchObject([
      { level: 'off', running: false, why: 'dirty', words: 'index 61: too dirty', override: 'auto', priority: 8 },
    ]);
  });

  it('removes the entities of a load that is gone from the configuration, and of no other', async () => {
    const { url } = kept(await start());
    const spy = kept(await startSpy(url));
    const first = startHouse(url);
    await online(spy);
    await first.stop();
    spy.clear();
    const [car] = first.config.loads;
    kept(startHouse(url, { config: { loads: car === undefined ? [] : [car] } }));
    await online(spy);
    const told = spy.heard
      .filter(({ topic }) => topic.startsWith('homeassistant/device/'))
      .map(({ text }) => JSON.parse(text).components);
    expect(told[0].load_heating_running).toEqual({ platform: 'binary_sensor' });
    expect(told[0].load_car_running).toMatchObject({ name: 'car running' });
    expect(told.at(-1).load_heating_running).toBeUndefined();
    expect(told.at(-1).load_car_running).toMatchObject({ name: 'car running' });
  });

  it('leaves offline behind when it stops', async () => {
    const { spy, monitor } = await house();
    await monitor.stop();
    await spy.until(({ topic, text }) => topic === 'gridtide/cellar/availability' && text === 'offline');
  });

  it('tells everything again when Home Assistant is born', async () => {
    const { spy } = await house();
    spy.clear();
    await spy.publish('homeassistant/status', 'online');
    await spy.until(({ topic }) => topic === 'homeassistant/device/gridtide_cellar/config');
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
    const { url } = kept(await startMosquitto());
    const spy = kept(await startSpy(url));
    const here = kept(startHouse(url));
    await online(spy);
    const send = (payload: string, id: string) =>
      spy.publish('gridtide/cellar/loads/car/set', payload).then(() => result(spy, id));
    return { ...here, spy, send };
  };

  it('hands a good command on and answers with the words', async () => {
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
    const second = await spy.until(
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
});

describe('without the right to be commanded', () => {
  it('offers no override and listens to none', async () => {
    const { url, close } = await startEmbeddedBroker();
    afterwards(close);
    const spy = kept(await startSpy(url));
    kept(startHouse(url, { config: { mqtt: { ...mqttOf(url), commands: 'off' } } }));
    await online(spy);
    const config = await spy.until(({ topic }) => topic.startsWith('homeassistant/device/'));
    expect(config.text).not.toContain('select');
    expect(spy.heard.some(({ topic }) => topic.endsWith('/set'))).toBe(false);
  });
});

const mqttOf = (url: string) => ({ url, discovery: 'homeassistant' });

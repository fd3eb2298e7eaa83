/** The links of an agent to its broker, and what an earlier name of it left there. */

import { describe, expect, it } from 'vitest';
import type { AgentContext } from '../../src/agent/agent-context.ts';
import { createDocumentStore, type DocumentStore } from '../../src/agent/document-store.ts';
import { createMonitorLink, createReleaseBrokers } from '../../src/agent/monitor-link.ts';
import type { Broker, BrokerOptions } from '../../src/domain/ports.ts';
import { createBrokerFactory } from '../../src/platform/mqtt-broker.ts';
import { createSystemClock } from '../../src/platform/system-clock.ts';
import { createMemoryDisk } from '../../src/simulation/memory-disk.ts';
import { describeWithMosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { type MqttSpy, startMqttSpy } from '../doubles/mqtt-spy.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';
import { buildMonitorConfig } from '../mqtt/monitor-fixture.ts';

describe('the links of one agent', () => {
  // The broker would drop the link that releases a device first, and the agent read the release as a press of its button, over the other.
  it('have one keepalive', () => {
    const opened: BrokerOptions[] = [];
    const broker = { state: { kind: 'offline' }, watchState: () => () => {}, start() {} } as unknown as Broker;
    const open = (options: BrokerOptions) => {
      opened.push(options);
      return broker;
    };
    const config = buildMonitorConfig('mqtt://127.0.0.1');
    const context = { config, world: { broker: open } } as unknown as AgentContext;
    createMonitorLink(context, {} as DocumentStore).start();
    createReleaseBrokers(context)('car', { topic: 'car/set', payload: 'ON', retain: false });
    expect(opened.map(({ keepalive }) => keepalive)).toEqual([undefined, undefined]);
  });
});

/** What "cellar" left: `heating` and its plug are gone from the configuration. */
const LEFT = {
  'gridtide/cellar/availability': 'offline',
  'gridtide/cellar/info': '{"loads":[{"name":"car"},{"name":"heating","commandTopics":["plug/set"]}]}',
  'gridtide/cellar/loads/car': '{}',
  'gridtide/cellar/loads/heating/plan': '{}',
  'homeassistant/device/gridtide_cellar/config': '{}',
  'homeassistant/device/gridtide_cellar/car/config': '{}',
  'homeassistant/device/gridtide_cellar/heating/config': '{}',
  'gridtide-owners/plug/set': 'cellar',
};

describeWithMosquitto('a new name of the device', () => {
  const setUp = async (left: Readonly<Record<string, string>> = LEFT) => {
    const { url } = stopAfterTest(await startMosquitto({}));
    const spy = stopAfterTest(await startMqttSpy(url));
    for (const [topic, text] of Object.entries(left)) await spy.publish(topic, text, { retain: true });
    return { url, store: createDocumentStore(createMemoryDisk(), () => {}) };
  };
  /** Runs an agent's link until it is online, and returns what the broker stores then. */
  const startAs = async (device: string, url: string, store: DocumentStore) => {
    const logLines: string[] = [];
    const clock = createSystemClock();
    const random = { fraction: () => 0 };
    const [car] = buildMonitorConfig(url).loads;
    const config = buildMonitorConfig(url, { device, loads: car === undefined ? [] : [car] });
    const log = (level: string, text: string) => void logLines.push(`${level}: ${text}`);
    const world = { broker: createBrokerFactory({ clock, random }), random };
    const context = { config, world, clock, log, problems: { raise() {}, resolve() {} }, version: '0' };
    const { monitor, start } = createMonitorLink(context as unknown as AgentContext, store);
    const online = async (spy: MqttSpy) =>
      spy.waitFor(({ topic, text }) => topic === `gridtide/${device}/availability` && text === 'online');
    const spy = stopAfterTest(await startMqttSpy(url));
    start();
    monitor.start({ onCommand: async () => ({ accepted: true, text: '' }) });
    await online(spy);
    const late = stopAfterTest(await startMqttSpy(url));
    await late.publish('end', 'end');
    await late.waitFor(({ topic }) => topic === 'end');
    await monitor.stop();
    return { logLines, stored: late.messages.filter(({ retained }) => retained).map(({ topic }) => topic) };
  };
  const isOfCellar = (topic: string) => /cellar|owners/.test(topic);

  it('leaves nothing of the earlier one at the broker, and says so once', async () => {
    const { url, store } = await setUp();
    await store.save('device', new TextEncoder().encode('cellar'));
    const first = await startAs('attic', url, store);
    expect(first.stored.filter(isOfCellar)).toEqual([]);
    expect(first.stored).toContain('homeassistant/device/gridtide_attic/car/config');
    expect(first.logLines).toContain('info: 9 topics of the earlier name "cellar" erased at the broker');
    expect((await startAs('attic', url, store)).logLines).toEqual([]);
  });

  it.each<[string, Record<string, string>, string | undefined, RegExp | undefined]>([
    [
      'runs elsewhere',
      { 'gridtide/cellar/availability': 'online' },
      'cellar',
      /"cellar" stays at the broker: an agent of that name is online/,
    ],
    ['is not known', {}, undefined, undefined],
    ['is no name', {}, '../+', undefined],
  ])('that %s erases nothing', async (_, more, saved, expected) => {
    const { url, store } = await setUp({ ...LEFT, ...more });
    if (saved !== undefined) await store.save('device', new TextEncoder().encode(saved));
    const { stored, logLines } = await startAs('attic', url, store);
    expect(stored.filter(isOfCellar).sort()).toEqual(Object.keys(LEFT).sort());
    if (expected === undefined) expect(logLines).toEqual([]);
    else expect(logLines.join()).toMatch(expected);
    const name = new TextDecoder().decode((await store.load('device'))?.bytes);
    expect(name).toBe(expected === undefined ? 'attic' : 'cellar');
  });
});

/** Faults of loads behind MQTT devices, rows 64, 65 and 67 of the fault table, on a real mosquitto. */

import { expect, it } from 'vitest';
import type { Level, MqttOutputConfig, OutputConfig } from '../../src/domain/load-types.ts';
import type { Broker } from '../../src/domain/ports.ts';
import { addDuration, type Duration, type Instant, seconds } from '../../src/domain/units.ts';
import { createDeviceLease } from '../../src/mqtt/device-lease.ts';
import { createOutput } from '../../src/outputs/create-output.ts';
import type { Output, OutputFailure } from '../../src/outputs/output.ts';
import { createHttp } from '../../src/platform/http-client.ts';
import { createBrokerFactory } from '../../src/platform/mqtt-broker.ts';
import { createSystemClock } from '../../src/platform/system-clock.ts';
import { createVirtualClock, type VirtualClock } from '../../src/simulation/virtual-clock.ts';
import { type AwaitableList, createAwaitableList } from '../doubles/awaitable-list.ts';
import { HOME_ASSISTANT_TOKEN, startFakeHomeAssistant } from '../doubles/fake-home-assistant.ts';
import { describeWithMosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { type MqttSpy, startMqttSpy } from '../doubles/mqtt-spy.ts';
import { afterTest, stopAfterTest } from '../doubles/stop-after-test.ts';
import { startTcpProxy, type TcpProxy } from '../doubles/tcp-proxy.ts';
import { buildLoad } from '../outputs/output-fixture.ts';

const COMMAND = 'cmnd/car/POWER';
const STATE = 'stat/car/POWER';
const TASMOTA: MqttOutputConfig = {
  kind: 'mqtt',
  preset: 'tasmota',
  commandTopic: COMMAND,
  onPayload: 'ON',
  offPayload: 'OFF',
  stateTopic: STATE,
};

interface Agent {
  readonly output: Output;
  readonly broker: Broker;
  readonly clock: VirtualClock;
  readonly news: AwaitableList<Level | OutputFailure['kind']>;
}

/** One agent's link and output; the agent shows itself as online as the monitor does. */
async function agent(port: number, device: string, config: OutputConfig = TASMOTA): Promise<Agent> {
  const availability = { topic: `gridtide/${device}/availability`, payload: 'offline' };
  const broker = createBrokerFactory({ clock: createSystemClock(), random: { fraction: () => 0 } })({
    url: `mqtt://127.0.0.1:${port}`,
    clientId: `gridtide-${device}`,
    will: availability,
  });
  stopAfterTest({ stop: () => broker.stop(availability) });
  const online = new Promise<void>((resolve) => {
    broker.watchState(({ kind }) => {
      if (kind === 'online') void broker.publish(availability.topic, 'online', { retain: true }).then(() => resolve());
    });
  });
  broker.start();
  await online;
  const clock = createVirtualClock(Date.UTC(2026, 2, 1) as Instant);
  const http = createHttp();
  afterTest(() => http.close());
  const output = createOutput(buildLoad(config), {
    web: { http, secrets: { read: async () => HOME_ASSISTANT_TOKEN } },
    broker,
    clock,
    log: () => {},
    createLease: (topic) => createDeviceLease(topic, device, broker),
  });
  const news = createAwaitableList<Level | OutputFailure['kind']>();
  output.watch((one) => news.add(typeof one === 'string' ? one : one.kind));
  return { output, broker, clock, news };
}

const commands = (spy: MqttSpy) => spy.messages.filter(({ topic }) => topic === COMMAND).map(({ text }) => text);

/** A plug on the broker: its last state is retained, and it does as told unless `deaf`. */
async function plug(url: string, { deaf = false } = {}) {
  const spy = stopAfterTest(await startMqttSpy(url));
  await spy.publish(STATE, 'OFF', { retain: true });
  if (!deaf)
    spy.onMessage(({ topic, text }) => {
      if (topic === COMMAND) void spy.publish(STATE, text, { retain: true });
    });
  const whenSent = async (count: number) => {
    await spy.waitFor(() => commands(spy).length >= count);
  };
  return { spy, told: whenSent };
}

const passes = async (clock: VirtualClock, time: Duration) => {
  await clock.runUntil(addDuration(clock.now().wall, time));
};

describeWithMosquitto('loads behind MQTT', () => {
  it('row 64: a device that does not confirm is told three times more, then the fault is named; none of it is retained', async () => {
    const { url, port } = stopAfterTest(await startMosquitto());
    const { spy, told: whenSent } = await plug(url, { deaf: true });
    const { output, clock } = await agent(port, 'cellar');
    expect(await output.open()).toEqual({ level: 'off' });
    const applied = output.apply('on');
    for (let sends = 1; sends <= 4; sends += 1) {
      await whenSent(sends);
      // The wait begins when the broker has taken the command.
      while (clock.waiting().length === 0) await new Promise((turn) => setImmediate(turn));
      await passes(clock, seconds(5));
    }
    expect(await applied).toMatchObject({ kind: 'unconfirmed' });
    expect(commands(spy)).toEqual(['ON', 'ON', 'ON', 'ON']);
    const late = stopAfterTest(await startMqttSpy(url));
    await late.waitFor(({ topic }) => topic === STATE);
    expect(commands(late)).toEqual([]);
  });

  it('row 65: a device that was reset is told again, without a switch of the core', async () => {
    const { url, port } = stopAfterTest(await startMosquitto());
    const { spy, told: whenSent } = await plug(url);
    const { output, news } = await agent(port, 'cellar');
    await output.open();
    expect(await output.apply('on')).toBeUndefined();
    await spy.publish(STATE, 'OFF', { retain: true });
    await whenSent(2);
    await news.whenCount(1);
    expect(commands(spy)).toEqual(['ON', 'ON']);
    expect(news.all.at(-1)).toBe('on');
  });

  it('row 65: after the broker was away the last level is sent again, without a switch of the core', async () => {
    const mosquitto = stopAfterTest(await startMosquitto());
    const { spy, told: whenSent } = await plug(mosquitto.url);
    const { output, broker } = await agent(mosquitto.port, 'cellar');
    await output.open();
    await output.apply('on');
    const offline = new Promise<void>((resolve) => {
      broker.watchState(({ kind }) => {
        if (kind === 'offline') resolve();
      });
    });
    await mosquitto.kill();
    await offline;
    expect(await output.apply('off')).toMatchObject({ kind: 'offline' });
    await mosquitto.restart();
    await whenSent(2);
    expect(commands(spy).at(-1)).toBe('OFF');
  });

  it('row 67: a second agent on one device is refused while the first lives, and takes over when it dies', async () => {
    const { url, port } = stopAfterTest(await startMosquitto());
    const { spy, told: whenSent } = await plug(url);
    const wire: TcpProxy = await startTcpProxy(port);
    afterTest(() => wire.stop());
    const first = await agent(wire.port, 'cellar');
    await first.output.open();
    expect(await first.output.apply('on')).toBeUndefined();

    const second = await agent(port, 'garage');
    const refused = await second.output.open();
    expect(refused).toMatchObject({ kind: 'busy' });
    const answer = await second.output.apply('off');
    expect(answer).toMatchObject({ kind: 'busy' });
    expect(answer?.detail).toMatch(/the agent "cellar" switches the device.*give each load to one agent only/);
    expect(commands(spy)).toEqual(['ON']);
    await spy.publish(STATE, 'ON', { retain: true });
    // One exchange with the broker later it has received that.
    await second.broker.publish('end/of/list', 'x', { retain: false });
    expect(second.news.all).toEqual([]);

    const freed = spy.waitFor(({ topic, text }) => topic === `gridtide-owners/${COMMAND}` && text === 'garage');
    await wire.stop();
    await freed;
    expect(await second.output.apply('off')).toBeUndefined();
    await whenSent(2);
    expect(commands(spy)).toEqual(['ON', 'OFF']);
  });

  // 192.168.1.50 is another device in each house.
  it('row 67: a device over HTTP is claimed by nobody, because houses that share a broker may have it at one address', async () => {
    const { port } = stopAfterTest(await startMosquitto());
    const house = await startFakeHomeAssistant({ 'switch.car': { state: 'off' } });
    afterTest(() => house.close());
    const entity: OutputConfig = {
      ...{ kind: 'home-assistant', url: house.url, tokenFile: 'token', allowsPlainHttp: false },
      ...{ entity: 'switch.car', onState: 'on', offState: 'off' },
    };
    const first = await agent(port, 'cellar', entity);
    await first.output.open();
    expect(await first.output.apply('on')).toBeUndefined();

    const second = await agent(port, 'garage', entity);
    expect(await second.output.open()).toEqual({ level: 'on' });
    expect(await second.output.apply('off')).toBeUndefined();
    expect(house.actions).toEqual(['switch.turn_on', 'switch.turn_off']);
  });

  it('row 67: of two that start at once one commands and one is refused', async () => {
    const { url, port } = stopAfterTest(await startMosquitto());
    const { spy } = await plug(url);
    const agents = await Promise.all([agent(port, 'cellar'), agent(port, 'garage')]);
    await Promise.all(agents.map(({ output }) => output.open()));
    await spy.waitFor(({ topic }) => topic === `gridtide-owners/${COMMAND}`);
    // One exchange with the broker later both have heard the last claim.
    await Promise.all(agents.map(({ broker }) => broker.publish('end/of/list', 'x', { retain: false })));
    const answers = await Promise.all(agents.map(({ output }) => output.apply('on')));
    expect(answers.map((answer) => answer?.kind ?? 'commands').sort()).toEqual(['busy', 'commands']);
  });
});

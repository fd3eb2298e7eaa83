/** SG-Ready over two switches on mosquitto: the order of the contacts, one confirmed before the next, and what a switch that fails leaves. */

import { expect, it } from 'vitest';
import { buildMqttOutput } from '../../src/config/presets.ts';
import type { Level, SgReadySwitches } from '../../src/domain/load-types.ts';
import type { Instant } from '../../src/domain/units.ts';
import { createOutput } from '../../src/outputs/create-output.ts';
import type { DeviceStatus } from '../../src/outputs/output.ts';
import { createBrokerFactory } from '../../src/platform/mqtt-broker.ts';
import { createSystemClock } from '../../src/platform/system-clock.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { createAwaitableList } from '../doubles/awaitable-list.ts';
import { describeWithMosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { startMqttSpy } from '../doubles/mqtt-spy.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';
import { buildLoad } from '../outputs/output-fixture.ts';

const PREFIX = 'shellyplus2pm-a8032a';

/** A relay with two channels: it answers a command, or the question for its status, with the status of the channel. */
async function startShelly(url: string) {
  const spy = stopAfterTest(await startMqttSpy(url, {}, [`${PREFIX}/command/#`]));
  const outputs = [false, false];
  const moves: string[] = [];
  const device = { deafChannel: -1, moves };
  const report = (channel: number) =>
    spy.publish(`${PREFIX}/status/switch:${channel}`, JSON.stringify({ id: channel, output: outputs[channel] }));
  spy.onMessage(({ topic, text }) => {
    const channel = Number(topic.at(-1));
    if (text !== 'status_update') {
      moves.push(`${'AB'[channel]}${text === 'on' ? 1 : 0}`);
      if (channel !== device.deafChannel) outputs[channel] = text === 'on';
    }
    void report(channel);
  });
  await spy.publish(`${PREFIX}/online`, 'true', { retain: true });
  return {
    device,
    press(channel: number) {
      outputs[channel] = !outputs[channel];
      return report(channel);
    },
  };
}

async function startPump() {
  const { url, port } = stopAfterTest(await startMosquitto());
  const shelly = await startShelly(url);
  const broker = createBrokerFactory({ clock: createSystemClock(), random: { fraction: () => 0 } })({
    url: `mqtt://127.0.0.1:${port}`,
    clientId: 'gridtide-cellar',
  });
  stopAfterTest(broker);
  broker.start();
  await new Promise<void>((online) => broker.watchState(({ kind }) => kind === 'online' && online()));
  const build = (channel: number) => {
    const config = buildMqttOutput({ preset: 'shelly-gen2', topic: PREFIX, channel });
    if (typeof config === 'string') throw new Error(config);
    return config;
  };
  const config: SgReadySwitches = { kind: 'sg-ready', switches: [build(0), build(1)] };
  const clock = createVirtualClock(Date.UTC(2026, 2, 1) as Instant);
  const output = createOutput(buildLoad(config, { failSafe: 'normal' }), { broker, clock, log: () => {} });
  const statuses = createAwaitableList<DeviceStatus>();
  const presses = createAwaitableList<Level>();
  output.watchDevice?.({ onStatus: (one) => statuses.add(one), onPress: (one) => presses.add(one), onMeter() {} });
  return { ...shelly, output, clock, statuses, presses };
}

describeWithMosquitto('SG-Ready over two MQTT switches', () => {
  it('passes along 1:0 – 0:0 – 0:1 – 1:1, each contact confirmed before the next', async () => {
    const { output, device, statuses } = await startPump();
    expect(await output.open()).toEqual({ level: 'normal' });
    for (const level of ['force', 'block', 'recommend', 'normal'] as const) {
      expect(await output.apply(level)).toBeUndefined();
      expect(await output.read()).toBe(level);
    }
    expect(device.moves.join(' ')).toBe('B1 A1 A0 B0 A1 A0 B1 B0');
    expect(statuses.all.at(-1)).toMatchObject({ sent: 'normal', confirmed: 'normal', available: true });
  });

  it('stops where a contact does not confirm, and names it: A never closes before B has', async () => {
    const { output, device, clock } = await startPump();
    await output.open();
    device.deafChannel = 1;
    const applied = output.apply('force');
    let failure: Awaited<typeof applied> | 'waits' = 'waits';
    void applied.then((one) => {
      failure = one;
    });
    while (failure === 'waits') {
      await new Promise((turn) => setTimeout(turn, 20));
      await clock.runUntil((clock.now().wall + 1_000) as Instant);
    }
    expect(failure).toMatchObject({
      kind: 'unconfirmed',
      detail: expect.stringMatching(/^contact B: the device was sent on/),
    });
    expect(device.moves.every((move) => move === 'B1')).toBe(true);
  });

  it('tells a press at a switch as the state that results', async () => {
    const { output, clock, press, presses } = await startPump();
    await output.open();
    await output.apply('recommend');
    await clock.runUntil((clock.now().wall + 20_000) as Instant);
    await press(1);
    await presses.whenCount(1);
    expect(presses.all).toEqual(['normal']);
  });
});

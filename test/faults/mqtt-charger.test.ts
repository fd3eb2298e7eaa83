/** A charger that has rules of its own, on mosquitto: what it falls to is seen at once, what a person does there is kept, and a stop leaves it to itself. */

import { expect, it } from 'vitest';
import { buildMqttOutput } from '../../src/config/presets.ts';
import type { Level } from '../../src/domain/load-types.ts';
import { addDuration, type Duration, type Instant, minutes, seconds } from '../../src/domain/units.ts';
import { createOutput } from '../../src/outputs/create-output.ts';
import type { DeviceStatus, OutputFailure } from '../../src/outputs/output.ts';
import { createBrokerFactory } from '../../src/platform/mqtt-broker.ts';
import { createSystemClock } from '../../src/platform/system-clock.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { type AwaitableList, createAwaitableList } from '../doubles/awaitable-list.ts';
import { describeWithMosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { type MqttSpy, startMqttSpy } from '../doubles/mqtt-spy.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';
import { buildLoad } from '../outputs/output-fixture.ts';
import { CHARGER, startScriptedCharger } from './scripted-charger.ts';

type Options = Parameters<typeof buildMqttOutput>[0];

/** The output of an agent on a link of its own, in time that stands still. */
async function startOutput(port: number, options: Options) {
  const broker = createBrokerFactory({ clock: createSystemClock(), random: { fraction: () => 0 } })({
    url: `mqtt://127.0.0.1:${port}`,
    clientId: 'gridtide-cellar',
  });
  stopAfterTest(broker);
  broker.start();
  const clock = createVirtualClock(Date.UTC(2026, 2, 1) as Instant);
  const config = buildMqttOutput(options);
  if (typeof config === 'string') throw new Error(config);
  const output = createOutput(buildLoad(config), { broker, clock, log: () => {} });
  const news = createAwaitableList<Level | OutputFailure['kind']>();
  const statuses = createAwaitableList<DeviceStatus>();
  const presses = createAwaitableList<Level>();
  output.watch((one) => news.add(typeof one === 'string' ? one : one.kind));
  output.watchDevice?.({
    onStatus: (status) => statuses.add(status),
    onPress: (level) => presses.add(level),
    onMeter: () => {},
  });
  await new Promise<void>((resolve) => {
    broker.watchState(({ kind }) => kind === 'online' && resolve());
    if (broker.state.kind === 'online') resolve();
  });
  const pass = (time: Duration) => clock.runUntil(addDuration(clock.now().wall, time));
  const whenStatus = (wanted: DeviceStatus) => until(statuses, (status) => matches(status, wanted));
  return { output, clock, news, statuses, presses, pass, whenStatus };
}

const matches = (status: DeviceStatus, wanted: DeviceStatus) =>
  (['sent', 'confirmed', 'available'] as const).every((key) => status[key] === wanted[key]);

async function until<Item>(list: AwaitableList<Item>, isWanted: (item: Item) => boolean): Promise<void> {
  for (let count = list.all.length; !list.all.some(isWanted); count += 1) await list.whenCount(count + 1);
}

describeWithMosquitto('a go-e charger', () => {
  const start = async () => {
    const { url, port } = stopAfterTest(await startMosquitto());
    const charger = await startScriptedCharger(url);
    const here = await startOutput(port, { preset: 'go-e', topic: CHARGER });
    return { charger, ...here };
  };

  // The night of 28.8 kWh: plugged in at 18:19, the charger fell to neutral and charged while the agent believed it off.
  it('plugged in while it is to wait: neutral is seen and told off at once, and the car does not charge', async () => {
    const { charger, output, news, whenStatus } = await start();
    expect(await output.open()).toEqual({});
    expect(await output.apply('off')).toBeUndefined();
    await whenStatus({ sent: 'off', confirmed: 'off' });

    await charger.plugIn();
    await charger.whenCommands(2);
    await news.whenCount(1);
    expect(charger.commands).toEqual(['1', '1']);
    expect(news.all).toEqual(['off']);
    expect(charger.isCharging()).toBe(false);
    await whenStatus({ sent: 'off', confirmed: 'other' });

    expect(await output.apply('on')).toBeUndefined();
    expect(charger.isCharging()).toBe(true);
  });

  it('that falls to neutral again and again is told so three times in ten minutes, then it is a problem', async () => {
    const { charger, output, news, pass } = await start();
    await output.open();
    await output.apply('off');
    for (const time of [1, 2, 3]) {
      await charger.restart();
      await news.whenCount(time);
    }
    await charger.restart();
    await news.whenCount(4);
    expect(news.all).toEqual(['off', 'off', 'off', 'unconfirmed']);
    expect(charger.commands).toEqual(['1', '1', '1', '1']);
    await pass(minutes(10));
    await news.whenCount(5);
    expect([news.all.at(-1), charger.commands.length]).toEqual(['off', 5]);
  });

  it('switched on in its app is left on, and a fall to neutral is no press', async () => {
    const { charger, output, news, presses, pass } = await start();
    await output.open();
    await output.apply('off');
    await pass(seconds(10));
    await charger.restart();
    await news.whenCount(1);
    await pass(seconds(10));
    expect(presses.all).toEqual([]);
    await charger.press('2');
    await presses.whenCount(1);
    expect([presses.all, charger.commands]).toEqual([['on'], ['1', '1']]);
    expect(await output.read()).toBe('on');
    // The core's answer to the press.
    expect(await output.apply('on')).toBeUndefined();
  });

  it('is left to itself with one release and nothing forced before', async () => {
    const { charger, output, whenStatus } = await start();
    await output.open();
    await output.apply('on');
    expect(await output.release()).toBe(true);
    await whenStatus({ confirmed: 'other' } as DeviceStatus);
    expect(charger.commands).toEqual(['2', '0']);
  });
});

/** A plug on the broker with a last will; it answers commands and, asked with an empty one, tells its state. */
async function startPlug(url: string) {
  const will = { topic: 'tele/plug/LWT', payload: Buffer.from('Offline'), retain: true, qos: 1 as const };
  const spy: MqttSpy = stopAfterTest(await startMqttSpy(url, { will, keepalive: 5 }, ['cmnd/plug/POWER']));
  let power = 'OFF';
  const report = () => spy.publish('stat/plug/POWER', power);
  const commands: string[] = [];
  spy.onMessage(({ text }) => {
    if (text !== '') {
      power = text;
      commands.push(text);
    }
    void report();
  });
  await spy.publish('tele/plug/LWT', 'Online', { retain: true });
  return {
    commands,
    whenCommands: async (count: number) => void (await spy.waitFor(() => commands.length >= count)),
    async press() {
      power = power === 'ON' ? 'OFF' : 'ON';
      await report();
    },
    /** The broker publishes the last will when the link breaks; the plug comes back as it starts. */
    async restart() {
      await spy.publish('tele/plug/LWT', 'Offline', { retain: true });
      power = 'OFF';
    },
    async comeBack() {
      await spy.publish('tele/plug/LWT', 'Online', { retain: true });
      await report();
    },
  };
}

describeWithMosquitto('a Tasmota plug', () => {
  const start = async () => {
    const { url, port } = stopAfterTest(await startMosquitto());
    const plug = await startPlug(url);
    const here = await startOutput(port, { preset: 'tasmota', topic: 'plug' });
    return { plug, ...here };
  };

  it('is asked for its state at the connect, though the broker stores none', async () => {
    const { output } = await start();
    expect(await output.open()).toEqual({ level: 'off' });
  });

  it('that died by its last will is named, has no level any more, and gets its command when it is back', async () => {
    const { plug, output, news, whenStatus } = await start();
    await output.open();
    await output.apply('on');
    await plug.restart();
    await news.whenCount(1);
    expect(news.all).toEqual(['offline']);
    await whenStatus({ sent: 'on', available: false });
    expect(await output.read()).toBeUndefined();
    const failure = await output.apply('off');
    expect(failure?.detail).toMatch(/the device reports itself offline on tele\/plug\/LWT/);
    expect(plug.commands).toEqual(['ON']);

    await output.apply('on');
    await plug.comeBack();
    await plug.whenCommands(2);
    await news.whenCount(2);
    expect([plug.commands, news.all]).toEqual([
      ['ON', 'ON'],
      ['offline', 'on'],
    ]);
  });

  it('is not fought when its button is pressed, and what it falls to after a restart is no press', async () => {
    const { plug, output, presses, pass } = await start();
    await output.open();
    await output.apply('on');
    await pass(seconds(10));
    await plug.press();
    await presses.whenCount(1);
    expect([presses.all, plug.commands]).toEqual([['off'], ['ON']]);
    await output.apply('on');
    await plug.restart();
    await plug.comeBack();
    await plug.whenCommands(3);
    expect([presses.all, plug.commands]).toEqual([['off'], ['ON', 'ON', 'ON']]);
  });
});

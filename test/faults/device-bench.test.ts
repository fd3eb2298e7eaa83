/** Ten devices on mosquitto under one contract: each event, what was sent, how soon, and what health says. */

import { afterAll, describe, expect, it } from 'vitest';
import { buildMqttOutput, type MqttOutputOptions } from '../../src/config/presets.ts';
import type { Level } from '../../src/domain/load-types.ts';
import { addDuration, type Duration, type Instant, minutes, seconds } from '../../src/domain/units.ts';
import { createOutput } from '../../src/outputs/create-output.ts';
import type { DeviceStatus, MeterReading, OutputFailure } from '../../src/outputs/output.ts';
import { createBrokerFactory } from '../../src/platform/mqtt-broker.ts';
import { createSystemClock } from '../../src/platform/system-clock.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { createAwaitableList } from '../doubles/awaitable-list.ts';
import { describeWithMosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';
import { buildLoad } from '../outputs/output-fixture.ts';
import { chargesNow, DEVICE_SCRIPTS, type DeviceScript, startScriptedDevice } from './scripted-devices.ts';

const table: string[] = [];
afterAll(() => console.log(['device | event | sent | after | health', ...table].join('\n')));

/** The device, and an output of an agent on a link of its own, in time that stands still. */
async function start(script: DeviceScript, more: Partial<MqttOutputOptions> = {}) {
  const mosquitto = stopAfterTest(await startMosquitto());
  const device = stopAfterTest(await startScriptedDevice(mosquitto.url, script));
  const broker = createBrokerFactory({ clock: createSystemClock(), random: { fraction: () => 0 } })({
    url: mosquitto.url,
    clientId: 'gridtide-cellar',
  });
  stopAfterTest(broker);
  broker.start();
  await new Promise<void>((online) => broker.watchState(({ kind }) => kind === 'online' && online()));
  const config = buildMqttOutput({ ...script.options, ...more });
  if (typeof config === 'string') throw new Error(config);
  const clock = createVirtualClock(Date.UTC(2026, 2, 1) as Instant);
  const output = createOutput(buildLoad(config), { broker, clock, log: () => {} });
  const changed = createAwaitableList<'changed'>();
  const news: (Level | OutputFailure['kind'])[] = [];
  const presses: Level[] = [];
  const readings: MeterReading[] = [];
  let status: DeviceStatus = {};
  const note = (run: () => void) => {
    run();
    changed.add('changed');
  };
  output.watch((one) => note(() => news.push(typeof one === 'string' ? one : one.kind)));
  output.watchDevice?.({
    onStatus: (one) => note(() => (status = one)),
    onPress: (level) => note(() => presses.push(level)),
    onMeter: (reading) => note(() => readings.push(reading)),
  });
  const until = async (isSo: () => boolean) => {
    while (!isSo()) await changed.whenCount(changed.all.length + 1);
  };
  await output.open();
  const pass = (time: Duration) => clock.runUntil(addDuration(clock.now().wall, time));
  /** After an event: waits for the level to be sent again, and enters it into the table. */
  const record = async (event: string, happen: () => Promise<unknown>, isOver: () => boolean): Promise<void> => {
    const before = device.commands.length;
    const from = performance.now();
    await happen();
    await until(isOver);
    const took = performance.now() - from;
    const sent = device.commands.slice(before).join(' ') || 'nothing';
    table.push([script.name, event, sent, `${Math.round(took)} ms`, news.at(-1) ?? 'ok'].join(' | '));
  };
  return { device, output, mosquitto, clock, news, presses, readings, status: () => status, until, pass, record };
}

describeWithMosquitto('the bench of devices', () => {
  describe.each(DEVICE_SCRIPTS.map((script) => [script.name, script] as const))('%s', (_, script) => {
    it('is told each level once and confirms it', async () => {
      const { device, output, status } = await start(script);
      for (const level of ['on', 'off', 'on'] as const) {
        expect(await output.apply(level)).toBeUndefined();
        expect([device.state().mode, await output.read(), status().sent, status().confirmed]).toEqual([
          level,
          level,
          level,
          level,
        ]);
      }
      expect(device.commands.length).toBe(3);
    });

    it('may answer slowly: it is not told twice', async () => {
      const { device, output, pass } = await start(script);
      await output.apply('off');
      device.setSlow(true);
      const applied = output.apply('on');
      await device.whenCommands(2);
      await pass(seconds(4));
      await device.answer();
      expect(await applied).toBeUndefined();
      expect(device.commands.length).toBe(2);
    });

    it('keeps its level over a reboot: told again at its return, while the time of its output stands still', async () => {
      const { device, output, record, pass, presses } = await start(script);
      const level = script.afterReboot === 'off' ? 'on' : 'off';
      await output.apply(level);
      await pass(seconds(10));
      await record('reboot', device.reboot, () => device.commands.length === 2);
      expect(device.state().mode).toBe(level);
      expect(presses).toEqual([]);
    });

    it('is not fought: five reboots in ten minutes cost at most three commands more', async () => {
      const { device, output, pass, news, until } = await start(script);
      const level = script.afterReboot === 'off' ? 'on' : 'off';
      await output.apply(level);
      await pass(seconds(10));
      for (const time of [1, 2, 3]) {
        await device.reboot();
        await device.whenCommands(1 + time);
        await until(() => news.filter((one) => one === level).length >= time);
      }
      await device.reboot();
      await until(() => news.at(-1) === 'unconfirmed');
      await device.reboot();
      await pass(minutes(1));
      expect(device.commands.length).toBe(4);
    });

    it('is released with one message', async () => {
      const { device, output } = await start(script);
      await output.apply('on');
      const isReleased = await output.release();
      expect(isReleased).toBe(script.charger !== undefined);
      if (isReleased) await device.whenCommands(2);
      expect(device.commands.length).toBe(isReleased ? 2 : 1);
    });

    it('has its level again when the broker comes back empty', async () => {
      const { device, output, mosquitto, record, status } = await start(script);
      await output.apply('on');
      await record('broker restarted empty', mosquitto.restart, () => status().confirmed === 'on');
      expect(device.state().mode).toBe('on');
    });

    it.runIf(script.will !== undefined)('is named when its will says that it is gone, and told nothing', async () => {
      const { device, output, record, status } = await start(script);
      await output.apply('on');
      await record('silence', device.die, () => status().available === false);
      expect(await output.read()).toBeUndefined();
      expect(await output.apply('off')).toMatchObject({ kind: 'offline' });
      expect(device.commands.length).toBe(1);
    });

    it.runIf(script.hasPress)("a press is its owner's word: told, and not fought", async () => {
      const { device, output, record, pass, presses } = await start(script);
      await output.apply('off');
      await pass(seconds(10));
      await record(
        'press',
        () => device.press('on'),
        () => presses.length === 1,
      );
      expect([presses, device.commands.length]).toEqual([['on'], 1]);
    });

    it.runIf(script.options.preset !== 'esphome')('reports its meter in kilowatts and kilowatt-hours', async () => {
      const { device, output, readings, until } = await start(script);
      await device.plugIn();
      await output.apply('on');
      await until(() => readings.some(({ power }) => power === 3.5));
      expect(readings.findLast(({ energy }) => energy !== undefined)?.energy).toBeCloseTo(12.5, 6);
    });
  });

  const chargers = DEVICE_SCRIPTS.filter(({ charger }) => charger !== undefined);
  describe.each(chargers.map((script) => [script.name, script] as const))('%s and its car', (_, script) => {
    it('does not charge when it is plugged in while it is to wait', async () => {
      const { device, output, record, status } = await start(script);
      await output.apply('off');
      const falls = script.charger?.afterPlugIn !== undefined;
      await record(
        'plug-in',
        device.plugIn,
        () => status().vehicle?.connected === true && device.commands.length === (falls ? 2 : 1),
      );
      while (chargesNow(device.state())) await new Promise((turn) => setImmediate(turn));
    });

    it('tells that the car has gone, and does what it was told when it is back', async () => {
      const { device, output, record, status, until } = await start(script);
      await device.plugIn();
      await output.apply('off');
      const falls = script.charger?.afterUnplug !== undefined;
      await record(
        'unplug',
        device.unplug,
        () => status().vehicle?.connected === false && device.commands.length === (falls ? 2 : 1),
      );
      await device.plugIn();
      await until(() => status().vehicle?.connected === true);
      while (chargesNow(device.state())) await new Promise((turn) => setImmediate(turn));
    });

    it.runIf(script.name !== 'evcc')('charges with the amperes of the configuration', async () => {
      const { device, output } = await start(script, { amps: 10 });
      expect(await output.apply('on')).toBeUndefined();
      expect([device.state().amps, device.state().mode]).toEqual([10, 'on']);
      expect(await output.apply('on', { amps: 8, of: 10 })).toBeUndefined();
      expect([device.state().amps, device.state().mode]).toEqual([8, 'on']);
      expect(await output.apply('off')).toBeUndefined();
      expect(device.state().mode).toBe('off');
    });

    it('tells that a full car takes no more', async () => {
      const { device, output, record, status } = await start(script);
      await device.plugIn();
      await output.apply('on');
      await record('full car', device.fill, () => status().vehicle?.charging === false);
      expect(status()).toMatchObject({ sent: 'on', confirmed: 'on', vehicle: { connected: true, charging: false } });
    });
  });
});

/** The MQTT device: what it is sent, when its word counts, and what happens when it does not keep its level. */

import { afterEach, describe, expect, it } from 'vitest';
import { buildMqttOutput } from '../../src/config/presets.ts';
import type { Level, MqttOutputConfig } from '../../src/domain/load-types.ts';
import type { Broker, BrokerState } from '../../src/domain/ports.ts';
import { minutes, seconds } from '../../src/domain/units.ts';
import { createDeviceLease } from '../../src/mqtt/device-lease.ts';
import { parseDeviceState } from '../../src/outputs/devices/parse-device-state.ts';
import type { DeviceLease, DeviceReading, DeviceStatus, OutputFailure } from '../../src/outputs/output.ts';
import { createAwaitableList } from '../doubles/awaitable-list.ts';
import { buildLoad, createOutputFixture, createTestOutput, type OutputFixture } from './output-fixture.ts';

let here: OutputFixture | undefined;
afterEach(async () => {
  await here?.close();
  here = undefined;
});
const build = async () => {
  here = await createOutputFixture();
  return { fixture: here, device: here.addDevice('cmnd/car/POWER', 'stat/car/POWER') };
};
/** With a state the device has left on the broker, as most do. */
const buildKnown = async () => {
  const made = await build();
  await made.fixture.embedded.publish('stat/car/POWER', 'OFF', { retain: true });
  return made;
};

/** News of an output, one by one. */
function newsOf(under: ReturnType<typeof createTestOutput>) {
  const news = createAwaitableList<Level | OutputFailure['kind']>();
  under.watch((one) => news.add(typeof one === 'string' ? one : one.kind));
  return news;
}

/** The broker, whose link is lost and back on demand. */
function createBreakableBroker(broker: Broker) {
  const watchers = new Set<(state: BrokerState) => void>();
  let state = broker.state;
  const setState = (next: BrokerState): void => {
    state = next;
    for (const watch of watchers) watch(next);
  };
  const watchState = (watch: (state: BrokerState) => void) => {
    watchers.add(watch);
    return () => watchers.delete(watch);
  };
  return {
    broker: Object.create(broker, { state: { get: () => state }, watchState: { value: watchState } }) as Broker,
    lose: () => setState({ kind: 'offline', cause: 'cut', refused: false }),
    restore: () => setState(broker.state),
  };
}

const FREE_LEASE: DeviceLease = {
  async acquire() {},
  otherHolder: () => undefined,
  watchHolder() {},
  async release() {},
};

/** Links whose last will releases the device: when one is started and stopped, and whether the broker answers on it. */
function createReleaseLinks(broker: Broker) {
  const events = createAwaitableList<'start' | 'stop'>();
  const watchers = new Set<(state: BrokerState) => void>();
  const setState = (state: BrokerState): void => {
    for (const watch of watchers) watch(state);
  };
  const release = {
    isAnswered: true,
    lose: () => setState({ kind: 'offline', cause: 'cut', refused: false }),
    restore: () => setState({ kind: 'online', version: 4, denied: [] }),
  };
  const link: Partial<Broker> = {
    watchState(watch) {
      watchers.add(watch);
      return () => watchers.delete(watch);
    },
    ping: async () => release.isAnswered,
    start: () => events.add('start'),
    stop: async () => events.add('stop'),
  };
  return Object.assign(release, { events, create: (): Broker => Object.assign(Object.create(broker), link) });
}

type ReleaseLinks = ReturnType<typeof createReleaseLinks>;

describe('an MQTT device', () => {
  it('finds its level at the start from the retained state, and sends nothing', async () => {
    const { fixture, device } = await build();
    await fixture.embedded.publish('stat/car/POWER', 'ON', { retain: true });
    expect(await createTestOutput(buildLoad(fixture.tasmota), fixture).open()).toEqual({ level: 'on' });
    expect(device.commands).toEqual([]);
  });

  it('of a charger finds its current too', async () => {
    const { fixture } = await build();
    const charger = buildMqttOutput({ preset: 'go-e', topic: 'goe/1', amps: 16 });
    if (typeof charger === 'string') throw new Error(charger);
    await fixture.embedded.publish('goe/1/amp', '8', { retain: true });
    await fixture.embedded.publish('goe/1/frc', '2', { retain: true });
    expect(await createTestOutput(buildLoad(charger), fixture).open()).toEqual({ level: 'on', amps: 8 });
  });

  it('opens without a word of the device after 3 s', async () => {
    const { fixture } = await build();
    const opened = createTestOutput(buildLoad(fixture.tasmota), fixture).open();
    while (fixture.clock.waiting().length === 0) await new Promise((turn) => setImmediate(turn));
    await fixture.pass(seconds(3));
    expect(await opened).toEqual({});
  });

  it('is told once when it confirms, and never retained', async () => {
    const { fixture, device } = await build();
    const under = createTestOutput(buildLoad(fixture.tasmota), fixture);
    expect(await under.apply('on')).toBeUndefined();
    expect(device.commands).toEqual(['ON']);
    expect(fixture.embedded.findRetained('cmnd/car/POWER')).toBeUndefined();
  });

  // A simulated house: the broker lost its acknowledgements, and the load was switched off 45 s after it had begun to run.
  it('has taken a command that it reports, also when the broker acknowledges nothing', async () => {
    const { fixture, device } = await buildKnown();
    const publish: Broker['publish'] = async (topic, payload, options) => {
      await fixture.broker.publish(topic, payload, options);
      // The report of the device is there before the acknowledgements of these.
      for (let turn = 0; turn < 20; turn += 1) await fixture.broker.publish('end/of/list', `${turn}`, options);
      return false;
    };
    const broker: Broker = Object.create(fixture.broker, { publish: { value: publish } });
    const under = createTestOutput(buildLoad(fixture.tasmota), { ...fixture, broker });
    await under.open();
    expect(await under.apply('on')).toBeUndefined();
    expect(device.commands).toEqual(['ON']);
  });

  it('is told four times when it is silent, then the fault is named', async () => {
    const { fixture, device } = await build();
    device.answersCommands = false;
    const under = createTestOutput(buildLoad(fixture.tasmota), fixture);
    const open = under.open();
    while (fixture.clock.waiting().length === 0) await new Promise((turn) => setImmediate(turn));
    await fixture.pass(seconds(3));
    await open;
    const applied = under.apply('on');
    for (let sends = 1; sends <= 4; sends += 1) {
      await device.whenCommands(sends);
      while (fixture.clock.waiting().length === 0) await new Promise((turn) => setImmediate(turn));
      await fixture.pass(seconds(5));
    }
    const failure = await applied;
    expect(failure).toMatchObject({ kind: 'unconfirmed' });
    expect(failure?.detail).toMatch(/sent on 4 times and reports nothing on stat\/car\/POWER/);
    expect(device.commands).toEqual(['ON', 'ON', 'ON', 'ON']);
  });

  it('that has not confirmed when the agent ends is no command that another replaced', async () => {
    const { fixture, device } = await buildKnown();
    device.answersCommands = false;
    const under = createTestOutput(buildLoad(fixture.tasmota), fixture);
    const applied = under.apply('off');
    await device.whenCommands(1);
    await under.close();
    expect((await applied)?.detail).toBe('the agent ended before the device confirmed it');
  });

  it('that is silent is told once more each time the core tries again, and in a round of four ten minutes later', async () => {
    const { fixture, device } = await buildKnown();
    device.answersCommands = false;
    const under = createTestOutput(
      buildLoad({ ...fixture.tasmota, query: { topic: 'cmnd/car/STATE', payload: '' } }),
      fixture,
    );
    await under.open();
    const applyInVain = async (sends: number) => {
      const before = device.commands.length;
      const applied = under.apply('on');
      for (let send = 1; send <= sends; send += 1) {
        await device.whenCommands(before + send);
        while (fixture.clock.waiting().length === 0) await new Promise((turn) => setImmediate(turn));
        await fixture.pass(seconds(5));
      }
      expect((await applied)?.detail).toContain(sends === 1 ? 'sent on again and reports off' : 'sent on 4 times');
      expect(device.commands.length - before).toBe(sends);
    };
    await applyInVain(4);
    await applyInVain(1);
    await applyInVain(1);
    await fixture.pass(minutes(10));
    await applyInVain(4);
  });

  it('is told again when it leaves its level by itself, without a word to the core but that it is back', async () => {
    const { fixture, device } = await buildKnown();
    const under = createTestOutput(buildLoad(fixture.tasmota), fixture);
    await under.open();
    const news = newsOf(under);
    await under.apply('on');
    await device.publishState('OFF');
    await device.whenCommands(2);
    await news.whenCount(1);
    expect(device.commands).toEqual(['ON', 'ON']);
    expect(news.all).toEqual(['on']);
  });

  it('may answer an older command late: that is no press', async () => {
    const { fixture, device } = await buildKnown();
    device.answersCommands = false;
    const under = createTestOutput(buildLoad({ ...fixture.tasmota, press: 'always' }), fixture);
    const presses = createAwaitableList<Level>();
    under.watchDevice?.({ onStatus() {}, onPress: (level) => presses.add(level), onMeter() {} });
    await under.open();
    const news = newsOf(under);
    const applied = under.apply('on');
    for (let sends = 1; sends <= 4; sends += 1) {
      await device.whenCommands(sends);
      while (fixture.clock.waiting().length === 0) await new Promise((turn) => setImmediate(turn));
      await fixture.pass(seconds(5));
    }
    expect(await applied).toMatchObject({ kind: 'unconfirmed' });
    expect(await under.apply('off')).toBeUndefined();
    await fixture.pass(seconds(30));
    device.answersCommands = true;
    await device.publishState('ON');
    await news.whenCount(1);
    expect([presses.all, news.all, device.commands.at(-1)]).toEqual([[], ['off'], 'OFF']);
    await fixture.pass(minutes(10));
    await device.publishState('ON');
    await presses.whenCount(1);
    expect(presses.all).toEqual(['on']);
  });

  // A simulated house: a charger switched on by hand rebooted into rules of its own, and was not switched on again.
  it('keeps the level of a press that the core agrees with, and so commands nothing', async () => {
    const { fixture, device } = await buildKnown();
    const under = createTestOutput(buildLoad({ ...fixture.tasmota, press: 'always' }), fixture);
    const presses = createAwaitableList<Level>();
    under.watchDevice?.({ onStatus() {}, onPress: (level) => presses.add(level), onMeter() {} });
    await under.open();
    await under.apply('off');
    await fixture.pass(minutes(10));
    await device.publishState('ON');
    await presses.whenCount(1);
    await device.publishState('AUTO');
    await device.whenCommands(2);
    expect(device.commands).toEqual(['OFF', 'ON']);
  });

  //  the link whose last will releases it                presses  commands
  it.each([
    ['is answered', () => {}, ['off'], ['ON']],
    ['is not answered', (link: ReleaseLinks) => Object.assign(link, { isAnswered: false }), [], ['ON', 'ON']],
    ['is lost', (link: ReleaseLinks) => link.lose(), [], ['ON', 'ON']],
  ] as const)('that changes by itself while its release link %s', async (_, happen, presses, commands) => {
    const { fixture, device } = await buildKnown();
    const release = createReleaseLinks(fixture.broker);
    const under = createTestOutput(buildLoad({ ...fixture.tasmota, press: 'always' }), {
      ...{ ...fixture, createReleaseBroker: release.create },
    });
    const seen: Level[] = [];
    const events = createAwaitableList<'press' | 'kept'>();
    under.watch(() => events.add('kept'));
    const onPress = (level: Level) => {
      seen.push(level);
      events.add('press');
    };
    under.watchDevice?.({ onStatus() {}, onPress, onMeter() {} });
    await under.open();
    await release.events.whenCount(1);
    release.restore();
    await under.apply('on');
    await fixture.pass(minutes(10));
    happen(release);
    await fixture.pass(minutes(10));
    await device.publishState('OFF');
    await events.whenCount(1);
    expect([seen, device.commands]).toEqual([presses, commands]);
  });

  describe('that switches a compressor', () => {
    const startHeatPump = async (more: Partial<MqttOutputConfig> = {}) => {
      const { fixture, device } = await buildKnown();
      const under = createTestOutput(buildLoad({ ...fixture.tasmota, ...more }, { type: 'heat-pump' }), fixture);
      await under.open();
      const news = newsOf(under);
      await under.apply('on');
      return { fixture, device, under, news };
    };

    it('is left off when it stops by itself: the core is told, and decides on the next start', async () => {
      const { device, under, news } = await startHeatPump();
      await device.publishState('OFF');
      await news.whenCount(1);
      expect([news.all, device.commands]).toEqual([['off'], ['ON']]);
      expect(await under.apply('on')).toBeUndefined();
      expect(device.commands).toEqual(['ON', 'ON']);
    });

    it('is stopped again when it starts by itself', async () => {
      const { device, under, news } = await startHeatPump();
      await under.apply('off');
      await device.publishState('ON');
      await news.whenCount(1);
      expect([news.all, device.commands]).toEqual([['off'], ['ON', 'OFF', 'OFF']]);
    });

    it('is sent a level that it did not take when it reports again', async () => {
      const { fixture, device, under, news } = await startHeatPump();
      await under.apply('off');
      device.answersCommands = false;
      const applied = under.apply('on');
      for (let sends = 3; sends <= 6; sends += 1) {
        await device.whenCommands(sends);
        while (fixture.clock.waiting().length === 0) await new Promise((turn) => setImmediate(turn));
        await fixture.pass(seconds(5));
      }
      expect(await applied).toMatchObject({ kind: 'unconfirmed' });
      device.answersCommands = true;
      await device.publishState('OFF');
      await news.whenCount(1);
      expect(news.all).toEqual(['on']);
    });

    it('and answers "on" with "off" is not sent it again, also when it repeats its report: the core is told', async () => {
      const { fixture, device, under, news } = await startHeatPump();
      await under.apply('off');
      device.answersCommands = false;
      const applied = under.apply('on');
      await device.whenCommands(3);
      while (fixture.clock.waiting().length === 0) await new Promise((turn) => setImmediate(turn));
      await device.publishState('OFF');
      // Reports pass in order: the first is there before the time is over.
      for (let turn = 0; turn < 20; turn += 1)
        await fixture.broker.publish('end/of/list', `${turn}`, { retain: false });
      await fixture.pass(seconds(5));
      expect(await applied).toMatchObject({ kind: 'unconfirmed', answer: 'off' });
      await device.publishState('OFF');
      await news.whenCount(1);
      expect([news.all, device.commands]).toEqual([['off'], ['ON', 'OFF', 'ON']]);
    });

    // A heat pump that ran on was "off" to the core, which then never switched it off.
    //  commanded while the link is lost
    it.each([[[]], [['off', 'on']]] as const)(
      'and is silent after a lost link (%j) has reported no stop: only "off" is sent',
      async (meanwhile) => {
        const { fixture, device } = await build();
        const { broker, lose, restore } = createBreakableBroker(fixture.broker);
        const config = buildLoad(fixture.tasmota, { type: 'heat-pump' });
        const under = createTestOutput(config, { ...fixture, broker });
        const news = newsOf(under);
        await under.apply('on');
        lose();
        for (const level of meanwhile) expect(await under.apply(level)).toMatchObject({ kind: 'offline' });
        restore();
        // The link is up again once its topics are: commands and reports pass in order.
        for (let turn = 0; turn < 20; turn += 1)
          await fixture.broker.publish('end/of/list', `${turn}`, { retain: false });
        await fixture.pass(minutes(30));
        expect([news.all, device.commands]).toEqual([[], ['ON']]);
        expect(await under.apply('off')).toBeUndefined();
        expect([news.all, device.commands]).toEqual([[], ['ON', 'OFF']]);
      },
    );

    //  fail-safe level  when the links are back  what the core is told
    it.each([
      ['off', ['on', 'off'], ['off']],
      ['on', ['on', 'on'], ['on']],
    ] as const)('and reports no state may have been released (%s) by a lost link', async (failSafe, commands, told) => {
      const { fixture, device } = await build();
      const { broker, lose, restore } = createBreakableBroker(fixture.broker);
      const release = createReleaseLinks(fixture.broker);
      const config = buildLoad(fixture.tasmotaWithoutState, { type: 'heat-pump', failSafe });
      const parts = { ...fixture, broker, createReleaseBroker: release.create };
      const under = createTestOutput(config, parts);
      const news = newsOf(under);
      expect(await under.apply('on')).toBeUndefined();
      await fixture.pass(minutes(10));
      lose();
      restore();
      await news.whenCount(1);
      expect([news.all, device.commands]).toEqual([told, commands.map((level) => level.toUpperCase())]);
    });

    //  what it reports after its return  what the core is told
    it.each([
      ['OFF', ['offline', 'off']],
      [undefined, ['offline']],
      ['ON', ['offline', 'on']],
    ] as const)('was away by its last will and reports %s: nothing is sent', async (state, told) => {
      const availability = { topic: 'tele/car/LWT', online: 'Online', offline: 'Offline' };
      const query = { topic: 'cmnd/car/STATE', payload: '' };
      const { fixture, device, news } = await startHeatPump({ availability, query });
      const queries = createAwaitableList<string>();
      fixture.embedded.onPublish((topic) => {
        if (topic === query.topic) queries.add(topic);
      });
      await fixture.embedded.publish(availability.topic, 'Offline', { retain: true });
      await news.whenCount(1);
      await fixture.embedded.publish(availability.topic, 'Online', { retain: true });
      await queries.whenCount(1);
      if (state !== undefined) await device.publishState(state);
      else await fixture.pass(minutes(30));
      await news.whenCount(told.length);
      expect([news.all, device.commands]).toEqual([told, ['ON']]);
    });
  });

  it('is not fought with: after three times the fault is named, ten minutes later it is tried once more', async () => {
    const { fixture, device } = await buildKnown();
    const under = createTestOutput(buildLoad(fixture.tasmota), fixture);
    await under.open();
    const news = newsOf(under);
    await under.apply('on');
    for (const time of [1, 2, 3]) {
      await device.publishState('OFF');
      await news.whenCount(time);
    }
    await device.publishState('OFF');
    await news.whenCount(4);
    expect(news.all).toEqual(['on', 'on', 'on', 'unconfirmed']);
    expect(device.commands.length).toBe(4);
    await fixture.pass(minutes(10));
    await news.whenCount(5);
    expect(news.all.at(-1)).toBe('on');
    expect(device.commands.length).toBe(5);
  });

  it('gets the release payload and is left alone from then on', async () => {
    const { fixture, device } = await buildKnown();
    const under = createTestOutput(buildLoad({ ...fixture.tasmota, releasePayload: 'AUTO' }), fixture);
    await under.open();
    await under.apply('on');
    await under.release();
    await device.publishState('OFF');
    await under.read();
    expect(device.commands).toEqual(['ON', 'AUTO']);
  });

  it('gets nothing after its release, also while it is being sent on again', async () => {
    const { fixture } = await build();
    const charger = buildMqttOutput({ preset: 'go-e', topic: 'goe/1', amps: 16 });
    if (typeof charger === 'string') throw new Error(charger);
    const under = createTestOutput(buildLoad(charger), fixture);
    const wire = createAwaitableList<string>();
    let released: Promise<unknown> | undefined;
    fixture.embedded.onPublish(async (topic, payload) => {
      if (!topic.endsWith('/set')) return;
      wire.add(`${topic} ${payload}`);
      if (topic === 'goe/1/frc/set') await fixture.embedded.publish('goe/1/frc', payload, { retain: false });
      // Before the broker acknowledges the current of the command that is sent again.
      if (wire.all.length === 3) released = under.release();
    });
    await under.apply('on');
    await fixture.embedded.publish('goe/1/frc', '0', { retain: false });
    await wire.whenCount(4);
    expect(await released).toBe(true);
    for (let turn = 0; turn < 20; turn += 1) await fixture.broker.publish('end/of/list', `${turn}`, { retain: false });
    expect(wire.all).toEqual(['goe/1/amp/set 16', 'goe/1/frc/set 2', 'goe/1/amp/set 16', 'goe/1/frc/set 0']);
  });

  it.each(['always', undefined] as const)('is left alone while another agent has it (press: %s)', async (press) => {
    const { fixture, device } = await buildKnown();
    let other: string | undefined;
    const lease: DeviceLease = { ...FREE_LEASE, otherHolder: () => other };
    const under = createTestOutput(buildLoad({ ...fixture.tasmota, ...(press && { press }) }), {
      ...fixture,
      createLease: () => lease,
    });
    const statuses = createAwaitableList<DeviceStatus>();
    const presses: Level[] = [];
    under.watchDevice?.({
      onStatus: (status) => statuses.add(status),
      onPress: (level) => presses.push(level),
      onMeter: () => {},
    });
    await under.open();
    await under.apply('on');
    await fixture.pass(seconds(10));
    other = 'garage';
    const count = statuses.all.length;
    await device.publishState('OFF');
    await statuses.whenCount(count + 1);
    expect(statuses.all.at(-1)).toMatchObject({ sent: 'on', confirmed: 'off' });
    expect([presses, fixture.logLines, device.commands]).toEqual([[], [], ['ON']]);
    other = undefined;
    await fixture.pass(minutes(11));
    await device.whenCommands(2);
    expect(device.commands).toEqual(['ON', 'ON']);
  });

  it('that is closed while its link comes up gets no link that releases it later', async () => {
    const { fixture } = await build();
    const release = createReleaseLinks(fixture.broker);
    let endAcquire = () => {};
    const acquired = new Promise<void>((resolve) => {
      endAcquire = resolve;
    });
    const lease: DeviceLease = { ...FREE_LEASE, acquire: () => acquired };
    const under = createTestOutput(buildLoad({ ...fixture.tasmota, releasePayload: 'AUTO' }), {
      ...{ ...fixture, createReleaseBroker: release.create, createLease: () => lease },
    });
    const open = under.open();
    await under.close();
    endAcquire();
    await open;
    for (let turn = 0; turn < 20; turn += 1) await fixture.broker.publish('end/of/list', `${turn}`, { retain: false });
    expect(release.events.all).toEqual([]);
  });

  it('is released by the death of the agent that has it, also when another agent has taken it over', async () => {
    const { fixture } = await buildKnown();
    const { embedded, broker } = fixture;
    const [claim, availability] = ['gridtide-owners/cmnd/car/POWER', 'gridtide/cellar/availability'];
    await embedded.publish(claim, 'cellar', { retain: true });
    await embedded.publish(availability, 'online', { retain: true });
    const release = createReleaseLinks(broker);
    const under = createTestOutput(buildLoad({ ...fixture.tasmota, releasePayload: 'AUTO' }), {
      ...{ ...fixture, createReleaseBroker: release.create },
      createLease: (topic) => createDeviceLease(topic, 'garage', broker),
    });
    expect(await under.open()).toMatchObject({ kind: 'busy' });
    expect(release.events.all).toEqual([]);
    await embedded.publish(availability, 'offline', { retain: true });
    await release.events.whenCount(1);
    await embedded.publish(claim, 'cellar', { retain: true });
    await release.events.whenCount(2);
    expect(release.events.all).toEqual(['start', 'stop']);
  });

  it('is not called released while the broker is away', async () => {
    const { fixture } = await buildKnown();
    const under = createTestOutput(buildLoad({ ...fixture.tasmota, releasePayload: 'AUTO' }), fixture);
    await under.open();
    await fixture.broker.stop();
    expect(await under.release()).toMatchObject({ kind: 'offline' });
  });

  it('that repeats its state is named once it is silent, and well again with its next report', async () => {
    const { fixture, device } = await buildKnown();
    const under = createTestOutput(buildLoad({ ...fixture.tasmota, stateMaxAge: seconds(120) }), fixture);
    await under.open();
    const news = newsOf(under);
    await under.apply('on');
    await fixture.pass(seconds(121));
    await news.whenCount(1);
    expect(await under.read()).toBeUndefined();
    await device.publishState('ON');
    await news.whenCount(2);
    expect(news.all).toEqual(['offline', 'on']);
  });

  it('without a broker fails at once and keeps the level for later', async () => {
    const { fixture } = await build();
    await fixture.broker.stop();
    const failure = await createTestOutput(buildLoad(fixture.tasmota), fixture).apply('on');
    expect(failure).toMatchObject({ kind: 'offline' });
  });

  it('is never sent an empty payload', async () => {
    const { fixture } = await build();
    const under = createTestOutput(buildLoad({ ...fixture.tasmota, offPayload: '' }), fixture);
    await expect(under.apply('off')).rejects.toThrow('an empty MQTT payload is no command');
  });
});

describe('the word of a device', () => {
  const plain: MqttOutputConfig = {
    kind: 'mqtt',
    preset: 'custom',
    commandTopic: 'c',
    onPayload: 'ON',
    offPayload: 'OFF',
  };
  const shelly = { ...plain, statePath: 'output', stateOn: 'true', stateOff: 'false' };
  const openevse = { ...plain, statePath: 'state', stateOn: 'active', stateOff: 'disabled' };
  const goe = { ...plain, statePath: 'a.frc', stateOn: '2', stateOff: '1' };
  //  options  payload                       level
  const rows: readonly (readonly [MqttOutputConfig, string, DeviceReading | undefined])[] = [
    [plain, 'ON', 'on'],
    [plain, ' OFF\n', 'off'],
    [plain, 'on', 'other'],
    [plain, '', undefined],
    [shelly, '{"id":0,"output":true}', 'on'],
    [shelly, '{"id":0,"output":false}', 'off'],
    [shelly, '{"id":0}', undefined],
    [shelly, '{"output":{"deep":true}}', undefined],
    [shelly, 'no JSON', undefined],
    [shelly, 'null', 'other'],
    [openevse, '{"state":"active"}', 'on'],
    [openevse, '{"state":"null"}', 'other'],
    [openevse, '{"state":null}', 'other'],
    [openevse, 'null', 'other'],
    [goe, '{"a":{"frc":2}}', 'on'],
    [goe, '{"a":{"frc":"1"}}', 'off'],
    [goe, '{"a":{"frc":0}}', 'other'],
    [{ ...plain, statePath: '__proto__.toString' }, '{}', undefined],
    [{ ...plain, statePath: 'constructor' }, '{}', undefined],
    [plain, `ON${' '.repeat(16_384)}`, undefined],
  ];
  it.each(rows)('row %#', (options, payload, level) =>
    expect(parseDeviceState(Buffer.from(payload), options)).toBe(level),
  );
});

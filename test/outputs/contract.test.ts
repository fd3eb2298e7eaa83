/** What every kind of output promises, shown on each: dry run, relay and SG-Ready over dry lines, an MQTT device on the embedded broker, devices over HTTP. */

import { afterEach, describe, expect, it } from 'vitest';
import type { Level, OutputConfig } from '../../src/domain/load-types.ts';
import { isOutputFailure, type Output } from '../../src/outputs/output.ts';
import { createHttp } from '../../src/platform/http-client.ts';
import { createSimulatedLines } from '../../src/simulation/simulated-lines.ts';
import { HOME_ASSISTANT_TOKEN, startFakeHomeAssistant } from '../doubles/fake-home-assistant.ts';
import { startScriptedService } from '../doubles/scripted-service.ts';
import {
  buildLoad,
  createOfflineParts,
  createOutputFixture,
  createTestOutput,
  type OutputFixture,
} from './output-fixture.ts';

const fixtures: OutputFixture[] = [];
const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const one of fixtures.splice(0)) await one.close();
  for (const stop of stops.splice(0).reverse()) await stop();
});

interface Kind {
  readonly name: string;
  readonly levels: readonly Level[];
  readonly make: () => Promise<Output>;
}

const mqtt = async () => {
  const here = await createOutputFixture();
  fixtures.push(here);
  here.addDevice('cmnd/car/POWER', 'stat/car/POWER');
  await here.embedded.publish('stat/car/POWER', 'OFF', { retain: true });
  return createTestOutput(buildLoad(here.tasmota), here);
};

/** SG-Ready over two switches on MQTT. */
const switches = async () => {
  const here = await createOutputFixture();
  fixtures.push(here);
  const build = (name: string) => ({
    ...here.tasmota,
    commandTopic: `cmnd/${name}/POWER`,
    stateTopic: `stat/${name}/POWER`,
  });
  for (const { commandTopic, stateTopic } of [build('a'), build('b')]) {
    here.addDevice(commandTopic, stateTopic);
    await here.embedded.publish(stateTopic, 'OFF', { retain: true });
  }
  return createTestOutput(buildLoad({ kind: 'sg-ready', switches: [build('a'), build('b')] }), here);
};

const overHttp = async (output: OutputConfig) => {
  const http = createHttp();
  stops.push(() => http.close());
  return createTestOutput(buildLoad(output), {
    ...createOfflineParts(),
    web: { http, secrets: { read: async () => HOME_ASSISTANT_TOKEN } },
  });
};

const homeAssistant = async () => {
  const house = await startFakeHomeAssistant({ 'switch.car': { state: 'off' } });
  stops.push(() => house.close());
  const entity = { entity: 'switch.car', onState: 'on', offState: 'off' };
  return overHttp({ kind: 'home-assistant', url: house.url, tokenFile: 'token', allowsPlainHttp: false, ...entity });
};

const httpDevice = async () => {
  let state = 'off';
  const device = await startScriptedService(({ path }) => {
    state = path === '/state' ? state : path.slice(1);
    return { body: state };
  });
  stops.push(() => device.close());
  const call = (path: string) => ({ method: 'POST', url: `${device.url}/${path}` }) as const;
  const reads = { url: `${device.url}/state`, on: 'on', off: 'off' };
  return overHttp({
    kind: 'http',
    on: call('on'),
    off: call('off'),
    state: reads,
    headers: {},
    allowsPlainHttp: false,
  });
};

const overPins = async (config: Parameters<typeof buildLoad>[0]) =>
  createTestOutput(buildLoad(config), { ...createOfflineParts(), pins: createSimulatedLines() });

const kinds: readonly Kind[] = [
  { name: 'dry run', levels: ['on', 'off'], make: () => overPins({ kind: 'dry-run', as: 'relay' }) },
  {
    name: 'dry run of SG-Ready',
    levels: ['block', 'force'],
    make: () => overPins({ kind: 'dry-run', as: 'sg-ready' }),
  },
  { name: 'relay', levels: ['on', 'off'], make: () => overPins({ kind: 'relay', pin: 17, activeLow: false }) },
  {
    name: 'relay, active low',
    levels: ['on', 'off'],
    make: () => overPins({ kind: 'relay', pin: 17, activeLow: true }),
  },
  {
    name: 'SG-Ready',
    levels: ['normal', 'block', 'recommend', 'force'],
    make: () => overPins({ kind: 'sg-ready', pins: [17, 27], activeLow: false }),
  },
  {
    name: 'SG-Ready, active low',
    levels: ['force', 'normal', 'block', 'recommend'],
    make: () => overPins({ kind: 'sg-ready', pins: [17, 27], activeLow: true }),
  },
  { name: 'MQTT device with a state', levels: ['on', 'off'], make: mqtt },
  { name: 'entity of Home Assistant', levels: ['on', 'off'], make: homeAssistant },
  { name: 'device over HTTP', levels: ['on', 'off'], make: httpDevice },
  { name: 'SG-Ready over MQTT', levels: ['normal', 'block', 'recommend', 'force'], make: switches },
];

describe.each(kinds)('$name', ({ levels, make }) => {
  it('opens, takes each level and reads it back', async () => {
    const under = await make();
    expect(isOutputFailure(await under.open())).toBe(false);
    for (const level of [...levels, ...levels.toReversed()]) {
      expect(await under.apply(level)).toBeUndefined();
      expect(await under.read()).toBe(level);
    }
    await under.close();
  });

  it('takes the same level twice', async () => {
    const under = await make();
    await under.open();
    for (const level of levels.slice(0, 1)) {
      expect(await under.apply(level)).toBeUndefined();
      expect(await under.apply(level)).toBeUndefined();
      expect(await under.read()).toBe(level);
    }
    await under.close();
  });

  it('takes a level also when nobody opened it before', async () => {
    const under = await make();
    for (const level of levels.slice(0, 1)) expect(isOutputFailure(await under.apply(level))).toBe(false);
    await under.close();
  });

  it('may be released and closed at any time, twice', async () => {
    const under = await make();
    await under.open();
    await under.release();
    await under.close();
    await under.close();
  });
});

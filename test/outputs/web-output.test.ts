/** Devices over HTTP: what each level sends, when a state counts as confirmed, and the sentence of each bad day. */

import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../src/config/parse-config.ts';
import { listLowerCurrents } from '../../src/domain/currents.ts';
import type { Level } from '../../src/domain/load-types.ts';
import { addDuration, hours, minutes, seconds } from '../../src/domain/units.ts';
import type { DeviceStatus, MeterReading, OutputFailure } from '../../src/outputs/output.ts';
import { createHttp } from '../../src/platform/http-client.ts';
import { createAwaitableList } from '../doubles/awaitable-list.ts';
import {
  type FakeHomeAssistant,
  HOME_ASSISTANT_TOKEN,
  startFakeHomeAssistant,
} from '../doubles/fake-home-assistant.ts';
import { type ScriptedRequest, type ScriptedResponse, startScriptedService } from '../doubles/scripted-service.ts';
import { afterTest } from '../doubles/stop-after-test.ts';
import { buildLoad, createOfflineParts, createTestOutput } from './output-fixture.ts';

/** The output of a configuration, as the file has it. */
function readOutput(yaml: string) {
  const read = parseConfig(`
device: cellar
place: {latitude: 38.5, longitude: -122, timezone: UTC}
service: {url: "http://127.0.0.1:1", usernameFile: u, passwordFile: p}
loads:
  car:
    type: ev
    output: ${yaml}
`);
  if (!read.ok) throw new Error(read.mistakes.join('\n'));
  const [load] = read.config.loads;
  if (load === undefined) throw new Error('no load');
  return load.output;
}

async function open(yaml: string) {
  const parts = createOfflineParts();
  const http = createHttp();
  afterTest(() => http.close());
  const files = { token: HOME_ASSISTANT_TOKEN };
  const secrets = { read: async () => files.token };
  const output = createTestOutput(buildLoad(readOutput(yaml)), { ...parts, web: { http, secrets } });
  afterTest(() => output.close());
  const news = createAwaitableList<Level | OutputFailure>();
  const presses = createAwaitableList<Level>();
  const readings = createAwaitableList<MeterReading>();
  let status: DeviceStatus = {};
  output.watch((one) => news.add(one));
  output.watchDevice?.({
    onStatus: (one) => {
      status = one;
    },
    onPress: (level) => presses.add(level),
    onMeter: (reading) => readings.add(reading),
  });
  const pass = (time: ReturnType<typeof seconds>) => parts.clock.runUntil(addDuration(parts.clock.now().wall, time));
  /** Moves the time on until the promise has ended: its waits are for answers that come in real time. */
  const settle = async <Value>(work: Promise<Value>): Promise<Value> => {
    let isDone = false;
    void work.finally(() => {
      isDone = true;
    });
    while (!isDone) {
      await new Promise((turn) => setImmediate(turn));
      if (parts.clock.waiting().some((name) => name.startsWith('report of'))) await pass(seconds(1));
    }
    return work;
  };
  return { output, news, presses, readings, files, pass, settle, status: () => status };
}

const start = async (entities: Parameters<typeof startFakeHomeAssistant>[0]) => {
  const house = await startFakeHomeAssistant(entities);
  afterTest(() => house.close());
  return house;
};
const entityOf = ({ url }: FakeHomeAssistant, entity: string, more = '') =>
  `{kind: home-assistant, url: "${url}", tokenFile: token, entity: ${entity}${more}}`;

describe('an entity of Home Assistant', () => {
  //  entity                   states of the configuration                 on            off
  const kinds: readonly (readonly [string, string, string, string])[] = [
    ['switch.car', '', 'switch.turn_on on', 'switch.turn_off off'],
    ['input_boolean.car', '', 'input_boolean.turn_on on', 'input_boolean.turn_off off'],
    ['select.mode', ', onState: Fast, offState: Stop', 'select.select_option Fast', 'select.select_option Stop'],
    ['input_select.mode', ', onState: A, offState: B', 'input_select.select_option A', 'input_select.select_option B'],
    ['number.amps', ', onState: 16, offState: 0', 'number.set_value 16.0', 'number.set_value 0.0'],
    ['input_number.amps', ', onState: 10.5, offState: 0', 'input_number.set_value 10.5', 'input_number.set_value 0.0'],
  ];
  it.each(kinds)('%s%s', async (entity, states, on, off) => {
    const house = await start({ [entity]: { state: 'unknown' } });
    const { output } = await open(entityOf(house, entity, states));
    expect(await output.open()).toEqual({});
    for (const [level, expected] of [
      ['on', on],
      ['off', off],
    ] as const) {
      expect(await output.apply(level)).toBeUndefined();
      expect(`${house.actions.at(-1)} ${house.entities.get(entity)?.state}`).toBe(expected);
      expect(await output.read()).toBe(level);
    }
    expect(house.actions.length).toBe(2);
  });

  it('lowers a number that is a current, which counts once Home Assistant reports it', async () => {
    const house = await start({ 'number.amps': { state: '0' } });
    const yaml = entityOf(house, 'number.amps', ', amps: 16, offState: 0');
    expect(listLowerCurrents({ output: readOutput(yaml) }).map(({ amps, of }) => `${amps} of ${of}`)).toEqual(
      [6, 7, 8, 9, 10, 11, 12, 13, 14, 15].map((amps) => `${amps} of 16`),
    );
    const { output, settle, status } = await open(yaml);
    for (const [current, state] of [
      [undefined, '16.0'],
      [{ amps: 8, of: 16 }, '8.0'],
      [undefined, '16.0'],
    ] as const) {
      expect(await output.apply('on', current)).toBeUndefined();
      expect([house.entities.get('number.amps')?.state, await output.read()]).toEqual([state, 'on']);
    }
    house.integration = 'ignores';
    expect(await settle(output.apply('on', { amps: 6, of: 16 }))).toMatchObject({ kind: 'unconfirmed' });
    // It draws, at the current that it had.
    expect(status()).toMatchObject({ sent: 'on', confirmed: 'on' });
    await output.close();
    house.entities.set('number.amps', { state: '10.0' });
    expect(await (await open(yaml)).output.open()).toEqual({ level: 'on' });
  });

  it('gives its meter in the units that Home Assistant tells, and its plug', async () => {
    const house = await start({
      'switch.car': { state: 'off' },
      'sensor.power': { state: '3500', unit: 'W' },
      'sensor.energy': { state: '12.5', unit: 'MWh' },
      'binary_sensor.plug': { state: 'on' },
    });
    const more = ', powerEntity: sensor.power, energyEntity: sensor.energy, plugEntity: binary_sensor.plug';
    const { output, readings, status } = await open(entityOf(house, 'switch.car', more));
    expect(await output.open()).toEqual({ level: 'off' });
    expect(readings.all.at(-1)).toEqual({ power: 3.5, energy: 12_500 });
    expect(status()).toMatchObject({ confirmed: 'off', available: true, vehicle: { connected: true } });
  });

  it('is set back when it leaves its level by itself, and is left alone when a person switched it', async () => {
    const house = await start({ 'switch.car': { state: 'off' } });
    const { output, presses, news, pass } = await open(entityOf(house, 'switch.car'));
    await output.open();
    await output.apply('off');
    house.entities.set('switch.car', { state: 'on', user: null });
    await pass(minutes(1));
    await news.whenCount(1);
    expect([house.actions, news.all]).toEqual([['switch.turn_off', 'switch.turn_off'], ['off']]);
    await pass(minutes(1));
    house.entities.set('switch.car', { state: 'on', user: 'a-person' });
    await pass(minutes(1));
    await presses.whenCount(1);
    expect([presses.all, house.actions.length]).toEqual([['on'], 2]);
  });

  it('that is unavailable is named once, and gets its level when it is back', async () => {
    const house = await start({ 'switch.car': { state: 'on' } });
    const { output, news, pass, status } = await open(entityOf(house, 'switch.car'));
    await output.open();
    await output.apply('on');
    house.entities.set('switch.car', { state: 'unavailable' });
    await pass(minutes(1));
    await news.whenCount(1);
    expect(news.all[0]).toMatchObject({ kind: 'offline' });
    expect(status()).toEqual({ sent: 'on', available: false });
    house.entities.set('switch.car', { state: 'off' });
    await pass(minutes(1));
    await news.whenCount(2);
    expect(news.all.at(-1)).toBe('on');
    expect(house.entities.get('switch.car')?.state).toBe('on');
  });

  it('a restart of Home Assistant is no news before its second lost answer, and the level is there again after it', async () => {
    const house = await start({ 'switch.car': { state: 'on' } });
    const { output, news, pass } = await open(entityOf(house, 'switch.car'));
    await output.open();
    await output.apply('on');
    house.isDown = true;
    await pass(minutes(1));
    while (house.requests.length < 4) await new Promise((turn) => setImmediate(turn));
    expect(news.all).toEqual([]);
    await pass(seconds(10));
    await news.whenCount(1);
    expect(news.all[0]).toMatchObject({
      kind: 'offline',
      detail: expect.stringMatching(/the server closed the connection/),
    });
    house.isDown = false;
    house.entities.set('switch.car', { state: 'off' });
    await pass(minutes(1));
    await news.whenCount(2);
    expect([news.all.at(-1), house.entities.get('switch.car')?.state]).toEqual(['on', 'on']);
  });

  const badDays: readonly (readonly [string, (house: FakeHomeAssistant) => string, RegExp])[] = [
    [
      'an entity that does not exist',
      (house) => entityOf(house, 'switch.cat'),
      /has no entity switch\.cat: correct its name/,
    ],
    [
      'an integration that fails',
      (house) => {
        house.integration = 'fails';
        return entityOf(house, 'switch.car');
      },
      /failed at the device \(500\): see its log/,
    ],
    [
      'an entity that ignores its command',
      (house) => {
        house.integration = 'ignores';
        return entityOf(house, 'switch.car');
      },
      /was sent on 4 times and reports off \(switch\.car of http:\/\/127/,
    ],
    [
      'something else at the address',
      (house) => entityOf({ ...house, url: `${house.url}/other` }, 'switch.car'),
      /what answers at .*\/other is not the API of Home Assistant/,
    ],
  ];
  it.each(badDays)('%s: one sentence', async (_, arrange, sentence) => {
    const house = await start({ 'switch.car': { state: 'off' } });
    const { output, settle } = await open(arrange(house));
    const failure = await settle(output.apply('on'));
    expect(failure?.detail).toMatch(sentence);
  });

  it('a refused token is sent once an hour, and a new one at once', async () => {
    const house = await start({ 'switch.car': { state: 'off' } });
    const { output, files, pass } = await open(entityOf(house, 'switch.car'));
    files.token = 'expired';
    const failure = await output.apply('on');
    expect(failure).toMatchObject({ kind: 'forbidden' });
    expect(failure?.detail).toMatch(/was refused \(401\): write a valid token into token/);
    for (let minute = 0; minute < 30; minute += 1) await output.apply('on');
    expect(house.refusedTokens).toBe(1);
    await pass(hours(1));
    await output.apply('on');
    expect(house.refusedTokens).toBe(2);
    files.token = HOME_ASSISTANT_TOKEN;
    expect(await output.apply('on')).toBeUndefined();
    files.token = 'two\nlines';
    expect((await output.apply('off'))?.detail).toMatch(/holds more than one line/);
  });
});

describe('a device with addresses of its own', () => {
  /** A relay as the first Shelly answers: GET switches, and its page tells the state. */
  async function startRelay(answer?: (request: ScriptedRequest) => ScriptedResponse | undefined) {
    const relay = { isOn: false };
    const service = await startScriptedService((request) => {
      const own = answer?.(request);
      if (own !== undefined) return own;
      const turn = request.query.get('turn');
      if (turn !== null) relay.isOn = turn === 'on';
      return { body: JSON.stringify({ ison: relay.isOn, power: 1_500, meters: [{ total: 2_000 }] }) };
    });
    afterTest(() => service.close());
    return { relay, service };
  }
  const build = (url: string) => `
      kind: http
      on: {url: "${url}/relay/0?turn=on"}
      off: {url: "${url}/relay/0?turn=off"}
      state: {url: "${url}/relay/0", path: ison, on: true, off: false, powerPath: power, energyPath: meters.0.total, energyUnit: Wh}`;

  it('is switched, read and metered', async () => {
    const { relay, service } = await startRelay();
    const { output, readings, status } = await open(build(service.url));
    expect(await output.open()).toEqual({ level: 'off' });
    expect(await output.apply('on')).toBeUndefined();
    expect([relay.isOn, await output.read(), status().confirmed]).toEqual([true, 'on', 'on']);
    expect(readings.all.at(-1)).toEqual({ power: 1.5, energy: 2 });
  });

  it('gets method, headers, token and body as they are configured, and one release', async () => {
    const { service } = await startRelay();
    const { output } = await open(`
      kind: http
      on: {url: "${service.url}/override", body: '{"state":"active"}'}
      off: {url: "${service.url}/override", method: PUT, body: "stop"}
      release: {url: "${service.url}/release", method: POST}
      headers: {X-Site: cellar}
      tokenFile: token
      tokenHeader: X-Api-Key`);
    expect(await output.open()).toEqual({});
    await output.apply('on');
    await output.apply('off');
    expect(await output.release()).toBe(true);
    expect(
      service.requests.map(({ method, path, body, headers }) => [method, path, body, headers['content-type']]),
    ).toEqual([
      ['POST', '/override', '{"state":"active"}', 'application/json'],
      ['PUT', '/override', 'stop', 'text/plain; charset=utf-8'],
      ['POST', '/release', '', undefined],
    ]);
    for (const { headers } of service.requests)
      expect([headers['x-site'], headers['x-api-key'], headers.authorization]).toEqual([
        'cellar',
        HOME_ASSISTANT_TOKEN,
        undefined,
      ]);
  });

  const refusals: readonly (readonly [string, ScriptedResponse, OutputFailure['kind'], RegExp])[] = [
    [
      'a redirect',
      { status: 302, headers: { location: '/login' } },
      'io',
      /answered with 302: it redirects, which is not followed/,
    ],
    ['a missing login', { status: 401 }, 'forbidden', /was refused \(401\): it wants a token: give tokenFile/],
    ['an unknown path', { status: 404 }, 'io', /answered with 404: check address and body/],
    ['a failing device', { status: 503 }, 'io', /failed at the device \(503\)/],
    ['an endless answer', { body: 'x'.repeat(2 ** 20 + 1) }, 'io', /is too large/],
    ['a page in place of the state', { body: '<html>' }, 'io', /has no value at ison: correct state\.path/],
    ['a broken connection', (response) => response.socket?.destroy(), 'offline', /check the address, the power/],
  ];
  it.each(refusals)('%s: one sentence', async (_, response, kind, sentence) => {
    const { service } = await startRelay(() => response);
    const { output } = await open(build(service.url));
    const failure = await output.open();
    expect(failure).toMatchObject({ kind });
    expect((failure as OutputFailure).detail).toMatch(sentence);
  });
});

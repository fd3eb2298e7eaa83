/** The commands check, why and test as an owner meets them: before the agent runs, while it runs, and after. */

import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDocumentStore } from '../../src/agent/document-store.ts';
import { createPersistence, getRestart } from '../../src/agent/persistence.ts';
import * as check from '../../src/cli/agent/check.ts';
import * as runAgent from '../../src/cli/agent/run.ts';
import * as test from '../../src/cli/agent/test.ts';
import * as why from '../../src/cli/agent/why.ts';
import * as plan from '../../src/cli/lab/plan.ts';
import * as map from '../../src/cli/service/map.ts';
import type { CommandModule } from '../../src/cli/shared/command.ts';
import { PLACEHOLDER_URL } from '../../src/config/example-config.ts';
import { createInitialState, step } from '../../src/control/step.ts';
import { days, hours, type Instant, minutes, subtractDuration, type Uptime } from '../../src/domain/units.ts';
import { readBootId } from '../../src/platform/boot-id.ts';
import { createFileDisk } from '../../src/platform/file-disk.ts';
import { createScaledClock, createSystemClock } from '../../src/platform/system-clock.ts';
import { createReferenceService, type ReferenceService } from '../../src/reference/reference-service.ts';
import { heatingLoad } from '../control/control-setup.ts';
import { HOME_ASSISTANT_TOKEN, startFakeHomeAssistant } from '../doubles/fake-home-assistant.ts';
import { describeWithMosquitto, type Mosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { startMqttSpy } from '../doubles/mqtt-spy.ts';
import { runCommand } from '../doubles/run-command.ts';
import { startScriptedService } from '../doubles/scripted-service.ts';
import { afterTest, stopAfterTest } from '../doubles/stop-after-test.ts';
import { TWO_REGIONS } from '../region/map-texts.ts';
import { importText } from '../region/region-setup.ts';

let folder = '';
let reference: ReferenceService;
let url = '';
const file = (name: string) => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gridtide-hand-'));
  const accounts = (['free', 'pro'] as const).map((plan) => ({ username: plan, password: 'pass-word1', plan }));
  reference = await createReferenceService({ seed: 7, accounts, clock: () => Date.now() });
  ({ url } = await reference.listen());
  for (const plan of ['free', 'pro']) await writeFile(file(plan), `${plan}\n`, { mode: 0o600 });
  await writeFile(file('password'), 'pass-word1\n', { mode: 0o600 });
  await writeFile(file('open'), 'pass-word1\n');
  await chmod(file('open'), 0o644);
  await writeFile(file('two-lines'), 'pass-word1\n\n', { mode: 0o600 });
  await writeFile(file('marked'), '\uFEFFpass-word1\n', { mode: 0o600 });
  await mkdir(file('state-of-all'));
  await chmod(file('state-of-all'), 0o777);
  await writeFile(file('wrong'), 'pass-word2\n', { mode: 0o600 });
});
afterAll(async () => {
  await reference.close();
  await rm(folder, { recursive: true, force: true });
});

interface ConfigOptions {
  readonly service?: string;
  readonly place?: string;
  readonly username?: string;
  readonly password?: string;
  readonly ca?: string;
  readonly mqtt?: string;
  readonly tariff?: string;
  readonly loads?: string;
  readonly state?: string;
}

const RELAY = '  pump: {type: generic, output: {kind: relay, pin: 17}}';
let configs = 0;

async function writeConfig(options: ConfigOptions = {}): Promise<string> {
  const {
    service = url,
    place = '{latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}',
    username = 'pro',
    password = 'password',
    ca,
    mqtt,
    tariff,
    loads = '  lamp: {type: generic, output: {kind: dry-run}, minOn: 0s, minOff: 0s}',
    state = `state-${++configs}`,
  } = options;
  const path = file(`house-${configs}-${state}.yaml`.replaceAll('/', '-'));
  const lines = [
    'device: cellar',
    `state: ${state}`,
    'logLevel: error',
    `place: ${place}`,
    `service: {url: "${service}", usernameFile: ${username}, passwordFile: ${password}${ca === undefined ? '' : `, ca: ${ca}`}}`,
    ...(mqtt === undefined ? [] : [`mqtt: {url: "${mqtt}"}`]),
    ...(tariff === undefined ? [] : [`tariff: ${tariff}`]),
    'loads:',
    loads,
  ];
  await writeFile(path, lines.join('\n'));
  return path;
}

const run = (command: CommandModule, config: string, line = '', stop?: AbortSignal) =>
  runCommand(command, [...line.split(' ').filter(Boolean), '--config', config], {
    env: { HOME: folder },
    ...(stop === undefined ? {} : { stop }),
  });

describe('gridtide check', () => {
  it('finds nothing wrong with a good house, and says what the plan includes and where it is', async () => {
    const { code, out } = await run(check, await writeConfig());
    expect(out).toMatch(/^ok +service: the account includes the forecast and the live index of CAISO_NORTH$/m);
    expect(out).toMatch(/^ok +place: CAISO_NORTH, California ISO North, according to the service$/m);
    expect([code, out.includes('no problems')]).toEqual([0, true]);
  });

  //  a configuration that is not read    words
  const unreadable: readonly (readonly [string, string])[] = [
    ['none.yaml', 'there is no such file; gridtide init writes one'],
    ['.', 'it is a directory; name a file'],
  ];
  it.each(unreadable)('%s', async (name, words) => expect((await run(check, file(name))).err).toContain(words));

  it('notes that a service on this machine is set to another time, and how to join it', async () => {
    const accounts = [{ username: 'pro', password: 'pass-word1', plan: 'pro' as const }];
    const past = await createReferenceService({
      seed: 7,
      accounts,
      clock: () => subtractDuration(Date.now() as Instant, days(30)),
    });
    afterTest(() => past.close());
    const { code, out } = await run(check, await writeConfig({ service: (await past.listen()).url }));
    expect(out).toMatch(
      /^note +clock: this machine's clock is 30d ahead of the service that runs on it: gridtide run --now TIME/m,
    );
    expect(code).toBe(0);
  });

  //  what is wrong                house                                     place of it              words
  const rows: readonly (readonly [string, ConfigOptions, string, RegExp])[] = [
    ['a password others can read', { password: 'open' }, 'service.passwordFile', /mode 644.*chmod 600/],
    ['the address of the example', { service: PLACEHOLDER_URL }, 'service.url', /is a placeholder: write the address/],
    ['a password file that is missing', { password: 'none' }, 'service.passwordFile', /cannot be read/],
    ['a password and a blank line', { password: 'two-lines' }, 'service.passwordFile', /holds more than a line/],
    ['a password after a mark', { password: 'marked' }, 'service.passwordFile', /no byte order mark/],
    ['an authority that is none', { ca: 'pro' }, 'service.ca', /holds no certificate/],
    ['a wrong password', { password: 'wrong' }, 'service', /rejected the credentials/],
    [
      'a file of prices that is missing',
      { tariff: '{currency: USD, file: none.csv}' },
      'tariff.file',
      /cannot be read/,
    ],
    ['a file of prices with none in it', { tariff: '{currency: USD, file: pro}' }, 'tariff.file', /have no line such/],
    ['nobody at the broker', { mqtt: 'mqtt://127.0.0.1:1' }, 'mqtt.url', /no broker answers/],
    ['a state directory in a file', { state: 'pro' }, 'state', /pro is not a directory: give another --state/],
    [
      'the sea',
      { place: '{latitude: 0, longitude: 0, timezone: UTC}' },
      'place',
      /no region of the service covers this place/,
    ],
    [
      'a zone on the other side of the world',
      { place: '{latitude: 38.5, longitude: -122.0, timezone: Asia/Tokyo}' },
      'place.timezone',
      /9 h from Greenwich/,
    ],
    [
      'a relay where there is no board',
      { loads: RELAY },
      'loads.pump.output.pin',
      /no line can be switched|chip is not found|may not be written/,
    ],
    [
      'two contacts where there is no board',
      { loads: '  heating: {type: heat-pump, powerKw: 2, output: {kind: sg-ready, pins: [17, 27]}}' },
      'loads.heating.output.pins',
      /no line can be switched|chip is not found|may not be written/,
    ],
    ['a state directory that others may write', { state: 'state-of-all' }, 'state', /others may write it \(mode 777\)/],
  ];
  it.each(rows)('%s', async (_, options, at, words) => {
    const { code, out } = await run(check, await writeConfig(options), '--json');
    const { ok, findings } = JSON.parse(out);
    const found = findings.filter((one: { state: string }) => one.state === 'wrong');
    expect(found.map((one: { at: string }) => one.at).filter((one: string) => one === at)).toEqual([at]);
    expect(found.find((one: { at: string }) => one.at === at).text).toMatch(words);
    expect([code, ok]).toEqual([1, false]);
  });

  it('calls no interface good that reaches none of the lines', async () => {
    const { out } = await run(check, await writeConfig({ loads: RELAY }), '--offline');
    expect(out).toMatch(/^note +gpio: .*: it reaches none of the configured lines\nWRONG +loads\.pump\.output\.pin: /m);
  });

  it('tells a plan that opens the live index alone, and is content with it', async () => {
    const { code, out } = await run(
      check,
      await writeConfig({ username: 'free', place: '{latitude: 39.75, longitude: -105, timezone: America/Denver}' }),
    );
    expect(out).toMatch(/the account includes the live index of PSCO$/m);
    expect(out).toMatch(/^note +service: the account does not include the forecast of PSCO/m);
    expect(code).toBe(0);
  });

  it.each(['free', 'pro'] as const)(
    'finds nothing wrong with a %s account of a service that lists two endpoints alone and answers with pages',
    async (plan) => {
      const accounts = [{ username: plan, password: 'pass-word1', plan }];
      const published = await createReferenceService({
        seed: 7,
        accounts,
        profile: 'published',
        clock: () => Date.now(),
      });
      afterTest(() => published.close());
      const { url: service } = await published.listen();
      const place = '{latitude: 39.75, longitude: -105, timezone: America/Denver}';
      const { code, out } = await run(check, await writeConfig({ service, username: plan, place }));
      expect(out).toMatch(
        plan === 'pro'
          ? /^ok +service: the account includes the forecast and the live index of PSCO$/m
          : /^note +service: the account does not include the forecast of PSCO/m,
      );
      expect(code).toBe(0);
    },
  );

  it('finds the place in the map held, and asks whether a sign is lost', async () => {
    const state = 'state-with-map';
    const config = await writeConfig({ state });
    expect((await run(map, config, 'update')).code).toBe(0);
    expect((await run(check, config, '--offline')).out).toMatch(
      /^ok +place: CAISO_NORTH, California ISO North\nok +map: of 2026-03-01, requested 0 days ago$/m,
    );
    // With a map the place does not leave the device.
    const online = (await run(check, config)).out;
    expect(online).toMatch(/the account includes the forecast and the live index of CAISO_NORTH$/m);
    expect(online).not.toContain('according to the service');
    const lost = await writeConfig({ state, place: '{latitude: 38.5, longitude: 122.0, timezone: Asia/Shanghai}' });
    const { code, out } = await run(check, lost, '--offline');
    expect([code, out]).toEqual([1, expect.stringMatching(/longitude -122 would be CAISO_NORTH: is the sign/)]);
  });

  it('tells how far the next region is where no number seems to be mistaken, and that it is no answer', async () => {
    const state = 'state-with-islands';
    await importText(TWO_REGIONS, { disk: createFileDisk(file(state)) });
    const near = await writeConfig({ state, place: '{latitude: 5, longitude: 20.02, timezone: Europe/Athens}' });
    const { code, out } = await run(check, near, '--offline');
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(
        /^WRONG +place: .* in no region of the map; the nearest is EAST, 2\.2 km away: check both numbers$/m,
      ),
    ]);
    const far = await writeConfig({ state, place: '{latitude: -60, longitude: 45, timezone: Europe/Moscow}' });
    expect((await run(check, far, '--offline')).out).toMatch(/the nearest is EAST, \d{4} km away: check both/);
  });

  it('finds a map old that nobody has asked for in a month, and not one that stayed the same', async () => {
    const config = await writeConfig({ state: 'state-with-old-map' });
    const disk = createFileDisk(file('state-with-old-map'));
    const daysAgo = (n: number) => subtractDuration(Date.now() as Instant, days(n));
    await importText(TWO_REGIONS, { disk, now: daysAgo(80.5) });
    const runCheck = async () => (await run(check, config, '--offline')).out;
    expect(await runCheck()).toMatch(/^note +map: of 2026-03-01, requested 80 days ago; the agent requests/m);
    const store = createDocumentStore(disk, () => {});
    await store.save('region', new TextEncoder().encode(JSON.stringify({ checkedAt: daysAgo(2.5) })));
    expect(await runCheck()).toMatch(/^ok +map: of 2026-03-01, requested 2 days ago$/m);
  });

  it('asks nobody with --offline', async () => {
    const { code, out } = await run(check, await writeConfig({ password: 'wrong' }), '--offline');
    expect([code, out]).toEqual([0, expect.stringMatching(/^- +service: not contacted/m)]);
  });

  it('tells missing credentials once', async () => {
    const { out } = await run(check, await writeConfig({ username: 'none', password: 'none2' }));
    expect(out.match(/^WRONG .*$/gm)).toHaveLength(2);
    expect(out).toMatch(/^- +service: not contacted: first mend service.usernameFile and service.passwordFile$/m);
    expect(out).toMatch(/^note +service: without an account: .* gridtide account register --config FILE/m);
  });

  it('mistakes in the file are told all at once, with exit 2, also as JSON', async () => {
    const config = await writeConfig({ loads: '  lamp: {type: lamp, output: {kind: relay}}' });
    const { code, err } = await run(check, config);
    expect([code, err.split('\n').length]).toEqual([2, 2]);
    const json = await run(check, config, '--json');
    expect([json.code, JSON.parse(json.out).findings.length]).toEqual([2, 2]);
  });
});

describe('gridtide run, before it starts', () => {
  //  what is wrong                       house              line                                    words
  const rows: readonly (readonly [string, ConfigOptions, string, RegExp])[] = [
    ['a speed from nowhere', {}, '--speed 10', /--speed needs --now TIME$/],
    [
      'no time, no number',
      {},
      '--now soon --speed fast',
      /--now soon: expected a time[\s\S]*--speed fast: expected a number/,
    ],
    ['lines of a board', { loads: RELAY }, '--now 2026-03-01 --speed 10', /never drive GPIO lines/],
    ['an authority that is none', { ca: 'pro' }, '', /service\.ca: .*pro cannot be read, or holds no certificate/],
  ];
  it.each(rows)('%s', async (_, options, line, words) => {
    const { code, out, err } = await run(runAgent, await writeConfig(options), line);
    expect(err).toMatch(words);
    expect([code, out]).toEqual([2, '']);
  });
});

it.each([
  ['why', why, 'lamp'],
  ['plan', plan, ''],
  ['check', check, '--offline'],
] as const)('gridtide %s makes no state directory', async (_, command, line) => {
  const state = `deep/state-${++configs}`;
  await run(command, await writeConfig({ state }), line);
  expect(await readdir(folder)).not.toContain('deep');
});

it('gridtide why tells an unusable state directory once', async () => {
  const { code, err } = await run(why, await writeConfig({ state: 'state-of-all' }), 'lamp');
  expect(code).toBe(1);
  expect(err.match(/others may write it/g)).toHaveLength(1);
});

describe('gridtide test, with no agent and no broker', () => {
  it('switches, reads back, and leaves a load that cannot tell what it was at its fail-safe level', async () => {
    const { code, out, err } = await run(test, await writeConfig(), 'lamp --for 1s --json');
    expect(JSON.parse(out)).toMatchObject({ by: 'direct', read: 'on', left: 'off' });
    expect(err).toMatch(/lamp on, reads on; for 1s/);
    expect(code).toBe(0);
  });

  it('stopped by hand it leaves the load at its fail-safe level all the same', async () => {
    const stop = new AbortController();
    stop.abort();
    const { out, err } = await run(test, await writeConfig(), 'lamp --for 1h --json', stop.signal);
    expect([JSON.parse(out).left, err.includes('would be switched off')]).toEqual(['off', true]);
  });

  //  what is said                      line                         exit  words
  const rows: readonly (readonly [string, string, number, RegExp])[] = [
    ['no load', '', 2, /the name of a load is missing; expected one of lamp/],
    ['two loads', 'lamp car', 2, /"car" is not expected after "lamp"; name one load/],
    ['another load', 'car', 2, /no load "car"/],
    ['a level it has not', 'lamp --level block', 2, /expected a level of "lamp": on, off/],
    ['no length', 'lamp --for soon', 2, /such as 10s/],
    ['too long', 'lamp --for 2h', 2, /to 1h/],
  ];
  it.each(rows)('%s', async (_, line, exit, words) => {
    const { code, err, out } = await run(test, await writeConfig(), line);
    expect([code, out]).toEqual([exit, '']);
    expect(err).toMatch(words);
  });

  it('a load that only observes is not touched', async () => {
    const config = await writeConfig({ loads: '  lamp: {type: generic, output: {kind: dry-run}, observeOnly: true}' });
    expect(await run(test, config, 'lamp')).toMatchObject({ code: 1, err: expect.stringMatching(/observeOnly: true/) });
  });
});

describe('a load in Home Assistant', () => {
  const startHouse = async (token: string) => {
    const house = await startFakeHomeAssistant({ 'switch.car': { state: 'off' } });
    afterTest(() => house.close());
    await writeFile(file('token'), `${token}\n`, { mode: 0o600 });
    const build = (entity: string) =>
      writeConfig({
        loads: `  car: {type: generic, output: {kind: home-assistant, url: "${house.url}", tokenFile: token, entity: ${entity}}, minOn: 0s, minOff: 0s}`,
      });
    return { house, build };
  };
  //  token                 entity        what check says
  const rows: readonly (readonly [string, string, RegExp])[] = [
    [HOME_ASSISTANT_TOKEN, 'switch.car', /^ok +loads\.car\.output: the device reports off \(switch\.car of http:/m],
    [HOME_ASSISTANT_TOKEN, 'switch.cat', /^WRONG +loads\.car\.output: Home Assistant has no entity switch\.cat/m],
    [
      'another',
      'switch.car',
      /^WRONG +loads\.car\.output: GET to http:.* was refused \(401\): write a valid token into/m,
    ],
  ];
  it.each(rows)('with the token "%s" and the entity %s is checked, and not switched', async (token, entity, words) => {
    const { house, build } = await startHouse(token);
    const { out } = await run(check, await build(entity));
    expect(out).toMatch(words);
    expect(house.actions).toEqual([]);
  });

  it('is tested: switched, read back, and left as it was', async () => {
    const { house, build } = await startHouse(HOME_ASSISTANT_TOKEN);
    const { code, out } = await run(test, await build('switch.car'), 'car --for 1s --json');
    expect([code, JSON.parse(out)]).toMatchObject([0, { by: 'direct', read: 'on', left: 'off' }]);
    expect(house.actions).toEqual(['switch.turn_on', 'switch.turn_off']);
  });
});

describe('gridtide test of a device over HTTP that is not released', () => {
  const NOT_LEFT =
    '"car" was not left to the rules of its device: .* \\(500\\): see its log; end the level "on" at the device';
  const NOT_SWITCHED = '"car" was not switched: [^;]*: see its log';
  //  what fails    off  release  end
  const rows = [
    ['its release', 200, 500, `^${NOT_LEFT}$`],
    ['its command', 500, 200, `^${NOT_SWITCHED}$`],
    ['both', 500, 500, `^${NOT_SWITCHED}; ${NOT_LEFT}$`],
  ] as const;
  const startDevice = async (offStatus: number, releaseStatus: number) => {
    const device = await startScriptedService(({ path }) => ({
      status: path === '/on' ? 200 : path === '/off' ? offStatus : releaseStatus,
    }));
    afterTest(() => device.close());
    const calls = ['on', 'off', 'release'].map((call) => `${call}: {url: "${device.url}/${call}"}`).join(', ');
    const loads = `  car: {type: ev, powerKw: 7, output: {kind: http, ${calls}}}`;
    return { device, config: await writeConfig({ loads }) };
  };
  it.each(rows)('%s fails: it says so', async (_, offStatus, releaseStatus, words) => {
    const { device, config } = await startDevice(offStatus, releaseStatus);
    const { code, err } = await run(test, config, 'car --level off', AbortSignal.abort());
    expect(err).toMatch(new RegExp(words, 'm'));
    expect([code, device.requests.map(({ path }) => path)]).toEqual([1, ['/off', '/on', '/release']]);
  });

  it('after an error that no one expected: it names both', async () => {
    const { device, config } = await startDevice(200, 500);
    const { err } = await runCommand(test, ['car', '--level', 'off', '--config', config], {
      env: { HOME: folder },
      onStderr() {
        if (device.requests.length === 1) throw new Error('no terminal');
      },
    });
    expect(err).toMatch(new RegExp(`^no terminal; ${NOT_LEFT}$`, 'm'));
  });
});

describeWithMosquitto('gridtide test, with no agent on the broker', () => {
  //  fail-safe  found    tried   left   why
  const rows = [
    ['on', 'off', 'on', 'off', /as before; the agent sets its fail-safe level, on, when it starts/],
    ['on', 'on', 'off', 'on', /its fail-safe level, as before/],
    ['off', 'off', 'on', 'off', /its fail-safe level, as before/],
    ['off', 'on', 'off', 'off', /it was on, and no agent runs to end that/],
  ] as const;
  it.each(rows)(
    'a load with fail-safe %s, found %s and tried %s, is left %s',
    async (failSafe, found, level, left, words) => {
      const mosquitto = stopAfterTest(await startMosquitto());
      const spy = stopAfterTest(await startMqttSpy(mosquitto.url));
      spy.onMessage(({ topic, text }) => {
        if (topic === 'plug/set') void spy.publish('plug/state', text, { retain: true });
      });
      await spy.publish('plug/state', found, { retain: true });
      const output = '{kind: mqtt, preset: switch, topic: plug/set, stateTopic: plug/state}';
      const loads = `  plug: {type: generic, output: ${output}, minOn: 0s, minOff: 0s, failSafe: "${failSafe}"}`;
      const config = await writeConfig({ mqtt: mosquitto.url, loads });
      const { code, out } = await run(test, config, `plug --level ${level} --for 1s --json`);
      expect(JSON.parse(out)).toMatchObject({ by: 'direct', read: level, left, text: expect.stringMatching(words) });
      expect([code, spy.lastText('plug/state')]).toEqual([0, left]);
    },
  );
});

describeWithMosquitto('gridtide check of the rights at the broker', () => {
  const loads = '  car: {type: ev, output: {kind: mqtt, preset: go-e, topic: go-eCharger/1}, powerKw: 7}';
  const rows: readonly (readonly [string, string, RegExp])[] = [
    ['all of them', 'topic readwrite #', /^ok +mqtt.url: /m],
    [
      'no write to its own tree',
      'topic readwrite #\ntopic deny gridtide/#',
      /^WRONG +mqtt: .*gridtide\/[a-z-]+\/check.*(let this user (read|write))/m,
    ],
    [
      'no claims of devices',
      'topic readwrite #\ntopic deny gridtide-owners/#',
      /^WRONG +mqtt: .*gridtide-owners\/check\/[a-z-]+/m,
    ],
    ['no discovery', 'topic readwrite #\ntopic deny homeassistant/#', /^WRONG +mqtt: .*homeassistant\/device/m],
    [
      'its own tree may be written, not read',
      'topic write #',
      /^WRONG +mqtt: a message on gridtide\/cellar\/check does not come back: let this user read/m,
    ],
  ];
  it.each(rows)('%s', async (_, acl, expected) => {
    const mosquitto = stopAfterTest(
      await startMosquitto({ lines: ['allow_anonymous true', 'acl_file DIR/acl'], files: { acl: `${acl}\n` } }),
    );
    const spy = stopAfterTest(await startMqttSpy(mosquitto.url));
    const { out } = await run(check, await writeConfig({ mqtt: mosquitto.url, loads }));
    expect(out).toMatch(expected);
    expect(spy.messages.filter(({ topic }) => topic.startsWith('go-eCharger/'))).toEqual([]);
  });
});

describeWithMosquitto('gridtide test of a device that says nothing', () => {
  const silent = (failSafe: string) =>
    `  plug: {type: generic, output: {kind: mqtt, preset: switch, topic: plug/set, stateTopic: plug/state}, minOn: 0s, minOff: 0s, failSafe: "${failSafe}"}`;
  const setting = async (failSafe: string) => {
    const mosquitto = stopAfterTest(await startMosquitto());
    const spy = stopAfterTest(await startMqttSpy(mosquitto.url));
    return { spy, config: await writeConfig({ mqtt: mosquitto.url, loads: silent(failSafe) }) };
  };
  /** A hundred times faster, so that no word within ten seconds is no word within a tenth of one. */
  const hasty: CommandModule = {
    ...test,
    run: (args, terminal) => test.run(args, terminal, createScaledClock({ start: Date.now() as Instant, speed: 100 })),
  };

  //  fail-safe  told                          the end
  const rows = [
    ['off', ['on', 'on', 'off', 'off'], /it reports nothing after the final "off" either; switch it off by hand$/],
    ['on', ['on', 'on'], /check its power, its network and the topics$/],
  ] as const;
  it.each(rows)(
    'with fail-safe %s it is told %j, and each wait is told before it begins',
    async (failSafe, commands, end) => {
      const { spy, config } = await setting(failSafe);
      const { code, err, out } = await run(hasty, config, 'plug');
      expect([code, out]).toEqual([1, '']);
      // The spy has received all that the broker took before.
      await spy.publish('end/of/list', 'x');
      await spy.waitFor(({ topic }) => topic === 'end/of/list');
      expect(spy.messages.filter(({ topic }) => topic === 'plug/set').map(({ text }) => text)).toEqual(commands);
      expect(err).toMatch(/^plug: opening, then waiting up to 3s for its state on plug\/state$/m);
      expect(err).toMatch(/^plug: switching on, then waiting up to 10s for its state on plug\/state$/m);
      expect(err).toMatch(/"plug" was not switched: the device was sent on 2 times and reports nothing on plug\/state/);
      expect(err).toMatch(end);
    },
  );

  //  said on plug/state after the command   exit  words
  const words = [
    [undefined, 1, /"plug" was set to on by the agent and after 1s reported nothing on plug\/state: check/],
    ['off', 1, /"plug" was set to on by the agent and after 1s reported off on plug\/state: check/],
    ['on', 0, /^plug reads on$/m],
  ] as const;
  it.each(words)('through the agent, where the device says %s', async (state, exit, sentence) => {
    const { spy, config } = await setting('off');
    const at = 'gridtide/cellar/loads/plug';
    spy.onMessage(async ({ topic, text }) => {
      if (topic !== `${at}/set`) return;
      const { id, level = 'off' } = JSON.parse(text);
      if (state !== undefined) await spy.publish('plug/state', state, { retain: true });
      await spy.publish(at, JSON.stringify({ level, why: 'off' }), { retain: true });
      await spy.publish(`${at}/result`, JSON.stringify({ id, ok: true, message: 'as told' }));
    });
    await spy.publish('gridtide/cellar/availability', 'online', { retain: true });
    const { code, err } = await run(test, config, 'plug --for 1s');
    expect(err).toMatch(sentence);
    expect(code).toBe(exit);
  });
});

describe('gridtide test on the state of an agent that ended three hours ago', () => {
  it.each([
    ['in order', true],
    ['by a kill', false],
  ] as const)(
    '%s: known switches alone forbid it, and the next start is told no less than before',
    async (_, isStopped) => {
      const loads = '  pump: {type: heat-pump, output: {kind: dry-run}, minOn: 1m, minOff: 15m}';
      const config = await writeConfig({ loads });
      const disk = createFileDisk(file(`state-${configs}`));
      const boot = readBootId(undefined);
      const now = createSystemClock().now();
      const [wall, uptime] = [subtractDuration(now.wall, hours(3)), (now.uptime - hours(3)) as Uptime];
      const site = { device: 'cellar', timezone: 'UTC', loads: [heatingLoad({ name: 'pump' })] };
      const left = step(
        site,
        createInitialState(site, undefined, 'other-boot'),
        { kind: 'found', levels: { pump: 'off' } },
        {
          ...{ wall, uptime, trusted: true },
        },
      );
      const open = () =>
        createPersistence({
          store: createDocumentStore(disk, () => {}),
          ...{ scratch: undefined, signalType: 'co2_moer', boot, note() {} },
        });
      const before = open();
      const state = { ...left.state, loads: left.state.loads.map((load) => ({ ...load, runningSince: uptime })) };
      before.saveControl(state, { now: { wall, uptime, trusted: true }, jobs: {}, atMost: minutes(0) });
      await (isStopped ? before.close() : before.isControlDurable());

      expect(await run(test, config, 'pump --for 1s')).toMatchObject({ code: 0 });
      const after = open();
      await after.load();
      const { control } = after.saved();
      expect(getRestart(control, boot, createSystemClock().now().uptime)).toBe(isStopped ? 'same-boot' : 'old-state');
      expect(control?.state.lastMoment?.uptime === uptime).toBe(!isStopped);
      expect(await run(test, config, 'pump --for 1s')).toMatchObject({
        code: 1,
        err: expect.stringMatching(/was not switched: .*minimum off time until/),
      });
    },
  );
});

describeWithMosquitto('why and test around the life of an agent', () => {
  let mosquitto: Mosquitto;
  beforeAll(async () => {
    mosquitto = await startMosquitto();
  });
  afterAll(() => mosquitto.stop());

  const LOADS = [
    '  lamp: {type: generic, output: {kind: dry-run}, minOn: 0s, minOff: 0s}',
    '  pump: {type: heat-pump, output: {kind: dry-run}, minOn: 30m, minOff: 15m}',
    '  fan: {type: generic, output: {kind: dry-run}, minOn: 30m, minOff: 0s}',
  ].join('\n');

  it('tells nothing before, the decision while it runs, the last one after; guards hold throughout', async () => {
    const config = await writeConfig({ mqtt: mosquitto.url, loads: LOADS });
    expect(await run(why, config, 'lamp')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/no decision about "lamp" was found/),
    });

    const stop = new AbortController();
    // The last word of a start: documents and subscriptions come before it.
    const online = mosquitto.nextLogLine(/Received PUBLISH from gridtide-cellar .*availability/);
    const agent = run(runAgent, config, '', stop.signal);
    await online;

    const decision = JSON.parse((await run(why, config, 'lamp --json')).out);
    expect(decision).toMatchObject({ load: 'lamp', from: 'broker' });
    expect(decision.text).toMatch(/\w/);

    const switched = await run(test, config, 'lamp --for 1s --json');
    expect(JSON.parse(switched.out)).toMatchObject({ by: 'agent', read: 'on' });

    expect(await run(test, config, 'fan --for 1s')).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^fan: 1s is less than its minOn, so after a switch the agent keeps it on for 30m\n/),
      // The index of the hour decides whether the fan would run by itself.
      out: expect.stringMatching(/now on: .*(minimum on time|runs) until/),
    });

    const guarded = await run(test, config, 'pump --for 1s');
    expect(guarded).toMatchObject({
      code: 1,
      err: expect.stringMatching(/was not switched: .*minimum off time until/),
    });

    stop.abort();
    expect((await agent).code).toBe(0);
    expect((await run(why, config, 'pump')).out).toMatch(
      /the agent is offline at the broker: a stop sets the load to its fail-safe level, \w+\n/,
    );
    expect(await run(test, config, 'pump --for 1s')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/minimum off time until/),
    });

    await mosquitto.kill();
    expect((await run(why, config, 'lamp')).out).toMatch(
      /^lamp .*\nas of .*, when the agent last saved its state; no running agent is seen from here: a stop sets/,
    );
    const unknown = await run(test, config, 'lamp --for 1s');
    expect(unknown).toMatchObject({ code: 1, err: expect.stringMatching(/it is unknown whether the agent runs/) });
    expect(await run(test, config, 'lamp --for 1s --alone')).toMatchObject({ code: 0 });
  });
});

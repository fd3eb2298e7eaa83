/** `gridtide init`: what it asks, what it refuses, and that what it writes is a configuration. */

import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { run, spec } from '../../src/cli/agent/init.ts';
import { findNearestZone } from '../../src/cli/agent/nearest-zone.ts';
import type { Terminal } from '../../src/cli/shared/command.ts';
import { parseArguments } from '../../src/cli/shared/parse-arguments.ts';
import { PLACEHOLDER_URL } from '../../src/config/example-config.ts';
import { parseConfig } from '../../src/config/parse-config.ts';
import { createReferenceService } from '../../src/reference/reference-service.ts';
import { afterTest } from '../doubles/stop-after-test.ts';

let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gridtide-init-'));
  file = join(directory, 'gridtide.yaml');
});
afterEach(() => rm(directory, { recursive: true }));

async function* typed(lines: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const line of lines) yield new TextEncoder().encode(`${line}\n`);
}

async function init(
  argv: readonly string[],
  input: Terminal['input'] = typed([]),
  stop = new AbortController().signal,
  onPrint: (text: string) => void = () => {},
) {
  let printed = '';
  const terminal: Terminal = {
    out: (text) => {
      printed += text;
      onPrint(text);
    },
    err: () => {},
    input,
    env: {},
    interactive: false,
    showsProgress: false,
    columns: 80,
    stop,
  };
  const code = await run(parseArguments(spec, argv), terminal);
  return { code, said: printed };
}

async function configWritten() {
  const read = parseConfig(await readFile(file, 'utf8'));
  if (!read.ok) throw new Error(read.mistakes.join('\n'));
  return read.config;
}

const HOUSE = ['', '38.5', '-122', 'America/Los_Angeles', 'https://signal.example', '', '', '', ''];

describe('without questions', () => {
  it('writes the example', async () => {
    expect((await init(['--yes', '--output', file])).code).toBe(0);
    expect((await configWritten()).loads.map(({ name }) => name)).toEqual(['car', 'heating', 'water']);
  });
  it('writes the example with simulated outputs and without a broker', async () => {
    const { said: printed } = await init(['--yes', '--dry-run', '--output', file]);
    expect(printed).toContain(`next: gridtide try --config ${file}`);
    const { loads, mqtt } = await configWritten();
    expect([mqtt, loads.map(({ output }) => output.kind)]).toEqual([undefined, ['dry-run', 'dry-run', 'dry-run']]);
    await expect(init(['--dry-run'])).rejects.toThrow('--dry-run goes with --yes');
  });
  it('prints the schema', async () => {
    const { said: printed } = await init(['--schema']);
    expect(JSON.parse(printed)).toMatchObject({ type: 'object', required: ['device', 'place', 'service', 'loads'] });
  });
  it('keeps a file that is there, unless forced', async () => {
    await writeFile(file, 'mine');
    await expect(init(['--yes', '--output', file])).rejects.toThrow('exists; choose another --output');
    expect(await readFile(file, 'utf8')).toBe('mine');
    await init(['--yes', '--force', '--output', file]);
    expect((await configWritten()).device).toBe('cellar');
  });
  it('says where it cannot write', async () =>
    await expect(init(['--yes', '--output', join(directory, 'none', 'x.yaml')])).rejects.toThrow(
      'cannot be written: its directory does not exist; choose another file with --output',
    ));
});

const hasZones = existsSync('/usr/share/zoneinfo/zone.tab');
it.skipIf(!hasZones).each([
  [38.5, -122, 'America/Los_Angeles'],
  [52.5, 13.4, 'Europe/Berlin'],
  [-36.9, 174.8, 'Pacific/Auckland'],
])('proposes for latitude %d, longitude %d the zone %s', async (latitude, longitude, zone) =>
  expect(await findNearestZone(latitude, longitude)).toBe(zone),
);

it.skipIf(!hasZones).each([
  ['Europe/Berlin', 'Europe/Berlin'],
  ['Europe/London', 'Europe/Vaduz'],
  ['UTC', 'Europe/Vaduz'],
])('proposes for Munich on a machine of %s the zone %s', async (own, zone) =>
  expect(await findNearestZone(48.14, 11.58, own)).toBe(zone),
);

describe('with answers', () => {
  it('asks again for an answer that is wrong, and says why', async () => {
    const answers = [
      'My House',
      'attic',
      '138',
      '0x26',
      '38.5',
      '-122',
      'America/Los_Angeles',
      'http://signal.example',
      'https://signal.example',
      'user',
      '',
      'pass',
      '',
      'mqtt://localhost',
      '',
      'car',
      'ev',
      'mqtt',
      'openevse-claim',
      'openevse-1a2b',
      '11',
      '12kWh',
      '06:30',
      '18:00',
      '',
    ];
    const { code, said: printed } = await init(['--output', file], typed(answers));
    expect(code).toBe(0);
    expect(printed).toContain('"My House" is not a name of 1 to 64 small letters');
    expect(printed).toContain('"0x26" is not a number within -90 to 90');
    expect(printed).toContain('138 is not within -90 to 90; are latitude and longitude swapped?');
    expect(printed).toContain('would send the password in clear');
    const config = await configWritten();
    expect(config).toMatchObject({
      device: 'attic',
      service: { url: 'https://signal.example', usernameFile: 'user', passwordFile: 'pass' },
      mqtt: { url: 'mqtt://localhost' },
      loads: [{ name: 'car', type: 'ev', powerKw: 11, goal: { need: { kind: 'energy', energy: 12 }, from: 18 * 60 } }],
    });
  });

  it('asks again for a load that does not fit the others', async () => {
    const heater = ['tank', 'relay', '17', '', '2', ''];
    const heating = ['heat-pump', 'sg-ready'];
    const answers = [
      ...HOUSE,
      '',
      'water',
      ...heater,
      'heating',
      ...heating,
      '17, 27',
      'maybe',
      'yes',
      '',
      '',
      'heating',
      ...heating,
      '[22, 27]',
      'true',
      '',
      '',
      '',
    ];
    const { said: printed } = await init(['--output', file], typed(answers));
    expect(printed).toContain('loads.water uses GPIO 17 already');
    expect(printed).toContain('low line (yes, no) [no]: ');
    expect(printed).toContain('"maybe" is not yes or no');
    expect((await configWritten()).loads.map(({ output }) => output)).toEqual([
      { kind: 'relay', pin: 17, activeLow: false },
      { kind: 'sg-ready', pins: [22, 27], activeLow: true },
    ]);
  });

  it('asks for two devices on MQTT as the contacts of a heat pump, each with its channel', async () => {
    const contacts = ['shelly-gen2', 'shellyplus2pm-1a2b', '0', 'shelly-gen2', 'shellyplus2pm-1a2b', '1'];
    const answers = [
      ...HOUSE,
      '',
      'heating',
      'heat-pump',
      'sg-ready-by-mqtt',
      'mqtt://localhost',
      '',
      ...contacts,
      '',
      '',
      '',
    ];
    const { said: printed } = await init(['--output', file], typed(answers));
    expect(printed).toContain('a device on MQTT needs a broker, and none was given');
    expect((await configWritten()).loads.map(({ output }) => output)).toMatchObject([
      {
        kind: 'sg-ready',
        switches: [
          { commandTopic: 'shellyplus2pm-1a2b/command/switch:0' },
          { commandTopic: 'shellyplus2pm-1a2b/command/switch:1' },
        ],
      },
    ]);
  });

  it('asks for an entity of Home Assistant and for addresses, and takes plain HTTP by that answer', async () => {
    const number = ['ev', 'home-assistant', 'http://ha.local:8123', '', 'token-4711', 'car', 'number.car'];
    const second = ['tank', 'home-assistant', 'https://ha.local', '', 'switch.tank', '', ''];
    const relay = ['tank', 'http', 'https://192.168.1.20/on', 'http://192.168.1.20/off', '', ''];
    const loads = ['car', ...number, '16', '0', '', '', 'pool', ...second, 'water', ...relay];
    const answers = [...HOUSE, '', ...loads, ''];
    const { said: printed } = await init(['--output', file], typed(answers));
    expect(printed).toContain('"car" is not an entity such as switch.car_charger');
    const access = { allowsPlainHttp: true };
    const call = (url: string) => ({ method: 'GET', url });
    expect((await configWritten()).loads.map(({ output }) => output)).toEqual([
      {
        kind: 'home-assistant',
        url: 'http://ha.local:8123',
        tokenFile: 'home-assistant-token',
        ...{ entity: 'number.car', onState: '16', offState: '0', ...access },
      },
      expect.objectContaining({ tokenFile: 'home-assistant-token', entity: 'switch.tank' }),
      {
        kind: 'http',
        on: call('https://192.168.1.20/on'),
        off: call('http://192.168.1.20/off'),
        ...{ headers: {}, ...access },
      },
    ]);
    expect(await readFile(join(directory, 'home-assistant-token'), 'utf8')).toBe('token-4711\n');
  });

  it('writes the credentials that are typed, for their owner alone, and asks for none that is there', async () => {
    await writeFile(join(directory, 'mqtt-word'), 'there\n');
    const broker = ['mqtt://localhost', 'mqtt-name', 'agent', 'mqtt-word'];
    const answers = [...HOUSE.slice(0, 5), '', 'cellar', '', 'clean-grid-1', ...broker, 'car', 'ev', '', '', '', ''];
    const { said: printed } = await init(['--output', file], typed(answers));
    expect(printed).toContain(`wrote ${join(directory, 'password')}`);
    const { service, mqtt } = await configWritten();
    expect([service, mqtt]).toMatchObject([
      { usernameFile: 'username', passwordFile: 'password' },
      { usernameFile: 'mqtt-name', passwordFile: 'mqtt-word' },
    ]);
    for (const [name, text] of [
      ['username', 'cellar\n'],
      ['password', 'clean-grid-1\n'],
      ['mqtt-name', 'agent\n'],
    ] as const) {
      expect(await readFile(join(directory, name), 'utf8')).toBe(text);
      expect((await stat(join(directory, name))).mode & 0o777).toBe(0o600);
    }
    expect(await readFile(join(directory, 'mqtt-word'), 'utf8')).toBe('there\n');
  });

  it('registers an account with a password made for it, which stays also when the service refuses', async () => {
    const reference = await createReferenceService({ seed: 7, accounts: [], clock: () => Date.now() });
    afterTest(() => reference.close());
    const { url } = await reference.listen();
    const answer = (email: string) => [
      ...['', '38.5', '-122', '', url, '', 'new-house', '', '', 'yes', email, ''],
      ...['car', 'ev', '', '', '', ''],
    ];
    const { said: printed } = await init(['--output', file], typed(answer('me@example.org')));
    expect(printed).toMatch(/registered new-house\nnext: gridtide check/);
    expect(await readFile(join(directory, 'password'), 'utf8')).toMatch(/^[\w-]{24}-a1\n$/);
    const again = join(directory, 'again');
    await mkdir(again);
    await expect(init(['--output', join(again, 'x.yaml')], typed(answer('me@example.org')))).rejects.toThrow(
      /^the account was not registered: .*; then gridtide account register --config/,
    );
    expect(await readdir(again)).toEqual(['password', 'username', 'x.yaml']);
  });

  it('offers no registration where the password file is there', async () => {
    await writeFile(join(directory, 'password'), 'there\n');
    const answers = ['', '38.5', '-122', '', 'https://signal.example', '', 'me', '', '', 'car', 'ev', '', '', '', ''];
    const { said: printed } = await init(['--output', file], typed(answers));
    expect(printed).not.toContain('Register this account');
    expect(await readFile(join(directory, 'password'), 'utf8')).toBe('there\n');
  });

  it('goes back a question at <, keeps the answers before it, and asks for a broker when a load needs one', async () => {
    const answers = [
      ...['attic', '38.5', '122', '<', '<', '38.6', '-122', '', 'https://signal.example', '', '', '', ''],
      ...['', 'car', 'ev', 'mqtt', 'mqtt://broker.example', '', 'openevse-claim', 'openevse-1a2b', '', '', ''],
    ];
    const { said: printed } = await init(['--output', file], typed(answers));
    expect(printed).toContain('a device on MQTT needs a broker, and none was given');
    expect(printed.match(/Name of this agent/g)).toHaveLength(1);
    expect(printed.match(/degrees north/g)).toHaveLength(2);
    expect(await configWritten()).toMatchObject({
      device: 'attic',
      place: { latitude: 38.6, longitude: -122 },
      mqtt: { url: 'mqtt://broker.example' },
    });
  });

  it('goes on without the address of a service, and then leads to try', async () => {
    const answers = ['', '38.5', '-122', '', '', '', 'car', 'ev', '', '', '', ''];
    const { said: printed } = await init(['--output', file], typed(answers));
    expect(printed).toContain('stands for it in the file until you know it');
    expect(printed).not.toContain('account name');
    expect(printed).toMatch(
      /\nnext: gridtide try --config .*\n.*\(gridtide account register --config .* run gridtide check/,
    );
    expect((await configWritten()).service).toMatchObject({ url: PLACEHOLDER_URL, usernameFile: 'username' });
    expect(await readdir(directory)).toEqual(['gridtide.yaml']);
  });

  it('writes nothing when the answers end early, and leaves the line of the question', async () => {
    const prompts: string[] = [];
    const ended = init(['--output', file], typed(HOUSE), undefined, (text) => prompts.push(text));
    await expect(ended).rejects.toThrow('the answers ended before the questions did');
    expect(prompts.at(-1)).toBe('\n');
    await expect(readFile(file)).rejects.toThrow('ENOENT');
  });

  it('writes nothing when it is stopped', async () => {
    const stop = new AbortController();
    async function* silent(): AsyncGenerator<Uint8Array> {
      stop.abort();
      await new Promise(() => {});
      yield new Uint8Array();
    }
    await expect(init(['--output', file], silent(), stop.signal)).rejects.toThrow('stopped; nothing was written');
  });
});

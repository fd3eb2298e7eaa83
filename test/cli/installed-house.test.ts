/** A command without `--config`: ./gridtide.yaml is found in the working directory, else the installed unit's with its state. */

import { chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as check from '../../src/cli/agent/check.ts';
import * as report from '../../src/cli/agent/report.ts';
import * as why from '../../src/cli/agent/why.ts';
import * as plan from '../../src/cli/lab/plan.ts';
import * as account from '../../src/cli/service/account.ts';
import * as map from '../../src/cli/service/map.ts';
import type { CommandModule, Terminal } from '../../src/cli/shared/command.ts';
import { runCommand } from '../doubles/run-command.ts';

let folder = '';
let [settings, home] = ['', ''];
let installed: NonNullable<Terminal['installed']>;

/** The credentials are those of the unit: `$CREDENTIALS_DIRECTORY/username` and `/password`. */
const HOUSE = `device: cellar
place: {latitude: 38.5, longitude: -122, timezone: America/Los_Angeles}
service: {url: "http://127.0.0.1:9"}
loads:
  lamp: {type: generic, output: {kind: dry-run}}
`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gridtide-installed-'));
  [settings, home] = [join(folder, 'etc'), join(folder, 'home')];
  installed = { config: join(settings, 'gridtide.yaml'), state: join(folder, 'var') };
  for (const directory of [settings, home, installed.state]) await mkdir(directory);
  await writeFile(installed.config, HOUSE);
  for (const name of ['username', 'password']) await writeFile(join(settings, name), `${name}\n`, { mode: 0o600 });
});
afterAll(() => rm(folder, { recursive: true }));

const ask = (command: CommandModule, line: string, env: Terminal['env'] = {}) =>
  runCommand(command, line.split(' ').filter(Boolean), { env: { HOME: home, ...env }, installed });

describe('a command of the installed house', () => {
  //  command             answers from
  const rows: readonly (readonly [string, CommandModule, string])[] = [
    ['', report, 'var has no ledger'],
    ['lamp', why, 'var has none'],
    ['', plan, 'var has no plan'],
    ['info', map, 'no map of co2_moer in'],
  ];
  it.each(rows)('%s without --config reads the state of the unit', async (line, command, words) => {
    const { code, err } = await ask(command, line);
    expect([code, err]).toEqual([1, expect.stringContaining(words)]);
    expect(err).toContain(installed.state);
  });
  it('takes --state before the state of the unit', async () =>
    expect((await ask(report, `--state ${home}`)).err).toContain(`${home} has no ledger`));
  it('takes the state of the unit also when its configuration is named', async () =>
    expect((await ask(report, `--config ${installed.config}`)).err).toContain(`${installed.state} has no ledger`));
  it('finds the credentials in the directory that the unit passes', async () => {
    const { findings } = JSON.parse((await ask(check, '--offline --json')).out);
    expect(findings).toContainEqual({ at: 'service.passwordFile', state: 'ok', text: join(settings, 'password') });
  });
  it.skipIf(process.getuid?.() !== 0)('checks a state that belongs to the user of the unit', async () => {
    await chown(installed.state, 12_345, 12_346);
    const { findings } = JSON.parse((await ask(check, '--offline --json')).out);
    const text = `${installed.state} belongs to the installed agent`;
    expect(findings).toContainEqual({ at: 'state', state: 'ok', text });
    await chown(installed.state, 0, 0);
  });
  it('does not send its account to an address that is given', async () => {
    const { err } = await ask(account, 'login --url http://127.0.0.1:1');
    expect(err).toContain('no user name and password are configured');
  });
  it('says where it looked when there is none', async () => {
    const none = { config: join(folder, 'none.yaml'), state: folder };
    const { code, err } = await runCommand(check, [], { installed: none });
    expect([code, err]).toEqual([2, expect.stringContaining(`./gridtide.yaml and ${none.config} not found`)]);
  });
});

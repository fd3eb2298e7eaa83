/** Which file and which directory is meant, by configuration and environment. */

import { describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { locateConfig, type PathContext, resolveStateDirectory } from '../../src/config/config-paths.ts';
import { parseConfig } from '../../src/config/parse-config.ts';
import { toYaml } from './config-cases.ts';

function config(parts: Readonly<Record<string, unknown>>): Config {
  const read = parseConfig(toYaml(parts));
  if (!read.ok) throw new Error(read.mistakes.join('\n'));
  return read.config;
}
const HOME = { HOME: '/home/me' };
const SYSTEMD = { CREDENTIALS_DIRECTORY: '/run/creds', STATE_DIRECTORY: '/var/lib/gridtide:/var/lib/more' };
const around = (env: PathContext['env'], more: Partial<PathContext> = {}): PathContext => ({
  env,
  directory: '/etc/gridtide',
  ...more,
});

describe('the state directory', () => {
  //  --state   configuration  environment                 directory
  const rows = [
    ['/flag', '/file', SYSTEMD, '/flag'],
    [undefined, '/file', SYSTEMD, '/file'],
    [undefined, 'state', SYSTEMD, '/etc/gridtide/state'],
    [undefined, '~/tide', HOME, '/home/me/tide'],
    [undefined, undefined, { ...SYSTEMD, ...HOME }, '/var/lib/gridtide'],
    [undefined, undefined, HOME, '/home/me/.local/state/gridtide'],
    [undefined, undefined, { ...HOME, STATE_DIRECTORY: '' }, '/home/me/.local/state/gridtide'],
    [undefined, undefined, {}, undefined],
  ] as const;
  it.each(rows)('--state %s, state: %s, %o', (state, written, env, directory) =>
    expect(resolveStateDirectory(written, around(env, state === undefined ? {} : { stateDirectory: state }))).toBe(
      directory,
    ),
  );
});

describe('credentials', () => {
  const url = 'https://signal.example';
  //  written                                     environment  account name
  const rows = [
    [{ usernameFile: 'u', passwordFile: 'p' }, HOME, '/etc/gridtide/u'],
    [{ usernameFile: '/x/u', passwordFile: 'p' }, SYSTEMD, '/x/u'],
    [{ usernameFile: '~/u', passwordFile: 'p' }, HOME, '/home/me/u'],
    [{}, SYSTEMD, '/run/creds/username'],
  ] as const;
  it.each(rows)('%o with %o', (part, env, file) =>
    expect(locateConfig(config({ service: { url, ...part } }), around(env))).toMatchObject({
      ok: true,
      config: { service: { usernameFile: file } },
    }),
  );

  it('says when neither a file nor a credential is there', () =>
    expect(locateConfig(config({}), around({}))).toEqual({
      ok: false,
      mistakes: [
        'service.usernameFile: the service manager passed no credentials; write the path of a file',
        'service.passwordFile: the service manager passed no credentials; write the path of a file',
        'state: this user has no home directory; write the path of a directory',
      ],
    }));

  //  passed                                           broker user name file
  const brokers = [
    [['username', 'password'], undefined],
    [['mqtt-username', 'mqtt-password'], '/run/creds/mqtt-username'],
    [['etc_mqtt-username'], '/run/creds/mqtt-username'],
  ] as const;
  it.each(brokers)('of the broker, with %o passed', (credentials, file) => {
    const located = locateConfig(config({ mqtt: { url: 'mqtt://localhost' } }), around(SYSTEMD, { credentials }));
    expect(located.ok && located.config.mqtt?.usernameFile).toBe(file);
  });
});

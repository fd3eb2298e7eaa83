import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findOriginalPath } from '../../src/domain/credential-names.ts';
import { createSecrets, findSecretProblems } from '../../src/platform/secret-files.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gridtide-secrets-'));
});
afterEach(() => rm(directory, { recursive: true }));

describe('secrets', () => {
  //  file              read
  const rows: readonly (readonly [string, string])[] = [
    ['hunter2', 'hunter2'],
    ['hunter2\n', 'hunter2'],
    ['hunter2\r\n', 'hunter2'],
    [' two \n\n', ' two \n'],
    ['', ''],
  ];
  it.each(rows)('%j reads as %j', async (content, read) => {
    await writeFile(join(directory, 'password'), content);
    expect(await createSecrets().read(join(directory, 'password'))).toBe(read);
  });

  it('what cannot be read is undefined: missing, a directory, far too large', async () => {
    await mkdir(join(directory, 'folder'));
    await writeFile(join(directory, 'large'), Buffer.alloc(300_000, 65));
    for (const name of ['none', 'folder', 'large'])
      expect(await createSecrets().read(join(directory, name)), name).toBeUndefined();
  });

  it('is read anew each time', async () => {
    const secrets = createSecrets();
    const path = join(directory, 'password');
    await writeFile(path, 'old');
    expect(await secrets.read(path)).toBe('old');
    await writeFile(path, 'new');
    expect(await secrets.read(path)).toBe('new');
  });

  //  of these, handed over under the unit            asked for                    read
  const named: readonly (readonly [readonly string[], string, string | undefined])[] = [
    // Seen: the service received the broker's pair, found by the end of its name.
    [['etc_mqtt_username', 'etc_username'], '/etc/gridtide/username', 'etc_username'],
    [['etc_mqtt_password', 'etc_password'], '/etc/gridtide/password', 'etc_password'],
    [['etc_mqtt_password', 'etc_password'], '/etc/gridtide/mqtt_password', 'etc_mqtt_password'],
    [['etc_mqtt_password', 'etc_password'], '/etc/gridtide/mqtt/password', 'etc_mqtt_password'],
    [['etc_mqtt_password'], '/etc/gridtide/password', undefined],
    [['etc_mqtt_password'], '/elsewhere/password', undefined],
    [['other_password'], '/etc/gridtide/password', undefined],
    [['etc_password', 'password'], '/etc/gridtide/password', undefined],
  ];
  it.each(named)('of %j the credential of %s is %s', async (names, path, read) => {
    for (const name of names) await writeFile(join(directory, name), name, { mode: 0o400 });
    expect(await createSecrets({ credentials: directory }).read(path)).toBe(read);
  });

  it('a path in the credentials directory itself is meant as the settings directory names it', async () => {
    await writeFile(join(directory, 'etc_password'), 'one', { mode: 0o400 });
    expect(await createSecrets({ credentials: directory }).read(join(directory, 'password'))).toBe('one');
  });

  it('names what would give a secret to the wrong party, and nothing else', async () => {
    const credentials = join(directory, 'credentials');
    await mkdir(credentials);
    const write = (name: string, mode: number) => writeFile(join(credentials, name), 'x', { mode });
    // As systemd 257 hands it over.
    await write('etc_password', 0o440);
    await write('password', 0o400);
    await write('etc_mqtt_password', 0o400);
    await write('../open', 0o644);
    await write('etc_key', 0o440);
    const find = (...paths: readonly string[]) =>
      findSecretProblems(
        paths.map((path, i) => ({ at: `file ${i}`, path, isSecret: true })),
        credentials,
      );
    expect(await find('/etc/gridtide/mqtt_password')).toEqual([]);
    expect(await find('/etc/gridtide/mqtt_password', '/etc/gridtide/mqtt_password')).toEqual([]);
    expect(await find('/etc/gridtide/password')).toEqual([
      { at: 'file 0', text: expect.stringMatching(/may be the credential password or etc_password: hand over one/) },
    ]);
    expect(await find('/etc/gridtide/key')).toEqual([]);
    await rm(join(credentials, 'password'));
    expect(await find('/etc/gridtide/mqtt_password', '/etc/gridtide/mqtt/password')).toEqual([
      { at: 'file 0', text: expect.stringMatching(/are one credential, etc_mqtt_password: give the files names/) },
      { at: 'file 1', text: expect.stringMatching(/\(file 0\) are one credential/) },
    ]);
    // A directory is no secret; that it cannot be read is told by who reads it.
    expect(await find(credentials)).toEqual([]);
    expect(await find(join(directory, 'open'))).toEqual([
      { at: 'file 0', text: expect.stringMatching(/open has mode 644, so others .* may read it: chmod 600/) },
    ]);
    const open = { at: 'name', path: join(directory, 'open'), isSecret: false };
    expect(await findSecretProblems([open], credentials)).toEqual([]);
  });

  it("takes the service manager's copy of the same name, and tells the log what to hide", async () => {
    const credentials = join(directory, 'credentials');
    await mkdir(credentials);
    await writeFile(join(credentials, 'service-password'), 'handed over\n');
    await writeFile(join(credentials, 'etc_mqtt-password'), 'of a directory\n');
    await writeFile(join(directory, 'other'), 'plain\n');
    const readSecrets: (readonly [string, string])[] = [];
    const secrets = createSecrets({ credentials, onRead: (text, path) => readSecrets.push([text, path]) });
    expect(await secrets.read('/etc/gridtide/service-password')).toBe('handed over');
    expect(await secrets.read('/etc/gridtide/mqtt-password')).toBe('of a directory');
    expect(await secrets.read(join(directory, 'other'))).toBe('plain');
    await writeFile(join(credentials, 'other'), 'of the start\n');
    await writeFile(join(directory, 'other'), 'later\n');
    expect(await secrets.read(join(directory, 'other'), 'public')).toBe('later');
    expect(await secrets.read('/etc/gridtide/service-password', 'public')).toBe('handed over');
    expect(findOriginalPath('/run/credentials/x', '/run/credentials/x/own/prices.csv')).toBe(
      '/etc/gridtide/own/prices.csv',
    );
    expect(readSecrets).toEqual([
      ['handed over', '/etc/gridtide/service-password'],
      ['of a directory', '/etc/gridtide/mqtt-password'],
      ['plain', join(directory, 'other')],
      ['handed over', '/etc/gridtide/service-password'],
    ]);
  });
});

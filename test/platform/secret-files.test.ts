import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSecrets } from '../../src/platform/secret-files.ts';

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

  it("takes the service manager's copy of the same name, and tells the log what to hide", async () => {
    const credentials = join(directory, 'credentials');
    await mkdir(credentials);
    await writeFile(join(credentials, 'service-password'), 'handed over\n');
    await writeFile(join(credentials, 'etc_mqtt-password'), 'of a directory\n');
    await writeFile(join(directory, 'other'), 'plain\n');
    const told: (readonly [string, string])[] = [];
    const secrets = createSecrets({ credentials, onRead: (text, path) => told.push([text, path]) });
    expect(await secrets.read('/etc/gridtide/service-password')).toBe('handed over');
    expect(await secrets.read('/etc/gridtide/mqtt-password')).toBe('of a directory');
    expect(await secrets.read(join(directory, 'other'))).toBe('plain');
    expect(told).toEqual([
      ['handed over', '/etc/gridtide/service-password'],
      ['of a directory', '/etc/gridtide/mqtt-password'],
      ['plain', join(directory, 'other')],
    ]);
  });
});

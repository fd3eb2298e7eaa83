/** Accounts in a data directory: they survive, secrets are hashed, reset mails lie in the outbox. */

import { mkdir, mkdtemp, readdir, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findPasswordMistake, openAccounts } from '../../src/reference/accounts/accounts.ts';
import { basicAuthorization, NOW, sendPlainRequest, startPlainService } from '../contract/plain-http.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'accounts-'));
});
afterEach(() => rm(folder, { recursive: true }));

const home = {
  username: 'home',
  password: 'Secret-word-1',
  plan: 'basic' as const,
  email: 'home@example.org',
  org: null,
};

describe('a data directory', () => {
  it('keeps an account, its plan and its v1 token over a restart', async () => {
    const first = await openAccounts(folder);
    expect(await first.create(home)).toBe(true);
    const token = first.findByName('home')?.apiToken;
    const second = await openAccounts(folder);
    expect((await second.verify('home', home.password))?.plan).toBe('basic');
    expect(second.findByApiToken(String(token))?.username).toBe('home');
    expect(await second.verify('home', 'secret-word-1')).toBeUndefined();
    expect(await second.create(home)).toBe(false);
  });
  it('holds no password, and nobody else may read it', async () => {
    await (await openAccounts(folder)).create(home);
    const path = join(folder, 'accounts.json');
    expect(await readFile(path, 'utf8')).not.toContain(home.password);
    expect((await stat(path)).mode & 0o077).toBe(0);
  });
  it('salts: one password twice is two hashes', async () => {
    const accounts = await openAccounts(folder);
    await Promise.all(['a', 'b', 'c'].map((username) => accounts.create({ ...home, username })));
    const stored: { hash: string }[] = JSON.parse(await readFile(join(folder, 'accounts.json'), 'utf8'));
    expect(new Set(stored.map(({ hash }) => hash)).size).toBe(3);
  });
  it('lets one of two that want a name at once have it', async () => {
    const accounts = await openAccounts(folder);
    const made = await Promise.all([accounts.create(home), accounts.create({ ...home, password: 'Other-word-2' })]);
    expect(made.filter((yes) => yes)).toHaveLength(1);
  });
  it('refuses a book it cannot read', async () => {
    await writeFile(join(folder, 'accounts.json'), '[{"username":"home"}]');
    await expect(openAccounts(folder)).rejects.toThrow(/not a list of accounts/);
  });
  it('writes over what a killed process left half written', async () => {
    await writeFile(join(folder, 'accounts.json.part'), '[{"user');
    const accounts = await openAccounts(folder);
    await accounts.create(home);
    expect((await readdir(folder)).sort()).toEqual(['accounts.json', 'outbox']);
    expect((await openAccounts(folder)).findByName('home')?.plan).toBe('basic');
  });
  it('an account that could not be kept was not made', async () => {
    const accounts = await openAccounts(folder);
    await mkdir(join(folder, 'accounts.json.part'));
    await expect(accounts.create(home)).rejects.toThrow(/EISDIR/);
    expect(accounts.findByName('home')).toBeUndefined();
    await rmdir(join(folder, 'accounts.json.part'));
    expect(await accounts.create(home)).toBe(true);
  });
  it('puts the reset mail into the outbox', async () => {
    const service = await startPlainService({ data: folder });
    await sendPlainRequest(`${service.url}/password?username=free`);
    const [mail = ''] = await readdir(join(folder, 'outbox'));
    expect(mail).toMatch(/^2026-06-10T180230/);
    expect(await readFile(join(folder, 'outbox', mail), 'utf8')).toContain('To: free@example.invalid');
    await service.close();
  });
  it('a name from outside chooses no file', async () => {
    const service = await startPlainService({ data: folder });
    const username = '../../../etc/evil';
    await sendPlainRequest(`${service.url}/register`, {
      method: 'POST',
      body: JSON.stringify({ username, password: home.password, email: home.email }),
    });
    expect((await sendPlainRequest(`${service.url}/password?username=${encodeURIComponent(username)}`)).status).toBe(
      200,
    );
    expect((await readdir(join(folder, 'outbox'))).length).toBe(1);
    await service.close();
  });
});

describe('two services, one directory after the other', () => {
  it('register here, log in there', async () => {
    const before = await startPlainService({ data: folder, newPlan: 'analyst' });
    const body = JSON.stringify({ username: 'mover', password: home.password, email: home.email });
    await sendPlainRequest(`${before.url}/register`, { method: 'POST', body });
    await before.close();
    const after = await startPlainService({ data: folder });
    const login = await sendPlainRequest(`${after.url}/login`, {
      headers: { authorization: basicAuthorization('mover', home.password) },
    });
    const headers = { authorization: `Bearer ${JSON.parse(login.text).token}` };
    expect((await sendPlainRequest(`${after.url}/v3/maps?signal_type=co2_aoer`, { headers })).status).toBe(200);
    expect(after.reference.counts().logins).toBe(1);
    expect(NOW).toBe(after.now());
    await after.close();
  });
});

describe('the password rule', () => {
  //  password        what is missing
  it.each([
    ['abcdef-1', undefined],
    ['ABCDEF 1', undefined],
    ['1234567é', 'alphabetic'],
    ['abc-12', '8 characters'],
    ['abcdefgh', 'numeric'],
    ['abcdefg1', 'special'],
    ['1234567-', 'alphabetic'],
  ])('%s: %s', (password, missing) => {
    const fault = findPasswordMistake(password);
    if (missing === undefined) expect(fault).toBeUndefined();
    else expect(fault).toContain(missing);
  });
});

describe('the v1 token of an account given at each start', () => {
  it.each([
    ['in memory', () => undefined],
    ['in a directory', () => folder],
  ])('stays the same, %s, while the password does', async (_, where) => {
    const tokens: (string | undefined)[] = [];
    for (const password of [home.password, home.password, 'Other-word-2']) {
      const accounts = await openAccounts(where());
      await accounts.give({ ...home, password });
      tokens.push(accounts.findByName('home')?.apiToken);
    }
    expect(tokens[0]).toMatch(/^[0-9a-f]{40}$/);
    expect(tokens[1]).toBe(tokens[0]);
    expect(tokens[2]).not.toBe(tokens[0]);
  });
  it('a new plan takes effect', async () => {
    await (await openAccounts(folder)).create(home);
    const accounts = await openAccounts(folder);
    await accounts.give({ ...home, plan: 'pro' });
    expect((await accounts.verify('home', home.password))?.plan).toBe('pro');
  });
});

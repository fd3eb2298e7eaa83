/** Who may log in: salted scrypt hashes, kept in memory or in the data directory, and mails in its outbox. Knows no path and no token. */

import { createHash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { mkdir, open, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isPlan, type PlanName } from './plans.ts';
import { writeTime } from './times.ts';

export interface Account {
  readonly username: string;
  readonly plan: PlanName;
  readonly email: string;
  readonly org: string | null;
  /** 40 hexadecimal characters, made with the account (specification 5, v1). */
  readonly apiToken: string;
  /** Hexadecimal. */
  readonly salt: string;
  readonly hash: string;
}

export interface NewAccount {
  readonly username: string;
  readonly password: string;
  readonly plan: PlanName;
  readonly email: string;
  readonly org: string | null;
}

export interface Accounts {
  named(username: string): Account | undefined;
  holding(apiToken: string): Account | undefined;
  /** False when the name is taken and not to be replaced. */
  create(account: NewAccount, options?: { readonly replace?: boolean }): Promise<boolean>;
  /** The account when name and password fit. Takes as long for an unknown name as for a wrong password. */
  verify(username: string, password: string): Promise<Account | undefined>;
  /** Writes the reset mail to the outbox; without a data directory nothing is kept. */
  mailReset(account: Account, now: number): Promise<void>;
}

const KEY_BYTES = 32;
/** Twenty bytes are the 40 characters of a v1 token. */
const TOKEN_BYTES = 20;
const COST = { N: 16_384, r: 8, p: 1 };

/** What a password and its salt make: the key to compare by, and the account's v1 token. */
const derive = (password: string, salt: Buffer) =>
  new Promise<Buffer>((resolve, reject) => {
    scrypt(password, salt, KEY_BYTES + TOKEN_BYTES, COST, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });

const secretsOf = (made: Buffer, salt: Buffer) => ({
  salt: salt.toString('hex'),
  hash: made.subarray(0, KEY_BYTES).toString('hex'),
  apiToken: made.subarray(KEY_BYTES).toString('hex'),
});

/** What keeps the accounts of a directory from being used, with the cure. */
export class AccountsError extends Error {
  override readonly name = 'AccountsError';
}

/** Durable under its name, or not there at all; what a killed process left half written is written over. */
async function replaceFile(path: string, text: string): Promise<void> {
  const part = `${path}.part`;
  const file = await open(part, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    await file.close();
    await unlink(part);
    throw error;
  }
  await file.close();
  await rename(part, path);
}

const isAccount = (value: unknown): value is Account => {
  const record = value as Record<string, unknown> | null;
  const texts = ['username', 'plan', 'email', 'apiToken', 'salt', 'hash'];
  return (
    typeof record === 'object' &&
    record !== null &&
    texts.every((name) => typeof record[name] === 'string') &&
    isPlan(String(record.plan))
  );
};

async function readAccounts(path: string): Promise<readonly Account[]> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return [];
    throw new AccountsError(`${path} cannot be read (${code}); name another directory`);
  }
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {}
  if (!Array.isArray(list) || !list.every(isAccount))
    throw new AccountsError(`${path} is not a list of accounts; move it away to begin anew, or name another directory`);
  return list;
}

/** Makes the directory with its outbox. */
async function prepare(directory: string): Promise<void> {
  try {
    await mkdir(join(directory, 'outbox'), { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new AccountsError(`${directory} cannot be made or written (${code}); name another directory`);
  }
}

/** Opens the accounts of `directory`, or an empty book in memory. */
export async function openAccounts(directory: string | undefined): Promise<Accounts> {
  const path = directory === undefined ? undefined : join(directory, 'accounts.json');
  if (directory !== undefined) await prepare(directory);
  const book = new Map<string, Account>();
  for (const account of path === undefined ? [] : await readAccounts(path)) book.set(account.username, account);

  const nobody = randomBytes(16);
  const noHash = randomBytes(KEY_BYTES).toString('hex');
  let writing: Promise<void> = Promise.resolve();
  const save = () => {
    if (path === undefined) return writing;
    const next = writing.then(() => replaceFile(path, `${JSON.stringify([...book.values()], null, 1)}\n`));
    // A failed write must not bar the next one.
    writing = next.catch(() => {});
    return next;
  };
  const verify = async (username: string, password: string) => {
    const account = book.get(username);
    const salt = account === undefined ? nobody : Buffer.from(account.salt, 'hex');
    const { hash } = secretsOf(await derive(password, salt), salt);
    const fits = timingSafeEqual(Buffer.from(hash, 'hex'), Buffer.from(account?.hash ?? noHash, 'hex'));
    return account !== undefined && fits ? account : undefined;
  };
  let mails = 0;
  return {
    named: (username) => book.get(username),
    holding: (apiToken) => [...book.values()].find((account) => account.apiToken === apiToken),
    async create({ username, password, plan, email, org }, { replace = false } = {}) {
      if (book.has(username) && !replace) return false;
      // In memory the salt is the name's, so that an account given anew at each start keeps its token.
      const salt =
        path === undefined ? createHash('sha256').update(username).digest().subarray(0, 16) : randomBytes(16);
      const known = replace ? await verify(username, password) : undefined;
      const made = known ?? secretsOf(await derive(password, salt), salt);
      if (book.has(username) && !replace) return false;
      const { apiToken, hash } = made;
      const before = book.get(username);
      book.set(username, { username, plan, email, org, apiToken, salt: made.salt, hash });
      try {
        await save();
      } catch (error) {
        // What could not be kept was not made: the caller may try again under the same name.
        if (before === undefined) book.delete(username);
        else book.set(username, before);
        throw error;
      }
      return true;
    },
    verify,
    async mailReset(account, now) {
      if (directory === undefined) return;
      mails += 1;
      const name = `${writeTime(now).slice(0, 19).replaceAll(':', '')}-${process.pid}-${mails}.txt`;
      const text = `To: ${account.email}\nSubject: Reset your password\n\nA new password was asked for the account "${account.username}".\nReset code: ${randomBytes(16).toString('hex')}\n`;
      await replaceFile(join(directory, 'outbox', name), text);
    },
  };
}

/** What is wrong with a password, or undefined (specification 2.1). */
export function passwordFault(password: string): string | undefined {
  if ([...password].length < 8) return 'must have at least 8 characters';
  if (!/[A-Za-z]/.test(password)) return 'must have at least one alphabetic character';
  if (!/[0-9]/.test(password)) return 'must have at least one numeric character';
  if (!/[^A-Za-z0-9]/.test(password)) return 'must have at least one special character';
  return undefined;
}

export const isEmail = (text: string) => text.length <= 254 && /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/.test(text);

/** Keeps accounts: in `accounts.json` and the outbox of a data directory, or nowhere. */

import { open, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectory } from '../../platform/make-directory.ts';
import { formatServiceTime } from '../http/service-times.ts';
import { isPlanName, type PlanName } from './plans.ts';

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

export interface AccountStore {
  /** The accounts that the directory held. */
  readonly accounts: readonly Account[];
  /** Saves run one after another; each writes the whole list as it is by then. */
  save(accounts: () => readonly Account[]): Promise<void>;
  /** Puts a mail into the outbox. */
  writeMail(text: string, now: number): Promise<void>;
}

/** Keeps nothing. */
export const memoryAccountStore: AccountStore = {
  accounts: [],
  save: () => Promise.resolve(),
  writeMail: () => Promise.resolve(),
};

/** Why the accounts of a directory cannot be used, with the cure. */
export class AccountsError extends Error {
  override readonly name = 'AccountsError';
}

/** Durable under its name, or not there at all; the half-written file of a killed process is written over. */
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
    isPlanName(String(record.plan))
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
async function prepareAccountDirectory(directory: string): Promise<void> {
  try {
    await makeDirectory(join(directory, 'outbox'), 0o700);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new AccountsError(`${directory} cannot be made or written (${code}); name another directory`);
  }
}

/** Opens the store of a directory, which is made when it is not there. Throws `AccountsError`. */
export async function openAccountStore(directory: string): Promise<AccountStore> {
  await prepareAccountDirectory(directory);
  const path = join(directory, 'accounts.json');
  let writing: Promise<void> = Promise.resolve();
  let mailCount = 0;
  return {
    accounts: await readAccounts(path),
    save(accounts) {
      const next = writing.then(() => replaceFile(path, `${JSON.stringify(accounts(), null, 1)}\n`));
      // A failed write must not bar the next one.
      writing = next.catch(() => {});
      return next;
    },
    writeMail(text, now) {
      mailCount += 1;
      const name = `${formatServiceTime(now).slice(0, 19).replaceAll(':', '')}-${process.pid}-${mailCount}.txt`;
      return replaceFile(join(directory, 'outbox', name), text);
    },
  };
}

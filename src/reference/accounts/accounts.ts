/** Who may log in: salted scrypt hashes under names, and the rules for passwords and addresses. Knows no path, no token and no file. */

import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { type Account, memoryAccountStore, openAccountStore } from './account-store.ts';
import type { PlanName } from './plans.ts';

export interface NewAccount {
  readonly username: string;
  readonly password: string;
  readonly plan: PlanName;
  readonly email: string;
  readonly org: string | null;
}

export interface Accounts {
  findByName(username: string): Account | undefined;
  findByApiToken(apiToken: string): Account | undefined;
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
const SCRYPT_COST = { N: 16_384, r: 8, p: 1 };

/** What a password and its salt make: the key to compare by, and the account's v1 token. */
const deriveKey = (password: string, salt: Buffer) =>
  new Promise<Buffer>((resolve, reject) => {
    scrypt(password, salt, KEY_BYTES + TOKEN_BYTES, SCRYPT_COST, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });

const encodeSecrets = (key: Buffer, salt: Buffer) => ({
  salt: salt.toString('hex'),
  hash: key.subarray(0, KEY_BYTES).toString('hex'),
  apiToken: key.subarray(KEY_BYTES).toString('hex'),
});

/** Opens the accounts of `directory`, or an empty book in memory. */
export async function openAccounts(directory: string | undefined): Promise<Accounts> {
  const store = directory === undefined ? memoryAccountStore : await openAccountStore(directory);
  const byName = new Map(store.accounts.map((account) => [account.username, account]));
  const decoySalt = randomBytes(16);
  const decoyHash = randomBytes(KEY_BYTES).toString('hex');

  const verify = async (username: string, password: string) => {
    const account = byName.get(username);
    const salt = account === undefined ? decoySalt : Buffer.from(account.salt, 'hex');
    const { hash } = encodeSecrets(await deriveKey(password, salt), salt);
    const isMatch = timingSafeEqual(Buffer.from(hash, 'hex'), Buffer.from(account?.hash ?? decoyHash, 'hex'));
    return account !== undefined && isMatch ? account : undefined;
  };
  const saveAccount = async (account: Account) => {
    const before = byName.get(account.username);
    byName.set(account.username, account);
    try {
      await store.save(() => [...byName.values()]);
    } catch (error) {
      // What could not be kept was not made: the caller may try again under the same name.
      if (before === undefined) byName.delete(account.username);
      else byName.set(account.username, before);
      throw error;
    }
  };
  return {
    findByName: (username) => byName.get(username),
    findByApiToken: (apiToken) => [...byName.values()].find((account) => account.apiToken === apiToken),
    async create({ username, password, ...rest }, { replace = false } = {}) {
      if (byName.has(username) && !replace) return false;
      const known = replace ? await verify(username, password) : undefined;
      const salt = store.createSalt(username);
      const { hash, apiToken, salt: salted } = known ?? encodeSecrets(await deriveKey(password, salt), salt);
      // Another may have taken the name in the meantime.
      if (byName.has(username) && !replace) return false;
      await saveAccount({ username, ...rest, apiToken, salt: salted, hash });
      return true;
    },
    verify,
    mailReset: (account, now) => store.writeMail(formatResetMail(account), now),
  };
}

const formatResetMail = ({ username, email }: Account) =>
  [
    `To: ${email}`,
    'Subject: Reset your password',
    '',
    `A new password was asked for the account "${username}".`,
    `Reset code: ${randomBytes(16).toString('hex')}`,
    '',
  ].join('\n');

/** What is wrong with a password, or undefined (specification 2.1). */
export function findPasswordMistake(password: string): string | undefined {
  if ([...password].length < 8) return 'must have at least 8 characters';
  if (!/[A-Za-z]/.test(password)) return 'must have at least one alphabetic character';
  if (!/[0-9]/.test(password)) return 'must have at least one numeric character';
  if (!/[^A-Za-z0-9]/.test(password)) return 'must have at least one special character';
  return undefined;
}

export const isEmail = (text: string) => text.length <= 254 && /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/.test(text);

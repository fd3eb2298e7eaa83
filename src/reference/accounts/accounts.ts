/** Who may log in: salted scrypt hashes under names, and the rules for passwords and e-mail addresses. */

import { createHash, createHmac, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { type Account, type AccountStore, memoryAccountStore, openAccountStore } from './account-store.ts';
import type { PlanName } from './plans.ts';

interface NewAccount {
  readonly username: string;
  readonly password: string;
  readonly plan: PlanName;
  readonly email: string;
  readonly org: string | null;
}

export interface Accounts {
  findByName(username: string): Account | undefined;
  findByApiToken(apiToken: string): Account | undefined;
  /** False when the name is taken. */
  create(account: NewAccount): Promise<boolean>;
  /** An account of the command line, in place of a stored one of its name. */
  give(account: NewAccount): Promise<void>;
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

/** Passwords that were right before, or were given at the start: digests by a key that dies with the process. */
function createKnownPasswords() {
  const key = randomBytes(KEY_BYTES);
  const digests = new Map<string, Buffer>();
  const digest = (password: string) => createHmac('sha256', key).update(password).digest();
  return {
    add: (username: string, password: string) => digests.set(username, digest(password)),
    forget: (username: string) => digests.delete(username),
    matches(username: string, password: string) {
      const known = digests.get(username);
      return known !== undefined && timingSafeEqual(known, digest(password));
    },
  };
}

/** Accounts under their names and tokens; a change is kept in the store before it counts. */
function createAccountBook(store: AccountStore) {
  const byName = new Map(store.accounts.map((account) => [account.username, account]));
  const byToken = new Map(store.accounts.map((account) => [account.apiToken, account]));
  const put = (username: string, account: Account | undefined) => {
    const before = byName.get(username);
    if (before !== undefined) byToken.delete(before.apiToken);
    if (account === undefined) byName.delete(username);
    else {
      byName.set(username, account);
      byToken.set(account.apiToken, account);
    }
    return before;
  };
  return {
    byName,
    byToken,
    async save(account: Account) {
      const before = put(account.username, account);
      try {
        await store.save(() => [...byName.values()]);
      } catch (error) {
        // An account that could not be kept was not made: the client may try again under the same name.
        put(account.username, before);
        throw error;
      }
    },
  };
}

/** Opens the accounts of `directory`, or an empty book in memory. */
export async function openAccounts(directory: string | undefined): Promise<Accounts> {
  const store = directory === undefined ? memoryAccountStore : await openAccountStore(directory);
  const { byName, byToken, save } = createAccountBook(store);
  const known = createKnownPasswords();
  const decoySalt = randomBytes(16);
  const decoyHash = randomBytes(KEY_BYTES).toString('hex');

  const verify = async (username: string, password: string) => {
    const account = byName.get(username);
    if (known.matches(username, password)) return account;
    const salt = account === undefined ? decoySalt : Buffer.from(account.salt, 'hex');
    const { hash } = encodeSecrets(await deriveKey(password, salt), salt);
    const isMatch = timingSafeEqual(Buffer.from(hash, 'hex'), Buffer.from(account?.hash ?? decoyHash, 'hex'));
    if (account === undefined || !isMatch) return undefined;
    known.add(username, password);
    return account;
  };
  const create = async ({ username, password, ...rest }: NewAccount, replace: boolean) => {
    if (byName.has(username) && !replace) return false;
    const same = replace ? await verify(username, password) : undefined;
    const salt = randomBytes(16);
    const { hash, apiToken, salt: salted } = same ?? encodeSecrets(await deriveKey(password, salt), salt);
    // Another may have taken the name in the meantime.
    if (byName.has(username) && !replace) return false;
    known.forget(username);
    await save({ username, ...rest, apiToken, salt: salted, hash });
    return true;
  };
  return {
    findByName: (username) => byName.get(username),
    findByApiToken: (apiToken) => byToken.get(apiToken),
    create: (account) => create(account, false),
    async give(account) {
      if (directory !== undefined) await create(account, true);
      else {
        // Nothing of it is stored, so nothing has to withstand a thief of the store: a thousand accounts begin in milliseconds.
        const { username, password, ...rest } = account;
        const apiToken = createHash('sha256')
          .update(`v1 ${username} ${password}`)
          .digest('hex')
          .slice(0, 2 * TOKEN_BYTES);
        known.add(username, password);
        await save({ username, ...rest, apiToken, salt: decoySalt.toString('hex'), hash: decoyHash });
      }
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

/** How often somebody may try to log in, register or ask for a reset mail, so that nobody can lock the account of another. */

import { isLoopback } from '../../domain/loopback.ts';
import { createRollingWindows } from './rolling-window.ts';

const MINUTE = 60_000;
/** Specification 8. */
const LOGINS = 100;
const LOGIN_SPAN = 5 * MINUTE;
/** Accounts and mails that one address may ask for; each is kept on the disk. */
const REQUESTS_TO_STORE = 20;
const STORE_SPAN = 60 * MINUTE;

export interface AttemptLimits {
  /** Counts a login before its password is judged, or returns the milliseconds to wait. */
  countLogin(address: string, username: string | undefined, now: number): number | undefined;
  /** Counts a login whose password was right, or returns the milliseconds to wait. */
  countGoodLogin(address: string, username: string, now: number): number | undefined;
  /** Counts a registration or reset mail, or returns the milliseconds to wait. */
  countStored(address: string, now: number): number | undefined;
}

/**
 * On loopback, where all clients are programs of one owner, every attempt counts for the user name. Elsewhere attempts count for the
 * address, and only a right password counts for the name: whoever does not know the password cannot use up the logins of who does.
 */
export function createAttemptLimits(): AttemptLimits {
  const byName = createRollingWindows(LOGINS, LOGIN_SPAN);
  const byAddress = createRollingWindows(LOGINS, LOGIN_SPAN);
  const stored = createRollingWindows(REQUESTS_TO_STORE, STORE_SPAN);
  return {
    countLogin: (address, username, now) =>
      isLoopback(address) ? byName.countOrWait(username ?? address, now) : byAddress.countOrWait(address, now),
    countGoodLogin: (address, username, now) => (isLoopback(address) ? undefined : byName.countOrWait(username, now)),
    countStored: (address, now) => (isLoopback(address) ? undefined : stored.countOrWait(address, now)),
  };
}

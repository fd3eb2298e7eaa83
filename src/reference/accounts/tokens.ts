/** Access tokens: issued at login, valid for exactly 30 minutes of the service's clock, kept in memory. */

import { randomBytes } from 'node:crypto';

/** Specification 8. */
const TOKEN_LIFE = 30 * 60_000;

export interface Tokens {
  issue(username: string, now: number): string;
  /** The user of a live token. */
  findUsername(token: string, now: number): string | undefined;
  /** Milliseconds since issue of a known token. */
  findAge(token: string, now: number): number | undefined;
  revoke(token: string): void;
}

export function createTokens(): Tokens {
  const issued = new Map<string, { readonly username: string; readonly at: number }>();
  const isLive = (at: number, now: number) => now - at < TOKEN_LIFE;
  return {
    issue(username, now) {
      // Insertion order is order of age, so the dead stand first.
      for (const [token, { at }] of issued) {
        if (isLive(at, now)) break;
        issued.delete(token);
      }
      const token = randomBytes(24).toString('base64url');
      issued.set(token, { username, at: now });
      return token;
    },
    findUsername(token, now) {
      const found = issued.get(token);
      return found !== undefined && isLive(found.at, now) ? found.username : undefined;
    },
    findAge(token, now) {
      const found = issued.get(token);
      return found === undefined ? undefined : now - found.at;
    },
    revoke: (token) => issued.delete(token),
  };
}

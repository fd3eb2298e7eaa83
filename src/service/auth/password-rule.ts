/** Checks a registration before sending and names the first rule it breaks (specification 2.1, 8). */

import type { Registration } from '../api/query-types.ts';
import type { Failure } from '../failure.ts';

const MIN_PASSWORD_LENGTH = 8;

//  rule                                                      holds
const PASSWORD_RULES: readonly (readonly [string, (password: string) => boolean])[] = [
  [`at least ${MIN_PASSWORD_LENGTH} characters`, (password) => [...password].length >= MIN_PASSWORD_LENGTH],
  ['at least one letter', (password) => /[A-Za-z]/.test(password)],
  ['at least one digit', (password) => /[0-9]/.test(password)],
  ['at least one special character', (password) => /[^A-Za-z0-9]/.test(password)],
];

/** The first rule that the password breaks, as a sentence; undefined when it breaks none. */
const findBrokenPasswordRule = (password: string) => PASSWORD_RULES.find(([, holds]) => !holds(password))?.[0];

const EMAIL_PATTERN = /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/;

export function checkRegistration({ username, password, email }: Registration): Failure | undefined {
  const invalid = (field: string, message: string): Failure => ({ kind: 'invalid', field, message });
  if (username.trim() === '') return invalid('username', 'is empty');
  if (username.includes(':')) return invalid('username', 'holds a colon, which HTTP basic auth cannot carry');
  const rule = findBrokenPasswordRule(password);
  if (rule !== undefined) return invalid('password', `needs ${rule}`);
  if (!EMAIL_PATTERN.test(email) || email.length > 254) return invalid('email', 'is not an e-mail address');
  return undefined;
}

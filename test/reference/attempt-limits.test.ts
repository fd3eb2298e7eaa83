/** Who may try to log in how often: by name on loopback, by address elsewhere, and never at the cost of another. */

import { describe, expect, it } from 'vitest';
import { createAttemptLimits } from '../../src/reference/accounts/attempt-limits.ts';

const HERE = '127.0.0.1';
const [THIEF, OWNER] = ['192.0.2.7', '198.51.100.9'];

describe('logins', () => {
  it('on loopback count by name: 100 in 5 minutes, good and bad alike', () => {
    const limits = createAttemptLimits();
    for (let i = 0; i < 100; i++) expect(limits.countLogin(HERE, 'a', 0)).toBeUndefined();
    expect(limits.countLogin(HERE, 'a', 60_000)).toBe(240_000);
    expect(limits.countLogin(HERE, 'b', 60_000)).toBeUndefined();
  });
  it('elsewhere count by address: who does not know the password locks out nobody else', () => {
    const limits = createAttemptLimits();
    for (let i = 0; i < 100; i++) expect(limits.countLogin(THIEF, 'owner', 0)).toBeUndefined();
    expect(limits.countLogin(THIEF, 'owner', 0)).toBe(300_000);
    expect(limits.countLogin(THIEF, 'another', 0)).toBe(300_000);
    expect(limits.countLogin(OWNER, 'owner', 0)).toBeUndefined();
    expect(limits.countGoodLogin(OWNER, 'owner', 0)).toBeUndefined();
  });
  it('elsewhere a right password counts by name too, from however many addresses', () => {
    const limits = createAttemptLimits();
    for (let i = 0; i < 100; i++) expect(limits.countGoodLogin(`192.0.2.${i}`, 'owner', 0)).toBeUndefined();
    expect(limits.countGoodLogin(OWNER, 'owner', 0)).toBe(300_000);
  });
});

describe('registrations and reset mails', () => {
  it.each([
    [HERE, undefined],
    [THIEF, 3_600_000],
  ])('from %s: after 20 in an hour the wait is %s', (address, wait) => {
    const limits = createAttemptLimits();
    for (let i = 0; i < 20; i++) expect(limits.countStored(address, 0)).toBeUndefined();
    expect(limits.countStored(address, 0)).toBe(wait);
  });
});

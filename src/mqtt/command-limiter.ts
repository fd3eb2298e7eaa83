/** Limits the rate of a load's commands and refuses stored and repeated ones. */

import type { BrokerMessage } from '../domain/ports.ts';
import { addDuration, type Duration, minutes, seconds, subtractDuration, type Uptime } from '../domain/units.ts';

/** So many at once, then one more each `REFILL`. */
const BURST = 10;
const REFILL_INTERVAL = seconds(6);
/** An id that comes again within this is the same command. */
const REMEMBER_ANSWERS_FOR = minutes(10);
const MAX_REMEMBERED_IDS = 64;

export type CommandVerdict = 'in' | 'nothing' | 'stored' | 'repeated' | 'flood' | 'flood-begins';

export interface CommandLimiter<Answer> {
  /** `empty` messages are nothing; a stored one, or one the broker repeats, never counts. */
  classifyMessage(message: BrokerMessage, now: Uptime): CommandVerdict;
  /** The answer given to this id before, if it is remembered. */
  findAnswer(id: string, now: Uptime): Answer | undefined;
  rememberAnswer(id: string, answer: Answer, now: Uptime): void;
}

export function createCommandLimiter<Answer>(): CommandLimiter<Answer> {
  const answers = new Map<string, { readonly answer: Answer; readonly at: Uptime }>();
  let tokens = BURST;
  let refilledAt: Uptime | undefined;
  let isFlooding = false;

  const refill = (now: Uptime): void => {
    refilledAt ??= now;
    const earned = Math.floor((now - refilledAt) / REFILL_INTERVAL);
    if (earned <= 0) return;
    tokens = Math.min(BURST, tokens + earned);
    refilledAt = addDuration(refilledAt, (earned * REFILL_INTERVAL) as Duration);
  };

  return {
    classifyMessage({ payload, retained, duplicate }, now) {
      if (payload.byteLength === 0) return 'nothing';
      refill(now);
      if (tokens === 0) {
        const begins = !isFlooding;
        isFlooding = true;
        return begins ? 'flood-begins' : 'flood';
      }
      isFlooding = false;
      tokens -= 1;
      if (retained) return 'stored';
      return duplicate ? 'repeated' : 'in';
    },
    findAnswer(id, now) {
      const entry = answers.get(id);
      return entry !== undefined && entry.at > subtractDuration(now, REMEMBER_ANSWERS_FOR) ? entry.answer : undefined;
    },
    rememberAnswer(id, answer, now) {
      answers.delete(id);
      answers.set(id, { answer, at: now });
      const [oldest] = answers.keys();
      if (answers.size > MAX_REMEMBERED_IDS && oldest !== undefined) answers.delete(oldest);
    },
  };
}

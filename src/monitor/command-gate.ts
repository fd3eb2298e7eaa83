/** Lets a load's commands in one at a time: drops floods, stored and repeated ones before they count; reads none of them. */

import { after, before, type Duration, minutes, seconds, type Uptime } from '../units.ts';
import type { BrokerMessage } from '../world.ts';

/** So many at once, then one more each `REFILL`. */
const BURST = 10;
const REFILL = seconds(6);
/** An id heard again within this is the same command. */
const REMEMBER = minutes(10);
const MOST_IDS = 64;

export type Verdict = 'in' | 'nothing' | 'stored' | 'repeated' | 'flood' | 'flood-begins';

export interface CommandGate<Answer> {
  /** `empty` messages are nothing; a stored one, or one the broker repeats, never counts. */
  judge(message: BrokerMessage, now: Uptime): Verdict;
  /** The answer given to this id before, if it is remembered. */
  answered(id: string, now: Uptime): Answer | undefined;
  remember(id: string, answer: Answer, now: Uptime): void;
}

export function createCommandGate<Answer>(): CommandGate<Answer> {
  const known = new Map<string, { readonly answer: Answer; readonly at: Uptime }>();
  let left = BURST;
  let counted: Uptime | undefined;
  let flooding = false;

  const refill = (now: Uptime): void => {
    counted ??= now;
    const earned = Math.floor((now - counted) / REFILL);
    if (earned <= 0) return;
    left = Math.min(BURST, left + earned);
    counted = after(counted, (earned * REFILL) as Duration);
  };

  return {
    judge({ payload, retained, duplicate }, now) {
      if (payload.byteLength === 0) return 'nothing';
      refill(now);
      if (left === 0) {
        const begins = !flooding;
        flooding = true;
        return begins ? 'flood-begins' : 'flood';
      }
      flooding = false;
      left -= 1;
      if (retained) return 'stored';
      return duplicate ? 'repeated' : 'in';
    },
    answered(id, now) {
      const entry = known.get(id);
      return entry !== undefined && entry.at > before(now, REMEMBER) ? entry.answer : undefined;
    },
    remember(id, answer, now) {
      known.delete(id);
      known.set(id, { answer, at: now });
      const [oldest] = known.keys();
      if (known.size > MOST_IDS && oldest !== undefined) known.delete(oldest);
    },
  };
}

/** Reads the account's entitlements once a day and reports changes. */

import { createPoller } from '../../domain/poller.ts';
import type { Clock, Random } from '../../domain/ports.ts';
import { type Duration, days, hours, milliseconds } from '../../domain/units.ts';
import type { SignalQuery } from '../api/query-types.ts';
import type { ServiceClient } from '../client.ts';
import type { Failure } from '../failure.ts';
import { computeRetryDelay } from '../limits/retry-delay.ts';
import {
  applyDescription,
  applyGate,
  createUnknownEntitlements,
  deriveEntitlements,
  type Entitlements,
  formatEntitlementChanges,
  type GatedPart,
} from './entitlements.ts';

const POLL_INTERVAL = days(1);
/** Read up to this much earlier, so that devices started together do not ask together for ever. */
const POLL_JITTER = hours(1);

export interface EntitlementPollerParts {
  readonly service: Pick<ServiceClient, 'myAccess'>;
  readonly clock: Clock;
  readonly random: Random;
  /** After each poll, and after each request that was refused or newly accepted: the entitlements, and a sentence for each change. */
  readonly onEntitlements: (plan: Entitlements, changes: readonly string[]) => void;
  /** A failed poll; the earlier entitlements stay. */
  readonly onFailure: (failure: Failure) => void;
}

export interface EntitlementPoller {
  /** The plan of this region and signal from now on; unknown until it is read, which happens at once or after `wait`. */
  pollFor(query: SignalQuery, wait?: Duration): void;
  /** Undefined before the first `watch`. */
  entitlements(): Entitlements | undefined;
  /** A request of this part was gated, or answered. */
  observeGate(part: GatedPart, gate: 'open' | 'closed'): void;
  stop(): void;
}

export function createEntitlementPoller({
  service,
  clock,
  random,
  onEntitlements,
  onFailure,
}: EntitlementPollerParts): EntitlementPoller {
  let current: Entitlements | undefined;
  /** The service's last description, without what requests have shown since. */
  let described: Entitlements | undefined;
  let failures = 0;

  const replace = (now: Entitlements) => {
    const changes = current === undefined ? [] : formatEntitlementChanges(current, now);
    current = now;
    onEntitlements(now, changes);
  };

  async function poll(): Promise<Duration | undefined> {
    const polled = current;
    if (polled === undefined || poller.signal.aborted) return undefined;
    const { region, signalType } = polled;
    const outcome = await service.myAccess({ region, signalType });
    // The region has changed meanwhile: the new one is polled at once.
    if (current?.region !== region || current.signalType !== signalType) return milliseconds(0);
    if (poller.signal.aborted) return undefined;
    if (outcome.ok) {
      failures = 0;
      const description = deriveEntitlements(outcome.value, polled);
      const merged = applyDescription(current, described, description);
      described = description;
      replace(merged);
      return milliseconds(POLL_INTERVAL - Math.floor(random.fraction() * POLL_JITTER));
    }
    failures += 1;
    onFailure(outcome.failure);
    return computeRetryDelay(outcome.failure, failures, random.fraction());
  }
  const poller = createPoller({ clock, name: 'plan', poll });

  return {
    pollFor({ region, signalType }, wait = milliseconds(0)) {
      if (poller.signal.aborted || (current?.region === region && current.signalType === signalType)) return;
      current = createUnknownEntitlements(region, signalType);
      described = undefined;
      failures = 0;
      poller.pollAfter(wait);
    },
    entitlements: () => current,
    observeGate(part, gate) {
      if (current !== undefined && current[part] !== gate) replace(applyGate(current, part, gate));
    },
    stop: poller.stop,
  };
}

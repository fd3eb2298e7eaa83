/** Reads the account's plan once a day and tells what changed; decides when to read, not what is asked with it. */

import { after, type Duration, days, hours, milliseconds } from '../units.ts';
import type { Cancel, Clock, Random } from '../world.ts';
import { afterFailure } from './after-failure.ts';
import type { Failure } from './failure.ts';
import { type GatedPart, type Plan, planChanges, planOf, unknownPlan, withDescription, withGate } from './plan.ts';
import type { SignalQuery } from './queries.ts';
import type { Service } from './service.ts';

const DAILY = days(1);
/** Read up to this much earlier, so that devices started together do not ask together for ever. */
const SPREAD = hours(1);

export interface PlanWatchParts {
  readonly service: Pick<Service, 'myAccess'>;
  readonly clock: Clock;
  readonly random: Random;
  /** After each look, and after each request that met a gate or passed one: the plan, and a sentence for each change. */
  readonly told: (plan: Plan, changes: readonly string[]) => void;
  /** A look that failed; the plan before it stays. */
  readonly failed: (failure: Failure) => void;
}

export interface PlanWatch {
  /** The plan of this region and signal from now on; unknown until it is read, which happens at once or after `wait`. */
  watch(query: SignalQuery, wait?: Duration): void;
  /** Undefined before the first `watch`. */
  plan(): Plan | undefined;
  /** A request of this part was gated, or answered. */
  met(part: GatedPart, gate: 'open' | 'closed'): void;
  stop(): void;
}

export function createPlanWatch({ service, clock, random, told, failed }: PlanWatchParts): PlanWatch {
  let plan: Plan | undefined;
  /** As the service described it last, whatever requests have met since. */
  let described: Plan | undefined;
  let failures = 0;
  let next: Cancel | undefined;
  let stopped = false;

  const lookAfter = (wait: Duration) => {
    next?.();
    if (!stopped) next = clock.wakeAt(after(clock.now().uptime, wait), 'plan', () => void look());
  };

  const replace = (now: Plan) => {
    const changes = plan === undefined ? [] : planChanges(plan, now);
    plan = now;
    told(now, changes);
  };

  async function look(): Promise<void> {
    const about = plan;
    if (about === undefined) return;
    const { region, signalType } = about;
    const outcome = await service.myAccess({ region, signalType });
    // The region may have changed meanwhile; its own look is under way.
    if (stopped || plan?.region !== region || plan.signalType !== signalType) return;
    if (outcome.ok) {
      failures = 0;
      const read = planOf(outcome.value, about);
      const known = withDescription(plan, described, read);
      described = read;
      replace(known);
      return lookAfter(milliseconds(DAILY - Math.floor(random.fraction() * SPREAD)));
    }
    failures += 1;
    failed(outcome.failure);
    lookAfter(afterFailure(outcome.failure, failures, random.fraction()));
  }

  return {
    watch({ region, signalType }, wait = milliseconds(0)) {
      if (stopped || (plan?.region === region && plan.signalType === signalType)) return;
      plan = unknownPlan(region, signalType);
      described = undefined;
      failures = 0;
      lookAfter(wait);
    },
    plan: () => plan,
    met(part, gate) {
      if (plan !== undefined && plan[part] !== gate) replace(withGate(plan, part, gate));
    },
    stop() {
      stopped = true;
      next?.();
    },
  };
}

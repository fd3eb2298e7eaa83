/** Publishes energy, emissions and savings from the ledger: every quarter of an hour while a load runs, every hour of a day with energy, and after midnight. */

import type { Decision } from '../control/control-types.ts';
import { isRunning } from '../domain/levels.ts';
import { createDayFormatter, findNextDayStart } from '../domain/local-day.ts';
import { createPoller } from '../domain/poller.ts';
import { DiskError } from '../domain/ports.ts';
import { addDuration, type Duration, floorTo, hours, type Instant, minutes, seconds } from '../domain/units.ts';
import { createHouseTotals, type HouseTotals } from '../ledger/house-totals.ts';
import type { Monitor } from '../mqtt/monitor.ts';
import type { AgentContext } from './agent-context.ts';
import type { Part } from './lifecycle.ts';

export interface TotalsPublisherParts {
  readonly monitor: Monitor;
  readonly decisions: () => readonly Decision[];
}

/** After a start: the loads come first. */
const FIRST_WAIT = seconds(5);
const TOTALS_INTERVAL = minutes(15);
/** The ledger writes what has gathered at each quarter of an hour. */
const AFTER_WRITE = seconds(30);
/** What a run saved is compared with the whole day, of which each hour tells more. */
const REFRESH_WAIT = hours(1);
/** A run that has ended is in the ledger after the next write. */
const POLLS_AFTER_RUN = 2;

export function createTotalsPublisher(context: AgentContext, { monitor, decisions }: TotalsPublisherParts): Part {
  const { world, config, clock } = context;
  const formatDay = createDayFormatter(config.place.timezone);
  const computeTotals = createHouseTotals(world.disk, config.place.timezone);
  let published: { readonly day: string; readonly at: Instant; readonly hasEnergy: boolean } | undefined;
  let pollsLeft = 0;

  const poller = createPoller({
    clock: world.clock,
    name: 'totals',
    async poll() {
      const { wall, trusted } = clock.now();
      if (decisions().some(({ level }) => isRunning(level))) pollsLeft = POLLS_AFTER_RUN;
      const today = formatDay(wall);
      const isNewHour = published?.hasEnergy === true && wall - published.at >= REFRESH_WAIT;
      if (trusted && (pollsLeft > 0 || today !== published?.day || isNewHour)) {
        const totals = await readTotals(computeTotals, wall);
        if (poller.signal.aborted) return undefined;
        if (totals !== undefined) {
          const validUntil = findNextDayStart(formatDay, wall);
          monitor.publishTotals({ at: wall, validUntil, today, ...totals });
          const hasEnergy = totals.spans.some(({ span, energy }) => span === today && energy > 0);
          published = { day: today, at: floorTo(wall, TOTALS_INTERVAL), hasEnergy };
          pollsLeft -= 1;
        }
      }
      return findWait(wall);
    },
  });
  return { start: () => poller.pollAfter(FIRST_WAIT), stop: poller.stop };
}

/** Until after the next write of the ledger. */
function findWait(now: Instant): Duration {
  const next = addDuration(addDuration(floorTo(now, TOTALS_INTERVAL), TOTALS_INTERVAL), AFTER_WRITE);
  return (next - now) as Duration;
}

/** Undefined while the disk refuses. */
async function readTotals(compute: (now: Instant) => Promise<HouseTotals>, now: Instant) {
  try {
    return await compute(now);
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    return undefined;
  }
}

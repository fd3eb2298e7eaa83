/** `gridtide region --online`: the service's own answer (specification 4.2). Apart, so that the offline answer loads no HTTP client. */

import type { SignalType } from '../../domain/load-types.ts';
import type { Place } from '../../domain/units.ts';
import type { Arguments, Terminal } from '../shared/command.ts';
import { openService, type ServiceRow, unwrapOutcome } from '../shared/service-access.ts';

interface OnlineAnswer {
  readonly region: string;
  readonly regionFullName: string;
  readonly candidates: readonly string[];
  readonly mapLastUpdated: null;
}

/** Runs `work` with a resolver that asks region-from-loc; undefined outside coverage, `JobError` for any other failure. */
export async function withOnlineRegions<T>(
  args: Arguments<ServiceRow>,
  terminal: Terminal,
  signalType: SignalType,
  work: (resolve: (place: Place) => Promise<OnlineAnswer | undefined>) => Promise<T>,
): Promise<T> {
  const access = await openService(args, terminal);
  try {
    return await work(async (place) => {
      const outcome = await access.service.regionFromLoc({ signalType, place });
      if (!outcome.ok && outcome.failure.kind === 'outside-coverage') return undefined;
      const { region, regionFullName } = unwrapOutcome(outcome);
      return { region, regionFullName, candidates: [region], mapLastUpdated: null };
    });
  } finally {
    await access.close();
  }
}

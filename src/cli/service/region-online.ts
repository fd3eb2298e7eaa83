/** `gridtide region --online`: the answer of the service (specification 4.2). A file of its own, so that the offline answer loads no HTTP client. */

import type { SignalType } from '../../domain/load-types.ts';
import type { Arguments, Terminal } from '../shared/command.ts';
import { openService, type ServiceRow, unwrapOutcome } from '../shared/service-access.ts';
import type { RegionResolver } from './region-resolver.ts';

/** Runs `work` with a resolver by region-from-loc: undefined outside coverage, `JobError` for any other failure. */
export async function withOnlineRegions<T>(
  args: Arguments<ServiceRow>,
  terminal: Terminal,
  signalType: SignalType,
  work: (resolve: RegionResolver) => Promise<T>,
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

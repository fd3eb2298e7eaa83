/** Applies the account's entitlements: which sources to poll, with which model, and whether to check the region. */

import type { EntitlementPollerParts } from '../service/entitlements/entitlement-poller.ts';
import type { Entitlements } from '../service/entitlements/entitlements.ts';
import { chooseModel } from '../service/entitlements/pinned-model.ts';
import type { AgentContext } from './agent-context.ts';
import type { RegionLoop } from './region-loop.ts';
import type { SignalLoop } from './signal-loop.ts';

export interface EntitlementHandlerParts {
  readonly signalLoop: Pick<SignalLoop, 'setGate' | 'setModel'>;
  readonly regionLoop: Pick<RegionLoop, 'requestEarlyRefresh'>;
  readonly onChange: () => void;
}

export function createEntitlementHandler(
  { config, clock, log, problems }: AgentContext,
  { signalLoop, regionLoop, onChange }: EntitlementHandlerParts,
): EntitlementPollerParts['onEntitlements'] {
  let previous: Entitlements | undefined;

  /** A pinned model without new data, or unlisted, becomes a problem and is not requested (specification 3, 9). */
  const applyPinnedModel = ({ models }: Entitlements): void => {
    const { model, note } = chooseModel(config.service.model, models, clock.now().wall);
    if (note === undefined) problems.resolve('service:model');
    else problems.raise('service:model', `service.model: ${note}`);
    signalLoop.setModel(model);
  };

  return (plan, changes) => {
    for (const change of changes) log('info', change);
    signalLoop.setGate('forecast', plan.forecast === 'closed' ? 'closed' : 'open');
    signalLoop.setGate('live-index', plan.index === 'closed' ? 'closed' : 'open');
    applyPinnedModel(plan);
    // A region that was never listed is not missing: a free account may list none of its region.
    if (!plan.isListed && previous?.region === plan.region && previous.isListed)
      regionLoop.requestEarlyRefresh('region-not-in-access');
    previous = plan;
    onChange();
  };
}

/** Decides which data model is asked for when one is pinned (specification 3, 9): one that makes no new data is not. */

import { instantOf } from '../times.ts';
import { before, days, type Instant } from '../units.ts';
import type { AccessModel } from './answers.ts';

export interface ModelChoice {
  /** Absent: the service's default. */
  readonly model?: string;
  /** What the owner should know about the pinned model. */
  readonly note?: string;
}

/** A model that goes on ends today, in whatever zone the service dates it. */
function isDiscontinued({ dataEnd }: AccessModel, now: Instant): boolean {
  const end = instantOf(`${dataEnd}T23:59:59Z`);
  return end !== undefined && end < before(now, days(1));
}

/** `models` are those the access description lists for the endpoint; empty while it is not known. */
export function modelToAsk(pinned: string | undefined, models: readonly AccessModel[], now: Instant): ModelChoice {
  if (pinned === undefined) return {};
  if (models.length === 0) return { model: pinned };
  const found = models.find(({ model }) => model === pinned);
  if (found === undefined) {
    const known = models.map(({ model }) => model).join(', ');
    return { note: `the service knows no model ${pinned} here (it lists ${known}); its default is used` };
  }
  if (isDiscontinued(found, now))
    return { note: `model ${pinned} has made no new data since ${found.dataEnd}; the service's default is used` };
  return { model: pinned };
}

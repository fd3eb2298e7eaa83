/** Decides which data model to request when one is pinned (specification 3, 9): never one without new data. */

import { parseInstant } from '../../domain/iso-time.ts';
import { days, type Instant, subtractDuration } from '../../domain/units.ts';
import type { AccessModel } from '../api/response-types.ts';

export interface ModelChoice {
  /** Absent: the service's default. */
  readonly model?: string;
  /** What the owner should know about the pinned model. */
  readonly note?: string;
}

/** A model that continues has today as its end, in whatever zone the service dates it. */
function isDiscontinued({ dataEnd }: AccessModel, now: Instant): boolean {
  const end = parseInstant(`${dataEnd}T23:59:59Z`);
  return end !== undefined && end < subtractDuration(now, days(1));
}

/** `models` are those the access description lists for the endpoint; empty while it is not known. */
export function chooseModel(pinned: string | undefined, models: readonly AccessModel[], now: Instant): ModelChoice {
  if (pinned === undefined) return {};
  if (models.length === 0) return { model: pinned };
  const listed = models.find(({ model }) => model === pinned);
  if (listed === undefined) {
    const known = models.map(({ model }) => model).join(', ');
    return { note: `the service knows no model ${pinned} here (it lists ${known}); its default is used` };
  }
  if (isDiscontinued(listed, now))
    return { note: `model ${pinned} has made no new data since ${listed.dataEnd}; the service's default is used` };
  return { model: pinned };
}

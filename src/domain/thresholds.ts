/** The thresholds of a load: the configured ones, or those that its owner has set since. */

import type { LoadConfig } from './load-types.ts';
import type { Percentile } from './units.ts';

export type Thresholds = Pick<LoadConfig, 'onBelow' | 'offAbove'>;

export interface OwnerThresholds extends Thresholds {
  /** Other thresholds in the configuration end it: whoever edits the file means it. */
  readonly configured: Thresholds;
}

const isSame = (a: Thresholds, b: Thresholds) => a.onBelow === b.onBelow && a.offAbove === b.offAbove;

export function getThresholds(load: LoadConfig, owner: OwnerThresholds | undefined): Thresholds {
  const { onBelow, offAbove } = owner !== undefined && isSame(owner.configured, load) ? owner : load;
  return { onBelow, offAbove };
}

/** With what the owner gives; the other threshold moves along where it must. Nothing given: the configured ones again. */
export function changeThresholds(
  load: LoadConfig,
  owner: OwnerThresholds | undefined,
  { onBelow, offAbove }: Partial<Thresholds>,
): OwnerThresholds | undefined {
  if (onBelow === undefined && offAbove === undefined) return undefined;
  const present = getThresholds(load, owner);
  const configured = { onBelow: load.onBelow, offAbove: load.offAbove };
  return {
    onBelow: onBelow ?? (Math.min(present.onBelow, offAbove ?? 100) as Percentile),
    offAbove: offAbove ?? (Math.max(present.offAbove, onBelow ?? 0) as Percentile),
    configured,
  };
}

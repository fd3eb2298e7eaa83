/** The currents below its own that a charger can be lowered to, and the part of its power that each gives. */

import type { LoadConfig, LoadCurrent } from './load-types.ts';

/** No charger knows a current below this. */
export const MIN_AMPS = 6;

/** In whole amperes, ascending. */
export const listCurrentsBelow = (of: number): readonly LoadCurrent[] =>
  Array.from({ length: Math.max(0, of - MIN_AMPS) }, (_, i) => ({ amps: MIN_AMPS + i, of }));

/** Ascending; empty for a load that takes all of its power or none. */
export function listLowerCurrents({ output }: Pick<LoadConfig, 'output'>): readonly LoadCurrent[] {
  if (output.kind === 'mqtt') return (output.lowerCurrents ?? []).map(({ amps, of }) => ({ amps, of }));
  return output.kind === 'home-assistant' && output.amps !== undefined ? listCurrentsBelow(output.amps) : [];
}

/** Undefined: its own current, and all of its power. */
export const getPowerPortion = (current: LoadCurrent | undefined) =>
  current === undefined ? 1 : current.amps / current.of;

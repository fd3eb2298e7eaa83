/** The currents below its own that a charger can be lowered to, and the part of its power that each gives. */

import type { LoadConfig, LoadCurrent } from './load-types.ts';

/** Ascending; empty for a load that takes all of its power or none. */
export const listLowerCurrents = ({ output }: Pick<LoadConfig, 'output'>): readonly LoadCurrent[] =>
  output.kind === 'mqtt' ? (output.lowerCurrents ?? []).map(({ amps, of }) => ({ amps, of })) : [];

/** Undefined: its own current, and all of its power. */
export const getPowerPortion = (current: LoadCurrent | undefined) =>
  current === undefined ? 1 : current.amps / current.of;

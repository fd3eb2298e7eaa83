/** What a command knows of its device without asking anybody: state directory, place, signal type, from flags and configuration. */

import type { SignalType } from '../config/config.ts';
import type { Place } from '../units.ts';
import { type Arguments, type OptionRow, type Terminal, UsageError } from './command.ts';
import { STATE_ROW, stateDirectory } from './state-directory.ts';

export type HereRow = 'signal-type' | 'state' | 'config';

const SIGNAL_TYPES: readonly SignalType[] = ['co2_moer', 'co2_aoer', 'health_damage'];

/** To be spread into the options of a command. */
export const hereOptions: Readonly<Record<HereRow, OptionRow>> = {
  'signal-type': { value: 'TYPE', help: `one of ${SIGNAL_TYPES.join(', ')} (co2_moer)` },
  state: STATE_ROW,
  config: { value: 'FILE', help: 'configuration that tells place, signal type and state directory' },
};

export interface Here {
  readonly directory: string;
  readonly signalType: SignalType;
  /** Of the configuration. */
  readonly place?: Place;
}

function signalTypeOf(said: string): SignalType {
  const known = SIGNAL_TYPES.find((type) => type === said);
  if (known === undefined) throw new UsageError(`--signal-type ${said}: expected one of ${SIGNAL_TYPES.join(', ')}`);
  return known;
}

/** Throws `UsageError` for a mistake in a flag or in the configuration. */
export async function hereOf(args: Arguments<HereRow>, { env }: Terminal): Promise<Here> {
  const said = args.text('signal-type');
  const state = args.text('state');
  const file = args.text('config');
  if (file === undefined)
    return { directory: stateDirectory(env, { option: state }), signalType: signalTypeOf(said ?? 'co2_moer') };
  // Loaded only here: a lookup without a configuration does not pay for its reading.
  const { locatedConfig } = await import('./configuration.ts');
  const config = await locatedConfig(file, { env, state });
  const { latitude, longitude } = config.place;
  return {
    directory: config.state,
    signalType: said === undefined ? config.service.signalType : signalTypeOf(said),
    place: { latitude, longitude },
  };
}

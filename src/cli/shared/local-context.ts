/** State directory, place and signal type of a command, from its flags and its configuration. */

import type { SignalType } from '../../domain/load-types.ts';
import type { Place } from '../../domain/units.ts';
import type { Arguments, OptionRow, Terminal } from './command.ts';
import { findConfigFile } from './config-file.ts';
import { locateStateDirectory, STATE_ROW } from './state-directory.ts';

export type LocalContextRow = 'signal-type' | 'state' | 'config';

const SIGNAL_TYPES: readonly SignalType[] = ['co2_moer', 'co2_aoer', 'health_damage'];

/** To be spread into the options of a command. */
export const localContextOptions: Readonly<Record<LocalContextRow, OptionRow>> = {
  'signal-type': {
    value: 'TYPE',
    choices: SIGNAL_TYPES,
    help: 'default: that of the configuration, else co2_moer; one of',
  },
  state: STATE_ROW,
  config: { value: 'FILE', help: 'configuration with place, signal type and state directory' },
};

export interface LocalContext {
  readonly stateDirectory: string;
  readonly signalType: SignalType;
  /** Of the configuration. */
  readonly place?: Place;
}

/** The error of a command that needs the region map. */
export const buildNoMapMessage = ({ signalType, stateDirectory }: LocalContext) =>
  `no map of ${signalType} in ${stateDirectory}; get one with gridtide map update or gridtide map import FILE`;

/** Throws `UsageError` for a mistake in a flag or in the configuration. */
export async function readLocalContext(args: Arguments<LocalContextRow>, terminal: Terminal): Promise<LocalContext> {
  const given = SIGNAL_TYPES.find((type) => type === args.text('signal-type'));
  const state = args.text('state');
  const file = await findConfigFile(args.text('config'), terminal);
  if (file === undefined)
    return {
      stateDirectory: locateStateDirectory(terminal, state),
      signalType: given ?? 'co2_moer',
    };
  // Imported only here: a lookup without a configuration does not load its reader.
  const { loadConfigWithPaths } = await import('./load-configuration.ts');
  const config = await loadConfigWithPaths(file, terminal, { state, allowsMissingCredentials: true });
  const { latitude, longitude } = config.place;
  return {
    stateDirectory: config.state,
    signalType: given ?? config.service.signalType,
    place: { latitude, longitude },
  };
}

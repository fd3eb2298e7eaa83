/** The checked configuration with every default; its types come from the rows of `options.ts`. */

import type { LoadConfig } from '../domain/load-types.ts';
import type { ConfigValues, MQTT } from './options.ts';
import type { SectionValues } from './value-type.ts';

export type MqttConfig = SectionValues<typeof MQTT>;

export interface Config extends Omit<ConfigValues, 'loads'> {
  readonly loads: readonly LoadConfig[];
}

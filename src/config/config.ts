/** The checked configuration with every default; its types come from the rows of `options.ts`. */

import type { LoadConfig } from '../domain/load-types.ts';
import type { ConfigValues, MQTT, SERVICE } from './options.ts';
import type { SectionValues } from './value-type.ts';

export type ServiceConfig = SectionValues<typeof SERVICE>;
export type MqttConfig = SectionValues<typeof MQTT>;

export interface Config extends Omit<ConfigValues, 'loads'> {
  readonly loads: readonly LoadConfig[];
}

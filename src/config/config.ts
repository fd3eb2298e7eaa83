/** What the agent is told: the checked configuration, every default filled in. Plain options take their types from the rows of `options.ts`. */

import type { LoadConfig } from '../domain/load-types.ts';
import type { ConfigValues, MQTT, SERVICE } from './options.ts';
import type { SectionValues } from './value-type.ts';

export type ServiceConfig = SectionValues<typeof SERVICE>;
export type MqttConfig = SectionValues<typeof MQTT>;

/** The options at the top are the rows `OPTIONS`. */
export interface Config extends Omit<ConfigValues, 'loads'> {
  readonly loads: readonly LoadConfig[];
}

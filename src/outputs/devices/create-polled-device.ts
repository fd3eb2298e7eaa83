/** The device over HTTP that an output configuration describes. */

import type { WebOutputConfig } from '../../domain/load-types.ts';
import type { DeviceHttpParts } from './device-http.ts';
import { createHomeAssistantDevice } from './home-assistant-device.ts';
import { createHttpDevice } from './http-device.ts';
import type { PolledDevice } from './polled-device.ts';

export const createPolledDevice = (
  config: WebOutputConfig,
  parts: Pick<DeviceHttpParts, 'http' | 'secrets' | 'clock'>,
): PolledDevice =>
  config.kind === 'http' ? createHttpDevice(config, parts) : createHomeAssistantDevice(config, parts);

/** Reads a device's level out of what it says on its state topic; guesses nothing. */

import type { Level, MqttOutputConfig } from '../config/config.ts';

/** A state longer than this is no state of a switch. */
const MAX_BYTES = 16_384;

type StateOptions = Pick<MqttOutputConfig, 'onPayload' | 'offPayload' | 'statePath' | 'stateOn' | 'stateOff'>;

/** `on` or `off`, or undefined when the payload says neither. */
export function levelIn(payload: Uint8Array, options: StateOptions): Level | undefined {
  if (payload.byteLength > MAX_BYTES) return undefined;
  const text = new TextDecoder().decode(payload).trim();
  const value = options.statePath === undefined ? text : valueAt(text, options.statePath);
  if (value === undefined) return undefined;
  if (value === (options.stateOn ?? options.onPayload).trim()) return 'on';
  if (value === (options.stateOff ?? options.offPayload).trim()) return 'off';
  return undefined;
}

/** The value at a dotted path as text; undefined for no JSON, no such key, or something that is no plain value. */
function valueAt(text: string, path: string): string | undefined {
  let here: unknown;
  try {
    here = JSON.parse(text);
  } catch {
    return undefined;
  }
  for (const key of path.split('.')) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, key)) return undefined;
    here = (here as Readonly<Record<string, unknown>>)[key];
  }
  const plain = typeof here === 'string' || typeof here === 'number' || typeof here === 'boolean';
  return plain ? `${here}` : undefined;
}

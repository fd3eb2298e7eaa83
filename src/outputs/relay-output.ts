/** The output of a load on one GPIO line, written and read back. */

import type { Level, OutputConfig } from '../domain/load-types.ts';
import type { GpioLine, GpioLines } from '../domain/ports.ts';
import type { Output, OutputFailure } from './output.ts';

export interface RelayOutputParts {
  readonly load: string;
  readonly config: Extract<OutputConfig, { kind: 'relay' }>;
  /** Taken by a line that was no output before; one that is keeps what it has. */
  readonly initialLevel: Level;
  readonly pins: GpioLines;
}

export function createRelayOutput({ load, config, initialLevel, pins }: RelayOutputParts): Output {
  const { pin: line, activeLow } = config;
  const isHigh = (level: Level) => isRelayOn(load, level) !== activeLow;
  let pin: GpioLine | undefined;

  const openPin = async (): Promise<GpioLine | OutputFailure> => {
    if (pin !== undefined) return pin;
    const opened = await pins.open(line, { initiallyHigh: isHigh(initialLevel) });
    if ('kind' in opened) return opened;
    pin = opened;
    return opened;
  };

  /** A line that failed is opened anew the next time: its chip may have disappeared and come back. */
  const closePin = async (): Promise<void> => {
    const openedPin = pin;
    pin = undefined;
    await openedPin?.close();
  };

  const read = async (): Promise<Level | OutputFailure> => {
    const openedPin = await openPin();
    if ('kind' in openedPin) return openedPin;
    const high = await openedPin.read();
    if (typeof high === 'boolean') return high !== activeLow ? 'on' : 'off';
    await closePin();
    return high;
  };

  return {
    async open() {
      const level = await read();
      return typeof level === 'string' ? { level } : level;
    },
    async apply(level) {
      const wanted = isHigh(level);
      const opened = await openPin();
      if ('kind' in opened) return opened;
      const failure = await opened.write(wanted);
      if (failure !== undefined) {
        await closePin();
        return failure;
      }
      const found = await read();
      if (found === level) return undefined;
      return typeof found === 'string' ? buildStuckFailure(line, level) : found;
    },
    read,
    watch() {},
    release: async () => false,
    close: closePin,
  };
}

export const buildStuckFailure = (line: number, level: Level): OutputFailure => ({
  kind: 'unconfirmed',
  detail: `line ${line} was written for "${level}" and reads the other level, so the load may not have switched: check the relay board and its wiring`,
});

/** Configuration and control core give a relay no other level. */
function isRelayOn(load: string, level: Level): boolean {
  if (level === 'on' || level === 'off') return level === 'on';
  throw new Error(`load ${load}: a relay has the levels on and off, not "${level}"`);
}

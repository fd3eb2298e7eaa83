/** A load on one line of the board: tells it on or off and reads it back; never decides the level. */

import type { Level, OutputConfig } from '../config/config.ts';
import type { Pin, Pins } from '../world.ts';
import type { Output, OutputFailure } from './output.ts';

export interface RelayParts {
  readonly load: string;
  readonly config: Extract<OutputConfig, { kind: 'relay' }>;
  /** Taken by a line that was no output before; one that is keeps what it has. */
  readonly first: Level;
  readonly pins: Pins;
}

export function createRelay({ load, config, first, pins }: RelayParts): Output {
  const { pin: line, activeLow } = config;
  const isHigh = (level: Level) => isOn(load, level) !== activeLow;
  let pin: Pin | undefined;

  const hold = async (): Promise<Pin | OutputFailure> => {
    if (pin !== undefined) return pin;
    const opened = await pins.open(line, { initiallyHigh: isHigh(first) });
    if ('kind' in opened) return opened;
    pin = opened;
    return opened;
  };

  /** A line that failed is taken anew the next time: its chip may have gone and come back. */
  const letGo = async (): Promise<void> => {
    const held = pin;
    pin = undefined;
    await held?.close();
  };

  const read = async (): Promise<Level | OutputFailure> => {
    const held = await hold();
    if ('kind' in held) return held;
    const high = await held.read();
    if (typeof high === 'boolean') return high !== activeLow ? 'on' : 'off';
    await letGo();
    return high;
  };

  return {
    async open() {
      const level = await read();
      return typeof level === 'string' ? { level } : level;
    },
    async apply(level) {
      const wanted = isHigh(level);
      const held = await hold();
      if ('kind' in held) return held;
      const failure = await held.write(wanted);
      if (failure !== undefined) {
        await letGo();
        return failure;
      }
      const found = await read();
      if (found === level) return undefined;
      return typeof found === 'string' ? stuck(line, level) : found;
    },
    read,
    watch() {},
    async release() {},
    close: letGo,
  };
}

export const stuck = (line: number, level: Level): OutputFailure => ({
  kind: 'unconfirmed',
  detail: `line ${line} was written for "${level}" and reads the other level, so the load may not have switched: check the relay board and its wiring`,
});

/** Configuration and control core give a relay no other level. */
function isOn(load: string, level: Level): boolean {
  if (level === 'on' || level === 'off') return level === 'on';
  throw new Error(`load ${load}: a relay knows on and off, not "${level}"`);
}

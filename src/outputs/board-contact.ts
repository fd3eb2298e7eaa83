/** A contact on a line of the board that is read: its present position and its changes. */

import type { ContactInput } from '../domain/load-types.ts';
import type { GpioFailure, GpioInput, GpioLines } from '../domain/ports.ts';
import type { Duration } from '../domain/units.ts';
import type { OutputFailure } from './output.ts';

export interface BoardContactParts {
  /** Its option. */
  readonly name: string;
  readonly config: ContactInput;
  readonly pins: GpioLines;
  readonly debounce: Duration;
  readonly onChange: (isClosed: boolean) => void;
}

export interface BoardContact {
  /** Undefined: it is not open. */
  isClosed(): boolean | undefined;
  /** Opens the input where that has not happened; the failure otherwise. */
  open(): Promise<OutputFailure | undefined>;
  close(): Promise<void>;
}

export function createBoardContact({ name, config, pins, debounce, onChange }: BoardContactParts): BoardContact {
  const { pin, activeLow } = config;
  let input: GpioInput | undefined;
  let isClosed: boolean | undefined;

  const describeFailure = ({ kind, detail }: GpioFailure): OutputFailure => ({ kind, detail: `${name}: ${detail}` });
  const receive = (high: boolean): void => {
    isClosed = high !== activeLow;
    onChange(isClosed);
  };
  return {
    isClosed: () => isClosed,
    async open() {
      if (input !== undefined) return undefined;
      isClosed = undefined;
      const opened = await pins.watch(pin, { pull: activeLow ? 'up' : 'down', debounce, onLevel: receive });
      if ('kind' in opened) return describeFailure(opened);
      const high = await opened.read();
      if (typeof high !== 'boolean') {
        await opened.close();
        isClosed = undefined;
        return describeFailure(high);
      }
      input = opened;
      isClosed ??= high !== activeLow; // an edge meanwhile is newer than what was read
      return undefined;
    },
    async close() {
      const opened = input;
      input = undefined;
      isClosed = undefined;
      await opened?.close();
    },
  };
}

/** The contract every kind of output keeps: one load's level, told and read back. Types only. */

import type { Level } from '../config/config.ts';

export type OutputFailure = {
  /** `busy`, `missing` and `forbidden` need the owner; the others may pass. */
  readonly kind: 'busy' | 'missing' | 'forbidden' | 'io' | 'offline' | 'unconfirmed';
  /** What happened, what it means, what to do. */
  readonly detail: string;
};

export interface Output {
  /** The level found at start where it can be read, else undefined. Never changes it. */
  open(): Promise<{ readonly level?: Level } | OutputFailure>;
  /** Resolves when the level is in place as far as the output can tell. Calls do not overlap. */
  apply(level: Level): Promise<OutputFailure | undefined>;
  /** The level read back, where the output can. */
  read(): Promise<Level | undefined | OutputFailure>;
  /** Told of a level the device reports by itself (state topic). */
  watch(report: (level: Level) => void): void;
  /** Hands the device back to itself: the release payload, or nothing. */
  release(): Promise<void>;
  close(): Promise<void>;
}

export const isFailure = (answer: object | string | undefined): answer is OutputFailure =>
  typeof answer === 'object' && 'kind' in answer && 'detail' in answer;

/** The two contacts of the SG-Ready label: one relay at a time along 1:0 – 0:0 – 0:1 – 1:1, never another way; how long a state is held is decided elsewhere. */

import type { Level, OutputConfig } from '../config/config.ts';
import type { Pin, PinFailure, Pins } from '../world.ts';
import type { Output, OutputFailure } from './output.ts';
import { stuck } from './relay.ts';

/** The states in the order in which they may follow each other: two neighbours differ in one contact. */
const WAY = ['block', 'normal', 'recommend', 'force'] as const;
export type SgReadyState = (typeof WAY)[number];

/** Contacts A and B, closed or open. */
export const CONTACTS = {
  block: [true, false],
  normal: [false, false],
  recommend: [false, true],
  force: [true, true],
} as const satisfies Record<SgReadyState, readonly [boolean, boolean]>;

export const isSgReadyState = (level: Level): level is SgReadyState => WAY.some((state) => state === level);

/** The states passed on the way, `to` included and `from` not. */
export function wayBetween(from: SgReadyState, to: SgReadyState): readonly SgReadyState[] {
  const [start, end] = [WAY.indexOf(from), WAY.indexOf(to)];
  return start <= end ? WAY.slice(start + 1, end + 1) : WAY.slice(end, start).toReversed();
}

const stateOf = (a: boolean, b: boolean): SgReadyState => (a ? (b ? 'force' : 'block') : b ? 'recommend' : 'normal');

export interface SgReadyParts {
  readonly load: string;
  readonly config: Extract<OutputConfig, { kind: 'sg-ready' }>;
  readonly pins: Pins;
}

interface Contacts {
  readonly a: Pin;
  readonly b: Pin;
}

export function createSgReady({ load, config, pins }: SgReadyParts): Output {
  const { pins: lines, activeLow } = config;
  let contacts: Contacts | undefined;

  /** Open contacts first: with either line already driven, what results is one of the four states and a neighbour of normal. */
  const hold = async (): Promise<Contacts | OutputFailure> => {
    if (contacts !== undefined) return contacts;
    const b = await pins.open(lines[1], { initiallyHigh: activeLow });
    if ('kind' in b) return b;
    const a = await pins.open(lines[0], { initiallyHigh: activeLow });
    if ('kind' in a) {
      await b.close();
      return a;
    }
    contacts = { a, b };
    return contacts;
  };

  const letGo = async (): Promise<void> => {
    const held = contacts;
    contacts = undefined;
    await held?.a.close();
    await held?.b.close();
  };

  const read = async (): Promise<SgReadyState | OutputFailure> => {
    const held = await hold();
    if ('kind' in held) return held;
    const [a, b] = [await held.a.read(), await held.b.read()];
    if (typeof a === 'boolean' && typeof b === 'boolean') return stateOf(a !== activeLow, b !== activeLow);
    await letGo();
    return typeof a === 'boolean' ? (b as PinFailure) : a;
  };

  /** One contact, from a state to its neighbour. */
  const move = async (held: Contacts, from: SgReadyState, to: SgReadyState): Promise<OutputFailure | undefined> => {
    const movesA = CONTACTS[from][0] !== CONTACTS[to][0];
    const closed = CONTACTS[to][movesA ? 0 : 1];
    const failure = await (movesA ? held.a : held.b).write(closed !== activeLow);
    if (failure !== undefined) {
      await letGo();
      return failure;
    }
    const found = await read();
    if (found === to) return undefined;
    return typeof found === 'string' ? stuck(lines[movesA ? 0 : 1], to) : found;
  };

  return {
    async open() {
      const level = await read();
      return typeof level === 'string' ? { level } : level;
    },
    async apply(level) {
      if (!isSgReadyState(level)) throw new Error(`load ${load}: SG-Ready knows ${WAY.join(', ')}, not "${level}"`);
      let from = await read();
      if (typeof from !== 'string') return from;
      for (const to of wayBetween(from, level)) {
        const held = await hold();
        if ('kind' in held) return held;
        const failure = await move(held, from, to);
        if (failure !== undefined) return failure;
        from = to;
      }
      return undefined;
    },
    read,
    watch() {},
    async release() {},
    close: letGo,
  };
}

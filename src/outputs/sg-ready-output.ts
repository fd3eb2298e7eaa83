/** The output of a load on two SG-Ready contacts: one relay at a time along 1:0 – 0:0 – 0:1 – 1:1. */

import type { Level, OutputConfig } from '../domain/load-types.ts';
import type { GpioFailure, GpioLine, GpioLines } from '../domain/ports.ts';
import type { Output, OutputFailure } from './output.ts';
import { buildStuckFailure } from './relay-output.ts';

/** The states in the order in which they may follow each other: two neighbours differ in one contact. */
const STATES_IN_ORDER = ['block', 'normal', 'recommend', 'force'] as const;
export type SgReadyState = (typeof STATES_IN_ORDER)[number];

/** Contacts A and B, closed or open. */
export const CONTACTS = {
  block: [true, false],
  normal: [false, false],
  recommend: [false, true],
  force: [true, true],
} as const satisfies Record<SgReadyState, readonly [boolean, boolean]>;

export const isSgReadyState = (level: Level): level is SgReadyState => STATES_IN_ORDER.some((state) => state === level);

/** The states passed on the way, `to` included and `from` not. */
export function findStatePath(from: SgReadyState, to: SgReadyState): readonly SgReadyState[] {
  const [start, end] = [STATES_IN_ORDER.indexOf(from), STATES_IN_ORDER.indexOf(to)];
  return start <= end ? STATES_IN_ORDER.slice(start + 1, end + 1) : STATES_IN_ORDER.slice(end, start).toReversed();
}

export const getContactState = (a: boolean, b: boolean): SgReadyState =>
  a ? (b ? 'force' : 'block') : b ? 'recommend' : 'normal';

export interface SgReadyOutputParts {
  readonly load: string;
  readonly config: Extract<OutputConfig, { pins: unknown }>;
  readonly pins: GpioLines;
}

interface Contacts {
  readonly a: GpioLine;
  readonly b: GpioLine;
}

export function createSgReadyOutput({ load, config, pins }: SgReadyOutputParts): Output {
  const { pins: lines, activeLow } = config;
  let contacts: Contacts | undefined;
  let report: Parameters<Output['watch']>[0] = () => {};

  const options = { initiallyHigh: activeLow, onLevel: async () => report(await read()) };

  /** Open contacts first: with either line already driven, what results is one of the four states and a neighbour of normal. */
  const openContacts = async (): Promise<Contacts | OutputFailure> => {
    if (contacts !== undefined) return contacts;
    const b = await pins.open(lines[1], options);
    if ('kind' in b) return b;
    const a = await pins.open(lines[0], options);
    if ('kind' in a) {
      await b.close();
      return a;
    }
    contacts = { a, b };
    return contacts;
  };

  const closeContacts = async (): Promise<void> => {
    const openedContacts = contacts;
    contacts = undefined;
    await openedContacts?.a.close();
    await openedContacts?.b.close();
  };

  const read = async (): Promise<SgReadyState | OutputFailure> => {
    const openedContacts = await openContacts();
    if ('kind' in openedContacts) return openedContacts;
    const [a, b] = [await openedContacts.a.read(), await openedContacts.b.read()];
    if (typeof a === 'boolean' && typeof b === 'boolean') return getContactState(a !== activeLow, b !== activeLow);
    await closeContacts();
    return typeof a === 'boolean' ? (b as GpioFailure) : a;
  };

  /** One contact, from a state to its neighbour. */
  const switchContact = async (
    openedContacts: Contacts,
    from: SgReadyState,
    to: SgReadyState,
  ): Promise<OutputFailure | undefined> => {
    const movesA = CONTACTS[from][0] !== CONTACTS[to][0];
    const closed = CONTACTS[to][movesA ? 0 : 1];
    const failure = await (movesA ? openedContacts.a : openedContacts.b).write(closed !== activeLow);
    if (failure !== undefined) {
      await closeContacts();
      return failure;
    }
    const found = await read();
    if (found === to) return undefined;
    return typeof found === 'string' ? buildStuckFailure(lines[movesA ? 0 : 1], to) : found;
  };

  return {
    async open() {
      const level = await read();
      return typeof level === 'string' ? { level } : level;
    },
    async apply(level) {
      if (!isSgReadyState(level))
        throw new Error(`load ${load}: SG-Ready has the states ${STATES_IN_ORDER.join(', ')}, not "${level}"`);
      let from = await read();
      if (typeof from !== 'string') return from;
      for (const to of findStatePath(from, level)) {
        const opened = await openContacts();
        if ('kind' in opened) return opened;
        const failure = await switchContact(opened, from, to);
        if (failure !== undefined) return failure;
        from = to;
      }
      return undefined;
    },
    read,
    watch(onReport) {
      report = onReport;
    },
    release: async () => false,
    close: closeContacts,
  };
}

/** The two contacts of the SG-Ready label as two switches on MQTT, one command at a time through the states of the label.
 * The next command is sent once the last report of the switch is the commanded level; of a switch without reports, once the broker has taken the command. */

import type { Level } from '../domain/load-types.ts';
import { type DeviceStatus, isOutputFailure, type Output, type OutputFailure } from './output.ts';
import { CONTACTS, findStatePath, getContactState, isSgReadyState, type SgReadyState } from './sg-ready-output.ts';

export interface SgReadyPairParts {
  readonly load: string;
  /** A and B. */
  readonly contacts: readonly [Output, Output];
}

type ContactLevels = readonly [Level | undefined, Level | undefined];

const CONTACT_NAMES = ['contact A', 'contact B'] as const;

export function createSgReadyPairOutput({ load, contacts }: SgReadyPairParts): Output {
  const pair = createContactPair(contacts);
  return {
    async open() {
      const found = await Promise.all(contacts.map((contact) => contact.open()));
      for (const [i, one] of found.entries()) if (isOutputFailure(one)) return nameFailure(i === 0 ? 0 : 1, one);
      const level = await pair.read();
      return typeof level === 'string' ? { level } : {};
    },
    async apply(level) {
      if (!isSgReadyState(level)) throw new Error(`load ${load}: SG-Ready has no state "${level}"`);
      return pair.apply(level);
    },
    read: pair.read,
    watch(report) {
      for (const [i, contact] of contacts.entries())
        contact.watch(async (update) => {
          if (isOutputFailure(update)) return report(nameFailure(i === 0 ? 0 : 1, update));
          const state = await pair.read();
          if (typeof state === 'string') report(state);
        });
    },
    watchDevice(handlers) {
      const statuses: [DeviceStatus, DeviceStatus] = [{}, {}];
      for (const [i, contact] of contacts.entries())
        contact.watchDevice?.({
          onMeter() {},
          onStatus(status) {
            statuses[i === 0 ? 0 : 1] = status;
            handlers.onStatus(joinStatuses(statuses));
          },
          async onPress() {
            const state = await pair.read();
            if (typeof state === 'string') handlers.onPress(state);
          },
        });
    },
    release: async () => false,
    close: async () => void (await Promise.all(contacts.map((contact) => contact.close()))),
  };
}

/** Reads both contacts as one state, and brings them to another. */
function createContactPair(contacts: readonly [Output, Output]) {
  /** Of a switch that reports nothing: what it took last. */
  let lastLevels: ContactLevels = [undefined, undefined];

  const read = async (): Promise<SgReadyState | OutputFailure | undefined> => {
    const [a, b] = await Promise.all([contacts[0].read(), contacts[1].read()]);
    if (isOutputFailure(a)) return nameFailure(0, a);
    if (isOutputFailure(b)) return nameFailure(1, b);
    return toState([a ?? lastLevels[0], b ?? lastLevels[1]]);
  };
  const switchContact: SwitchContact = async (index, isClosed) => {
    const level = isClosed ? 'on' : 'off';
    const failure = await contacts[index].apply(level);
    if (failure !== undefined) return nameFailure(index, failure);
    lastLevels = index === 0 ? [level, lastLevels[1]] : [lastLevels[0], level];
    return undefined;
  };
  /** From any state: A opens first, which never begins a block. */
  const openBoth = async () => (await switchContact(0, false)) ?? (await switchContact(1, false));

  return {
    read,
    async apply(level: SgReadyState): Promise<OutputFailure | undefined> {
      const found = await read();
      if (isOutputFailure(found)) return found;
      const failure = found === undefined ? await openBoth() : undefined;
      if (failure !== undefined) return failure;
      let from = found ?? 'normal';
      const path = findStatePath(from, level);
      for (const to of path.length === 0 ? [level] : path) {
        const failed = await switchState(from, to, switchContact);
        if (failed !== undefined) return failed;
        from = to;
      }
      return undefined;
    },
  };
}

type SwitchContact = (index: 0 | 1, isClosed: boolean) => Promise<OutputFailure | undefined>;

/** One contact, from a state to its neighbour; from a state to itself both, so that a switch that lost its level gets it again. */
async function switchState(
  from: SgReadyState,
  to: SgReadyState,
  switchContact: SwitchContact,
): Promise<OutputFailure | undefined> {
  const [before, after] = [CONTACTS[from], CONTACTS[to]];
  for (const index of [0, 1] as const) {
    if (from !== to && before[index] === after[index]) continue;
    const failure = await switchContact(index, after[index]);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

const toState = ([a, b]: ContactLevels): SgReadyState | undefined =>
  a === undefined || b === undefined ? undefined : getContactState(a === 'on', b === 'on');

const nameFailure = (index: 0 | 1, { kind, detail }: OutputFailure): OutputFailure => ({
  kind,
  detail: `${CONTACT_NAMES[index]}: ${detail}`,
});

/** The sent and confirmed state of both contacts; one contact in a mode of its own puts the pair in one. */
function joinStatuses([a, b]: readonly [DeviceStatus, DeviceStatus]): DeviceStatus {
  const sent = toState([a.sent, b.sent]);
  const confirmed = a.confirmed === 'other' || b.confirmed === 'other' ? 'other' : toState([a.confirmed, b.confirmed]);
  const available =
    a.available === undefined && b.available === undefined ? undefined : a.available !== false && b.available !== false;
  return {
    ...(sent === undefined ? {} : { sent }),
    ...(confirmed === undefined ? {} : { confirmed }),
    ...(available === undefined ? {} : { available }),
  };
}

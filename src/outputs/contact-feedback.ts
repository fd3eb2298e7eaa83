/** Compares the contact of a relay with the level it was sent, by a second contact that moves with it. */

import { waitAbortable } from '../domain/abortable-wait.ts';
import type { ContactInput, Level } from '../domain/load-types.ts';
import type { Cancel, Clock, GpioLines } from '../domain/ports.ts';
import { addDuration, hours, milliseconds, type Uptime } from '../domain/units.ts';
import { createBoardContact } from './board-contact.ts';
import type { OutputFailure } from './output.ts';

/** A relay moves in 10 to 20 ms, a contactor in 50. */
const CONTACT_TIMEOUT = milliseconds(1_000);
const CONTACT_DEBOUNCE = milliseconds(20);
/** A relay whose contact stayed open is switched on again no sooner. */
const FAULT_PAUSE = hours(1);

export interface ContactFeedbackParts {
  readonly load: string;
  /** The line of the relay. */
  readonly line: number;
  readonly config: ContactInput;
  readonly pins: GpioLines;
  readonly clock: Clock;
  /** The contact moved without a command, or agrees again. */
  readonly report: (update: Level | OutputFailure) => void;
  /** Switches the relay off whose contact stayed open. */
  readonly switchOff: () => Promise<OutputFailure | undefined>;
  /** After each change of the contact. */
  readonly onContact: () => void;
}

export interface ContactFeedback {
  /** What the contact says; undefined: it cannot be read. */
  level(): Level | undefined;
  /** Opens the input where that has not happened; the failure otherwise. */
  open(): Promise<OutputFailure | undefined>;
  /** Why `level` may not be tried now: the contact failed at it, or is welded. */
  findRefusal(level: Level): OutputFailure | undefined;
  /** After the relay was switched: waits for the contact to follow; a relay whose contact stays open is switched off again. */
  awaitContact(level: Level): Promise<OutputFailure | undefined>;
  /** The relay was found at this level: the contact is to agree with it. */
  expect(level: Level): void;
  close(): Promise<void>;
}

export function createContactFeedback(parts: ContactFeedbackParts): ContactFeedback {
  const { load, line, config, pins, clock, report, switchOff, onContact } = parts;
  let sent: Level | undefined;
  let isWaiting = false;
  let onFollow: (() => void) | undefined;
  let comparison: Cancel | undefined;

  const contact = createBoardContact({
    ...{ name: 'feedback', config, pins, debounce: CONTACT_DEBOUNCE },
    onChange() {
      onFollow?.();
      comparison?.();
      comparison = clock.wakeAt(addDuration(clock.now().uptime, CONTACT_TIMEOUT), `contact ${load}`, compare);
      onContact();
    },
  });
  const level = () => toLevel(contact.isClosed());
  const fault = createFaultMemory(clock, (failed) => buildContactFailure(line, config.pin, failed));
  /** The contact left the relay by itself, or came back to it. */
  const compare = (): void => {
    if (sent === undefined || isWaiting || level() === undefined) return;
    if (level() !== sent) report(fault.raise(sent));
    else if (fault.resolve(sent)) report(sent);
  };
  /** The load is off for all who ask, so it must not start by itself later. */
  const dropRelay = async (failure: OutputFailure, wanted: Level): Promise<OutputFailure> => {
    if (wanted === 'off') return failure;
    const offFailure = await switchOff();
    if (offFailure === undefined) sent = 'off';
    return offFailure ?? failure;
  };

  return {
    level,
    open: contact.open,
    findRefusal: (wanted) => (wanted === 'off' ? undefined : fault.findRefusal(level())),
    async awaitContact(wanted) {
      sent = wanted;
      if (level() === undefined) return undefined;
      isWaiting = true;
      if (level() !== wanted)
        await waitAbortable<void>({ clock, wait: CONTACT_TIMEOUT, name: `contact ${load}` }, (finish) => {
          onFollow = () => level() === wanted && finish();
        });
      onFollow = undefined;
      isWaiting = false;
      if (level() !== wanted) return dropRelay(fault.raise(wanted), wanted);
      fault.resolve(wanted);
      return undefined;
    },
    expect(wanted) {
      sent = wanted;
    },
    async close() {
      comparison?.();
      await contact.close();
    },
  };
}

const toLevel = (isClosed: boolean | undefined): Level | undefined =>
  isClosed === undefined ? undefined : isClosed ? 'on' : 'off';

/** The level at which the contact failed, until it follows again. */
function createFaultMemory(clock: Clock, buildFailure: (level: Level) => OutputFailure) {
  let fault: { readonly level: Level; readonly until: Uptime } | undefined;
  return {
    raise(level: Level): OutputFailure {
      fault = { level, until: addDuration(clock.now().uptime, FAULT_PAUSE) };
      return buildFailure(level);
    },
    /** True where the fault was at this level. */
    resolve(level: Level): boolean {
      const isResolved = fault?.level === level;
      if (isResolved) fault = undefined;
      return isResolved;
    },
    /** Why the relay may not be switched on with its contact at `contact`. */
    findRefusal(contact: Level | undefined): OutputFailure | undefined {
      if (fault === undefined) return undefined;
      const isRefused =
        fault.level === 'off' ? contact === 'on' : contact === 'off' && clock.now().uptime < fault.until;
      return isRefused ? buildFailure(fault.level) : undefined;
    },
  };
}

const buildContactFailure = (line: number, feedback: number, level: Level): OutputFailure => ({
  kind: 'unconfirmed',
  detail:
    level === 'off'
      ? `the relay on GPIO ${line} was switched off and its contact (GPIO ${feedback}) is closed, so it may be welded and the load runs: cut its supply and replace the relay; it is not switched on before the contact opens`
      : `the relay on GPIO ${line} was switched on and its contact (GPIO ${feedback}) is open, so the load does not run: check coil, supply and wiring of the relay; it is tried again after an hour`,
});

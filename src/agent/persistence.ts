/** Saves and restores the control state with its boot, and the signal data. */

import type { ControlState, Restart } from '../control/step.ts';
import type { ClockReading } from '../domain/ports.ts';
import { type Duration, durationBetween, hours, type Instant, type Uptime } from '../domain/units.ts';
import { buildSignalView } from '../signal/freshness.ts';
import type { TieRule } from '../signal/percentile-index.ts';
import { decodeSignalData, encodeSignalData } from '../signal/signal-codec.ts';
import { rebuildExpected, type SignalData } from '../signal/signal-store.ts';
import { decodeControlState, encodeControlState } from './control-state-codec.ts';
import type { DocumentStore } from './document-store.ts';
import type { RecordedJobs } from './ledger-writer.ts';

export interface SavedControl {
  readonly boot: string | undefined;
  /** Its process had ended in order, or saved each step in memory: no later step is missing, unless memory refused one. */
  readonly isLast: boolean;
  readonly jobs: RecordedJobs;
  readonly state: ControlState;
}

export interface SavedState {
  readonly control?: SavedControl;
  readonly signalData?: SignalData;
}

export interface Persistence {
  /** Reads what the life before saved; `saved` has it from then on. */
  load(): Promise<void>;
  saved(): SavedState;
  /** Writes to the disk when the last write is older than `atMost`. */
  saveControl(
    state: ControlState,
    options: { readonly now: ClockReading; readonly jobs: RecordedJobs; readonly atMost: Duration },
  ): void;
  /** Whether the control state saved last is on the disk; resolves once that write has ended. */
  isControlDurable(): Promise<boolean>;
  /** Whether a restart within the boot would find it: in memory, or on the disk where memory refused it or is none. */
  isControlKept(): Promise<boolean>;
  saveSignal(signalData: SignalData, now: ClockReading, atMost: Duration): void;
  /** Writes the newest of both. */
  close(): Promise<void>;
}

export interface PersistenceOptions {
  readonly store: DocumentStore;
  /** Emptied by the next boot, and free to write: it has the newest of both for a restart within the boot. */
  readonly scratch: DocumentStore | undefined;
  readonly signalType: string;
  readonly boot: string | undefined;
  readonly note: (text: string) => void;
}

const CONTROL_DOCUMENT = 'control';
const getSignalDocumentName = (signalType: string) => `signal.${signalType}`;

export function createPersistence({ store, scratch, signalType, boot, note }: PersistenceOptions): Persistence {
  const stores = scratch === undefined ? [store] : [scratch, store];
  const control = createSavedDocument(CONTROL_DOCUMENT, store, scratch);
  const signal = createSavedDocument(getSignalDocumentName(signalType), store, scratch);
  let saved: SavedState = {};
  return {
    async load() {
      saved = await loadSavedState(stores, { signalType, note });
    },
    saved: () => saved,
    saveControl(state, { now, jobs, atMost }) {
      // Once for both stores, and not at all where neither is due.
      let text: string | undefined;
      const encode = (isLast: boolean) => {
        text ??= encodeControlState(state);
        return encodeJson({ boot, isLast, jobs, state: text });
      };
      control.save(encode, now.uptime, atMost);
    },
    isControlDurable: control.lastWrite,
    isControlKept: async () => (await control.lastScratchWrite()) || control.lastWrite(),
    saveSignal: (data, now, atMost) => signal.save(() => encodeSignalData(data), now.uptime, atMost),
    async close() {
      await control.close();
      await signal.close();
    },
  };
}

/** There is a step each hour: an older state may be of a life before the last, which could save nothing. */
const OLDEST_LAST_STATE = hours(2);

/** How a start in this boot must treat what was saved. */
export function getRestart(saved: SavedControl | undefined, boot: string | undefined, now: Uptime): Restart {
  if (saved === undefined || boot === undefined || saved.boot !== boot) return 'other-boot';
  const { lastMoment } = saved.state;
  const isOld = lastMoment === undefined || durationBetween(lastMoment.uptime, now) > OLDEST_LAST_STATE;
  return saved.isLast && !isOld ? 'same-boot' : 'old-state';
}

const encodeJson = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

function createSavedDocument(name: string, store: DocumentStore, scratch: DocumentStore | undefined) {
  let encodeNewest: ((isLast: boolean) => Uint8Array) | undefined;
  let savedAt: Uptime | undefined;
  let lastWrite: Promise<boolean> = Promise.resolve(true);
  let lastScratchWrite: Promise<boolean> | undefined;
  return {
    lastWrite: () => lastWrite,
    lastScratchWrite: () => lastScratchWrite,
    save(encode: (isLast: boolean) => Uint8Array, now: Uptime, atMost: Duration): void {
      encodeNewest = encode;
      const isDue = savedAt === undefined || durationBetween(savedAt, now) >= atMost;
      if (scratch === undefined && !isDue) return;
      lastScratchWrite = scratch?.save(name, encode(true));
      if (!isDue) return;
      savedAt = now;
      lastWrite = store.save(name, encode(false));
    },
    async close(): Promise<void> {
      if (encodeNewest !== undefined) await store.save(name, encodeNewest(true));
    },
  };
}

interface LoadOptions {
  readonly signalType: string;
  readonly note: (text: string) => void;
}

/** Of the control state the newest, of the signal data those of the first store that has them. */
export async function loadSavedState(
  stores: readonly DocumentStore[],
  { signalType, note }: LoadOptions,
): Promise<SavedState> {
  const state: { control?: SavedControl; signalData?: SignalData } = {};
  for (const store of stores) {
    const before = state.control;
    const control = await loadControl(store, before === undefined ? note : () => {});
    const signalData = state.signalData ?? (await loadSignal(store, signalType, note));
    const isNewer = control !== undefined && (before === undefined || isLater(control, before));
    Object.assign(state, isNewer && { control }, signalData && { signalData });
  }
  const isLost = (name: string) => stores.some((store) => store.isUnreadable(name));
  if (state.control === undefined && isLost(CONTROL_DOCUMENT)) note(CONTROL_LOST);
  if (state.signalData === undefined && isLost(getSignalDocumentName(signalType)))
    note('the saved signal data cannot be read; they are fetched anew');
  return state;
}

/** Within one boot: a store that could not be written has an older state than the other. */
const isLater = (one: SavedControl, other: SavedControl) =>
  one.boot === other.boot && (one.state.lastMoment?.uptime ?? 0) > (other.state.lastMoment?.uptime ?? 0);

const NEWEST_SAVED = 'the newest saved';
const CONTROL_LOST = 'the saved control state cannot be read; minimum times start anew and jobs are armed again';

async function loadControl(store: DocumentStore, note: (text: string) => void): Promise<SavedControl | undefined> {
  const loaded = await store.load(CONTROL_DOCUMENT);
  if (loaded === undefined) return undefined;
  if (loaded.isPrevious) note(`${NEWEST_SAVED} control state was damaged; the one before is used`);
  try {
    const { boot, isLast, jobs, state } = JSON.parse(new TextDecoder().decode(loaded.bytes)) as Record<string, unknown>;
    const decoded = decodeControlState(String(state));
    if (!('kind' in decoded))
      return {
        boot: typeof boot === 'string' ? boot : undefined,
        isLast: isLast === true && !loaded.isPrevious,
        jobs: parseRecordedJobs(jobs),
        state: decoded,
      };
    note(decoded.detail);
  } catch {
    note(CONTROL_LOST);
  }
  return undefined;
}

const parseRecordedJobs = (value: unknown): RecordedJobs =>
  Object.fromEntries(
    Object.entries(typeof value === 'object' && value !== null ? value : {}).filter(
      (pair): pair is [string, string] => typeof pair[1] === 'string',
    ),
  );

async function loadSignal(
  store: DocumentStore,
  signalType: string,
  note: (text: string) => void,
): Promise<SignalData | undefined> {
  const loaded = await store.load(getSignalDocumentName(signalType));
  if (loaded === undefined) return undefined;
  if (loaded.isPrevious) note(`${NEWEST_SAVED} signal data were damaged; those before are used`);
  const decoded = decodeSignalData(loaded.bytes);
  if (decoded.ok) return rebuildExpected(decoded.signal);
  note(decoded.note);
  return undefined;
}

/** What a saved signal says now, to a reader of the saved state. */
export const viewSavedSignal = (signalData: SignalData, ties: TieRule, now: Instant) =>
  buildSignalView(
    signalData,
    { wall: now, uptime: 0 as Uptime, trusted: true },
    { ties, ownRegion: signalData.region },
  );

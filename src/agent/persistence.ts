/** What the agent remembers over a restart: control state with its boot, and the signal data held. Decides when a save is worth a write. */

import { type ControlState, decodeControlState, encodeControlState } from '../control/step.ts';
import type { ClockReading } from '../domain/ports.ts';
import { type Duration, durationBetween, type Uptime } from '../domain/units.ts';
import { decodeSignalData, encodeSignalData } from '../signal/signal-codec.ts';
import type { SignalData } from '../signal/signal-store.ts';
import type { DocumentStore } from './document-store.ts';
import type { RecordedJobs } from './ledger-writer.ts';

export interface SavedControl {
  readonly boot: string | undefined;
  readonly jobs: RecordedJobs;
  readonly state: ControlState;
}

export interface Persistence {
  /** As found at the start. */
  readonly control: SavedControl | undefined;
  readonly signalData: SignalData | undefined;
  /** Writes when the last write is older than `atMost`. */
  saveControl(
    state: ControlState,
    options: { readonly now: ClockReading; readonly jobs: RecordedJobs; readonly atMost: Duration },
  ): void;
  saveSignal(signalData: SignalData, now: ClockReading, atMost: Duration): void;
  /** Writes the newest of both. */
  close(): Promise<void>;
}

export interface PersistenceOptions {
  readonly signalType: string;
  readonly boot: string | undefined;
  readonly note: (text: string) => void;
  /** Where every answer and state is kept at no cost, for a restart within the boot: it then goes on as the life before would have. */
  readonly scratch?: DocumentStore;
}

const CONTROL_DOCUMENT = 'control';
const getSignalDocumentName = (signalType: string) => `signal.${signalType}`;

export async function createPersistence(
  store: DocumentStore,
  { signalType, boot, note, scratch }: PersistenceOptions,
): Promise<Persistence> {
  const control =
    (scratch === undefined ? undefined : await loadControl(scratch, note)) ?? (await loadControl(store, note));
  const scratchSignal = scratch === undefined ? undefined : await loadSignal(scratch, signalType, note);
  const signalData = scratchSignal ?? (await loadSignal(store, signalType, note));
  let encodeLatestControl: (() => Uint8Array) | undefined;
  let latestSignal: SignalData | undefined;
  let controlSavedAt: Uptime | undefined;
  let signalSavedAt: Uptime | undefined;

  return {
    control,
    signalData,
    saveControl(state, { now, jobs, atMost }) {
      encodeLatestControl = () => encodeJson({ boot, jobs, state: encodeControlState(state) });
      void scratch?.save(CONTROL_DOCUMENT, encodeLatestControl());
      if (controlSavedAt !== undefined && durationBetween(controlSavedAt, now.uptime) < atMost) return;
      controlSavedAt = now.uptime;
      void store.save(CONTROL_DOCUMENT, encodeLatestControl());
    },
    saveSignal(newData, now, atMost) {
      latestSignal = newData;
      void scratch?.save(getSignalDocumentName(signalType), encodeSignalData(newData));
      if (signalSavedAt !== undefined && durationBetween(signalSavedAt, now.uptime) < atMost) return;
      signalSavedAt = now.uptime;
      void store.save(getSignalDocumentName(signalType), encodeSignalData(newData));
    },
    async close() {
      if (encodeLatestControl !== undefined) await store.save(CONTROL_DOCUMENT, encodeLatestControl());
      if (latestSignal !== undefined)
        await store.save(getSignalDocumentName(signalType), encodeSignalData(latestSignal));
    },
  };
}

const encodeJson = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

const NEWEST_SAVED = 'the newest saved';

async function loadControl(store: DocumentStore, note: (text: string) => void): Promise<SavedControl | undefined> {
  const loaded = await store.load(CONTROL_DOCUMENT);
  if (loaded === undefined) return undefined;
  if (loaded.isPrevious) note(`${NEWEST_SAVED} control state was damaged; the one before is used`);
  try {
    const { boot, jobs, state } = JSON.parse(new TextDecoder().decode(loaded.bytes)) as Record<string, unknown>;
    const read = decodeControlState(String(state));
    if ('kind' in read) {
      note(read.detail);
      return undefined;
    }
    return { boot: typeof boot === 'string' ? boot : undefined, jobs: parseRecordedJobs(jobs), state: read };
  } catch {
    note('the saved control state cannot be read; minimum times start anew and jobs are armed again');
    return undefined;
  }
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
  const stored = decodeSignalData(loaded.bytes);
  if (stored.ok) return stored.signal;
  note(stored.note);
  return undefined;
}

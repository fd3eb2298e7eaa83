/** What the agent remembers over a restart: control state with its boot, and the signal data held. Decides when a save is worth a write. */

import { loadState, type State, saveState } from '../control/step.ts';
import type { Held } from '../signal/held.ts';
import { fromBytes, toBytes } from '../signal/stored.ts';
import { between, type Duration, type Uptime } from '../units.ts';
import type { Moment } from '../world.ts';
import type { JobsWritten } from './ledger-keeper.ts';
import type { Store } from './store.ts';

export interface SavedControl {
  readonly boot: string | undefined;
  readonly jobs: JobsWritten;
  readonly state: State;
}

export interface Memory {
  /** As found at the start. */
  readonly control: SavedControl | undefined;
  readonly held: Held | undefined;
  /** Writes when the last write is older than `atMost`. */
  keepControl(
    state: State,
    options: { readonly now: Moment; readonly jobs: JobsWritten; readonly atMost: Duration },
  ): void;
  keepSignal(held: Held, now: Moment, atMost: Duration): void;
  /** Writes the newest of both. */
  close(): Promise<void>;
}

export interface MemoryOptions {
  readonly signalType: string;
  readonly boot: string | undefined;
  readonly note: (text: string) => void;
  /** Where every answer and state is kept at no cost, for a restart within the boot: it then goes on as the life before would have. */
  readonly scratch?: Store;
}

const CONTROL = 'control';
const signalDocument = (signalType: string) => `signal.${signalType}`;

export async function createMemory(store: Store, { signalType, boot, note, scratch }: MemoryOptions): Promise<Memory> {
  const control =
    (scratch === undefined ? undefined : await loadControl(scratch, note)) ?? (await loadControl(store, note));
  const recent = scratch === undefined ? undefined : await loadSignal(scratch, signalType, note);
  const held = recent ?? (await loadSignal(store, signalType, note));
  let latest: (() => Uint8Array) | undefined;
  let latestHeld: Held | undefined;
  let controlAt: Uptime | undefined;
  let signalAt: Uptime | undefined;

  return {
    control,
    held,
    keepControl(state, { now, jobs, atMost }) {
      // The view is made anew from the signal data; kept here it would be most of every write.
      latest = () => encode({ boot, jobs, state: saveState({ ...state, view: undefined }) });
      void scratch?.save(CONTROL, latest());
      if (controlAt !== undefined && between(controlAt, now.uptime) < atMost) return;
      controlAt = now.uptime;
      void store.save(CONTROL, latest());
    },
    keepSignal(news, now, atMost) {
      latestHeld = news;
      void scratch?.save(signalDocument(signalType), toBytes(news));
      if (signalAt !== undefined && between(signalAt, now.uptime) < atMost) return;
      signalAt = now.uptime;
      void store.save(signalDocument(signalType), toBytes(news));
    },
    async close() {
      if (latest !== undefined) await store.save(CONTROL, latest());
      if (latestHeld !== undefined) await store.save(signalDocument(signalType), toBytes(latestHeld));
    },
  };
}

const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

const OLDER = 'the newest saved';

async function loadControl(store: Store, note: (text: string) => void): Promise<SavedControl | undefined> {
  const loaded = await store.load(CONTROL);
  if (loaded === undefined) return undefined;
  if (loaded.older) note(`${OLDER} control state was damaged; the one before is used`);
  try {
    const { boot, jobs, state } = JSON.parse(new TextDecoder().decode(loaded.bytes)) as Record<string, unknown>;
    const read = loadState(String(state));
    if ('kind' in read) {
      note(read.detail);
      return undefined;
    }
    return { boot: typeof boot === 'string' ? boot : undefined, jobs: jobsOf(jobs), state: read };
  } catch {
    note('the saved control state cannot be read; minimum times start anew and jobs are armed again');
    return undefined;
  }
}

const jobsOf = (value: unknown): JobsWritten =>
  Object.fromEntries(
    Object.entries(typeof value === 'object' && value !== null ? value : {}).filter(
      (pair): pair is [string, string] => typeof pair[1] === 'string',
    ),
  );

async function loadSignal(store: Store, signalType: string, note: (text: string) => void): Promise<Held | undefined> {
  const loaded = await store.load(signalDocument(signalType));
  if (loaded === undefined) return undefined;
  if (loaded.older) note(`${OLDER} signal data were damaged; those before are used`);
  const stored = fromBytes(loaded.bytes);
  if (stored.ok) return stored.held;
  note(stored.note);
  return undefined;
}

import { describe, expect, it } from 'vitest';
import { createDocumentStore, type DocumentStore } from '../../src/agent/document-store.ts';
import { createPersistence, getRestart, loadSavedState } from '../../src/agent/persistence.ts';
import { createInitialState } from '../../src/control/step.ts';
import { hours, type Instant, minutes, type Uptime } from '../../src/domain/units.ts';
import { createMemoryDisk } from '../../src/simulation/memory-disk.ts';
import { createCrashableAgent } from '../faults/crashable-agent.ts';

const NOW = { wall: Date.parse('2026-03-01T12:00:00Z') as Instant, uptime: 0 as Uptime, trusted: true };

function setUp(scratch?: DocumentStore) {
  const memory = createMemoryDisk();
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow = {
    ...memory,
    overwrite: (name: string, bytes: Uint8Array) => released.then(() => memory.replace(name, bytes)),
  };
  const store = createDocumentStore(slow, () => {});
  const persistence = createPersistence({ store, scratch, signalType: 'co2_moer', boot: 'one', note() {} });
  const state = createInitialState({ device: 'cellar', timezone: 'UTC', loads: [] }, undefined, 'other-boot');
  const save = () => persistence.saveControl(state, { now: NOW, jobs: {}, atMost: minutes(0) });
  return { memory, persistence, release, save };
}

it('a saved control state counts as durable once its write has ended, not before', async () => {
  const { memory, persistence, release, save } = setUp();
  save();
  let isAnswered = false;
  const durable = persistence.isControlDurable().finally(() => {
    isAnswered = true;
  });
  await new Promise((resume) => setImmediate(resume));
  expect(isAnswered).toBe(false);
  release();
  expect(await durable).toBe(true);
  expect(await memory.list()).toEqual(['control.b']);
});

it('a full disk makes no state durable', async () => {
  const { memory, persistence, release, save } = setUp();
  memory.failWrites('full');
  release();
  save();
  expect(await persistence.isControlDurable()).toBe(false);
});

describe('a control state that a restart would find', () => {
  it.each([
    ['is in memory, while the disk still writes', { full: false, waitsForDisk: false }],
    ['is on the disk, where memory refused it', { full: true, waitsForDisk: true }],
    ['is on the disk, where there is no memory', { full: undefined, waitsForDisk: true }],
  ])('%s', async (_, { full, waitsForDisk }) => {
    const scratch = createMemoryDisk();
    if (full) scratch.failWrites('full');
    const { persistence, release, save } = setUp(
      full === undefined ? undefined : createDocumentStore(scratch, () => {}),
    );
    save();
    const ends: string[] = [];
    const kept = persistence.isControlKept().then((isKept) => {
      ends.push('kept');
      return isKept;
    });
    const durable = persistence.isControlDurable().then(() => ends.push('durable'));
    if (!waitsForDisk) await kept;
    release();
    expect(await kept).toBe(true);
    await durable;
    expect(ends[0]).toBe(waitsForDisk ? 'durable' : 'kept');
  });
});

describe('what a start is told of the state it finds', () => {
  const house = { device: 'cellar', timezone: 'UTC', loads: [] };
  /** A life that saves its state at these minutes, and a disk that is full from one of them on. */
  const liveUntil = async ({ end, full }: { readonly end: 'stop' | 'kill'; readonly full?: 'disk' | 'memory' }) => {
    const [disk, memory] = [createMemoryDisk(), createMemoryDisk()];
    const openStores = (hasScratch: boolean) => ({
      store: createDocumentStore(disk, () => {}),
      scratch: hasScratch ? createDocumentStore(memory, () => {}) : undefined,
    });
    const hasScratch = full === 'memory';
    const options = { signalType: 'co2_moer', boot: 'one', note() {} };
    const persistence = createPersistence({ ...openStores(hasScratch), ...options });
    const save = async (after: number) => {
      const now = { ...NOW, uptime: minutes(after) as number as Uptime };
      const state = { ...createInitialState(house, undefined, 'other-boot'), lastMoment: now };
      persistence.saveControl(state, { now, jobs: {}, atMost: minutes(0) });
      await persistence.isControlDurable();
    };
    await save(1);
    if (full !== undefined) (full === 'disk' ? disk : memory).failWrites('full');
    await save(2);
    if (end === 'stop') await persistence.close();
    const next = createPersistence({ ...openStores(hasScratch), ...options });
    await next.load();
    const { control } = next.saved();
    const restarts = (
      [
        ['one', 120],
        ['one', 123],
        ['two', 120],
      ] as const
    ).map(([boot, after]) => getRestart(control, boot, minutes(after) as number as Uptime));
    return [...restarts, (control?.state.lastMoment?.uptime ?? 0) / 60_000];
  };

  it.each([
    ['a stop in order', { end: 'stop' }, ['same-boot', 'old-state', 'other-boot', 2]],
    ['a kill: more may have happened than is saved', { end: 'kill' }, ['old-state', 'old-state', 'other-boot', 2]],
    ['a stop while the disk is full', { end: 'stop', full: 'disk' }, ['old-state', 'old-state', 'other-boot', 1]],
    [
      'a kill while the memory is full: the disk is newer',
      { end: 'kill', full: 'memory' },
      ['old-state', 'old-state', 'other-boot', 2],
    ],
  ] as const)('after %s', async (_, life, told) => {
    expect(await liveUntil(life)).toEqual(told);
  });

  it('and of the jobs that the ledger has', async () => {
    const store = createDocumentStore(createMemoryDisk(), () => {});
    const options = { store, scratch: undefined, signalType: 'co2_moer', boot: 'one', note() {} };
    const persistence = createPersistence(options);
    const state = createInitialState(house, undefined, 'other-boot');
    persistence.saveControl(state, { now: NOW, jobs: { car: 'by seven' }, atMost: minutes(0) });
    await persistence.close();
    expect((await loadSavedState([store], options)).control?.jobs).toEqual({ car: 'by seven' });
  });

  it('a state saved in memory at each step is the last one', async () => {
    const scratch = createDocumentStore(createMemoryDisk(), () => {});
    const { persistence, save, release } = setUp(scratch);
    release();
    save();
    await persistence.isControlDurable();
    const { control } = await loadSavedState([scratch], { signalType: 'co2_moer', note() {} });
    const twoHours = { control: control && { ...control, state: { ...control.state, lastMoment: NOW } } };
    expect(getRestart(twoHours.control, 'one', hours(2) as number as Uptime)).toBe('same-boot');
  });
});

it.each([
  [
    'one generation is garbage and there is no other',
    ['control.a'],
    /control state cannot be read; minimum times start anew/,
  ],
  [
    'both generations are garbage',
    ['control.a', 'control.b'],
    /control state cannot be read; minimum times start anew/,
  ],
  ['the signal data are garbage', ['signal.co2_moer.a'], /signal data cannot be read; they are fetched anew/],
])('%s: said once', async (_, files, sentence) => {
  const memory = createMemoryDisk();
  for (const file of files) await memory.replace(file, new TextEncoder().encode('garbage'));
  const notes: string[] = [];
  const store = createDocumentStore(memory, () => {});
  const saved = await loadSavedState([store], { signalType: 'co2_moer', note: (text) => void notes.push(text) });
  expect(saved).toEqual({});
  expect(notes).toEqual([expect.stringMatching(sentence)]);
});

it('without a broker the saved decision is the one that holds, from the first signal on', async () => {
  const house = await createCrashableAgent({
    random: { fraction: () => 0.5 },
    loads: 'loads: {car: {type: ev, goal: {need: 4h, by: "07:00", from: "18:00"}, output: {kind: relay, pin: 22}}}',
  });
  await house.start();
  const reasons = new Set<string>();
  for (const wait of [minutes(2), hours(13), hours(2)]) {
    await house.pass(wait);
    const store = createDocumentStore(house.disk(), () => {});
    const { control } = await loadSavedState([store], { signalType: 'co2_moer', note() {} });
    const [now] = house.decisions();
    const saved = control?.state.loads[0]?.decision;
    expect([saved?.level, saved?.why]).toEqual([now?.level, now?.why]);
    reasons.add(`${now?.why}`);
  }
  await house.close();
  // It was no comparison of a first decision with itself.
  expect(reasons).not.toContain('boot');
  expect(reasons.size).toBeGreaterThan(1);
});

import { describe, expect, it } from 'vitest';
import { createDocumentStore } from '../../src/agent/document-store.ts';
import { DiskError } from '../../src/domain/ports.ts';
import { createMemoryDisk } from '../../src/simulation/memory-disk.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (content: Uint8Array | undefined) =>
  content === undefined ? undefined : new TextDecoder().decode(content);

function setUp() {
  const disk = createMemoryDisk();
  const diskResults: (DiskError | undefined)[] = [];
  return { disk, said: diskResults, store: () => createDocumentStore(disk, (failure) => diskResults.push(failure)) };
}

it('what is appended begins a line of its own, whatever a power cut left before it', async () => {
  const { disk, store } = setUp();
  await disk.append('ledger', bytes('{"torn'), { sync: true });
  const life = store();
  for (const line of ['one\n', 'two\n']) expect(await life.append('ledger', bytes(line))).toBe(true);
  expect(text(await disk.read('ledger'))).toBe('{"torn\none\ntwo\n');
});

it('the trouble of a full disk ends with the first addition that it takes, not with an overwrite in place', async () => {
  const { disk, said, store } = setUp();
  const full = new DiskError({ kind: 'full', detail: 'no space is left' });
  let isFull = true;
  const append: typeof disk.append = (...addition) => (isFull ? Promise.reject(full) : disk.append(...addition));
  const life = createDocumentStore({ ...disk, append }, (failure) => said.push(failure));
  expect(await life.append('ledger', bytes('one\n'))).toBe(false);
  expect(await life.save('control', bytes('one'))).toBe(true);
  isFull = false;
  expect(await life.append('ledger', bytes('two\n'))).toBe(true);
  expect(await life.save('control', bytes('two'))).toBe(true);
  expect(said).toEqual([full, undefined, undefined]);
  expect(text((await store().load('control'))?.bytes)).toBe('two');
});

describe('documents in two generations', () => {
  it('gives back the last one saved, also to the next life', async () => {
    const { store } = setUp();
    const first = store();
    expect(await first.load('control')).toBeUndefined();
    for (const content of ['one', 'two', 'three']) expect(await first.save('control', bytes(content))).toBe(true);
    const next = store();
    expect(text((await next.load('control'))?.bytes)).toBe('three');
    await next.save('control', bytes('four'));
    expect(text((await store().load('control'))?.bytes)).toBe('four');
  });

  it('a life that saves before it loads goes on from the newest generation', async () => {
    const { store } = setUp();
    const first = store();
    for (const content of ['one', 'two', 'three']) await first.save('control', bytes(content));
    await store().save('control', bytes('four'));
    expect(text((await store().load('control'))?.bytes)).toBe('four');
  });

  it('of many saves at once, writes the last', async () => {
    const { store } = setUp();
    const one = store();
    await Promise.all(['a', 'b', 'c', 'd'].map((content) => one.save('control', bytes(content))));
    expect(text((await store().load('control'))?.bytes)).toBe('d');
  });

  it('falls back one generation wherever the newest is damaged: every byte, every length', async () => {
    const { disk, store } = setUp();
    const first = store();
    await first.save('control', bytes('older'));
    await first.save('control', bytes('newer'));
    const name = 'control.a';
    const newest = await disk.read(name);
    if (newest === undefined) throw new Error('the second generation lies in slot a');
    for (let at = 0; at < newest.length; at++) {
      const flipped = newest.slice();
      flipped[at] = (flipped[at] ?? 0) ^ 0x10;
      for (const broken of [flipped, newest.slice(0, at)]) {
        await disk.replace(name, broken);
        expect(await store().load('control')).toEqual({ bytes: bytes('older'), isPrevious: true });
      }
    }
  });

  it('with both generations damaged there is nothing, and a new one can be saved', async () => {
    const { disk, store } = setUp();
    await disk.replace('control.a', bytes('x'));
    await disk.replace('control.b', bytes(''));
    const one = store();
    expect(await one.load('control')).toBeUndefined();
    expect(await one.save('control', bytes('new'))).toBe(true);
    expect(text((await store().load('control'))?.bytes)).toBe('new');
  });
});

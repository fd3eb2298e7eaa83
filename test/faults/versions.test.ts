/** Row 76: each stored file as a program before or after this one may have left it: read, or told once and made anew; the loads go on. */

import { crc32 } from 'node:zlib';
import { beforeAll, expect, it } from 'vitest';
import { createDocumentStore } from '../../src/agent/document-store.ts';
import { hours, minutes } from '../../src/domain/units.ts';
import { readLedgerMonths } from '../../src/ledger/ledger-files.ts';
import type { MemoryDisk } from '../../src/simulation/memory-disk.ts';
import { createVirtualAgent, type VirtualAgent } from './virtual-agent.ts';

/** What a device of this version has on its disk after some hours. */
let usual: MemoryDisk;
beforeAll(async () => {
  const home = await createVirtualAgent({ seed: 5, plan: 'analyst' });
  await home.start();
  await home.pass(hours(2));
  await home.close();
  usual = home.disk;
});

type Change = (disk: MemoryDisk) => Promise<void>;

const changeDocument =
  (name: string, change: (bytes: Buffer) => Uint8Array): Change =>
  async (disk) => {
    const store = createDocumentStore(disk, () => {});
    const found = await store.load(name);
    if (found === undefined) throw new Error(`no document ${name}`);
    expect(await store.save(name, change(Buffer.from(found.bytes)))).toBe(true);
  };
const changeText = (name: string, change: (text: string) => string) =>
  changeDocument(name, (bytes) => Buffer.from(change(bytes.toString())));
const changeFile =
  (name: string, change: (bytes: Buffer) => Uint8Array): Change =>
  async (disk) => {
    const bytes = await disk.read(name);
    if (bytes === undefined) throw new Error(`no file ${name}`);
    await disk.replace(name, change(Buffer.from(bytes)));
  };
/** The same document with a key that this program does not know. */
const addKey = (text: string) => text.replace('{', '{"later":{"than":"this"},');
/** The signal data with another magic word and their own checksum. */
const renameMagic = (magic: string) => (bytes: Buffer) => {
  bytes.write(magic, 'latin1');
  bytes.writeUInt32LE(crc32(bytes.subarray(0, -4)), bytes.length - 4);
  return bytes;
};
const setFormat = (format: number) => (bytes: Buffer) => {
  bytes.writeInt32LE(format, 4);
  return bytes;
};

const CONTROL_TOLD = /control state/;
const SIGNAL_TOLD = /stored signal data/;
const MAP_TOLD = /map index has format \d/;
//  file and version                       as left                                                                    told
const rows: readonly (readonly [string, Change, RegExp | undefined])[] = [
  [
    'control, before',
    changeText('control', (text) => text.replace('\\"version\\":1', '\\"version\\":0')),
    CONTROL_TOLD,
  ],
  ['control, after', changeText('control', (text) => text.replace('\\"version\\":1', '\\"version\\":2')), CONTROL_TOLD],
  ['control, with more beside it', changeText('control', addKey), undefined],
  ['control, of another shape', changeText('control', () => '{"loads":[]}'), CONTROL_TOLD],
  ['signal, before', changeDocument('signal.co2_moer', renameMagic('gtsignl3')), SIGNAL_TOLD],
  ['signal, after', changeDocument('signal.co2_moer', renameMagic('gtsignl9')), SIGNAL_TOLD],
  ['map index, before', changeFile('map.co2_moer.idx', setFormat(2)), MAP_TOLD],
  ['map index, after', changeFile('map.co2_moer.idx', setFormat(9)), MAP_TOLD],
  ['place, with more', changeFile('place.co2_moer.json', (bytes) => Buffer.from(addKey(bytes.toString()))), undefined],
  ['place, of another shape', changeFile('place.co2_moer.json', () => Buffer.from('[2]')), undefined],
  [
    'version of the map, with more',
    changeFile('map.co2_moer.version.json', (bytes) => Buffer.from(addKey(bytes.toString()))),
    undefined,
  ],
  [
    'version of the map, of another shape',
    changeFile('map.co2_moer.version.json', () => Buffer.from('[2]')),
    undefined,
  ],
  ['refresh of the region, with more', changeText('region', addKey), undefined],
  ['refresh of the region, of another shape', changeText('region', () => '"monday"'), undefined],
];

const listWarnings = ({ logEntries }: VirtualAgent) =>
  logEntries.filter(({ level }) => level === 'warn').map(({ message }) => message);

it.each(rows)('76 %s', async (_, change, told) => {
  const disk = usual.afterPowerCut(1);
  await change(disk);
  const home = await createVirtualAgent({ seed: 5, plan: 'analyst', disk });
  try {
    await home.start();
    await home.pass(minutes(10));
    expect(home.agent.snapshot()).toMatchObject({ region: { region: 'CAISO_NORTH' } });
    expect(home.health().basis).toBe('fresh-forecast');
    const warnings = listWarnings(home);
    if (told === undefined) expect(warnings).toEqual([]);
    else expect(warnings).toEqual([expect.stringMatching(told)]);
    // An index waits up to a day for its successor.
    await home.pass(told === MAP_TOLD ? hours(25) : minutes(1));
    await home.restart();
    await home.pass(minutes(10));
    expect(listWarnings(home)).toHaveLength(warnings.length);
    expect(home.health()).toMatchObject({ ok: true, basis: 'fresh-forecast' });
  } finally {
    await home.close();
  }
});

it('76 the ledger: a line of a version after is skipped, counted, and still there a day later', async () => {
  const disk = usual.afterPowerCut(1);
  const name = 'ledger-2026-03.jsonl';
  const json = '{"kind":"tariff","price":0.31}';
  const line = `${crc32(json).toString(16).padStart(8, '0')} ${json}\n`;
  await disk.append(name, Buffer.from(line), { sync: true });
  const home = await createVirtualAgent({ seed: 5, plan: 'analyst', disk });
  await home.start();
  await home.pass(hours(2));
  expect(listWarnings(home)).toEqual([]);
  await home.close();
  expect(Buffer.from((await disk.read(name)) ?? []).toString()).toContain(line);
  for await (const { entries, foreign, damaged } of readLedgerMonths(disk, [name])) {
    expect([foreign, damaged]).toEqual([1, 0]);
    expect([...entries].length).toBeGreaterThan(10);
  }
});

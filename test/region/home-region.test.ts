/** The region of the device's place: stored for its place and index only, looked up when either is another, and what a newly found region means. */

import { describe, expect, it } from 'vitest';
import { type Disk, DiskError } from '../../src/domain/ports.ts';
import { addDuration, days, minutes } from '../../src/domain/units.ts';
import { compareRegions, confirmRegion, resolveHome } from '../../src/region/home-region.ts';
import { saveHome } from '../../src/region/home-store.ts';
import type { HomeRegion } from '../../src/region/region-types.ts';
import { createMemoryDisk } from '../../src/simulation/memory-disk.ts';
import { createMapText, feature, MAP_META, square, TWO_REGIONS } from './map-texts.ts';
import { importText, NOW, placeAt } from './region-setup.ts';

const FILE = 'place.co2_moer.json';
const home = placeAt(5, 5);
const bytes = (text: string) => new TextEncoder().encode(text);

/** The disk, with a list of what was opened or read of it. */
function watched(disk: Disk): { readonly disk: Disk; readonly used: string[] } {
  const used: string[] = [];
  const watch: Disk = {
    ...disk,
    open: async (name) => {
      const file = await disk.open(name);
      if (file === undefined) return undefined;
      return {
        ...file,
        readNow: (target, offset) => {
          used.push(`${name} ${target.length}`);
          return file.readNow(target, offset);
        },
      };
    },
  };
  return { disk: watch, used };
}

describe('the region of the own place', () => {
  it('is stored by the import, and read without touching more than the header of the map', async () => {
    const disk = createMemoryDisk();
    await importText(TWO_REGIONS, { disk, homePlace: home });
    const { disk: watch, used } = watched(disk);
    expect(await resolveHome(watch, 'co2_moer', home)).toMatchObject({ region: 'WEST', source: 'map', place: home });
    expect(used).toEqual(['map.co2_moer.idx 64']);
  });

  it('is looked up and stored when the place has moved', async () => {
    const disk = createMemoryDisk();
    await importText(TWO_REGIONS, { disk, homePlace: home });
    expect(await resolveHome(disk, 'co2_moer', placeAt(5, 15))).toMatchObject({ region: 'EAST' });
    const { disk: watch, used } = watched(disk);
    expect(await resolveHome(watch, 'co2_moer', placeAt(5, 15))).toMatchObject({ region: 'EAST' });
    expect(used).toHaveLength(1);
  });

  it.each(['', '{', 'null', '[]', '{"latitude":5,"longitude":5}', '{"latitude":"x"}', '\u0000\u0000'])(
    'is looked up when the stored text is %j',
    async (text) => {
      const disk = createMemoryDisk();
      await importText(TWO_REGIONS, { disk });
      await disk.replace(FILE, bytes(text));
      expect(await resolveHome(disk, 'co2_moer', home)).toMatchObject({ region: 'WEST' });
    },
  );

  it('after a power cut between the new map and the stored place, the new map is asked', async () => {
    const disk = createMemoryDisk();
    await importText(TWO_REGIONS, { disk, homePlace: home });
    const stored = (await disk.read(FILE)) ?? new Uint8Array(0);
    const moved = createMapText(feature('SOUTH', [square(0, 0, 10)]), feature('EAST', [square(10, 0, 10)]));
    await importText(moved.replace(MAP_META.last_updated, '2026-04-01T00:00:00Z'), { disk, homePlace: home });
    await disk.replace(FILE, stored);
    expect(await resolveHome(disk, 'co2_moer', home)).toMatchObject({ region: 'WEST', proposed: { region: 'SOUTH' } });
  });

  it('stays known when the map is lost or damaged', async () => {
    const disk = createMemoryDisk();
    await importText(TWO_REGIONS, { disk, homePlace: home });
    await disk.replace('map.co2_moer.idx', bytes('torn'));
    expect(await resolveHome(disk, 'co2_moer', home)).toMatchObject({ region: 'WEST' });
    await disk.remove('map.co2_moer.idx');
    expect(await resolveHome(disk, 'co2_moer', home)).toMatchObject({ region: 'WEST' });
  });

  it('is not written again by an unchanged map, and a disk that refuses it is a failure in words', async () => {
    const disk = createMemoryDisk();
    await importText(TWO_REGIONS, { disk, homePlace: home });
    const full: Disk = { ...disk, replace: () => Promise.reject(new DiskError({ kind: 'full', detail: 'no space' })) };
    expect(await importText(TWO_REGIONS, { disk: full, homePlace: home })).toMatchObject({ ok: true, unchanged: true });
    expect(await importText(TWO_REGIONS, { disk: full, homePlace: placeAt(5, 15) })).toMatchObject({
      ok: false,
      failure: { kind: 'disk', message: 'no space' },
    });
  });

  it('stays known when a newer map is damaged, or it cannot be stored for it', async () => {
    const disk = createMemoryDisk();
    await importText(TWO_REGIONS, { disk, homePlace: home });
    await importText(TWO_REGIONS, { disk, force: true, now: addDuration(NOW, days(1)) });
    const full: Disk = { ...disk, replace: () => Promise.reject(new DiskError({ kind: 'full', detail: 'no space' })) };
    expect(await resolveHome(full, 'co2_moer', home)).toMatchObject({ region: 'WEST' });
    const bytes = (await disk.read('map.co2_moer.idx')) ?? new Uint8Array(0);
    await disk.replace(
      'map.co2_moer.idx',
      bytes.map((byte, i) => (i >= 64 && i < bytes.length - 600 ? byte ^ 1 : byte)),
    );
    expect(await resolveHome(disk, 'co2_moer', home)).toMatchObject({ region: 'WEST' });
  });

  it('from the service needs no map', async () => {
    const disk = createMemoryDisk();
    const serviceAnswer = {
      place: home,
      region: 'CAISO_NORTH',
      regionFullName: 'California',
      source: 'service',
    } as const;
    await saveHome(disk, 'co2_moer', serviceAnswer);
    expect(await resolveHome(disk, 'co2_moer', home)).toEqual(serviceAnswer);
    expect(await resolveHome(disk, 'co2_moer', placeAt(6, 6))).toBeUndefined();
  });

  it('keeps an adopted proposal', async () => {
    const disk = createMemoryDisk();
    await importText(TWO_REGIONS, { disk, homePlace: home });
    const moved = createMapText(feature('SOUTH', [square(0, 0, 10)]), feature('EAST', [square(10, 0, 10)]));
    const result = await importText(moved.replace(MAP_META.last_updated, '2026-04-01T00:00:00Z'), {
      disk,
      homePlace: home,
    });
    if (!result.ok || result.home === undefined) throw new Error('not taken');
    await saveHome(disk, 'co2_moer', confirmRegion(result.home));
    expect(await resolveHome(disk, 'co2_moer', home)).toMatchObject({ region: 'SOUTH' });
  });

  it('is none without a map, and none outside every region', async () => {
    const disk = createMemoryDisk();
    expect(await resolveHome(disk, 'co2_moer', home)).toBeUndefined();
    await importText(TWO_REGIONS, { disk });
    expect(await resolveHome(disk, 'co2_moer', placeAt(-40, 5))).toBeUndefined();
  });

  it('is one a signal type', async () => {
    const disk = createMemoryDisk();
    await importText(TWO_REGIONS, { disk, homePlace: home });
    expect(await resolveHome(disk, 'health_damage', home)).toBeUndefined();
  });
});

describe('what a newly found region means', () => {
  const place = placeAt(5, 5);
  const stored: HomeRegion = {
    place,
    region: 'WEST',
    regionFullName: 'Region WEST',
    mapLastUpdated: NOW,
    source: 'map',
  };
  const found = (region: string) => ({ region, regionFullName: `Region ${region}`, source: 'map' as const });

  it('the first is taken', () =>
    expect(compareRegions(place, undefined, found('WEST'))).toEqual({
      kind: 'first',
      home: { place, ...found('WEST') },
    }));

  it('nothing held, nothing found', () => expect(compareRegions(place, undefined, undefined)).toBeUndefined());

  it('the same, under a newer name and date', () => {
    const newer = { ...found('WEST'), regionFullName: 'West and Sons', mapLastUpdated: addDuration(NOW, minutes(1)) };
    expect(compareRegions(place, stored, newer)).toEqual({ kind: 'same', home: { place, ...newer } });
  });

  it('another is proposed, the old one stays in use', () => {
    const change = compareRegions(place, stored, found('EAST'));
    expect(change).toMatchObject({ kind: 'changed', home: { region: 'WEST', proposed: { region: 'EAST' } } });
    expect(change !== undefined && 'message' in change ? change.message : '').toMatch(/EAST.*WEST/);
  });

  it('none: the old one stays in use', () => {
    const change = compareRegions(place, stored, undefined);
    expect(change).toMatchObject({ kind: 'vanished', home: stored });
    expect(change !== undefined && 'message' in change ? change.message : '').toContain('no region any more');
  });

  it('back to the old one: the proposal is forgotten', () => {
    const changed = compareRegions(place, stored, found('EAST'));
    expect(compareRegions(place, changed?.home, found('WEST'))?.home.proposed).toBeUndefined();
  });

  it('adopting a proposal makes it the region in use', () => {
    const changed = compareRegions(place, stored, found('EAST'))?.home ?? stored;
    expect(confirmRegion(changed)).toMatchObject({ region: 'EAST', regionFullName: 'Region EAST' });
    expect(confirmRegion(changed).proposed).toBeUndefined();
    expect(confirmRegion(stored)).toEqual(stored);
  });
});

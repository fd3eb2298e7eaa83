/** The region of the device over months: from the map or the service, told whenever what is known of it changes, never given up for nothing. */

import { describe, expect, it } from 'vitest';
import { createDocumentStore } from '../../src/agent/document-store.ts';
import { createProblems } from '../../src/agent/problems.ts';
import { createHomeRegion } from '../../src/agent/region-loop.ts';
import { addDuration, days, durationBetween, hours, type Instant, minutes } from '../../src/domain/units.ts';
import { readMapInfo } from '../../src/region/index/index-reader.ts';
import type { HomeRegion } from '../../src/region/region-types.ts';
import type { Failure } from '../../src/service/failure.ts';
import { createMemoryDisk, type MemoryDisk } from '../../src/simulation/memory-disk.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { createMapText, feature, MAP_META, square, TWO_REGIONS } from '../region/map-texts.ts';
import { importText, NOW, placeAt, splitChunks } from '../region/region-setup.ts';

const MAP = 'map.co2_moer.idx';
/** In WEST of the pair. */
const place = placeAt(5, 5);
const NOT_ENTITLED: Failure = { kind: 'not-entitled', message: 'not part of the plan' };
const SERVER_ERROR: Failure = { kind: 'server-error', status: 503, message: 'maintenance' };
const NOWHERE: Failure = { kind: 'outside-coverage' };

const later = (text: string, month = '04') => text.replace(MAP_META.last_updated, `2026-${month}-01T00:00:00+00:00`);
/** The place lies in SOUTH now. */
const MOVED = later(createMapText(feature('SOUTH', [square(0, 0, 10)]), feature('EAST', [square(10, 0, 10)])));
/** The place lies in nothing now. */
const LOST = later(createMapText(feature('NORTH', [square(0, 40, 10)]), feature('EAST', [square(10, 0, 10)])));

interface Answers {
  /** What the service says of the map: a text, or why not. */
  map: string | Failure;
  /** What it says of the place. */
  region: string | Failure;
  /** What it calls its map, if anything. */
  version?: string;
}

interface Setting extends Answers {
  readonly disk?: MemoryDisk;
  readonly now?: Instant;
  readonly device?: string;
}

function setUp({ disk = createMemoryDisk(), now = NOW, device = 'cellar', ...answers }: Setting) {
  const clock = createVirtualClock(now);
  const asked: { readonly what: 'map' | 'place'; readonly at: Instant }[] = [];
  const downloads: string[] = [];
  const found: HomeRegion[] = [];
  const logLines: string[] = [];
  const troubles = createProblems(
    clock,
    () => {},
    () => {},
  );
  const ask = (what: 'map' | 'place') => asked.push({ what, at: clock.now().wall });
  const keeper = createHomeRegion({
    hasAccount: true,
    service: {
      async map({ knownVersion }) {
        ask('map');
        const { map: text, version } = answers;
        if (typeof text !== 'string') return { ok: false, failure: text };
        if (version !== undefined && version === knownVersion) return { ok: true, value: { unchanged: true } };
        downloads.push(text);
        const arrived = clock.pause();
        const chunks = (async function* () {
          yield* splitChunks(text);
          arrived();
        })();
        return { ok: true, value: { chunks, ...(version === undefined ? {} : { version }) } };
      },
      async regionFromLoc() {
        ask('place');
        const { region } = answers;
        if (typeof region !== 'string') return { ok: false, failure: region };
        return { ok: true, value: { region, regionFullName: `Region ${region}`, signalType: 'co2_moer' } };
      },
    },
    disk,
    store: createDocumentStore(disk, () => {}),
    clock,
    random: { fraction: () => 0.5 },
    log: (_, message) => logLines.push(message),
    problems: troubles,
    signalType: 'co2_moer',
    device,
    place,
    onRegion: (home) => found.push(home),
  });
  return {
    keeper,
    clock,
    disk,
    asked,
    downloads,
    found,
    told: logLines,
    answers,
    trouble: () => troubles.list()[0]?.sentence,
    run: (length: ReturnType<typeof days>) => clock.runUntil(addDuration(clock.now().wall, length)),
    regions: () => found.map(({ region }) => region),
  };
}

async function started(setting: Setting) {
  const set = setUp(setting);
  await set.clock.runUntilDone(set.keeper.start());
  await set.run(hours(0));
  return set;
}

/** The same device again, a moment after it stopped. */
const restarted = ({ disk, clock, answers }: ReturnType<typeof setUp>) =>
  started({ disk, now: clock.now().wall, ...answers });

describe('the region of the device', () => {
  it('comes from the map at once, and from the disk after a restart, without a request', async () => {
    const set = await started({ map: TWO_REGIONS, region: 'WEST' });
    expect(set.keeper.home()).toMatchObject({ region: 'WEST', source: 'map' });
    expect(set.asked.map(({ what }) => what)).toEqual(['map']);
    set.keeper.stop();
    expect(set.clock.waiting()).toEqual([]);

    const again = await restarted(set);
    expect(again.regions()).toEqual(['WEST']);
    expect(again.asked).toEqual([]);
  });

  const monthly: readonly (readonly [string, string | Failure, readonly string[]])[] = [
    ['with maps in the plan', TWO_REGIONS, ['map', 'map', 'map', 'map']],
    ['without', NOT_ENTITLED, ['map', 'place', 'map', 'place', 'map', 'place', 'map', 'place']],
  ];
  it.each(monthly)('is looked at again every 28 days at the moment of the device, %s', async (_, map, kinds) => {
    const set = await started({ map, region: 'WEST' });
    await set.run(days(84));
    expect(set.asked.map(({ what }) => what)).toEqual(kinds);
    const moments = [...new Set(set.asked.map((one) => one.at))].slice(1);
    expect(moments.slice(1).map((moment, i) => durationBetween(moments[i] ?? NOW, moment))).toEqual([
      days(28),
      days(28),
    ]);
    expect(set.trouble()).toBeUndefined();
    expect(set.regions()).toEqual(['WEST']);

    const other = await started({ map, region: 'WEST', device: 'attic' });
    await other.run(days(28));
    expect(other.asked.at(-1)?.at).not.toBe(moments[0]);
  });

  it('an unchanged map rewrites nothing; a newer one tells its age', async () => {
    const set = await started({ map: TWO_REGIONS, region: 'WEST' });
    const before = await set.disk.read('map.co2_moer.idx');
    await set.run(days(28));
    expect(await set.disk.read('map.co2_moer.idx')).toEqual(before);
    expect(set.found).toHaveLength(1);

    set.answers.map = later(TWO_REGIONS);
    await set.run(days(28));
    expect(set.regions()).toEqual(['WEST', 'WEST']);
    expect(set.keeper.home()?.mapLastUpdated).toBe(Date.parse('2026-04-01T00:00:00Z'));
  });

  it('a map that the service calls unchanged is not sent, unless the stored one is damaged or another', async () => {
    const set = await started({ map: TWO_REGIONS, region: 'WEST', version: '"1"' });
    await set.run(days(56));
    expect([set.asked.length, set.downloads.length]).toEqual([3, 1]);
    expect([set.trouble(), set.regions()]).toEqual([undefined, ['WEST']]);

    const bytes = (await set.disk.read(MAP)) ?? new Uint8Array(0);
    await set.disk.replace(MAP, bytes.with(70, (bytes[70] ?? 0) ^ 1));
    await set.run(days(28));
    expect(set.downloads).toHaveLength(2);
    await set.run(days(28));
    expect(set.downloads).toHaveLength(2);

    Object.assign(set.answers, { map: later(TWO_REGIONS), version: '"2"' });
    await set.run(days(28));
    expect(set.downloads).toHaveLength(3);
    await importText(TWO_REGIONS, { disk: set.disk, force: true, now: set.clock.now().wall });
    await set.run(days(28));
    expect(set.downloads).toHaveLength(4);
    expect(set.keeper.home()).toMatchObject({ region: 'WEST', mapLastUpdated: Date.parse('2026-04-01T00:00:00Z') });
  });

  it('a map imported by hand is in use within 15 minutes, and another region of it is confirmed within hours', async () => {
    const set = await started({ map: NOT_ENTITLED, region: 'WEST' });
    expect(set.keeper.home()).toMatchObject({ region: 'WEST', source: 'service' });
    await set.run(days(1));
    await importText(TWO_REGIONS, { disk: set.disk, homePlace: place, now: set.clock.now().wall });
    await set.run(minutes(15));
    expect(set.keeper.home()).toMatchObject({ region: 'WEST', source: 'map' });
    expect(set.told).toContain('another map was imported beside the agent');

    set.answers.region = 'SOUTH';
    await importText(MOVED, { disk: set.disk, homePlace: place, now: set.clock.now().wall });
    await set.run(minutes(15));
    expect(set.keeper.home()).toMatchObject({ region: 'WEST', proposed: { region: 'SOUTH' } });
    expect(set.trouble()).toMatch(/puts the place into SOUTH/);
    await set.run(hours(24));
    expect(set.keeper.home()?.region).toBe('SOUTH');
    expect(set.trouble()).toBeUndefined();
  });

  it.each(['region-refused', 'region-not-in-access'] as const)('is looked at within the hour: %s', async (why) => {
    const set = await started({ map: TWO_REGIONS, region: 'WEST' });
    await set.run(days(2));
    Object.assign(set.answers, { map: MOVED, region: 'SOUTH' });
    set.keeper.requestEarlyRefresh(why);
    await set.run(hours(1));
    expect(set.regions()).toEqual(['WEST', 'SOUTH']);
    expect(set.trouble()).toBeUndefined();
  });

  //  what became of the index, the words of it
  const unusable: readonly (readonly [string, (disk: MemoryDisk, bytes: Uint8Array) => Promise<void>, string])[] = [
    ['is missing', (disk) => disk.remove(MAP), 'the map is missing'],
    ['is of an earlier format', (disk, bytes) => disk.replace(MAP, bytes.with(4, 1)), 'has format 1'],
    ['is cut short', (disk, bytes) => disk.replace(MAP, bytes.slice(0, -1)), 'is cut short'],
    ['has a damaged directory', (disk, bytes) => disk.replace(MAP, bytes.with(-9, 1)), 'directory of the map index'],
  ];
  it.each(unusable)(
    'an index that %s at a start is replaced within the hour, the region stays',
    async (_, hurt, words) => {
      const set = await started({ map: TWO_REGIONS, region: 'WEST' });
      set.keeper.stop();
      const bytes = (await set.disk.read(MAP)) ?? new Uint8Array(0);
      await hurt(set.disk, bytes);

      const again = await started({ ...set, ...set.answers, now: addDuration(NOW, days(2)) });
      expect(again.regions()).toEqual(['WEST']);
      expect(again.asked).toEqual([]);
      expect(again.told.join()).toMatch(new RegExp(`${words}.*; a new one is fetched.*; region WEST stays in use`));
      await again.run(hours(1));
      expect(again.asked.map(({ what }) => what)).toEqual(['map']);
      expect(await readMapInfo(again.disk, 'co2_moer')).toMatchObject({ regions: 2 });
      expect(again.regions()).toEqual(['WEST']);
      await again.run(days(20));
      expect(again.asked.length).toBeLessThan(3);
    },
  );

  it('a region the service told needs no index', async () => {
    const set = await started({ map: NOT_ENTITLED, region: 'WEST' });
    const again = await restarted(set);
    await again.run(days(1));
    expect(again.asked).toEqual([]);
    expect(again.told).toEqual(['region WEST (Region WEST)']);
  });

  //  what, the new map, what the service says of the place, region in use, words of the trouble
  const news: readonly (readonly [string, string, string | Failure, string, string | undefined])[] = [
    ['another, which the service names too', MOVED, 'SOUTH', 'SOUTH', undefined],
    [
      'another, the service keeps to the old one',
      MOVED,
      'WEST',
      'WEST',
      'into SOUTH, which the service does not confirm',
    ],
    ['another, the service knows none', MOVED, NOWHERE, 'WEST', 'into SOUTH, which the service does not confirm'],
    ['another, a server error', MOVED, SERVER_ERROR, 'WEST', 'maintenance'],
    ['none any more', LOST, 'WEST', 'WEST', 'does not cover the own place'],
    ['an end too early', later(TWO_REGIONS).slice(0, -1), 'WEST', 'WEST', 'ends too early'],
  ];
  it.each(news)('a new map with %s', async (_, map, region, inUse, words) => {
    const set = await started({ map: TWO_REGIONS, region: 'WEST' });
    Object.assign(set.answers, { map, region });
    await set.run(days(28));
    expect(set.keeper.home()?.region).toBe(inUse);
    if (words === undefined) expect(set.trouble()).toBeUndefined();
    else expect(set.trouble()).toMatch(new RegExp(`${words}.*region WEST stays in use`));
  });

  it('a proposal the service could not be asked about is settled within hours, not a month', async () => {
    const set = await started({ map: TWO_REGIONS, region: 'WEST' });
    Object.assign(set.answers, { map: MOVED, region: SERVER_ERROR });
    await set.run(days(28));
    expect(set.regions()).toContain('WEST');
    set.answers.region = 'SOUTH';
    await set.run(days(1));
    expect(set.keeper.home()?.region).toBe('SOUTH');
    expect(set.trouble()).toBeUndefined();
  });

  it('a proposal that is open is told after a restart too', async () => {
    const set = await started({ map: TWO_REGIONS, region: 'WEST' });
    set.answers.map = MOVED;
    await set.run(days(28));
    set.keeper.stop();
    expect((await restarted(set)).trouble()).toMatch(/into SOUTH, which the service does not confirm; region WEST/);
  });

  it('without maps: another region of the service is taken, none leaves the old one', async () => {
    const set = await started({ map: NOT_ENTITLED, region: 'WEST' });
    set.answers.region = 'SOUTH';
    await set.run(days(28));
    expect(set.regions()).toEqual(['WEST', 'SOUTH']);
    set.answers.region = NOWHERE;
    await set.run(days(28));
    expect(set.keeper.home()?.region).toBe('SOUTH');
    expect(set.trouble()).toMatch(/no region any more.*region SOUTH/);
  });

  it('a first map that cannot be used leaves the question to the service, and is asked for again', async () => {
    const set = await started({ map: TWO_REGIONS.slice(0, 300), region: 'WEST' });
    expect(set.keeper.home()).toMatchObject({ region: 'WEST', source: 'service' });
    expect(set.trouble()).toMatch(/no new map: .*ends too early; region WEST stays in use/);
    set.answers.map = TWO_REGIONS;
    await set.run(hours(2));
    expect(set.keeper.home()).toMatchObject({ region: 'WEST', source: 'map' });
    expect(set.trouble()).toBeUndefined();
  });

  it('a later map that cannot be used costs no place', async () => {
    const set = await started({ map: TWO_REGIONS, region: 'WEST' });
    set.answers.map = later(TWO_REGIONS).slice(0, 300);
    await set.run(days(29));
    expect(set.asked.map(({ what }) => what)).not.toContain('place');
    expect(set.regions()).toEqual(['WEST']);
  });

  it('unknown to all: said, and asked for at each start', async () => {
    const set = await started({ map: LOST, region: NOWHERE });
    expect(set.keeper.home()).toBeUndefined();
    expect(set.trouble()).toMatch(/Coordinates not found.*no region is known/);
    set.keeper.stop();
    expect((await restarted(set)).asked.map(({ what }) => what)).toEqual(['map']);
  });
});

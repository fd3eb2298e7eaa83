/** Rows 26 to 28 of the fault table: maps that are too large, that rename or move the home's region, and places that no region covers. */

import { afterEach, describe, expect, it } from 'vitest';
import { days, hours, type Instant, minutes } from '../../src/domain/units.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import type { ScriptedResponse } from '../doubles/scripted-service.ts';
import { createMapText, feature, hole, square } from '../region/map-texts.ts';
import { HOME, HOSTILE_MAPS, JSON_HEADERS } from './hostile-maps.ts';
import { REGION, scriptedJson, startSignalService } from './scripted-signal-service.ts';
import { createVirtualAgent, type VirtualAgent, type VirtualAgentOptions } from './virtual-agent.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one();
});

const MORNING = '2026-03-03T06:00:00Z';
const TANK = `
loads:
  water: {type: tank, powerKw: 3, failSafe: off, initialLevel: off, onStop: hold, output: {kind: relay, pin: 17}}
`;
const dated = (text: string, date: string) => text.replace('2026-03-01T00:00:00', `${date}T00:00:00`);

/** A house whose service serves the map, and names the region, that these hold at the time. */
async function withMap(first: { map: ScriptedResponse; named?: string }, options: Partial<VirtualAgentOptions> = {}) {
  const world = { ...first };
  const clock = createVirtualClock(Date.parse(MORNING) as Instant);
  const grid = await startSignalService(clock, ({ path, query }, _, usual) => {
    if (path === '/v3/maps') return world.map;
    if (path === '/v3/region-from-loc')
      return world.named === undefined
        ? scriptedJson({ error: 'Coordinates not found' }, 404)
        : scriptedJson({ ...usual(), region: world.named });
    const region = query.get('region') ?? REGION;
    const { data, meta, ...rest } = usual();
    if (path === '/v3/my-access') return scriptedJson(JSON.parse(JSON.stringify(rest).replaceAll(REGION, region)));
    return path === '/login' ? undefined : scriptedJson({ data, meta: { ...meta, region } });
  });
  undo.push(() => grid.close());
  const home: VirtualAgent = await createVirtualAgent({ seed: 1, clock, url: grid.url, loads: TANK, ...options });
  undo.push(() => home.close());
  return { home, world, grid };
}

const good = (): ScriptedResponse => ({
  headers: JSON_HEADERS,
  body: createMapText(feature(REGION, [HOME]), feature('EAST', [square(-117, 35, 8)])),
});
const works = async (home: VirtualAgent, region: string) => {
  await home.pass(minutes(9));
  expect(home.agent.snapshot().region?.region).toBe(region);
  expect(home.agent.snapshot().view?.index?.basis).toBe('live-index');
};

describe('26 a map that is too much', () => {
  it.each(HOSTILE_MAPS)('26 %s: refused, the old map stays in use', async (_, odd) => {
    const { home, world } = await withMap({ map: good(), named: REGION });
    await home.start();
    await works(home, REGION);
    const before = await home.disk.list();
    world.map = odd();
    await home.restart(days(29));
    await works(home, REGION);
    expect(home.warningsAbout('map').length).toBeGreaterThan(0);
    expect(home.warningsAbout('map').at(-1)).toMatch(/no new map: .*; region PSCO stays in use/);
    expect((await home.disk.list()).filter((name) => name.startsWith('map'))).toEqual(
      before.filter((name) => name.startsWith('map')),
    );
  });
});

describe('27 a new map in which the home region is another or none', () => {
  it('27 renamed, and the service names it too: taken over', async () => {
    const { home, world } = await withMap({ map: good(), named: REGION });
    await home.start();
    await works(home, REGION);
    world.map = {
      headers: JSON_HEADERS,
      body: dated(createMapText(feature('PSCO_EAST', [HOME]), feature('EAST', [square(-117, 35, 8)])), '2026-03-20'),
    };
    world.named = 'PSCO_EAST';
    await home.restart(days(29));
    await works(home, 'PSCO_EAST');
  });

  it('27 renamed, but the service does not name it: the old region stays, and that is said', async () => {
    const { home, world } = await withMap({ map: good(), named: REGION });
    await home.start();
    await works(home, REGION);
    world.map = {
      headers: JSON_HEADERS,
      body: dated(createMapText(feature('PSCO_EAST', [HOME]), feature('EAST', [square(-117, 35, 8)])), '2026-03-20'),
    };
    await home.restart(days(29));
    await works(home, REGION);
    expect(home.warningsAbout('map').at(-1)).toMatch(
      /PSCO_EAST, which the service does not confirm; region PSCO stays in use/,
    );
  });

  it('27 gone from under the house: the old region stays, and that is said', async () => {
    const { home, world } = await withMap({ map: good(), named: REGION });
    await home.start();
    await works(home, REGION);
    world.map = {
      headers: JSON_HEADERS,
      body: dated(
        createMapText(feature(REGION, [square(-110, 35, 8)]), feature('EAST', [square(-102, 35, 8)])),
        '2026-03-20',
      ),
    };
    await home.restart(days(29));
    await works(home, REGION);
    expect(home.warningsAbout('map').length).toBeGreaterThan(0);
  });
});

describe('28 a place on a border, in two regions, in none', () => {
  //  the place                          map                                                              is in
  const west = feature('WEST', [square(-125, 35, 5)]);
  const rows = [
    [
      'on a border',
      '{latitude: 38.5, longitude: -120, timezone: America/Los_Angeles}',
      [west, feature('EAST', [square(-120, 35, 5)])],
    ],
    [
      'in two at once',
      '{latitude: 38.5, longitude: -122, timezone: America/Los_Angeles}',
      [west, feature('OVER', [square(-124, 36, 5)])],
    ],
  ] as const;
  it.each(rows)('28 %s: one region, the same after each import and restart', async (_, place, features) => {
    const { home } = await withMap(
      { map: { headers: JSON_HEADERS, body: createMapText(...features) }, named: 'WEST' },
      { place },
    );
    await home.start();
    await home.pass(minutes(9));
    const found = home.agent.snapshot().region?.region;
    expect(found).toBeDefined();
    for (const away of [minutes(1), days(29)]) {
      await home.restart(away);
      await home.pass(minutes(9));
      expect(home.agent.snapshot().region?.region).toBe(found);
    }
  });

  it.each([
    [
      'in a hole of the map',
      { headers: JSON_HEADERS, body: createMapText(feature(REGION, [HOME, hole(-123, 37, 2)])) },
    ],
    ['by the word of the service', scriptedJson({ error: 'Invalid scope.' }, 403)],
  ] as const)(
    '28 in no region, %s: said once, final and quiet; the loads rest at their fail-safe level',
    async (_, map) => {
      const { home } = await withMap({ map });
      await home.start();
      await home.pass(hours(30));
      expect(home.warningsAbout('map').length).toBe(1);
      expect(home.warningsAbout('map')[0]).toMatch(/no region/i);
      expect(home.countRequests('/v3/maps')).toBeLessThanOrEqual(2);
      expect(home.countRequests('/v3/forecast') + home.countRequests('/v3/signal-index')).toBe(0);
      expect(home.edges.filter(({ high }) => high)).toEqual([]);
    },
  );
});

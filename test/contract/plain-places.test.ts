/** Sections 2.4, 2.8 and 4.2 by plain HTTP: which region a point lies in, and the maps. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeQuery, expectGate, type PlainService, startPlainService } from './plain-http.ts';
import { isPublished } from './profile-under-test.ts';

let service: PlainService;
beforeAll(async () => {
  service = await startPlainService();
});
afterAll(() => service.close());

const regionAt = (latitude: number | string, longitude: number | string, signal = 'co2_moer') =>
  service.get(`/v3/region-from-loc?${encodeQuery({ signal_type: signal, latitude, longitude })}`, 'free');

describe('4.2 GET /v3/region-from-loc', () => {
  it('2.4: answers region, full name and signal type', async () => {
    const { status, json } = await regionAt(39.7522, -105.0);
    expect(status).toBe(200);
    expect(json).toEqual({
      region: 'PSCO',
      region_full_name: 'Public Service Co of Colorado',
      signal_type: 'co2_moer',
    });
  });

  //  latitude  longitude  signal            region
  const rows: readonly (readonly [number, number, string, string])[] = [
    [42.372, -72.519, 'co2_moer', 'ISONE_WCMA'],
    [38.5, -122.0, 'co2_moer', 'CAISO_NORTH'],
    [38.5, -122.0, 'health_damage', 'CAISO_NORTH'],
    [38.5, -122.0, 'co2_aoer', 'CAISO'],
    [38.6, -121.35, 'co2_moer', 'BANC'], // an enclave
    [40.8, -112.2, 'co2_moer', 'PACE_UT'], // an island in a lake
    [21.45, -158.0, 'co2_moer', 'HECO_OAHU'], // an island in the sea
    [-17.0, 180, 'co2_moer', 'FJ'], // west of the date line
    [-17.0, -179.99, 'co2_moer', 'TO'], // east of it
    [65.0, 179.99, 'co2_moer', 'RU_FE'], // one region on both sides
    [65.0, -179.99, 'co2_moer', 'RU_FE'],
  ];
  it.each(rows)('%s, %s of %s is %s', async (latitude, longitude, signal, region) => {
    expect((await regionAt(latitude, longitude, signal)).json.region).toBe(region);
  });

  it.each([
    ['the Gulf of Guinea', 0, 0],
    ['the Pacific', 30, -150],
    ['a lake', 40.8, -111.9],
    ['the North Pole', 90, 0],
  ])('7: %s is 404, Coordinates not found', async (_, latitude, longitude) => {
    const { status, json } = await regionAt(latitude, longitude);
    expect([status, json.error]).toEqual([404, 'Coordinates not found']);
    expect(json.message).toMatch(isPublished ? /^No coverage available/ : /^Coordinates not found: /);
  });

  it.each([
    ['latitude', 'co2_moer', 91, 0],
    ['longitude', 'co2_moer', 0, -181],
    ['latitude', 'co2_moer', 'north', 0],
    ['latitude', 'co2_moer', '0x26', 0],
    ['latitude', 'co2_moer', '', 0],
    ['signal_type', 'co2', 0, 0],
  ])('a wrong %s is 422', async (name, signal, latitude, longitude) => {
    const { status, json } = await regionAt(latitude, longitude, signal);
    expect(status).toBe(422);
    expect(json.detail[0].loc).toEqual(['query', name]);
  });
});

describe('4.2 GET /v3/maps', () => {
  it.each([
    ['free', 403],
    ['basic', 403],
    ['analyst', 200],
    ['pro', 200],
  ])('1.4: for the plan %s it is %s', async (plan, status) => {
    const reply = await service.get('/v3/maps?signal_type=co2_aoer', plan);
    if (status === 403) expectGate(reply);
    else expect(reply.status).toBe(status);
  });
  it('misses the signal type: 422', async () => {
    expect((await service.get('/v3/maps')).json.detail[0].loc).toEqual(['query', 'signal_type']);
  });

  //  signal          at least
  it.each([
    ['co2_moer', 120],
    ['co2_aoer', 51],
    ['health_damage', 101],
  ])('2.8: the map of %s has %s regions or more', async (signal, least) => {
    const { json } = await service.get(`/v3/maps?signal_type=${signal}`);
    expect(json.type).toBe('FeatureCollection');
    expect(json.features.length).toBeGreaterThanOrEqual(least);
    expect(json.meta).toEqual({
      signal_type: signal,
      last_updated: expect.stringMatching(
        isPublished ? /^20\d\d-\d\d-\d\dT00:00:00Z$/ : /^20\d\d-\d\d-\d\dT00:00:00\+00:00$/,
      ),
    });
    for (const feature of json.features) {
      expect(feature.type).toBe('Feature');
      expect(Object.keys(feature.properties)).toEqual(['region', 'region_full_name']);
      expect(feature.geometry.type).toBe('MultiPolygon');
      for (const position of feature.geometry.coordinates.flat(2)) {
        expect(Math.abs(position[0])).toBeLessThanOrEqual(180);
        expect(Math.abs(position[1])).toBeLessThanOrEqual(90);
      }
    }
    const names = json.features.map((feature: { properties: { region: string } }) => feature.properties.region);
    const access = await service.get(`/v3/my-access?signal_type=${signal}`);
    const opened = access.json.signal_types[0].regions.map(({ region }: { region: string }) => region);
    expect([...names].sort()).toEqual([...opened].sort());
  });
  it('has CAISO among the hourly averages', async () => {
    const { text } = await service.get('/v3/maps?signal_type=co2_aoer');
    expect(text).toContain('"region":"CAISO"');
  });
});

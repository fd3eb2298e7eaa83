/** What the page shows without a broker: the documents of a state directory, as the agent of a demo has left it. */

import { expect, it } from 'vitest';
import { readRegionOutline } from '../../src/page/region-outline.ts';
import { readRecentEntries, readSavedHouse } from '../../src/page/saved-house.ts';
import { type DemoHouse, runDemo } from '../../src/simulation/demo-day.ts';
import { createMemoryDisk } from '../../src/simulation/memory-disk.ts';

it('the saved state of a house is loads, plans, forecast, history, totals, runs and the region', async () => {
  const houses: DemoHouse[] = [];
  const onHouse = async (house: DemoHouse) => void houses.push(house);
  await runDemo({ seed: 1, hours: 2, onEvent() {}, log() {}, onHouse });
  const [house] = houses;
  if (house === undefined) throw new Error('the demo had no house');
  const { config, disk, now } = house;
  const { asOf, documents } = await readSavedHouse(disk, config, '0.0.1', now());
  expect(asOf).toMatch(/^2026-03-01T2[12]:/);
  expect(documents['loads/car']).toMatchObject({
    level: 'off',
    why: 'plan-waits',
    text: expect.stringContaining('may run from 18:00'),
  });
  expect(documents['loads/car/plan']).toMatchObject({ needMinutes: 240, by: '2026-03-02T15:00:00+00:00' });
  expect((documents['loads/water/plan'] as { expected: readonly unknown[] }).expected.length).toBeGreaterThan(0);
  expect(documents['loads/water']).toMatchObject({ nextIsExpected: true });
  expect(documents.forecast).toMatchObject({ units: 'lb/MWh', region: 'CAISO_NORTH' });
  expect(documents.history).toMatchObject({ units: 'lb/MWh', from: '2026-02-28T08:00:00+00:00' });
  expect((documents.totals as { today: { energyKwh: number } }).today.energyKwh).toBeGreaterThan(1);
  expect((documents.info as { loads: readonly unknown[] }).loads.length).toBe(3);
  expect((await readRecentEntries(disk, now())).length).toBeGreaterThan(0);
  expect(await readRegionOutline(disk, 'co2_moer', config.place)).toMatchObject({ path: expect.stringMatching(/^M/) });
});

it('an empty state directory is a house of which only the configuration is known', async () => {
  const houses: DemoHouse[] = [];
  const stop = AbortSignal.abort();
  await runDemo({ seed: 1, hours: 1, stop, onEvent() {}, log() {}, onHouse: async (house) => void houses.push(house) });
  const [house] = houses;
  if (house === undefined) throw new Error('the demo had no house');
  const empty = createMemoryDisk();
  const { asOf, documents } = await readSavedHouse(empty, house.config, '0.0.1', house.now());
  expect(asOf).toBeUndefined();
  expect(Object.keys(documents)).toEqual(['info']);
  expect(await readRegionOutline(empty, 'co2_moer', house.config.place)).toBeUndefined();
});

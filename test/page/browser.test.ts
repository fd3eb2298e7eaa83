/** The page in a real browser: widths and schemes, accessibility, live changes, commands by keyboard, a broker that goes away. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addDuration, hours, type Instant, minutes } from '../../src/domain/units.ts';
import { describeWithChromium, launchChromium } from '../doubles/chromium.ts';
import { startMosquitto } from '../doubles/mosquitto.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';
import { sampleDecision } from '../mqtt/monitor-fixture.ts';
import { startPageFixture } from './page-fixture.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser: Browser;

async function openHouse(view: { readonly width: number; readonly colorScheme: 'light' | 'dark' }) {
  const mosquitto = stopAfterTest(await startMosquitto());
  const house = await startPageFixture(mosquitto.url);
  const now = Date.now() as Instant;
  const values = Array.from({ length: 400 }, (_, i) => 400 + 300 * Math.sin(i / 30));
  const from = (now - (now % 300_000)) as Instant;
  house.monitor.publishForecast(
    {
      ...{ basis: 'fresh-forecast', from, period: minutes(5), values, units: 'lbs_co2_per_mwh', generatedAt: now },
      validUntil: (from + 400 * 300_000) as Instant,
    },
    'CAISO_NORTH',
  );
  const expected = [{ to: addDuration(now, hours(2)) }, { from: addDuration(now, hours(8)) }];
  for (const load of ['car', 'heating'])
    house.monitor.publishControl(load, {
      ...{ job: undefined, plan: undefined, paused: false, thresholds: undefined, expected },
    });
  const page = await browser.newPage({ viewport: { width: view.width, height: 800 }, colorScheme: view.colorScheme });
  stopAfterTest({ stop: () => page.close() });
  page.setDefaultTimeout(250_000);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(house.address);
  await page.getByRole('article', { name: 'Car' }).getByText('Runs', { exact: true }).waitFor();
  await page.locator('#chart canvas').waitFor();
  return { ...house, mosquitto, page, complaints };
}

const findViolations = async (page: Page) => {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    const { violations } = await axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });
};

describeWithChromium('the page in a browser', () => {
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser.close());

  const looks = [
    [360, 'light'],
    [768, 'dark'],
    [1440, 'light'],
    [1440, 'dark'],
  ] as const;
  const otherLooks = [
    [360, 'dark'],
    [768, 'light'],
  ] as const;
  it.each([...looks, ...(process.env.GRIDTIDE_PAGE_REQUESTS === undefined ? [] : otherLooks)])(
    'fits %d px in %s, has no barrier and breaks no rule of its own policy',
    async (width, colorScheme) => {
      const { page, complaints } = await openHouse({ width, colorScheme });
      for (const summary of await page.locator('summary').all()) await summary.click();
      expect(await findViolations(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      expect(complaints).toEqual([]);
    },
  );

  it('says in one sentence what the house does, live, and loads in 100 kB', async () => {
    const { page, monitor } = await openHouse({ width: 360, colorScheme: 'light' });
    await page
      .locator('#sentence', {
        hasText: /Car runs, expected until \S+\. Heating runs, expected until \S+\./,
      })
      .waitFor();
    const at = Date.now() as Instant;
    monitor.publishDecision(sampleDecision({ at, level: 'off', wanted: 'off', why: 'dirty' }), 'index 61: too dirty');
    await page
      .locator('#sentence', {
        hasText: /Car waits for cleaner hours, expected from [^.]+\. Heating runs, expected until/,
      })
      .waitFor();
    await page.getByText('Index 61: too dirty').waitFor();
    const bytes = await page.evaluate(() =>
      performance
        .getEntries()
        .filter(({ entryType }) => /navigation|resource/.test(entryType))
        .map((entry) => (entry as unknown as { encodedBodySize: number }).encodedBodySize)
        .reduce((sum, size) => sum + size, 0),
    );
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(100_000);
  });

  it('takes an override and a job by keyboard alone', async () => {
    const { page, commands } = await openHouse({ width: 768, colorScheme: 'light' });
    const press = async (label: string) => {
      for (let i = 0; i < 60; i++) {
        await page.keyboard.press('Tab');
        const focused = await page.evaluate('document.activeElement?.getAttribute("aria-label")');
        if (focused === label) return page.keyboard.press('Enter');
      }
      throw new Error(`the tab key does not reach "${label}"`);
    };
    await press('Car: Run 1 h');
    await page.getByRole('article', { name: 'Car' }).getByText('Accepted.').waitFor();
    await press('Heating: Off 2 h');
    await page.getByRole('article', { name: 'Heating' }).getByText('Accepted.').waitFor();
    await press('Car: Start job');
    await expect.poll(() => commands.length).toBe(3);
    expect(commands).toMatchObject([
      { load: 'car', kind: 'override', level: 'on', for: 3_600_000 },
      { load: 'heating', kind: 'override', level: 'off', for: 7_200_000 },
      { load: 'car', kind: 'arm', need: 4 * 3_600_000 },
    ]);
  });

  it('moves its cursor by the arrow keys and tells the moment', async () => {
    const { page } = await openHouse({ width: 1440, colorScheme: 'light' });
    await page.locator('#chart').focus();
    await page.keyboard.press('ArrowRight');
    await page.locator('#reading', { hasText: /\d\d:\d\d, (index [\d.]+, )?[\d,.]+ lb\/MWh/ }).waitFor();
  });

  it('says so when the broker goes away, and comes back with it', async () => {
    const { page, mosquitto } = await openHouse({ width: 360, colorScheme: 'dark' });
    const button = page.getByRole('button', { name: 'Car: Run 1 h' });
    expect(await button.isEnabled()).toBe(true);
    await mosquitto.kill();
    await page.getByText(/^No link to the broker/).waitFor();
    expect(await button.isEnabled()).toBe(false);
    await mosquitto.restart();
    await page.locator('article button:enabled').first().waitFor();
  });
});

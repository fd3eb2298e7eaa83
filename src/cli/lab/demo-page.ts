/** The page of the demo: shows the house of the simulated day while it passes. */

import { createPage, type Page } from '../../page/create-page.ts';
import { createBrokerFactory } from '../../platform/mqtt-broker.ts';
import { createSystemRandom } from '../../platform/random.ts';
import { createSystemClock } from '../../platform/system-clock.ts';
import type { DemoHouse } from '../../simulation/demo-day.ts';
import { listenForPage } from '../shared/page-address.ts';
import { locateProgramFile } from '../shared/program-files.ts';
import { VERSION } from '../shared/version.ts';

export interface DemoPage {
  readonly url: string;
  readonly page: Page;
}

export async function startDemoPage({ config, disk, now }: DemoHouse, address: string): Promise<DemoPage> {
  const clock = createSystemClock();
  const brokers = createBrokerFactory({ clock, random: createSystemRandom() });
  const page = await createPage({
    ...{ config, version: VERSION, clock, houseNow: now, disk, filesDirectory: locateProgramFile('page'), names: [] },
    ...(config.mqtt && { broker: brokers({ url: config.mqtt.url, clientId: 'demo-page' }) }),
  });
  return { url: await listenForPage(page, address, false), page };
}

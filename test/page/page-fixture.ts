/** A house on a broker with its page: what the agent would publish, and the commands that arrive. */

import { join } from 'node:path';
import type { Page } from '../../src/page/create-page.ts';
import { createPage } from '../../src/page/create-page.ts';
import { createBrokerFactory } from '../../src/platform/mqtt-broker.ts';
import { createSystemClock } from '../../src/platform/system-clock.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';
import { type MonitorFixture, startMonitorFixture } from '../mqtt/monitor-fixture.ts';

/** Of the build, as the program serves them. */
const FILES = join(import.meta.dirname, '..', '..', 'dist', 'page');

export interface PageFixture extends MonitorFixture {
  readonly page: Page;
  readonly port: number;
  readonly address: string;
}

export async function startPageFixture(
  brokerUrl: string,
  options: { readonly password?: string; readonly names?: readonly string[] } = {},
): Promise<PageFixture> {
  const house = stopAfterTest(startMonitorFixture(brokerUrl));
  const clock = createSystemClock();
  const broker = createBrokerFactory({ clock, random: { fraction: () => 0 } })({
    ...{ url: brokerUrl, clientId: 'page' },
  });
  const page = await createPage({
    ...{ config: house.config, version: '0.0.1', clock, broker, filesDirectory: FILES, names: [], ...options },
  });
  stopAfterTest({ stop: () => page.close() });
  const { port } = await page.listen(0, '127.0.0.1');
  return { ...house, page, port, address: `http://127.0.0.1:${port}` };
}

/** What a test has started is stopped after it, the last thing first. */

import { afterEach } from 'vitest';

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

export const afterTest = (stop: () => Promise<unknown>): void => void stops.push(stop);

export function stopAfterTest<Thing extends { stop(): Promise<unknown> }>(thing: Thing): Thing {
  afterTest(() => thing.stop());
  return thing;
}

/** What a test has started is stopped after it, the last thing first. */

import { onTestFinished } from 'vitest';

/** No hook of this module: it would be called for the first of the files that share a process, and for no other. */
export const afterTest = (stop: () => Promise<unknown>): void => onTestFinished(async () => void (await stop()));

export function stopAfterTest<Thing extends { stop(): Promise<unknown> }>(thing: Thing): Thing {
  afterTest(() => thing.stop());
  return thing;
}

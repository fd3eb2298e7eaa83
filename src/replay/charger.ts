/** A wall box on the embedded broker that does what it is told and says so, in the way of OpenEVSE. Decides nothing. */

import type { EmbeddedBroker } from './broker.ts';

/** Answers each `override/set` under `base` with its state, before the sender hears that the message was taken. */
export function simulateCharger(broker: EmbeddedBroker, base: string): void {
  broker.onPublish(async (topic, payload) => {
    if (topic !== `${base}/override/set`) return;
    const state = payload === 'clear' ? '{}' : payload;
    await broker.publish(`${base}/override`, state, { retain: true });
  });
}

/** A simulated OpenEVSE wall box on the embedded broker. */

import type { EmbeddedBroker } from './embedded-broker.ts';

/** Answers each `override/set` under `base` with its state, before the broker acknowledges the message. */
export function simulateCharger(broker: EmbeddedBroker, topicRoot: string): void {
  broker.onPublish(async (topic, payload) => {
    if (topic !== `${topicRoot}/override/set`) return;
    const state = payload === 'clear' ? '{}' : payload;
    await broker.publish(`${topicRoot}/override`, state, { retain: true });
  });
}

/** The one table of the agent's MQTT topics, and its names at brokers and in Home Assistant. */

import type { BrokerWill } from '../domain/ports.ts';

const ROOT = 'gridtide';

interface Device {
  readonly device: string;
}

export function buildTopics({ device }: Device) {
  const base = `${ROOT}/${device}`;
  return {
    /** The level above all topics of the device. */
    base,
    availability: `${base}/availability`,
    signal: `${base}/signal`,
    health: `${base}/health`,
    info: `${base}/info`,
    load: (name: string) => `${base}/loads/${name}`,
    /** `+` for the commands to any load. */
    command: (name: string) => `${base}/loads/${name}/set`,
    result: (name: string) => `${base}/loads/${name}/result`,
    /** The load that a command topic names. */
    parseCommandLoad: (topic: string) => topic.slice(`${base}/loads/`.length, -'/set'.length),
  } as const;
}

/** Where the agent that commands an MQTT device puts its name. */
export const buildLeaseTopic = (commandTopic: string) => `${ROOT}-owners/${commandTopic}`;

/** The same for every start of one device, so that a second agent with its name is noticed. */
export const buildClientId = ({ device }: Device) => `${ROOT}-${device}`;

/** The device in Home Assistant, and the start of the ids of its entities. */
export const buildDiscoveryId = ({ device }: Device) => `${ROOT}_${device}`;

/** The retained `offline` that the broker publishes when the link dies. */
export const buildWill = (device: Device): BrokerWill => ({
  topic: buildTopics(device).availability,
  payload: 'offline',
});

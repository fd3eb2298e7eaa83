/** Tries the rights that the agent needs at the broker: it writes and reads one test topic under each prefix and reads the topics of the devices. */

import type { Config } from '../../config/config.ts';
import { listMqttDevices, listReadTopics } from '../../domain/levels.ts';
import type { Broker, Clock } from '../../domain/ports.ts';
import { addDuration, seconds } from '../../domain/units.ts';
import { buildDiscoveryId, buildLeaseTopic, buildTopics } from '../../mqtt/topics.ts';

const ECHO_TIMEOUT = seconds(2);
/** Not a name that any agent or Home Assistant listens to. */
const TEST_LEVEL = 'check';

/** Each under a prefix that the agent writes and reads. */
function listTestTopics({ device, mqtt, loads }: Config): readonly string[] {
  const { base } = buildTopics({ device });
  const usesDevices = loads.some(({ output }) => listMqttDevices(output).length > 0);
  return [
    `${base}/${TEST_LEVEL}`,
    ...(usesDevices ? [buildLeaseTopic(`${TEST_LEVEL}/${device}`)] : []),
    ...(mqtt?.discovery === undefined
      ? []
      : [`${mqtt.discovery}/device/${buildDiscoveryId({ device })}/${TEST_LEVEL}`]),
  ];
}

/** Commands are not tried: each would switch a device. */
const listDeviceTopics = ({ loads }: Config): readonly string[] => [
  ...new Set(loads.flatMap(({ output }) => listReadTopics(output))),
];

/** One sentence for each topic that this user may not use, or that the broker does not answer on. */
export async function findMissingRights(broker: Broker, config: Config, clock: Clock): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const topic of listTestTopics(config)) {
    const problem = await tryTopic(broker, topic, clock);
    if (problem !== undefined) problems.push(problem);
  }
  for (const topic of listDeviceTopics(config))
    if (!(await broker.subscribe(topic, () => {}, { wantsRetained: true })))
      problems.push(describeRefusal(broker, `reading ${topic}`, `let this user read ${topic}`));
  return problems;
}

async function tryTopic(broker: Broker, topic: string, clock: Clock): Promise<string | undefined> {
  let onEcho = () => {};
  const echo = new Promise<boolean>((resolve) => {
    onEcho = () => resolve(true);
    clock.wakeAt(addDuration(clock.now().uptime, ECHO_TIMEOUT), 'echo', () => resolve(false));
  });
  if (!(await broker.subscribe(topic, () => onEcho(), { wantsRetained: false })))
    return describeRefusal(broker, `reading ${topic}`, `let this user read ${topic}`);
  if (!(await broker.publish(topic, TEST_LEVEL, { retain: false })))
    return describeRefusal(broker, `publishing ${topic}`, `let this user write ${topic}`);
  if (await echo) return undefined;
  return `a message on ${topic} does not come back: let this user read and write that topic (see systemd/mosquitto.acl)`;
}

/** A broker that says no is another matter than one that says nothing. */
export function describeRefusal({ state }: Broker, action: string, cure: string): string {
  const isDenied = state.kind === 'online' && state.denied.includes(action);
  return isDenied
    ? `the broker denies ${action}: ${cure} (see systemd/mosquitto.acl)`
    : `the broker does not answer ${action}: check the broker and its log`;
}

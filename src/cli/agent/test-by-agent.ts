/** Tests a load through the running agent: sends an override over MQTT and prints the result. */

import { getEffectiveMinOff, getEffectiveMinOn } from '../../control/rules/step-context.ts';
import { waitAbortable } from '../../domain/abortable-wait.ts';
import { formatDuration } from '../../domain/duration-text.ts';
import { isRunning } from '../../domain/levels.ts';
import type { Level } from '../../domain/load-types.ts';
import type { BrokerMessage, Clock } from '../../domain/ports.ts';
import { type Duration, seconds } from '../../domain/units.ts';
import { acceptsCommands } from '../../mqtt/parse-command.ts';
import { buildTopics } from '../../mqtt/topics.ts';
import { parseDeviceState } from '../../outputs/devices/parse-device-state.ts';
import type { DeviceReading } from '../../outputs/output.ts';
import { createSystemRandom } from '../../platform/random.ts';
import { JobError, type Terminal } from '../shared/command.ts';
import type { BrokerLink } from './broker-link.ts';
import { type JsonDocument, type LoadTest, type LoadTestResult, parseDocument } from './load-test.ts';

const ANSWER_TIMEOUT = seconds(10);
/** The agent publishes a level in the moment it sets the output. */
const SWITCH_TIMEOUT = seconds(3);

/** The newest document of a topic, and a wait for one that satisfies a condition. */
async function followTopic(link: BrokerLink, clock: Clock, topic: string) {
  let latest: JsonDocument = {};
  let checkLatest = () => {};
  await link.broker.subscribe(
    topic,
    ({ payload }) => {
      latest = parseDocument(new TextDecoder().decode(payload)) ?? latest;
      checkLatest();
    },
    { wantsRetained: true },
  );
  return {
    latest: () => latest,
    /** False when none arrived in time. */
    async until(fits: (document: JsonDocument) => boolean, within: Duration): Promise<boolean> {
      await waitAbortable<true>({ clock, wait: within, name: topic }, (finish) => {
        checkLatest = () => {
          if (fits(latest)) finish(true);
        };
        checkLatest();
      });
      return fits(latest);
    },
  };
}

/** The state that the device reports while the agent switches it; without a state topic the agent's level counts. */
async function watchDevice(link: BrokerLink, { load, level }: LoadTest, onConfirmed: () => void) {
  const { output } = load;
  const topic = output.kind === 'mqtt' ? output.stateTopic : undefined;
  let reading: DeviceReading | undefined = topic === undefined ? level : undefined;
  let isConfirmed = topic === undefined;
  const onMessage = ({ payload }: BrokerMessage) => {
    if (output.kind !== 'mqtt') return;
    reading = parseDeviceState(payload, output) ?? reading;
    if (isConfirmed || reading !== level) return;
    isConfirmed = true;
    onConfirmed();
  };
  if (topic !== undefined) await link.broker.subscribe(topic, onMessage, { wantsRetained: true });
  return {
    topic,
    isConfirmed: () => isConfirmed,
    describe: () => `${reading === undefined ? 'reported nothing' : `reported ${reading}`} on ${topic}`,
  };
}

const findOutputFault = (health: JsonDocument, load: string): string | undefined => {
  const { outputs } = (health.parts ?? {}) as { readonly outputs?: { readonly problem?: string } };
  return outputs?.problem?.split('; ').find((one) => one.startsWith(`load ${load}:`));
};

/** Prints that a test is shorter than the level must last: the agent keeps it longer than asked for. */
function announceMinimumTime({ load, level, length }: LoadTest, err: Terminal['err']): void {
  const minimum = isRunning(level) ? getEffectiveMinOn(load) : getEffectiveMinOff(load);
  const option = isRunning(level) ? 'minOn' : 'minOff';
  const deciding = minimum > load[option] ? 'minStateTime' : option;
  if (length < minimum)
    err(
      `${load.name}: ${formatDuration(length)} is less than its ${deciding}, so after a switch the agent keeps it ${level} for ${formatDuration(minimum)}\n`,
    );
}

export async function testThroughAgent(
  loadTest: LoadTest,
  link: BrokerLink,
  { err, stop }: Terminal,
): Promise<LoadTestResult> {
  const { config, load, level, length, clock } = loadTest;
  if (config.mqtt !== undefined && !acceptsCommands(config.mqtt))
    throw new JobError('the agent runs and accepts no commands; set mqtt.commands: on, or stop it and try again');
  announceMinimumTime(loadTest, err);
  const topics = buildTopics(config);
  const loadState = await followTopic(link, clock, topics.load(load.name));
  const health = await followTopic(link, clock, topics.health);
  const results = await followTopic(link, clock, topics.result(load.name));
  const send = async (command: object) => {
    const id = `test-${Math.floor(createSystemRandom().fraction() * 2 ** 48).toString(36)}`;
    await link.broker.publish(topics.command(load.name), JSON.stringify({ id, ...command }), { retain: false });
    if (!(await results.until((answer) => answer.id === id, ANSWER_TIMEOUT)))
      throw new JobError(
        `the agent runs and did not answer; let this user write to ${topics.command(load.name)} and read ${topics.result(load.name)}`,
      );
    const { ok, message } = results.latest();
    if (ok !== true) throw new JobError(`the agent refused: ${message}`);
    return `${message}`;
  };
  const hasLevel = (document: JsonDocument) => document.level === level;

  let isDone = false;
  let device: Awaited<ReturnType<typeof watchDevice>>;
  const answer = await send({ command: 'override', level, for: `${Math.round(length / 1_000)}s` });
  try {
    if (!(await loadState.until(hasLevel, SWITCH_TIMEOUT)))
      throw new JobError(`"${load.name}" was not switched: ${answer}`);
    device = await watchDevice(link, loadTest, () => err(`${load.name} reads ${level}\n`));
    const wait = device.isConfirmed() ? '' : `; waiting for its state on ${device.topic}`;
    err(`${load.name} ${level}, by the agent; for ${formatDuration(length)}${wait}\n`);
    await waitAbortable({ clock, wait: length, name: 'test', signal: stop });
    const fault = findOutputFault(health.latest(), load.name);
    if (fault !== undefined) throw new JobError(fault);
    if (!device.isConfirmed() && !stop.aborted)
      throw new JobError(
        `"${load.name}" was set to ${level} by the agent and after ${formatDuration(length)} ${device.describe()}: check its power, its network and the topics`,
      );
    isDone = !stop.aborted;
  } finally {
    // An override that was cut short must end; one that ran out has ended.
    if (!isDone) await send({ command: 'clear' });
  }
  await loadState.until(({ why }) => why !== 'remote-override', ANSWER_TIMEOUT);
  const { level: left, text } = loadState.latest();
  return {
    by: 'agent',
    read: device.isConfirmed() ? level : null,
    left: left as Level,
    text: `${load.name} was ${level} and its output reported no fault; now ${left}: ${text}`,
  };
}

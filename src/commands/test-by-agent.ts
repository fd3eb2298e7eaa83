/** Tests a load through the running agent: sends an override, waits for its answer and tells what it does. Switches nothing itself. */

import type { Level } from '../config/config.ts';
import { durationText } from '../config/written.ts';
import { takesCommands } from '../monitor/commands-in.ts';
import { levelIn } from '../outputs/reading.ts';
import { createSystemRandom } from '../platform/random.ts';
import { type Duration, seconds } from '../units.ts';
import type { BrokerMessage } from '../world.ts';
import type { BrokerLink } from './broker-link.ts';
import { JobError, type Terminal } from './command.ts';
import { type Document, documentIn, held, type Outcome, type Trial } from './trial.ts';

const ANSWERS_WITHIN = seconds(10);
/** A level is told to the output at once, and to the broker in the same moment. */
const SWITCHES_WITHIN = seconds(3);

/** The newest document of a topic, and a wait for one that fits. */
async function follow(link: BrokerLink, topic: string) {
  let latest: Document = {};
  let look = () => {};
  await link.broker.subscribe(
    topic,
    ({ payload }) => {
      latest = documentIn(new TextDecoder().decode(payload)) ?? latest;
      look();
    },
    { stored: true },
  );
  return {
    latest: () => latest,
    /** False when none came in time. */
    async until(fits: (document: Document) => boolean, within: Duration): Promise<boolean> {
      const found = new AbortController();
      look = () => {
        if (fits(latest)) found.abort();
      };
      look();
      await held(within, found.signal);
      return fits(latest);
    },
  };
}

/** What the device itself says while the agent switches it; where it has no topic for that, the agent is believed. */
async function hearDevice(link: BrokerLink, { load, level }: Trial, confirmed: () => void) {
  const { output } = load;
  const topic = output.kind === 'mqtt' ? output.stateTopic : undefined;
  let reads: Level | undefined = topic === undefined ? level : undefined;
  let isConfirmed = topic === undefined;
  const hear = ({ payload }: BrokerMessage) => {
    if (output.kind !== 'mqtt') return;
    reads = levelIn(payload, output) ?? reads;
    if (isConfirmed || reads !== level) return;
    isConfirmed = true;
    confirmed();
  };
  if (topic !== undefined) await link.broker.subscribe(topic, hear, { stored: true });
  return {
    topic,
    isConfirmed: () => isConfirmed,
    words: () => `${reads === undefined ? 'says nothing' : `says ${reads}`} on ${topic}`,
  };
}

const faultOf = (health: Document, load: string): string | undefined => {
  const { outputs } = (health.parts ?? {}) as { readonly outputs?: { readonly trouble?: string } };
  return outputs?.trouble?.split('; ').find((words) => words.startsWith(`load ${load}:`));
};

export async function testThroughAgent(trial: Trial, link: BrokerLink, { err, stop }: Terminal): Promise<Outcome> {
  const { config, load, level, length } = trial;
  if (config.mqtt !== undefined && !takesCommands(config.mqtt))
    throw new JobError('the agent runs and takes no commands: set mqtt.commands: on, or stop it and try again');
  const base = `gridtide/${config.device}`;
  const topic = `${base}/loads/${load.name}`;
  const decided = await follow(link, topic);
  const health = await follow(link, `${base}/health`);
  const answered = await follow(link, `${topic}/result`);
  const send = async (command: object) => {
    const id = `test-${Math.floor(createSystemRandom().fraction() * 2 ** 48).toString(36)}`;
    await link.broker.publish(`${topic}/set`, JSON.stringify({ id, ...command }), { retain: false });
    if (!(await answered.until((answer) => answer.id === id, ANSWERS_WITHIN)))
      throw new JobError('the agent runs and does not answer: may this user write to …/set and read …/result?');
    const { ok, message } = answered.latest();
    if (ok !== true) throw new JobError(`the agent refused: ${message}`);
    return `${message}`;
  };
  const isThere = (document: Document) => document.level === level;

  let isDone = false;
  let device: Awaited<ReturnType<typeof hearDevice>>;
  const answer = await send({ command: 'override', level, for: `${Math.round(length / 1_000)}s` });
  try {
    if (!(await decided.until(isThere, SWITCHES_WITHIN)))
      throw new JobError(`"${load.name}" was not switched: ${answer}`);
    device = await hearDevice(link, trial, () => err(`${load.name} reads ${level}\n`));
    const wait = device.isConfirmed() ? '' : `; its word on ${device.topic} is waited for`;
    err(`${load.name} ${level}, by the agent; for ${durationText(length)}${wait}\n`);
    await held(length, stop);
    const fault = faultOf(health.latest(), load.name);
    if (fault !== undefined) throw new JobError(fault);
    if (!device.isConfirmed() && !stop.aborted)
      throw new JobError(
        `"${load.name}" was told ${level} by the agent and after ${durationText(length)} ${device.words()}: check its power, its network and the topics`,
      );
    isDone = !stop.aborted;
  } finally {
    // What was cut short must not go on; what has run out has ended by itself.
    if (!isDone) await send({ command: 'clear' });
  }
  await decided.until(({ why }) => why !== 'remote-override', ANSWERS_WITHIN);
  const { level: left, words } = decided.latest();
  return {
    by: 'agent',
    read: device.isConfirmed() ? level : null,
    left: left as Level,
    words: `${load.name} was ${level} and its output told no fault; now ${left}: ${words}`,
  };
}

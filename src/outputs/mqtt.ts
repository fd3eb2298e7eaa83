/** A load behind an MQTT device: sends commands, waits for the device's word, sends again what it does not keep; never decides the level. */

import type { Level, MqttOutputConfig } from '../config/config.ts';
import { after, before, type Duration, minutes, seconds, type Uptime } from '../units.ts';
import type { Broker, BrokerMessage, BrokerState, Cancel, Clock, Log } from '../world.ts';
import type { Output, OutputFailure } from './output.ts';
import type { Ownership } from './ownership.ts';
import { levelIn } from './reading.ts';

/** For the link and the first state at the start; then the agent goes on without. */
export const OPEN_WITHIN = seconds(3);
/** For the device's word on a command. */
export const CONFIRM_WITHIN = seconds(5);
/** Sends of one command: the first and three more. */
const SENDS = 4;
/** A device that leaves its level more often than this is not fought with. */
const REASSERTIONS = 3;
const REASSERT_WINDOW = minutes(10);

export interface MqttOutputParts {
  readonly load: string;
  readonly config: MqttOutputConfig;
  readonly broker: Broker;
  readonly clock: Clock;
  readonly log: Log;
  readonly owner: Ownership;
  /** Sends of one command; `SENDS` unless a person waits for the end of it. */
  readonly sends?: number;
}

/** What the device was last told: a level, or to look after itself. */
type Told = { readonly payload: string; readonly level?: Level };

export function createMqttOutput(parts: MqttOutputParts): Output {
  const { load, config, broker, clock, log, owner, sends: most = SENDS } = parts;
  const { commandTopic, stateTopic } = config;
  /** Called at each word of the device and each change of the link. */
  const news = new Set<() => void>();
  let report: (news: Level | OutputFailure) => void = () => {};
  let told: Told | undefined;
  /** Counts what was told: a send that finds another number has been overtaken. */
  let turn = 0;
  let sending = 0;
  let reading: Level | undefined;
  let heardState = false;
  let wasOnline = false;
  let unwatch: Cancel | undefined;
  let later: Cancel | undefined;
  let reasserted: readonly Uptime[] = [];
  let troubled = false;
  /** What is heard until then is the answer of `open`. */
  let opened = false;
  let closed = false;

  const fail = (kind: OutputFailure['kind'], detail: string): OutputFailure => ({ kind, detail });
  const offline = () =>
    fail('offline', 'the broker is away, so the device was not told; it will be as soon as the broker is back');
  const wake = () => {
    for (const go of [...news]) go();
  };

  /** Resolves at once when `done`, else after news make it so or after `length`. */
  const waitFor = (done: () => boolean, length: Duration): Promise<void> =>
    new Promise((resolve) => {
      if (done()) return resolve();
      const end = () => {
        news.delete(look);
        late();
        resolve();
      };
      const look = () => {
        if (done()) end();
      };
      news.add(look);
      const late = clock.wakeAt(after(clock.now().uptime, length), `word of ${load}`, end);
    });

  const hear = ({ payload }: BrokerMessage): void => {
    if (closed) return;
    const level = levelIn(payload, config);
    if (level === undefined) {
      log('debug', `"${load}": the state on ${stateTopic} says neither on nor off`, { load });
      return;
    }
    heardState = true;
    reading = level;
    wake();
    if (sending === 0) compare(level);
  };

  /** Outside a send, a word of the device that differs from what it was told is answered with the command again. */
  const compare = (level: Level): void => {
    const wanted = told?.level;
    if (wanted !== undefined && level !== wanted) {
      reassert();
      return;
    }
    if (troubled || (told === undefined && opened)) report(level);
    troubled = false;
  };

  const reassert = (): void => {
    const wanted = told?.level;
    if (closed || wanted === undefined || reading === wanted || sending > 0) return;
    const { uptime } = clock.now();
    reasserted = reasserted.filter((at) => at > before(uptime, REASSERT_WINDOW));
    const [oldest] = reasserted;
    if (oldest !== undefined && reasserted.length >= REASSERTIONS) {
      troubled = true;
      tryAgainAt(after(oldest, REASSERT_WINDOW));
      report(
        fail(
          'unconfirmed',
          `the device goes back to ${reading} each time it is told ${wanted}: something else switches it; find it, or give this load another output`,
        ),
      );
      return;
    }
    reasserted = [...reasserted, uptime];
    log('info', `"${load}": the device says ${reading}, it is told ${wanted} again`, { load, told: wanted });
    void sendAgain();
  };

  const tryAgainAt = (at: Uptime): void => {
    later?.();
    later = clock.wakeAt(at, `retry ${load}`, reassert);
  };

  /** What the device was last told, on the output's own account: no switch for the core. */
  const sendAgain = async (): Promise<void> => {
    if (told === undefined) return;
    const again = told;
    const failure = await send(again);
    if (told !== again || closed) return;
    if (failure === undefined) {
      troubled = false;
      if (again.level !== undefined) report(again.level);
      return;
    }
    troubled = true;
    report(failure);
    if (failure.kind !== 'offline') tryAgainAt(after(clock.now().uptime, REASSERT_WINDOW));
  };

  const send = async (what: Told): Promise<OutputFailure | undefined> => {
    const mine = ++turn;
    sending += 1;
    try {
      return await sendUntilConfirmed(what, () => mine === turn && !closed);
    } finally {
      sending -= 1;
    }
  };

  const sendUntilConfirmed = async (what: Told, current: () => boolean): Promise<OutputFailure | undefined> => {
    let taken = false;
    for (let sends = 0; sends < most; sends += 1) {
      const other = owner.other();
      if (other !== undefined) return fail('busy', heldBy(other));
      if (broker.state.kind !== 'online') return offline();
      taken = await broker.publish(commandTopic, what.payload, { retain: false });
      if (!current()) return fail('io', 'the command was overtaken by a later one');
      if (!taken) continue;
      if (stateTopic === undefined || what.level === undefined || reading === what.level) return undefined;
      await waitFor(() => reading === what.level || !current() || broker.state.kind !== 'online', CONFIRM_WITHIN);
      if (!current()) return fail('io', 'the command was overtaken by a later one');
      if (reading === what.level) return undefined;
    }
    if (!taken)
      return fail('forbidden', `the broker does not take commands on ${commandTopic}: let this user write that topic`);
    return fail(
      'unconfirmed',
      `the device was told ${what.level} ${most} times and ${reading === undefined ? 'says nothing' : `says ${reading}`} on ${stateTopic}: check its power, its network and the topics`,
    );
  };

  const join = async (): Promise<void> => {
    if (unwatch !== undefined) return;
    closed = false;
    unwatch = broker.watch(linkChanged);
    wasOnline = broker.state.kind === 'online';
    if (wasOnline) await resume();
  };

  const linkChanged = (state: BrokerState): void => {
    wake();
    const isOnline = state.kind === 'online';
    if (isOnline && !wasOnline) void resume();
    wasOnline = isOnline;
  };

  const resume = async (): Promise<void> => {
    if (stateTopic !== undefined) await broker.subscribe(stateTopic, hear, { stored: true });
    await owner.claim();
    if (!closed && told !== undefined && sending === 0) await sendAgain();
  };

  return {
    async open() {
      await join();
      if (stateTopic !== undefined)
        await waitFor(() => heardState || closed || broker.state.kind === 'offline', OPEN_WITHIN);
      opened = true;
      const other = owner.other();
      if (other !== undefined) return fail('busy', heldBy(other));
      return reading === undefined ? {} : { level: reading };
    },
    async apply(level) {
      const next: Told = { payload: payloadOf(load, config, level), level };
      await join();
      later?.();
      told = next;
      return send(next);
    },
    read: async () => (broker.state.kind === 'online' ? reading : undefined),
    watch(listener) {
      report = listener;
    },
    async release() {
      later?.();
      told = config.releasePayload === undefined ? undefined : { payload: filled(load, config.releasePayload) };
      if (told !== undefined) await send(told);
    },
    async close() {
      closed = true;
      unwatch?.();
      unwatch = undefined;
      later?.();
      wake();
      await owner.giveUp();
    },
  };
}

const heldBy = (other: string) =>
  `the device is switched by the agent "${other}", so this one leaves it alone: give each load to one agent only`;

function payloadOf(load: string, config: MqttOutputConfig, level: Level): string {
  if (level === 'on') return filled(load, config.onPayload);
  if (level === 'off') return filled(load, config.offPayload);
  throw new Error(`load ${load}: an MQTT device knows on and off, not "${level}"`);
}

/** Some devices take an empty command for a question (Tasmota) and a broker takes it for forgetting. */
function filled(load: string, payload: string): string {
  if (payload === '') throw new Error(`load ${load}: an empty MQTT payload is no command`);
  return payload;
}

/** Tests a load with no agent about: opens its output, asks the control core whether the guards allow it, and leaves the load as it was found. */

import { createMemory, type SavedControl } from '../agent/memory.ts';
import { createStore } from '../agent/store.ts';
import type { Level } from '../config/config.ts';
import { durationText } from '../config/written.ts';
import type { Event, Site } from '../control/control.ts';
import { explain } from '../control/explain.ts';
import { idleLevel, isRunning } from '../control/levels.ts';
import { initialState, type State, step } from '../control/step.ts';
import { CONFIRM_WITHIN, OPEN_WITHIN } from '../outputs/mqtt.ts';
import { openOutput } from '../outputs/open.ts';
import { isFailure, type Output, type OutputFailure } from '../outputs/output.ts';
import { bootName } from '../platform/boot.ts';
import { createDisk } from '../platform/disk.ts';
import { otherAgentOn } from '../platform/sole.ts';
import { type Duration, seconds } from '../units.ts';
import type { Log } from '../world.ts';
import type { BrokerLink } from './broker-link.ts';
import { JobError, type Terminal } from './command.ts';
import { storeTroubles } from './state-directory.ts';
import { held, type Outcome, type Trial } from './trial.ts';

/** A person waits for the end: a device is told a second time, and then believed to say nothing. */
const SENDS = 2;
/** A load that does not go back is told again so often. */
const GOODBYES = 3;
const BETWEEN_GOODBYES = seconds(1);

/** What is remembered of the load's last switches in this boot: minimum times and start budgets go by it. */
interface Past {
  readonly state: State;
  keep(state: State): Promise<void>;
}

async function pastOf({ config, load, clock }: Trial, site: Site, terminal: Terminal): Promise<Past | undefined> {
  const { env, err } = terminal;
  const store = createStore(createDisk(config.state), storeTroubles(terminal));
  const boot = bootName(env.RUNTIME_DIRECTORY);
  const { signalType } = config.service;
  const memory = await createMemory(store, { signalType, boot, note: (text) => err(`${text}\n`) });
  const saved: SavedControl | undefined = memory.control;
  if (saved === undefined || boot === undefined || saved.boot !== boot) return undefined;
  return {
    state: initialState(site, saved.state, true),
    async keep({ last, loads: [news] }) {
      const mine = saved.state.loads.map((one) => (one.name === load.name && news !== undefined ? news : one));
      const { jobs } = saved;
      memory.keepControl({ ...saved.state, last, loads: mine }, { now: clock.now(), jobs, atMost: 0 as Duration });
      await memory.close();
    },
  };
}

/** What the core would be told next; its commands are for an agent, and nobody waits for them here. */
function told({ clock }: Trial, site: Site, state: State, event: Event): State {
  const next = step(site, state, event, clock.now()).state;
  return { ...next, loads: next.loads.map((load) => ({ ...load, pending: undefined })) };
}

/** Throws `JobError` where a guard speaks against the level. */
function allowed(trial: Trial, site: Site, state: State): void {
  const { config, load, level, length } = trial;
  const { loads } = told(trial, site, state, {
    kind: 'override',
    load: load.name,
    level,
    for: length,
    source: 'local',
  });
  const decision = loads[0]?.decision;
  if (decision === undefined || decision.level === level) return;
  throw new JobError(`"${load.name}" was not switched: ${explain(decision, config.place.timezone)}`);
}

/** What is done, and how long the word of a device is waited for, before that begins. */
function announce({ load }: Trial, terminal: Terminal, what: string, longest: Duration): void {
  const { output } = load;
  if (output.kind !== 'mqtt' || output.stateTopic === undefined) return;
  terminal.err(
    `${load.name} ${what}; its word on ${output.stateTopic} is waited for, ${durationText(longest)} at most\n`,
  );
}
const WORD_WITHIN = (CONFIRM_WITHIN * SENDS) as Duration;

/** A load that does not do as it was told; `isSilent`: it may have, and says nothing. */
class NotSwitched extends JobError {
  readonly isSilent: boolean;
  constructor(load: string, { detail }: OutputFailure, isSilent: boolean) {
    super(`"${load}" was not switched: ${detail}`);
    this.isSilent = isSilent;
  }
}

const isSilent = async (output: Output, { kind }: OutputFailure) =>
  kind === 'unconfirmed' && (await output.read()) === undefined;

/** Told until it is there; throws `JobError` when it will not go, with the `trouble` there was before. */
async function leave(trial: Trial, output: Output, left: Level, trouble: unknown, terminal: Terminal): Promise<void> {
  const { load } = trial;
  const wasSilent = trouble instanceof NotSwitched && trouble.isSilent;
  announce(trial, terminal, `is left ${left}`, WORD_WITHIN);
  const before = trouble instanceof JobError ? `${trouble.message}; ` : '';
  let detail = '';
  for (let n = 0; n < GOODBYES; n++) {
    const failure = await output.apply(left);
    if (!isFailure(failure)) return output.release();
    // Told as often to leave that level as to take it; a silent device says no more the next time.
    if (wasSilent && (await isSilent(output, failure)))
      throw new JobError(`${before}told ${left} in the end it says nothing either: SWITCH IT BY HAND`);
    detail = failure.detail;
    await held(BETWEEN_GOODBYES, new AbortController().signal);
  }
  throw new JobError(`${before}"${load.name}" did not go back to "${left}": ${detail}; SWITCH IT BY HAND`);
}

/** As it was found, unless nobody would end what that is: no agent runs. */
function leftAt({ load }: Trial, found: Level | undefined): { readonly level: Level; readonly why: string } {
  const { failSafe } = load;
  if (found === failSafe) return { level: failSafe, why: 'its fail-safe level, as it was' };
  if (found === idleLevel(load))
    return { level: found, why: `as it was; its fail-safe level is ${failSafe}, which the agent sees to` };
  const instead = found === undefined ? 'what it was cannot be told' : `it was ${found}, and nobody would end that`;
  return { level: failSafe, why: `its fail-safe level: ${instead}` };
}

const logTo =
  ({ err }: Terminal): Log =>
  (level, message) => {
    if (level !== 'debug') err(`${message}\n`);
  };

async function opened(trial: Trial, link: BrokerLink | undefined, terminal: Terminal): Promise<Output> {
  const { load, config, clock } = trial;
  const usesPins = load.output.kind === 'relay' || load.output.kind === 'sg-ready';
  return openOutput(load, {
    device: config.device,
    clock,
    sends: SENDS,
    log: logTo(terminal),
    ...(usesPins ? { pins: (await import('../platform/pins.ts')).createPins() } : {}),
    ...(link === undefined ? {} : { broker: link.broker }),
  });
}

/** Switches, reads back and waits; the level read, where the output can tell. */
async function tried(trial: Trial, output: Output, terminal: Terminal): Promise<Level | null> {
  const { load, level, length } = trial;
  announce(trial, terminal, `is told ${level}`, WORD_WITHIN);
  const failure = await output.apply(level);
  if (isFailure(failure)) throw new NotSwitched(load.name, failure, await isSilent(output, failure));
  const read = await output.read();
  if (isFailure(read)) throw new JobError(`"${load.name}" cannot be read back: ${read.detail}`);
  const heard = read === undefined ? 'it cannot be read back' : `reads ${read}`;
  terminal.err(`${load.name} ${level}, ${heard}; for ${durationText(length)}\n`);
  if (read !== undefined && read !== level)
    throw new JobError(`"${load.name}" was told ${level} and reads ${read}: check the wiring of its output`);
  await held(length, terminal.stop);
  return read ?? null;
}

export async function testDirectly(trial: Trial, link: BrokerLink | undefined, terminal: Terminal): Promise<Outcome> {
  const { config, load, level, length } = trial;
  const other = await otherAgentOn(createDisk(config.state));
  if (other !== undefined)
    throw new JobError(
      `an agent runs on ${config.state} (process ${other}) and is not reached over MQTT, and two programs must not drive one output; stop it first`,
    );
  const site: Site = { device: config.device, timezone: config.place.timezone, loads: [load] };
  const past = await pastOf(trial, site, terminal);
  const output = await opened(trial, link, terminal);
  let state = past?.state;
  const confirm = (now: Level) => {
    if (state !== undefined) state = told(trial, site, state, { kind: 'confirmed', load: load.name, level: now });
  };
  try {
    announce(trial, terminal, 'is looked at', OPEN_WITHIN);
    const found = await output.open();
    if (isFailure(found)) throw new JobError(`"${load.name}" cannot be opened: ${found.detail}`);
    const levels = found.level === undefined ? {} : { [load.name]: found.level };
    if (state === undefined) terminal.err('no switch of this boot is on record, so no minimum time is known to hold\n');
    else {
      state = told(trial, site, state, { kind: 'found', levels });
      allowed(trial, site, state);
    }
    const { level: left, why } = leftAt(trial, found.level);
    let read: Level | null = null;
    let trouble: unknown;
    try {
      read = await tried(trial, output, terminal);
      confirm(level);
    } catch (error) {
      trouble = error;
    }
    if (trouble instanceof NotSwitched && trouble.isSilent && left === level) {
      await output.release(); // it has been told that all the time
      throw trouble;
    }
    await leave(trial, output, left, trouble, terminal);
    confirm(left);
    if (state !== undefined) await past?.keep(state);
    if (trouble !== undefined) throw trouble;
    const isShort = isRunning(level) && !isRunning(left) && length < load.minOn;
    const remark = isShort ? `; it ran less than its ${durationText(load.minOn)}, let it rest` : '';
    const words = `${load.name} was ${level} and is left ${left}, ${why}${remark}`;
    return { by: 'direct', read, left, words };
  } finally {
    await output.close();
  }
}

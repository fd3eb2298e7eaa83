/** Tests a load without a running agent: opens its output, checks its limits with the control core, and restores its level. */

import { createDocumentStore } from '../../agent/document-store.ts';
import { createPersistence, getRestart, type SavedControl } from '../../agent/persistence.ts';
import type { ControlEvent, Site } from '../../control/control-types.ts';
import { explainDecision } from '../../control/explain.ts';
import { type ControlState, createInitialState, step } from '../../control/step.ts';
import { waitAbortable } from '../../domain/abortable-wait.ts';
import { formatDuration } from '../../domain/duration-text.ts';
import { findWebDevice, getIdleLevel, isRunning } from '../../domain/levels.ts';
import type { Level } from '../../domain/load-types.ts';
import type { Log } from '../../domain/ports.ts';
import { type Duration, seconds } from '../../domain/units.ts';
import { createDeviceLease } from '../../mqtt/device-lease.ts';
import { CONFIRM_TIMEOUT } from '../../outputs/command-sender.ts';
import { createOutput } from '../../outputs/create-output.ts';
import { OPEN_TIMEOUT } from '../../outputs/mqtt-output.ts';
import { isOutputFailure, type Output, type OutputFailure } from '../../outputs/output.ts';
import { readBootId } from '../../platform/boot-id.ts';
import { createSharedFileDisk } from '../../platform/file-disk.ts';
import { findOtherAgent } from '../../platform/single-instance.ts';
import { errorMessage, JobError, type Terminal } from '../shared/command.ts';
import { createDiskErrorPrinter } from '../shared/state-directory.ts';
import type { BrokerLink } from './broker-link.ts';
import type { LoadTest, LoadTestResult } from './load-test.ts';
import { openGpio } from './open-gpio.ts';
import { openDeviceWeb } from './web-checks.ts';

/** A person waits, so a command is sent only twice before a silent device counts as failed. */
const MAX_SENDS = 2;
/** How often the command that restores the level is sent. */
const RESTORE_ATTEMPTS = 3;
const RESTORE_INTERVAL = seconds(1);

/** The load's switches of this boot, for minimum times and start limits. */
interface SwitchHistory {
  readonly state: ControlState;
  save(state: ControlState): Promise<void>;
}

async function loadSwitchHistory(
  { config, load, clock }: LoadTest,
  site: Site,
  terminal: Terminal,
): Promise<SwitchHistory | undefined> {
  const { env, err } = terminal;
  const store = createDocumentStore(createSharedFileDisk(config.state), createDiskErrorPrinter(terminal));
  const boot = readBootId(env.RUNTIME_DIRECTORY);
  const { signalType } = config.service;
  const note = (text: string) => err(`${text}\n`);
  const memory = createPersistence({ store, scratch: undefined, signalType, boot, note });
  await memory.load();
  const saved: SavedControl | undefined = memory.saved().control;
  if (saved === undefined || getRestart(saved, boot, clock.now().uptime) === 'other-boot') return undefined;
  const { jobs, isLast } = saved;
  return {
    // Switches that are known: were each test to count what may have happened since an older state, it would forbid itself.
    state: createInitialState(site, saved.state, 'same-boot'),
    async save({ lastMoment, loads: [newState] }) {
      const updatedLoads = saved.state.loads.map((one) =>
        one.name === load.name && newState !== undefined ? newState : one,
      );
      memory.saveControl(
        // After a kill the next start must still know how old the state of the other loads is.
        { ...saved.state, loads: updatedLoads, ...(isLast ? { lastMoment } : {}) },
        { now: clock.now(), jobs, atMost: 0 as Duration },
      );
      await (isLast ? memory.close() : memory.isControlDurable());
    },
  };
}

/** The state after an event; the commands that the core issues are for an agent and are dropped. */
function stepControl({ clock }: LoadTest, site: Site, state: ControlState, event: ControlEvent): ControlState {
  const next = step(site, state, event, clock.now()).state;
  return { ...next, loads: next.loads.map((load) => ({ ...load, pending: undefined })) };
}

/** Throws `JobError` when a limit forbids the level. */
function requireAllowed(loadTest: LoadTest, site: Site, state: ControlState): void {
  const { config, load, level, length } = loadTest;
  const { loads } = stepControl(loadTest, site, state, {
    kind: 'override',
    load: load.name,
    level,
    for: length,
    source: 'local',
  });
  const decision = loads[0]?.decision;
  if (decision === undefined || decision.level === level) return;
  throw new JobError(`"${load.name}" was not switched: ${explainDecision(decision, config.place.timezone)}`);
}

/** Prints a step that waits for the answer of a device, and the longest wait. */
function announceWait({ load }: LoadTest, terminal: Terminal, step: string, longest: Duration): void {
  const { output } = load;
  if (output.kind !== 'mqtt' || output.stateTopic === undefined) return;
  terminal.err(
    `${load.name}: ${step}, then waiting up to ${formatDuration(longest)} for its state on ${output.stateTopic}\n`,
  );
}
const WHOLE_CONFIRM_TIMEOUT = (CONFIRM_TIMEOUT * MAX_SENDS) as Duration;

/** A load that did not confirm its level; `isSilent`: it reports no state at all. */
class NotSwitchedError extends JobError {
  readonly isSilent: boolean;
  constructor(load: string, { detail }: OutputFailure, isSilent: boolean) {
    super(`"${load}" was not switched: ${detail}`);
    this.isSilent = isSilent;
  }
}

const isSilentFailure = async (output: Output, { kind }: OutputFailure) =>
  kind === 'unconfirmed' && (await output.read()) === undefined;

const formatEarlier = (error: unknown) => (error === undefined ? '' : `${errorMessage(error)}; `);

/** Leaves the device to its own rules where it has some; throws `JobError` when it was not, together with the earlier error. */
async function releaseDevice({ load }: LoadTest, output: Output, left: Level, earlierError: unknown): Promise<void> {
  const released = await output.release();
  if (typeof released === 'boolean') return;
  throw new JobError(
    `${formatEarlier(earlierError)}"${load.name}" was not left to the rules of its device: ${released.detail}; end the level "${left}" at the device`,
  );
}

/** Sends the final level until it is confirmed; throws `JobError` when it is not, together with the earlier error. */
async function restoreLevel(
  loadTest: LoadTest,
  output: Output,
  left: Level,
  earlierError: unknown,
  terminal: Terminal,
): Promise<void> {
  const { load, clock } = loadTest;
  const wasSilent = earlierError instanceof NotSwitchedError && earlierError.isSilent;
  announceWait(loadTest, terminal, `restoring ${left}`, WHOLE_CONFIRM_TIMEOUT);
  const before = formatEarlier(earlierError);
  let detail = '';
  for (let n = 0; n < RESTORE_ATTEMPTS; n++) {
    const failure = await output.apply(left);
    if (!isOutputFailure(failure)) return;
    // Further attempts are pointless: the device has been silent twice.
    if (wasSilent && (await isSilentFailure(output, failure)))
      throw new JobError(`${before}it reports nothing after the final "${left}" either; switch it off by hand`);
    detail = failure.detail;
    await waitAbortable({ clock, wait: RESTORE_INTERVAL, name: 'restore' });
  }
  throw new JobError(`${before}"${load.name}" did not go back to "${left}": ${detail}; switch it off by hand`);
}

/** The level from before, unless the load would then run with no agent to stop it. */
function chooseFinalLevel(
  { load }: LoadTest,
  found: Level | undefined,
): { readonly level: Level; readonly why: string } {
  const { failSafe } = load;
  if (found === failSafe) return { level: failSafe, why: 'its fail-safe level, as before' };
  if (found === getIdleLevel(load))
    return { level: found, why: `as before; the agent sets its fail-safe level, ${failSafe}, when it starts` };
  const reason =
    found === undefined ? 'its earlier level is unknown' : `it was ${found}, and no agent runs to end that`;
  return { level: failSafe, why: `its fail-safe level: ${reason}` };
}

const createStderrLog =
  ({ err }: Terminal): Log =>
  (level, message) => {
    if (level !== 'debug') err(`${message}\n`);
  };

interface TestLinks {
  readonly link: BrokerLink | undefined;
  readonly web: Awaited<ReturnType<typeof openDeviceWeb>> | undefined;
}

async function openTestOutput(loadTest: LoadTest, { link, web }: TestLinks, terminal: Terminal): Promise<Output> {
  const { load, config, clock } = loadTest;
  const broker = link?.broker;
  const log = createStderrLog(terminal);
  const { pins } = await openGpio({ ...config, loads: [load] }, log);
  return createOutput(load, {
    clock,
    maxSends: MAX_SENDS,
    log,
    ...(web === undefined ? {} : { web }),
    ...(pins === undefined ? {} : { pins }),
    ...(broker === undefined
      ? {}
      : { broker, createLease: (topic: string) => createDeviceLease(topic, config.device, broker) }),
  });
}

/** Switches, reads back and waits; returns the level read, where the output can be read. */
async function switchAndReadBack(loadTest: LoadTest, output: Output, terminal: Terminal): Promise<Level | null> {
  const { load, level, length, clock } = loadTest;
  announceWait(loadTest, terminal, `switching ${level}`, WHOLE_CONFIRM_TIMEOUT);
  const failure = await output.apply(level);
  if (isOutputFailure(failure)) throw new NotSwitchedError(load.name, failure, await isSilentFailure(output, failure));
  const read = await output.read();
  if (isOutputFailure(read)) throw new JobError(`"${load.name}" cannot be read back: ${read.detail}`);
  const readBackText = read === undefined ? 'it cannot be read back' : `reads ${read}`;
  terminal.err(`${load.name} ${level}, ${readBackText}; for ${formatDuration(length)}\n`);
  if (read !== undefined && read !== level)
    throw new JobError(`"${load.name}" was set to ${level} and reads ${read}: check the wiring of its output`);
  await waitAbortable({ clock, wait: length, name: 'test', signal: terminal.stop });
  return read ?? null;
}

export async function testDirectly(
  loadTest: LoadTest,
  link: BrokerLink | undefined,
  terminal: Terminal,
): Promise<LoadTestResult> {
  const { config, load, level, length } = loadTest;
  const otherAgent = await findOtherAgent(createSharedFileDisk(config.state));
  if (otherAgent !== undefined)
    throw new JobError(
      `an agent runs on ${config.state} (process ${otherAgent}) and cannot be reached over MQTT, and two programs must not drive one output; stop it first`,
    );
  const site: Site = { device: config.device, timezone: config.place.timezone, loads: [load] };
  const history = await loadSwitchHistory(loadTest, site, terminal);
  const usesWeb = findWebDevice(load.output) !== undefined;
  const web = usesWeb ? await openDeviceWeb(config, terminal.env) : undefined;
  const output = await openTestOutput(loadTest, { link, web }, terminal);
  let state = history?.state;
  const confirm = (now: Level) => {
    if (state !== undefined)
      state = stepControl(loadTest, site, state, { kind: 'confirmed', load: load.name, level: now });
  };
  try {
    announceWait(loadTest, terminal, 'opening', OPEN_TIMEOUT);
    const found = await output.open();
    if (isOutputFailure(found)) throw new JobError(`"${load.name}" cannot be opened: ${found.detail}`);
    // Without a prototype, because a load may be called "constructor".
    const levels: Record<string, Level> = Object.create(null);
    if (found.level !== undefined) levels[load.name] = found.level;
    if (state === undefined)
      terminal.err('the state directory holds no switch of this boot, so minimum times are not checked\n');
    else {
      state = stepControl(loadTest, site, state, { kind: 'found', levels });
      requireAllowed(loadTest, site, state);
    }
    const { level: left, why } = chooseFinalLevel(loadTest, found.level);
    let read: Level | null = null;
    let testError: unknown;
    try {
      read = await switchAndReadBack(loadTest, output, terminal);
      confirm(level);
    } catch (error) {
      testError = error;
    }
    const isRestored = testError instanceof NotSwitchedError && testError.isSilent && left === level;
    if (!isRestored) {
      await restoreLevel(loadTest, output, left, testError, terminal);
      confirm(left);
      if (state !== undefined) await history?.save(state);
    }
    await releaseDevice(loadTest, output, left, testError);
    if (testError !== undefined) throw testError;
    const isShort = isRunning(level) && !isRunning(left) && length < load.minOn;
    const remark = isShort ? `; it ran less than its minOn of ${formatDuration(load.minOn)}: give it a rest` : '';
    const text = `${load.name} was ${level} and is now ${left}, ${why}${remark}`;
    return { by: 'direct', read, left, text };
  } finally {
    await output.close();
    await web?.http.close();
  }
}

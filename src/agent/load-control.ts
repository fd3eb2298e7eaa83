/** The loads under control: their outputs, the control loop and their MQTT commands. */

import type { ControlEvent, Decision, Site } from '../control/control-types.ts';
import { type ControlState, initialState, step } from '../control/step.ts';
import { waitAtMost } from '../domain/abortable-wait.ts';
import type { Level } from '../domain/load-types.ts';
import type { Broker } from '../domain/ports.ts';
import { type Duration, milliseconds, seconds } from '../domain/units.ts';
import type { MonitorHandlers } from '../mqtt/monitor.ts';
import type { RemoteCommand } from '../mqtt/parse-command.ts';
import { getRateUnit } from '../mqtt/payloads.ts';
import { buildFailsafeLines } from '../outputs/failsafe-lines.ts';
import type { DeviceStatus } from '../outputs/output.ts';
import type { AgentContext } from './agent-context.ts';
import { awaitBroker } from './await-broker.ts';
import { createControlLoop } from './control-loop.ts';
import type { Part } from './lifecycle.ts';
import { createLoadOutputs, type LoadOutputs } from './load-outputs.ts';
import { createMeterCheck } from './meter-check.ts';
import { createReleaseBrokers } from './monitor-link.ts';
import { createStepRecorder, type StepRecorderParts } from './step-recorder.ts';
import { createVehicleWatches } from './vehicle-watch.ts';

export interface LoadControlParts extends Pick<StepRecorderParts, 'ledger' | 'persistence' | 'monitor'> {
  readonly broker: Broker | undefined;
  readonly beforeTick: () => void;
}

export interface LoadControl extends MonitorHandlers {
  /** Without effect before the start and after the stop. */
  feed(event: ControlEvent): void;
  decisions(): readonly Decision[];
  /** In this order. */
  readonly parts: readonly Part[];
}

/** Of a stop: for the switching that is under way, for the levels that loads are left at, and for devices to be given back. */
const STOP_STEP_LIMIT = seconds(1);
const STOP_LEVEL_LIMIT = milliseconds(1_500);
/** The output has repeated the command to a device often enough: the core counts the device as given up. */
const GIVEN_UP_DISAGREEMENTS = 3;

export function createLoadControl(context: AgentContext, parts: LoadControlParts): LoadControl {
  const { config, world, clock, log } = context;
  const { ledger, persistence, broker, beforeTick } = parts;
  const site = toSite(config);
  const recorder = createStepRecorder({
    ...{ ...parts, log, site, ties: config.ties },
    rateUnit: getRateUnit(config),
    hasBroker: config.mqtt !== undefined,
  });
  const outputs = createReportingOutputs(context, parts, (event) => controlLoop.feed(event));
  const controlLoop = createControlLoop<ControlState>({
    site,
    step,
    clock,
    outputs: outputs.byLoad,
    beforeTick,
    onStep: recorder.recordStep,
    onOutputFault: outputs.reportFault,
  });

  const startLoop = (): void => {
    const { control: saved } = persistence.saved();
    const isSameBoot = saved !== undefined && world.bootId !== undefined && saved.boot === world.bootId;
    const found = outputs.found();
    for (const [load, level] of Object.entries(found.levels)) ledger.recordLevel(load, level, clock.now());
    controlLoop.start(initialState(site, saved?.state, isSameBoot), found);
    outputs.reportVehicles();
  };
  /** A device that does not answer delays neither the others nor the stop. */
  const limit = <Value>(wait: Duration, work: Promise<Value>) =>
    waitAtMost({ clock: world.clock, wait, name: 'stop' }, work);
  const stopOutputs = async (): Promise<void> => {
    // Where a load did not reach its level, the fail-safe program that runs after this one tries once more.
    if (await limit(STOP_LEVEL_LIMIT, outputs.applyStopLevels(controlLoop.recordFinalLevel)))
      await world.failsafe?.clear();
    await limit(STOP_STEP_LIMIT, outputs.close());
  };

  return {
    feed: controlLoop.feed,
    decisions: recorder.decisions,
    async onCommand(load, command) {
      controlLoop.feed(toControlEvent(load, command));
      const text = recorder.explain(load);
      // The sender may rely on the answer, also after a power cut.
      const isDurable = await persistence.isControlDurable();
      return {
        accepted: true,
        text: isDurable ? text : `${text}; a restart forgets it, because it could not be saved`,
      };
    },
    parts: [
      { start: () => saveFailsafe(context) },
      { start: (stop) => awaitBroker(broker, world.clock, stop) },
      { start: outputs.open, stop: stopOutputs },
      { start: startLoop, stop: async () => void (await limit(STOP_STEP_LIMIT, controlLoop.stop())) },
    ],
  };
}

/** Outputs whose devices report to the control loop, the monitor and the ledger. */
function createReportingOutputs(
  context: AgentContext,
  { broker, monitor, ledger }: LoadControlParts,
  onEvent: (event: ControlEvent) => void,
): ReportingOutputs {
  const { config, world, clock, log, problems } = context;
  const checkMeter = createMeterCheck(clock, problems);
  const vehicles = createVehicleWatches(config.loads, clock, (load, vehicle) =>
    onEvent({ kind: 'vehicle', load, vehicle }),
  );
  const outputs = createLoadOutputs({
    ...context,
    pins: world.pins,
    web: world,
    broker,
    createReleaseBroker: createReleaseBrokers(context),
    onReport: (load, level) =>
      onEvent(
        level === undefined
          ? { kind: 'failed', load, disagreements: GIVEN_UP_DISAGREEMENTS }
          : { kind: 'confirmed', load, level },
      ),
    onStatus(load, status) {
      monitor.publishDeviceStatus(load, status);
      const now = clock.now();
      ledger.recordProof(load, status.confirmed !== undefined, now);
      const level = findProvenLevel(status);
      if (level !== undefined) ledger.recordLevel(load, level, now);
      vehicles.updateStatus(load, status);
    },
    onMeter(load, reading) {
      const loadConfig = config.loads.find(({ name }) => name === load);
      if (loadConfig === undefined || !checkMeter(loadConfig, reading)) return;
      if (reading.energy !== undefined) ledger.recordCounter(load, reading.energy, clock.now());
      vehicles.updateMeter(load, reading);
    },
    onPress({ name: load, overrideFor }, level) {
      log('info', `${load} ${level}: switched at the device`, { load });
      onEvent({ kind: 'override', load, level, for: overrideFor, source: 'local' });
      onEvent({ kind: 'confirmed', load, level });
    },
    onButton: ({ name: load, overrideFor }, level) =>
      onEvent({ kind: 'override', load, level, for: overrideFor, source: 'local' }),
  });
  return {
    ...outputs,
    reportVehicles: vehicles.reportAll,
    async close() {
      vehicles.stop();
      await outputs.close();
    },
  };
}

interface ReportingOutputs extends LoadOutputs {
  /** What is known of the vehicles by now, once the control loop has started. */
  reportVehicles(): void;
}

/** What the ledger may count of a device: nothing while it follows rules of its own, is gone, or has no vehicle. Undefined: as decided. */
function findProvenLevel({ sent, confirmed, available, vehicle }: DeviceStatus): Level | undefined {
  if (sent === undefined) return undefined;
  const isIdle = vehicle?.connected === false || vehicle?.charging === false;
  return available === false || confirmed === 'other' || isIdle ? 'off' : confirmed;
}

async function saveFailsafe({ config, world }: AgentContext): Promise<void> {
  await world.failsafe?.save(buildFailsafeLines(config.loads));
}

const toSite = ({ device, place, loads, budgetKw }: AgentContext['config']): Site => ({
  device,
  timezone: place.timezone,
  loads,
  ...(budgetKw === undefined ? {} : { budget: budgetKw }),
});

function toControlEvent(load: string, command: RemoteCommand): ControlEvent {
  switch (command.kind) {
    case 'override':
      return { ...command, load, source: 'remote' };
    case 'arm':
      return { ...command, load };
    case 'clear':
    case 'pause':
    case 'thresholds':
      return { ...command, load };
  }
}

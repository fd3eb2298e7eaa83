/** The loads under control: their outputs, the control loop and their MQTT commands. */

import type { ControlEvent, Decision, Site } from '../control/control-types.ts';
import { type ControlState, createInitialState, step } from '../control/step.ts';
import { waitAtMost } from '../domain/abortable-wait.ts';
import type { Broker } from '../domain/ports.ts';
import { type Duration, milliseconds, seconds } from '../domain/units.ts';
import type { MonitorHandlers } from '../mqtt/monitor.ts';
import type { RemoteCommand } from '../mqtt/parse-command.ts';
import { getRateUnit } from '../mqtt/payloads.ts';
import { buildFailsafeLines } from '../outputs/failsafe-lines.ts';
import type { AgentContext } from './agent-context.ts';
import { awaitBroker } from './await-broker.ts';
import { createControlLoop } from './control-loop.ts';
import { createReportingOutputs } from './device-events.ts';
import type { Part } from './lifecycle.ts';
import { getRestart } from './persistence.ts';
import { createStepRecorder, type StepRecorderParts } from './step-recorder.ts';

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
/** Of a switching: for a disk that writes its state. */
const SAVE_LIMIT = seconds(5);

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
    ...{ site, step, clock, beforeTick, outputs: outputs.byLoad },
    onStep: recorder.recordStep,
    onceSaved: () => limit(SAVE_LIMIT, persistence.isControlKept(), 'switching'),
    onOutputFault: outputs.reportFault,
  });

  const startLoop = (): void => {
    const { control: saved } = persistence.saved();
    const found = outputs.found();
    const restart = getRestart(saved, world.bootId, clock.now().uptime);
    for (const [load, level] of Object.entries(found.levels)) ledger.recordLevel(load, level, clock.now());
    controlLoop.start(createInitialState(site, saved?.state, restart), found);
    outputs.reportVehicles();
  };
  /** A device that does not answer delays neither the others nor the stop. */
  const limit = <Value>(wait: Duration, work: Promise<Value>, name = 'stop') =>
    waitAtMost({ clock: world.clock, wait, name }, work);
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

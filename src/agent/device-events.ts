/** Turns what devices report into events for the control core: a press becomes an override. Monitor and ledger learn it too. */

import type { ControlEvent } from '../control/control-types.ts';
import type { Level } from '../domain/load-types.ts';
import type { Broker } from '../domain/ports.ts';
import type { DeviceStatus } from '../outputs/output.ts';
import type { AgentContext } from './agent-context.ts';
import { createLoadOutputs, type LoadOutputs } from './load-outputs.ts';
import { createMeterCheck } from './meter-check.ts';
import { createReleaseBrokers } from './monitor-link.ts';
import type { StepRecorderParts } from './step-recorder.ts';
import { createVehicleWatches } from './vehicle-watch.ts';

interface DeviceEventParts extends Pick<StepRecorderParts, 'ledger' | 'monitor'> {
  readonly broker: Broker | undefined;
}

/** The output has repeated the command to a device often enough: the core counts the device as given up. */
const GIVEN_UP_DISAGREEMENTS = 3;

/** Outputs whose devices report to the control loop, the monitor and the ledger. */
export function createReportingOutputs(
  context: AgentContext,
  { broker, monitor, ledger }: DeviceEventParts,
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
    // A press at the device has switched it already; the button of a load only asks.
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

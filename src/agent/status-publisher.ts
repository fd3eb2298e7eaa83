/** Publishes health and facts of the agent over MQTT and to the service manager. */

import { createPoller } from '../domain/poller.ts';
import { type Instant, milliseconds } from '../domain/units.ts';
import type { Monitor } from '../mqtt/monitor.ts';
import { getRateUnit } from '../mqtt/payloads.ts';
import { formatEntitlements } from '../service/entitlements/entitlements.ts';
import type { AgentContext } from './agent-context.ts';
import { buildHealth, findBestBasis, formatSignalView } from './health-report.ts';
import type { Part } from './lifecycle.ts';
import type { SignalSupply } from './signal-supply.ts';

export interface StatusPublisherParts {
  readonly monitor: Monitor;
  readonly supply: SignalSupply;
  readonly startedAt: Instant;
  /** Nothing is published about the health of an agent that is being stopped. */
  readonly isStopping: () => boolean;
}

export interface StatusPublisher {
  publishHealth(): void;
  publishInfo(): void;
}

export function createStatusPublisher(context: AgentContext, parts: StatusPublisherParts): StatusPublisher {
  const { monitor, supply, startedAt, isStopping } = parts;
  let failSafeSince: Instant | undefined = startedAt;
  return {
    publishHealth() {
      if (isStopping()) return;
      const problems = context.problems.list();
      const view = supply.signalLoop.view();
      const plan = supply.entitlements();
      const now = context.clock.now().wall;
      failSafeSince = findBestBasis(view) === 'fail-safe' ? (failSafeSince ?? now) : undefined;
      monitor.publishHealth(
        buildHealth({
          problems,
          view,
          signalData: supply.signalLoop.data(),
          failSafeSince: failSafeSince ?? now,
          region: supply.home()?.region,
          plan: plan && formatEntitlements(plan),
        }),
      );
      context.world.serviceManager.setStatus(
        problems[0]?.sentence ?? formatSignalView(view, getRateUnit(context.config)),
      );
      monitor.publishCounters(supply.service.counts());
    },
    publishInfo() {
      const home = supply.home();
      monitor.publishInfo({
        startedAt,
        ...(home && { region: home.region, regionFullName: home.regionFullName }),
        ...(home?.mapLastUpdated === undefined ? {} : { mapLastUpdated: home.mapLastUpdated }),
      });
    },
  };
}

/** Notifies the service manager that the program is alive, as often as it requires. */
export function createWatchdog({ clock, serviceManager }: AgentContext['world'], beforeBeat: () => void): Part {
  const { watchdogInterval } = serviceManager;
  const poller = createPoller({
    clock,
    name: 'watchdog',
    async poll() {
      beforeBeat();
      serviceManager.notifyAlive();
      return watchdogInterval;
    },
  });
  return {
    start() {
      if (watchdogInterval !== undefined) poller.pollAfter(milliseconds(0));
    },
    stop: poller.stop,
  };
}

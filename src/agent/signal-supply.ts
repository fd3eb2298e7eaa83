/** Everything that comes from the signal service: region, signal, entitlements, published rates and time. */

import type { Config } from '../config/config.ts';
import { hashFraction } from '../domain/hash-fraction.ts';
import type { Prices } from '../domain/tariff.ts';
import { type Duration, type Instant, milliseconds, minutes, seconds } from '../domain/units.ts';
import type { HomeRegion } from '../region/region-types.ts';
import { createServiceClient, type ServiceClient } from '../service/client.ts';
import { createEntitlementPoller } from '../service/entitlements/entitlement-poller.ts';
import type { Entitlements } from '../service/entitlements/entitlements.ts';
import type { Failure } from '../service/failure.ts';
import type { SignalView } from '../signal/signal-view.ts';
import type { AgentContext } from './agent-context.ts';
import { createAnswerReports } from './answer-reports.ts';
import { createClockMonitor } from './clock-monitor.ts';
import type { DocumentStore } from './document-store.ts';
import { createEntitlementHandler } from './entitlement-handler.ts';
import { formatServiceFailure } from './health-report.ts';
import type { LedgerWriter } from './ledger-writer.ts';
import type { Part } from './lifecycle.ts';
import type { Persistence } from './persistence.ts';
import type { SignalSource } from './poll-state.ts';
import { createRegionLoop } from './region-loop.ts';
import { createSettlement } from './settlement.ts';
import { createSignalLoop, type SignalAnswer, type SignalLoop } from './signal-loop.ts';

export interface SignalSupplyParts {
  readonly store: DocumentStore;
  readonly persistence: Persistence;
  readonly ledger: LedgerWriter;
  readonly pricesAt?: ((now: Instant) => Prices | undefined) | undefined;
  readonly onView: (view: SignalView) => void;
  readonly onRegion: (home: HomeRegion) => void;
  /** The agent's time has changed. */
  readonly onClockChange: () => void;
  /** Something of the health may have changed that is no problem. */
  readonly onHealthChange: () => void;
}

export interface SignalSupply {
  readonly service: ServiceClient;
  readonly signalLoop: SignalLoop;
  home(): HomeRegion | undefined;
  entitlements(): Entitlements | undefined;
  /** In this order. */
  readonly parts: readonly Part[];
}

/** Signal data are about 40 KiB: often enough to start from, seldom enough for a memory card. */
const SIGNAL_SAVE_INTERVAL = minutes(6 * 60);
/** Devices that boot together ask over this, and over more when more share the account (specification 8). */
const STARTUP_SPREAD = seconds(60);
const STARTUP_SPREAD_PER_DEVICE = seconds(6);

export function createSignalSupply(context: AgentContext, parts: SignalSupplyParts): SignalSupply {
  const { config, world } = context;
  const { device, place, ties } = config;
  const { signalType, model } = config.service;
  const { store, persistence, onHealthChange } = parts;
  const service = createService(context);
  const common = { ...world, ...context, service, signalType, device, place, store };

  const onClockChange = () => {
    signalLoop.publishView();
    parts.onClockChange();
  };
  const onRegion = (home: HomeRegion) => {
    const wait = signalLoop.setRegion(home.region);
    entitlements.pollFor({ region: home.region, signalType }, wait);
    settlement.setRegion(home.region);
    parts.onRegion(home);
  };
  const onAnswer = (source: SignalSource, answer: SignalAnswer) => {
    if (answer.failure === undefined) persistence.saveSignal(answer.data, context.clock.now(), SIGNAL_SAVE_INTERVAL);
    reportAnswer(source, answer);
    onHealthChange();
  };

  const clockMonitor = createClockMonitor({ ...common, onChange: onClockChange });
  const clock = clockMonitor.signalClock;
  const regionLoop = createRegionLoop({ ...common, onRegion });
  const signalLoop = createSignalLoop({
    ...{ ...common, clock, ties, phase: hashFraction(device), model, firstWait: computeFirstWait(config) },
    ...(parts.pricesAt === undefined ? {} : { pricesAt: parts.pricesAt }),
    ...{ onView: parts.onView, onAnswer },
  });
  const entitlements = createEntitlementPoller({
    ...common,
    onEntitlements: createEntitlementHandler(context, { signalLoop, regionLoop, onChange: onHealthChange }),
    onFailure: logFailure(context, "the account's entitlements were not read"),
  });
  const settlement = createSettlement({
    ...{ ...common, clock, phase: hashFraction(`${device} settle`), timezone: place.timezone },
    onSettled: parts.ledger.recordSettled,
    onHistory: signalLoop.addHistory,
    onFailure: logFailure(context, 'the rates of past running times stay estimates'),
  });
  const reportAnswer = createAnswerReports(context, { clockMonitor, entitlements, regionLoop });

  return {
    service,
    signalLoop,
    home: regionLoop.home,
    entitlements: entitlements.entitlements,
    parts: [
      service,
      { start: () => signalLoop.restore(persistence.saved().signalData), stop: signalLoop.stop },
      settlement,
      entitlements,
      clockMonitor,
      regionLoop,
    ],
  };
}

const logFailure =
  ({ log, clock }: AgentContext, consequence: string) =>
  (failure: Failure): void =>
    log('debug', `${consequence}: ${formatServiceFailure(failure, clock.now().trusted)}`);

function createService({ config, world, log }: AgentContext): ServiceClient {
  const { url, usernameFile, passwordFile, fleet } = config.service;
  return createServiceClient({
    url,
    http: world.http,
    // The machine's own clock: the service's time is measured against it.
    clock: world.clock,
    random: world.random,
    async credentials() {
      const [username, password] = await Promise.all([
        world.secrets.read(usernameFile),
        world.secrets.read(passwordFile),
      ]);
      return username === undefined || password === undefined ? undefined : { username, password };
    },
    fleet,
    log,
  });
}

/** Devices that start together do not ask together. */
const computeFirstWait = ({ device, service: { fleet = 1 } }: Config): Duration =>
  milliseconds(
    Math.floor(hashFraction(`${device} first`) * Math.max(STARTUP_SPREAD, STARTUP_SPREAD_PER_DEVICE * fleet)),
  );

/** Everything that comes from the signal service: region, signal, entitlements, published rates and time. */

import type { Config } from '../config/config.ts';
import { hashFraction } from '../domain/hash-fraction.ts';
import type { Broker } from '../domain/ports.ts';
import type { Prices } from '../domain/tariff.ts';
import { type Duration, type Instant, milliseconds, minutes, seconds } from '../domain/units.ts';
import type { HomeRegion } from '../region/region-types.ts';
import { createRelayedService, type SignalService } from '../relay/relayed-service.ts';
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
import { createMapLink } from './monitor-link.ts';
import type { Persistence } from './persistence.ts';
import type { SignalSource } from './poll-state.ts';
import { createHomeRegion } from './region-loop.ts';
import { createSettlement } from './settlement.ts';
import { createSignalLoop, type SignalAnswer, type SignalLoop } from './signal-loop.ts';

export interface SignalSupplyParts {
  /** Where a relay publishes. */
  readonly broker: Broker | undefined;
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
  readonly service: Pick<ServiceClient, 'counts'>;
  readonly signalLoop: SignalLoop;
  home(): HomeRegion | undefined;
  entitlements(): Entitlements | undefined;
  /** In this order. */
  readonly parts: readonly Part[];
}

/** Signal data are about 40 KiB: often enough to start from, seldom enough for a memory card. */
const SIGNAL_SAVE_INTERVAL = minutes(6 * 60);
/** Machines that boot together ask over this, and over more when more share the account (specification 8). */
const STARTUP_SPREAD = seconds(60);
const STARTUP_SPREAD_PER_DEVICE = seconds(6);
/** A minute after a round begins. */
const RELAYED_PHASE = 0.4;

export function createSignalSupply(context: AgentContext, parts: SignalSupplyParts): SignalSupply {
  const { config, world } = context;
  const { device, place, ties } = config;
  const { signalType, model } = config.service;
  const { store, persistence, onHealthChange } = parts;
  const account = createAccountClient(context);
  const service = createSignalService(context, account, parts.broker, (source) => signalLoop.pollNow(source));
  const common = { ...world, ...context, service, hasAccount: account !== undefined, signalType, device, place, store };

  const onClockChange = () => {
    signalLoop.publishView();
    parts.onClockChange();
  };
  const onRegion = (home: HomeRegion) => {
    const wait = signalLoop.setRegion(home.region);
    if (readsEntitlements(config)) entitlements.pollFor({ region: home.region, signalType }, wait);
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
  const regionLoop = createHomeRegion({ ...common, onRegion }, config.service.region);
  const signalLoop = createSignalLoop({
    ...{ ...common, clock, ties, phase: choosePhase(config), model, firstWait: computeFirstWait(config) },
    ...{ onView: parts.onView, onAnswer, pricesAt: parts.pricesAt },
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

const SOURCES = { index: 'live-index', forecast: 'forecast', history: undefined } as const;

/** The relay with the account as its stand-in, or the account alone; `config-rules` sees to it that there is one of them. */
function createSignalService(
  { config, world, clock, log, problems }: AgentContext,
  account: ServiceClient | undefined,
  broker: Broker | undefined,
  onNews: (source: SignalSource) => void,
): SignalService {
  const { relay, publicKey = [] } = config.service;
  if (relay !== true || broker === undefined) {
    if (account === undefined) throw new Error('service: neither an account nor a relay');
    return account;
  }
  return createRelayedService({
    ...{ broker, clock, random: world.random, account, publicKeys: publicKey },
    createLink: () => createMapLink({ config, world }),
    onNews(kind) {
      const source = SOURCES[kind];
      if (source !== undefined) onNews(source);
    },
    onRefusal(kind, sentence) {
      const source = SOURCES[kind];
      if (source === undefined) log('warn', sentence);
      else problems.raise(`service:${source}`, `a signal was refused: ${sentence}`);
    },
  });
}

function createAccountClient({ config, world, log }: AgentContext): ServiceClient | undefined {
  const { url, usernameFile, passwordFile, fleet } = config.service;
  if (url === undefined) return undefined;
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

/** An account that stands in for a relay is asked for nothing while the relay publishes. */
const readsEntitlements = ({ service: { relay } }: Config) => relay !== true;

/** Behind a relay an agent looks once the relay has published: that costs no request, and shows what was lost on its way. */
const choosePhase = ({ device, service: { relay } }: Config): number =>
  relay === true ? RELAYED_PHASE + (1 - RELAYED_PHASE) * hashFraction(device) : hashFraction(device);

/** Agents that start together do not ask together. */
const computeFirstWait = ({ device, service: { fleet = 1 } }: Config): Duration =>
  milliseconds(
    Math.floor(hashFraction(`${device} first`) * Math.max(STARTUP_SPREAD, STARTUP_SPREAD_PER_DEVICE * fleet)),
  );

/** Tells the broker what the agent knows and does, and takes commands from it; decides nothing about loads. */

import type { Config } from '../config/config.ts';
import type { Decision } from '../control/control.ts';
import type { SignalView } from '../signal/view.ts';
import type { Instant } from '../units.ts';
import type { Broker, BrokerWill, Clock, Log, Random } from '../world.ts';
import type { RemoteCommand } from './commands-in.ts';
import type { Health } from './health.ts';

export interface MonitorParts {
  readonly config: Config;
  readonly broker: Broker;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly version: string;
}

export interface MonitorHandlers {
  /** Called with a command that is well formed, fresh, new and for a load of the configuration. `words` reach the sender. */
  command(load: string, command: RemoteCommand): { readonly accepted: boolean; readonly words: string };
}

export interface Info {
  readonly startedAt: Instant;
  readonly region?: string;
  readonly mapLastUpdated?: Instant;
}

export interface Monitor {
  /** Starts the link to the broker; the caller watches its state for the health. */
  start(handlers: MonitorHandlers): void;
  signal(view: SignalView, words: string): void;
  decision(decision: Decision, words: string): void;
  health(health: Health): void;
  info(info: Info): void;
  /** Says offline and leaves. */
  stop(): Promise<void>;
}

/** The retained `offline` that the broker publishes when the link dies. */
export const willOf = (config: Config): BrokerWill => ({
  topic: `gridtide/${config.device}/availability`,
  payload: 'offline',
});

/** The same for every start of one device, so that a second agent with its name is noticed. */
export const clientIdOf = (config: Config) => `gridtide-${config.device}`;

export declare function createMonitor(parts: MonitorParts): Monitor;

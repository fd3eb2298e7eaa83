/** The common dependencies of the parts of the agent. */

import type { Config } from '../config/config.ts';
import type { Log, Ports } from '../domain/ports.ts';
import type { AgentClock } from './agent-clock.ts';
import type { Problems } from './problems.ts';

export interface AgentContext {
  readonly config: Config;
  readonly world: Ports;
  readonly version: string;
  /** The time the agent goes by; limits on the machine's own work use `world.clock`. */
  readonly clock: AgentClock;
  readonly log: Log;
  readonly problems: Problems;
}

/** What the commands about one load share: which load is meant, what is to be tried and what came of it. Switches nothing. */

import type { Level, LoadConfig } from '../config/config.ts';
import type { Located } from '../config/sources.ts';
import type { Duration } from '../units.ts';
import type { Clock } from '../world.ts';
import { UsageError } from './command.ts';

/** A JSON object as the agent publishes it. */
export type Document = Readonly<Record<string, unknown>>;

/** What is to be done, checked. */
export interface Trial {
  readonly config: Located;
  readonly load: LoadConfig;
  /** One that the load knows. */
  readonly level: Level;
  readonly length: Duration;
  readonly clock: Clock;
}

/** What became of it. */
export interface Outcome {
  readonly by: 'agent' | 'direct';
  /** The level read back, where the output can tell. */
  readonly read: Level | null;
  /** The level it is left at. */
  readonly left: Level;
  readonly words: string;
}

/** The load of the configuration; throws `UsageError`. */
export function loadNamed(config: Located, positionals: readonly string[]): LoadConfig {
  const names = config.loads.map(({ name }) => name).join(', ');
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0) throw new UsageError(`which load? name one of ${names}`);
  const load = config.loads.find((one) => one.name === name);
  if (load === undefined) throw new UsageError(`there is no load "${name}"; the configuration has ${names}`);
  return load;
}

export function documentIn(text: string | undefined): Document | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Ends after `length`, or at once when the person has had enough. */
export const held = (length: Duration, stop: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (stop.aborted) return resolve();
    const timer = setTimeout(end, length);
    function end() {
      clearTimeout(timer);
      stop.removeEventListener('abort', end);
      resolve();
    }
    stop.addEventListener('abort', end, { once: true });
  });

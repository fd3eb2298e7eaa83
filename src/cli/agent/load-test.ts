/** The types and helpers that `gridtide test` and `gridtide why` share. */

import type { LocatedConfig } from '../../config/config-paths.ts';
import type { Level, LoadConfig } from '../../domain/load-types.ts';
import type { Clock } from '../../domain/ports.ts';
import type { Duration } from '../../domain/units.ts';
import { UsageError } from '../shared/command.ts';

/** A JSON object as the agent publishes it. */
export type JsonDocument = Readonly<Record<string, unknown>>;

/** A checked request to test a load. */
export interface LoadTest {
  readonly config: LocatedConfig;
  readonly load: LoadConfig;
  /** A level that the load supports. */
  readonly level: Level;
  readonly length: Duration;
  readonly clock: Clock;
}

export interface LoadTestResult {
  readonly by: 'agent' | 'direct';
  /** The level read back, where the output can be read. */
  readonly read: Level | null;
  /** The level after the test. */
  readonly left: Level;
  readonly text: string;
}

/** The load of the configuration; throws `UsageError`. */
export function findLoad(config: LocatedConfig, positionals: readonly string[]): LoadConfig {
  const names = config.loads.map(({ name }) => name).join(', ');
  const [name, ...more] = positionals;
  if (name === undefined) throw new UsageError(`the name of a load is missing; expected one of ${names}`);
  if (more.length > 0)
    throw new UsageError(`"${more.join(' ')}" is not expected after "${name}"; name one load, of ${names}`);
  const load = config.loads.find((one) => one.name === name);
  if (load === undefined) throw new UsageError(`there is no load "${name}"; the configuration has ${names}`);
  return load;
}

export function parseDocument(text: string | undefined): JsonDocument | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

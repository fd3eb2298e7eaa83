/** The errors within this room, and their conversion to a `MapFailure` at its functions for other rooms. */

import { DiskError, HttpError } from '../domain/ports.ts';
import type { MapFailure } from './region-types.ts';

export class MapError extends Error {
  readonly failure: MapFailure;
  constructor(failure: MapFailure) {
    super(failure.message);
    this.name = 'MapError';
    this.failure = failure;
  }
}

/** Content that breaks the rules, at a position that the caller adds. */
export class MalformedError extends Error {
  override readonly name = 'Malformed';
}

export const buildMapTooLargeError = (message: string) => new MapError({ kind: 'too-large', message });
export const buildDamagedError = (message: string) => new MapError({ kind: 'damaged', message });

/** The failure of a known error; throws any other error on. */
export function toMapFailure(error: unknown): MapFailure {
  if (error instanceof MapError) return error.failure;
  if (error instanceof DiskError) return { kind: 'disk', failure: error.failure, message: error.failure.detail };
  if (error instanceof HttpError) return { kind: 'source', message: `the map did not arrive: ${error.failure.cause}` };
  throw error;
}

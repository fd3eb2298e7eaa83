/** Keeps answers as bytes while their content stands, so that a thousand clients of one issue cost one computation. */

import { gzipSync } from 'node:zlib';
import type { ApiResponse } from './response.ts';

/** One for each place, model and horizon of an issue, and as many days of history. */
const MAX_READY_ANSWERS = 400;

interface BuiltAnswer {
  readonly text: string;
  /** The answer is the same from `validFrom` on and before `validUntil`, milliseconds since 1970. */
  readonly validFrom: number;
  readonly validUntil: number;
}

/** The kept answer of a key, or the one that `build` makes. */
export type ReadyAnswers = (key: string, now: number, build: () => BuiltAnswer) => ApiResponse;

export function createReadyAnswers(): ReadyAnswers {
  const kept = new Map<string, { readonly built: Omit<BuiltAnswer, 'text'>; readonly response: ApiResponse }>();
  return (key, now, build) => {
    const found = kept.get(key);
    if (found !== undefined && now >= found.built.validFrom && now < found.built.validUntil) return found.response;
    const { text, ...built } = build();
    const bytes = Buffer.from(text);
    let zipped: Buffer | undefined;
    const gzipped = () => {
      zipped ??= gzipSync(bytes, { level: 6 });
      return zipped;
    };
    const response: ApiResponse = { status: 200, body: { kind: 'ready', bytes, gzipped } };
    kept.delete(key);
    kept.set(key, { built, response });
    const oldest = kept.size > MAX_READY_ANSWERS ? kept.keys().next() : undefined;
    if (oldest?.done === false) kept.delete(oldest.value);
    return response;
  };
}

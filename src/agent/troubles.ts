/** What is wrong at present, one sentence a subject: said once when it begins or changes, once when it ends; never decides what to do. */

import type { Instant } from '../units.ts';
import type { Clock, Log } from '../world.ts';

export interface Trouble {
  readonly subject: string;
  /** What happened, what it means, what to do. */
  readonly sentence: string;
  readonly since: Instant;
}

export interface Troubles {
  /** Repeating the same sentence says nothing; another one for the subject replaces it and keeps `since`. */
  raise(subject: string, sentence: string): void;
  clear(subject: string): void;
  list(): readonly Trouble[];
}

/** `changed` is called after each change of the list. */
export function createTroubles(clock: Pick<Clock, 'now'>, log: Log, changed: () => void): Troubles {
  const present = new Map<string, Trouble>();
  return {
    raise(subject, sentence) {
      const known = present.get(subject);
      if (known?.sentence === sentence) return;
      present.set(subject, { subject, sentence, since: known?.since ?? clock.now().wall });
      log('warn', sentence, { subject });
      changed();
    },
    clear(subject) {
      if (!present.delete(subject)) return;
      log('info', `${subject}: well again`, { subject });
      changed();
    },
    list: () => [...present.values()],
  };
}

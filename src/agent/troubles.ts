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
  /**
   * Repeating the same sentence says nothing; another one for the subject replaces it and keeps `since`. Sentences of one
   * `kind` are the same trouble, told anew where it can be seen and only once in the log: some name a time to wait.
   */
  raise(subject: string, sentence: string, kind?: string): void;
  clear(subject: string): void;
  list(): readonly Trouble[];
}

/** `changed` is called after each change of the list. */
export function createTroubles(clock: Pick<Clock, 'now'>, log: Log, changed: () => void): Troubles {
  const present = new Map<string, Trouble & { readonly kind: string }>();
  return {
    raise(subject, sentence, kind = sentence) {
      const known = present.get(subject);
      if (known?.sentence === sentence) return;
      present.set(subject, { subject, sentence, kind, since: known?.since ?? clock.now().wall });
      if (known?.kind !== kind) log('warn', sentence, { subject });
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

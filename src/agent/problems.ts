/** The present problems, one sentence per subject: logs each when it begins, changes or ends. */

import type { Clock, DiskError, Log } from '../domain/ports.ts';
import type { Instant } from '../domain/units.ts';

export interface Problem {
  readonly subject: string;
  /** What happened, what it means, what to do. */
  readonly sentence: string;
  readonly since: Instant;
}

export interface Problems {
  /**
   * Repeating the same sentence does nothing; another one for the subject replaces it and keeps `since`. Sentences of one
   * `kind` are the same problem, shown anew in the health and logged only once: some name a time to wait.
   */
  raise(subject: string, sentence: string, kind?: string): void;
  resolve(subject: string): void;
  list(): readonly Problem[];
}

/** `onChange` is called after each change of the list. */
export function createProblems(clock: Pick<Clock, 'now'>, log: Log, onChange: () => void): Problems {
  const current = new Map<string, Problem & { readonly kind: string }>();
  return {
    raise(subject, sentence, kind = sentence) {
      const previous = current.get(subject);
      if (previous?.sentence === sentence) return;
      current.set(subject, { subject, sentence, kind, since: previous?.since ?? clock.now().wall });
      if (previous?.kind !== kind) log('warn', sentence, { subject });
      onChange();
    },
    resolve(subject) {
      if (!current.delete(subject)) return;
      log('info', `${subject}: well again`, { subject });
      onChange();
    },
    list: () => [...current.values()],
  };
}

/** Storage as a problem: what the disk refused, until it works again. */
export function reportDiskResult(problems: Problems, failure: DiskError | undefined): void {
  if (failure === undefined) problems.resolve('storage');
  else
    problems.raise(
      'storage',
      `${failure.message}; the loads go on from memory, and it is tried again at the next change`,
      failure.failure.kind,
    );
}

/** One lifetime made of several; holds on to none of them once it is over. */

/** A signal that any of the others aborts, or `end`; `end` lets go of them too. */
export function endedBy(...others: readonly (AbortSignal | undefined)[]): {
  readonly signal: AbortSignal;
  readonly end: () => void;
} {
  const ending = new AbortController();
  const end = () => {
    ending.abort();
    for (const other of others) other?.removeEventListener('abort', end);
  };
  for (const other of others) other?.addEventListener('abort', end, { once: true });
  if (others.some((other) => other?.aborted)) end();
  return { signal: ending.signal, end };
}

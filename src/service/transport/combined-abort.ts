/** Combines several abort signals into one and removes its listeners at the end. */

/** A signal that any of the others aborts, or `end`; `end` lets go of them too. */
export function anySignal(...signals: readonly (AbortSignal | undefined)[]): {
  readonly signal: AbortSignal;
  readonly end: () => void;
} {
  const controller = new AbortController();
  const end = () => {
    controller.abort();
    for (const other of signals) other?.removeEventListener('abort', end);
  };
  for (const other of signals) other?.addEventListener('abort', end, { once: true });
  if (signals.some((other) => other?.aborted)) end();
  return { signal: controller.signal, end };
}

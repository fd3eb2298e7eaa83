/** What the first file of the program found in the code cache of the installation. */

const STATE = Symbol.for('gridtide.code-cache');

/** `accepted`, in words why it is refused, or undefined where there is none. */
export function readCodeCacheState(): string | undefined {
  const state: unknown = Reflect.get(globalThis, STATE);
  return typeof state === 'string' ? state : undefined;
}

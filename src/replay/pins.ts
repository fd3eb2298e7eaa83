/** Output lines that exist only in memory, so that relays and SG-Ready run unchanged without a board. */

import type { Pin, Pins } from '../world.ts';

/** Called with each physical level a line takes, the first included. */
export type OnWrite = (line: number, high: boolean) => void;

/** `driven`: lines that are outputs already, with their level, as after a restart of the program. */
export function createDryPins(onWrite: OnWrite = () => {}, driven: Iterable<readonly [number, boolean]> = []): Pins {
  const levels = new Map<number, boolean>(driven);
  const held = new Set<number>();

  const drive = (line: number, high: boolean) => {
    if (levels.get(line) === high) return;
    levels.set(line, high);
    onWrite(line, high);
  };
  const pinOf = (line: number): Pin => ({
    async write(high) {
      if (!held.has(line)) return { kind: 'io', detail: `line ${line} was let go before it was written` };
      drive(line, high);
      return undefined;
    },
    read: async () => levels.get(line) ?? false,
    close: async () => void held.delete(line),
  });

  return {
    async open(line, { initiallyHigh }) {
      if (held.has(line))
        return { kind: 'busy', detail: `line ${line} is held already: wire the loads to different lines` };
      held.add(line);
      if (!levels.has(line)) drive(line, initiallyHigh);
      return pinOf(line);
    },
  };
}

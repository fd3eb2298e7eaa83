/** GPIO lines in memory, so that relays and SG-Ready run without a board. */

import type { GpioLine, GpioLines } from '../domain/ports.ts';

/** Called with each physical level of a line, the first included. */
export type OnWrite = (line: number, high: boolean) => void;

/** `driven`: lines that are outputs already, with their level, as after a restart of the program. */
export function createSimulatedLines(
  onWrite: OnWrite = () => {},
  initialLevels: Iterable<readonly [number, boolean]> = [],
): GpioLines {
  const levels = new Map<number, boolean>(initialLevels);
  const openLines = new Set<number>();

  const setLevel = (line: number, high: boolean) => {
    if (levels.get(line) === high) return;
    levels.set(line, high);
    onWrite(line, high);
  };
  const createLine = (line: number): GpioLine => ({
    async write(high) {
      if (!openLines.has(line)) return { kind: 'io', detail: `line ${line} was let go before it was written` };
      setLevel(line, high);
      return undefined;
    },
    read: async () => levels.get(line) ?? false,
    close: async () => void openLines.delete(line),
  });

  return {
    async open(line, { initiallyHigh }) {
      if (openLines.has(line))
        return { kind: 'busy', detail: `line ${line} is in use already: wire the loads to different lines` };
      openLines.add(line);
      if (!levels.has(line)) setLevel(line, initiallyHigh);
      return createLine(line);
    },
  };
}

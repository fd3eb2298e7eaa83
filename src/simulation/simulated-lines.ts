/** GPIO lines in memory, so that relays and SG-Ready run without a board. */

import type { GpioLine, GpioLines, InputOptions } from '../domain/ports.ts';

/** Called with each physical level of a line, the first included. */
export type OnWrite = (line: number, high: boolean) => void;

export interface SimulatedLines extends GpioLines {
  /** What is connected to an input sets its level. */
  setInput(line: number, high: boolean): void;
}

/** `initialLevels`: lines that are outputs already, with their level, as after a restart of the program. */
export function createSimulatedLines(
  onWrite: OnWrite = () => {},
  initialLevels: Iterable<readonly [number, boolean]> = [],
): SimulatedLines {
  const levels = new Map<number, boolean>(initialLevels);
  const openLines = new Set<number>();
  const inputs = new Map<number, InputOptions>();

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

  const buildBusyFailure = (line: number) =>
    ({ kind: 'busy', detail: `line ${line} is in use already: wire the loads to different lines` }) as const;

  return {
    setInput(line, high) {
      if (levels.get(line) === high) return;
      levels.set(line, high);
      inputs.get(line)?.onLevel(high);
    },
    async watch(line, options) {
      if (openLines.has(line)) return buildBusyFailure(line);
      openLines.add(line);
      inputs.set(line, options);
      return {
        read: async () => levels.get(line) ?? options.pull === 'up',
        async close() {
          openLines.delete(line);
          inputs.delete(line);
        },
      };
    },
    async open(line, { initiallyHigh }) {
      if (openLines.has(line)) return buildBusyFailure(line);
      openLines.add(line);
      if (!levels.has(line)) setLevel(line, initiallyHigh);
      return createLine(line);
    },
  };
}

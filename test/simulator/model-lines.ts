/** The output lines of the simulated board; a line keeps its level while the machine has power. */

import type { GpioFailure, GpioLine, GpioLines } from '../../src/domain/ports.ts';

export interface ModelLines {
  /** Lines that answer with an error, or do not follow. */
  readonly troubles: Map<number, 'io' | 'stuck'>;
  /** Undefined: not driven. */
  level(line: number): boolean | undefined;
  /** By another program of the machine. */
  set(line: number, high: boolean): void;
  losePower(): void;
  /** What one life of the agent may do. */
  openFor(act: <Result>(work: () => Promise<Result>) => Promise<Result>): GpioLines;
}

export function createModelLines(onWrite: (line: number, isByAgent: boolean) => void): ModelLines {
  const levels = new Map<number, boolean>();
  const troubles = new Map<number, 'io' | 'stuck'>();

  const set = (line: number, high: boolean, isByAgent: boolean): void => {
    // One that nobody has driven since the power came takes its first level.
    const isStuck = troubles.get(line) === 'stuck' && levels.has(line);
    if (levels.get(line) === high || isStuck) return;
    levels.set(line, high);
    onWrite(line, isByAgent);
  };
  const findFailure = (line: number): GpioFailure | undefined =>
    troubles.get(line) === 'io' ? { kind: 'io', detail: `line ${line} answers with an error` } : undefined;

  return {
    troubles,
    level: (line) => levels.get(line),
    set: (line, high) => set(line, high, false),
    losePower() {
      const driven = [...levels.keys()];
      levels.clear();
      for (const line of driven) onWrite(line, false);
    },
    openFor(act) {
      const openLines = new Set<number>();
      const createLine = (line: number): GpioLine => ({
        write: (high) =>
          act(async () => {
            const failure = findFailure(line);
            if (failure === undefined) set(line, high, true);
            return failure;
          }),
        read: () => act(async () => findFailure(line) ?? levels.get(line) ?? false),
        close: () => act(async () => void openLines.delete(line)),
      });
      return {
        watch: async (line) => ({ kind: 'missing', detail: `line ${line} is no input of the simulated board` }),
        open: (line, { initiallyHigh }) =>
          act(async () => {
            const failure = findFailure(line);
            if (failure !== undefined) return failure;
            if (openLines.has(line)) return { kind: 'busy', detail: `line ${line} is open already` };
            openLines.add(line);
            if (!levels.has(line)) set(line, initiallyHigh, true);
            return createLine(line);
          }),
      };
    },
  };
}

/** A day of the demo for the emulated machine: its decisions, and the edges that they mean on the wires of its relays. */

import { expect } from 'vitest';
import { runDemo } from '../../src/simulation/demo-day.ts';
import { type RigRun, writtenLevels } from './emulated-machine.ts';

interface DayStep {
  readonly load: string;
  readonly level: string;
}

let day: Promise<readonly DayStep[]> | undefined;

/** Of the loads that relays switch; recorded once. */
export function recordDay(): Promise<readonly DayStep[]> {
  day ??= recordDemo();
  return day;
}

async function recordDemo(): Promise<readonly DayStep[]> {
  const steps: DayStep[] = [];
  await runDemo({
    seed: 1,
    hours: 24,
    log: () => {},
    onEvent: (event) => {
      if ('event' in event && event.event === 'decision' && event.load !== 'car') steps.push(event);
    },
  });
  return steps;
}

/** Levels of the lines at each level of a load: the heat pump's board is active-low. */
const WIRES: Readonly<Record<string, Readonly<Record<string, readonly (readonly [line: number, value: number])[]>>>> = {
  water: { off: [[16, 0]], on: [[16, 1]] },
  heating: {
    normal: [
      [5, 1],
      [6, 1],
    ],
    recommend: [
      [5, 1],
      [6, 0],
    ],
  },
};

const listEdges = (values: readonly number[]) => values.filter((value, n) => n === 0 || value !== values[n - 1]);

/** `header`: the kernel's number of the first line of the header. */
export function expectEdgesOfDay(run: RigRun, steps: readonly DayStep[], header: number): void {
  const written = [{ load: 'water', level: 'off' }, { load: 'heating', level: 'normal' }, ...steps].flatMap(
    ({ load, level }) => WIRES[load]?.[level] ?? [],
  );
  const events = run.eventsOf('a day');
  let total = 0;
  for (const line of [5, 6, 16]) {
    const wanted = listEdges(written.flatMap(([one, value]) => (one === line ? [value] : [])));
    expect(listEdges(writtenLevels(events, header + line)), `line ${line}`).toEqual(wanted);
    total += wanted.length - 1;
  }
  console.log(`a day: ${steps.length} decisions, ${total} edges`);
  expect(run.part('a day')).toMatchObject({ failures: [] });
  expect(total).toBeGreaterThan(5);
}

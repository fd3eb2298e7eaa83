/** In the machine: marks in the kernel's trace where a scene begins and ends, and hands what was seen to the test. */

import { readFileSync, writeFileSync } from 'node:fs';

export async function playScene(name: string, play: () => Promise<Record<string, unknown>>): Promise<void> {
  const mark = (text: string) => writeFileSync('/sys/kernel/tracing/trace_marker', `${text} ${name}\n`);
  mark('begin');
  const result = await play();
  mark('end');
  process.stdout.write(`${JSON.stringify({ part: name, ...result })}\n`);
}

/** What is measured at the connector, from outside. */
export const measureLine = (outside: string, line: number) =>
  readFileSync(`${outside}/sim_gpio${line}/value`, 'utf8').trim();

/** The demo as a stranger runs it: the built program, twice, and what it tells. */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { DemoEvent, DemoResult } from '../../src/simulation/transcript.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'dist', 'main.js');
const run = promisify(execFile);
const gridtide = async (...args: string[]) =>
  (await run(process.execPath, [MAIN, ...args], { maxBuffer: 1 << 26 })).stdout;
const demo = (...args: string[]) => gridtide('demo', ...args);

function read(text: string) {
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as DemoEvent);
  const last = lines.at(-1);
  if (last === undefined || !('result' in last)) throw new Error('the last line is not the result');
  const events = lines.flatMap((line) => ('result' in line ? [] : [line]));
  return { events, result: last.result };
}

describe('gridtide demo', () => {
  it('runs a day, meets its deadline, saves, and tells the same first eight hours when it is run again', {
    timeout: 300_000,
  }, async () => {
    const { events, result } = read(await demo('--json'));
    const again = read(await demo('--json', '--hours', '8')).events;
    // At the end of its day the agent stops.
    const isBeforeEnd = ({ at }: { readonly at: string }) => at < '2026-03-02T04:00:00';
    expect(again.filter(isBeforeEnd).length).toBeGreaterThan(50);
    expect(again.filter(isBeforeEnd)).toEqual(events.filter(isBeforeEnd));

    expect(result).toMatchObject({ hours: 24, deadlines: { met: 1, missed: 0 } } satisfies Partial<DemoResult>);
    expect(result.loads.map(({ load }) => load)).toEqual(['car', 'heating', 'water']);
    expect(result.loads[0]?.energyKwh).toBeCloseTo(28.8, 1);
    expect(result.savedKg).toBeGreaterThan(0);
    expect(result.logins).toBeLessThanOrEqual(2 * 24 + 1);
    // Index and forecast each period of 5 minutes, a login each half hour, and a handful at the start.
    expect(result.requests).toBeGreaterThan(2 * 288);
    expect(result.requests).toBeLessThan(2 * 288 + 49 + 20);

    expect(events.find((event) => event.event === 'region')).toMatchObject({ region: 'CAISO_NORTH' });
    // The first signal comes at the moment of the start.
    expect(events.filter((event) => event.event === 'problem')).toEqual([]);
    const switches = events.filter((event) => event.event === 'decision').filter(({ switched }) => switched);
    expect(switches.length).toBeGreaterThan(4);
    for (const { text } of switches) expect(text).toMatch(/\w{4,}/);
  });

  it('another seed is another grid', async () => {
    const [one, two] = await Promise.all([
      demo('--json', '--hours', '3'),
      demo('--json', '--hours', '3', '--seed', '2'),
    ]);
    expect(one).not.toBe(two);
    expect(read(two).result.seed).toBe(2);
  });

  it('tells people in sentences, without colours where no terminal is', async () => {
    const text = await demo('--hours', '20');
    expect(text).toContain('region CAISO_NORTH');
    expect(text).toMatch(/car +-> on/);
    expect(text).toMatch(/deadlines: 1 met, 0 missed/);
    expect(text).not.toContain('\u001b');
  });

  it.each([
    ['--hours', '0', '--hours 0: expected a number within 1 to 336'],
    ['--seed', 'x', '--seed x: expected a whole number within 0 to 2147483648'],
    ['--colour', 'red', 'there is no option --colour'],
  ])('%s %s is wrong use', async (option, value, sentence) => {
    await expect(demo(option, value)).rejects.toMatchObject({ code: 2 });
    await demo(option, value).catch((error: { stderr: string }) => expect(error.stderr).toContain(sentence));
  });
});

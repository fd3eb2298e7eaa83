import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
// @ts-expect-error a script without types
import { buildSimulator } from '../../scripts/build-simulator.mjs';

const directory = mkdtempSync(join(tmpdir(), 'gridtide-simulator-test-'));
const program = join(directory, 'simulate.mjs');

const simulate = async (...args: readonly string[]) =>
  (await promisify(execFile)(process.execPath, [program, ...args], { maxBuffer: 2 ** 26 })).stdout;

const DAYS = join(import.meta.dirname, 'days');
const SRC = join(import.meta.dirname, '../../src');
const days = readdirSync(DAYS).filter((name) => name.endsWith('.day'));
const planted: Readonly<Record<string, readonly { readonly file: string; readonly find: string }[]>> = JSON.parse(
  readFileSync(join(import.meta.dirname, 'planted.json'), 'utf8'),
);

describe('the simulator', () => {
  beforeAll(() => buildSimulator(program));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it('lives through days of faults without breaking an invariant', async () => {
    const output = await simulate('--seed', '100', '--hours', '48', '--house', '24');
    expect(output).toMatch(/^incident: \w/m);
    expect(output).toMatch(/^switches: \d{2}/m);
  }, 600_000);

  it.each(days)('%s breaks nothing any more', async (day) => {
    expect(await simulate('--replay', join(DAYS, day))).toMatch(/^digest \w+\n$/);
  });

  it('plants each defect where the source has its text', () => {
    const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' });
    const misses = Object.entries(planted).flatMap(([name, patches]) =>
      patches
        .filter(({ file, find }) => {
          const source = sources.find((path) => basename(path) === file);
          return source === undefined || readFileSync(join(SRC, source), 'utf8').split(find).length !== 2;
        })
        .map(({ file }) => `${name}: ${file}`),
    );
    expect(misses).toEqual([]);
  });

  it('has the same history for the same seed', async () => {
    const [first, second] = await Promise.all(
      [1, 2].map(() => simulate('--seed', '107', '--hours', '6', '--house', '6')),
    );
    const withoutSpeed = (text = '') => text.replace(/, \d+ h a CPU minute/, '');
    expect(withoutSpeed(second)).toBe(withoutSpeed(first));
  }, 600_000);
});

/** Rows 1 to 4 of the fault table: a clock that is wrong, that steps, that is a little off, and the days on which local time is odd. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hours, type Instant, minutes } from '../../src/domain/units.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { type BundledProgram, bundleProgram } from '../doubles/bundle-program.ts';
import { freePort } from '../doubles/mosquitto.ts';
import { startProcess } from '../doubles/running-process.ts';
import { startSignalService } from './scripted-signal-service.ts';
import {
  CAR_LINE,
  createVirtualAgent,
  findShortCycles,
  START,
  sumTimeOn,
  type VirtualAgent,
  type VirtualAgentOptions,
  WATER_LINE,
} from './virtual-agent.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one();
});

/** A house on a grid without chance, that may differ in its clock alone. */
async function onGrid(options: Partial<VirtualAgentOptions> = {}): Promise<VirtualAgent> {
  const clock = createVirtualClock(options.start === undefined ? START : (Date.parse(options.start) as Instant));
  const grid = await startSignalService(clock);
  undo.push(() => grid.close());
  const home = await createVirtualAgent({ seed: 1, clock, url: grid.url, ...options });
  undo.push(() => home.close());
  return home;
}

const LEAST = { on: minutes(20), off: minutes(15) };
const shape = (home: VirtualAgent) =>
  home.edges.map(({ line, high, at }) => `${line} ${high} ${Math.round(at / minutes(1))}`);

describe('1 boot without a clock', () => {
  let program: BundledProgram;
  beforeAll(async () => {
    program = await bundleProgram(join(import.meta.dirname, '..', '..', 'src', 'main.ts'), ['onoff', 'pino-pretty']);
  });
  afterAll(() => program.remove());

  it.each(['1970-01-01T00:00:20Z', '2014-06-01T00:00:00Z'])(
    '1 started at %s: nothing is scheduled until somebody tells the time, and a late time source changes nothing more',
    async (date) => {
      const home = await onGrid({ start: '2026-03-03T08:30:00Z' });
      home.device.ahead = Date.parse(date) - home.clock.now().wall;
      home.device.trusted = false;
      home.network.isDown = true;
      await home.start();
      await home.pass(hours(2));
      // Low from the first moment on, although the grid is at its cleanest.
      expect(home.edges.filter(({ high }) => high)).toEqual([]);
      expect(home.warningsAbout('clock')[0]).toMatch(/this machine's clock is not synchronised and says (1970|2014)-/);
      expect(home.warningsAbout('clock').length).toBe(1);
      expect(home.agent.snapshot().decisions.map(({ why }) => why)).toEqual(['untrusted-clock', 'untrusted-clock']);
      const asked = home.countRequests('/');
      expect(asked).toBeGreaterThan(10);

      home.network.isDown = false;
      await home.pass(minutes(20));
      expect(home.agent.snapshot().view?.index?.basis).toBe('live-index');
      const at = home.agent.snapshot().view?.index?.at ?? 0;
      expect(Math.abs(at - home.clock.now().wall)).toBeLessThan(minutes(11));
      expect(home.edges.filter(({ high }) => high).length).toBe(2);

      const before = home.edges.length;
      home.device.ahead = 0;
      home.device.trusted = true;
      await home.pass(minutes(4));
      expect(Math.abs((home.agent.snapshot().view?.index?.at ?? 0) - home.clock.now().wall)).toBeLessThan(minutes(11));
      await home.pass(minutes(20));
      expect(home.edges.length).toBe(before);
      expect(home.logEntries.at(-1)?.message).not.toMatch(/clock/);
    },
  );

  it('1 a time source that sets the clock is noticed without the service: data on disk drive at once', async () => {
    const home = await onGrid({ start: '2026-03-03T08:30:00Z' });
    await home.start();
    await home.pass(minutes(10));
    home.network.isDown = true;
    home.device.ahead = Date.parse('1970-01-01T00:05:00Z') - home.clock.now().wall;
    home.device.trusted = false;
    await home.restart();
    await home.pass(minutes(5));
    expect(home.agent.snapshot().view?.horizon).toBeUndefined();
    home.device.ahead = 0;
    home.device.trusted = true;
    await home.pass(minutes(1));
    expect(home.agent.snapshot().view?.horizon?.basis).toBe('fresh-forecast');
    expect(findShortCycles(home.edges, WATER_LINE, LEAST)).toEqual([]);
  });

  it('1 as a process whose clock says 1970: it starts, names the clock, and switches nothing on', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'gridtide-1970-'));
    undo.push(() => rm(directory, { recursive: true, force: true }));
    const shift = join(directory, 'shift.mjs');
    // Where a time source of this machine vouches all the same, the service's time contradicts it; both end in one duty.
    await writeFile(
      shift,
      `const Real = Date, off = Real.now() - 20_000;
globalThis.Date = class extends Real { constructor(...a) { a.length === 0 ? super(Real.now() - off) : super(...a); } static now() { return Real.now() - off; } };`,
    );
    await writeFile(join(directory, 'word'), 'owner', { mode: 0o600 });
    await writeFile(
      join(directory, 'gridtide.yaml'),
      `
device: cellar
state: ${directory}/state
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "http://127.0.0.1:${await freePort()}", usernameFile: ${directory}/word, passwordFile: ${directory}/word}
loads:
  water: {type: tank, powerKw: 3, failSafe: "off", output: {kind: dry-run}}
`,
      { mode: 0o600 },
    );
    const agent = startProcess(process.execPath, [
      '--import',
      shift,
      program.path,
      'run',
      '--config',
      join(directory, 'gridtide.yaml'),
    ]);
    undo.push(() => agent.stop());
    await agent.waitForLine(/gridtide .* runs 1 load/);
    expect(await agent.waitForLine(/"time":"1970-01-01/)).toContain('1970');
    await agent.waitForLine(/no new map|could not be reached/);
    expect(agent.lines.filter((line) => /water on/.test(line))).toEqual([]);
    expect(await agent.terminate()).toBe(0);
  });
});

describe('2 the clock steps by hours', () => {
  it.each([3, -3])('2 by %d h: no least time is shortened, no login is made for it, one new plan', async (step) => {
    const home = await onGrid({ start: '2026-03-03T06:00:00Z' });
    await home.start();
    await home.pass(hours(4.2));
    const logins = home.agent.snapshot().logins;
    const at = home.clock.now().wall;
    home.device.ahead = hours(step);
    await home.pass(minutes(25));
    expect(home.warningsAbout('clock')).toEqual([
      `this machine's clock is 3h ${step > 0 ? 'ahead of' : 'behind'} the service's though it is synchronised; the signal switches no load until they agree; check the time source`,
    ]);
    expect(home.agent.snapshot().view?.index).toBeUndefined();
    for (const line of [WATER_LINE, CAR_LINE])
      expect(home.edges.filter((edge) => edge.line === line && edge.at >= at).length).toBeLessThanOrEqual(1);
    expect(home.agent.snapshot().logins - logins).toBeLessThanOrEqual(1);
    home.device.ahead = 0;
    await home.pass(minutes(11));
    expect(home.agent.snapshot().view?.index?.basis).toBe('live-index');
    expect(findShortCycles(home.edges, WATER_LINE, LEAST)).toEqual([]);
    expect(findShortCycles(home.edges, CAR_LINE, { on: minutes(15), off: minutes(15) })).toEqual([]);
  });

  it.each([5, -5])("2 by %d h where nobody vouches for it: the service's time goes on, nothing moves", async (step) => {
    const usual = await onGrid({ start: '2026-03-03T06:00:00Z' });
    const home = await onGrid({ start: '2026-03-03T06:00:00Z' });
    home.device.trusted = false;
    for (const one of [usual, home]) {
      await one.start();
      await one.pass(hours(3));
    }
    home.device.ahead = hours(step);
    for (const one of [usual, home]) await one.pass(hours(3));
    expect(shape(home)).toEqual(shape(usual));
  });
});

describe('3 a device some minutes off', () => {
  it.each([4.5, -4.5])(
    '3 by %d min: measured, reported, and it switches in the same minutes as one that is right',
    async (off) => {
      const right = await onGrid({ start: '2026-03-03T06:00:00Z' });
      const wrong = await onGrid({ start: '2026-03-03T06:00:00Z' });
      wrong.device.ahead = minutes(off);
      for (const one of [right, wrong]) {
        await one.start();
        await one.pass(hours(8));
      }
      const [message = '', ...more] = wrong.logEntries.flatMap(({ message }) =>
        /going by/.test(message) ? [message] : [],
      );
      // The service tells its time in whole seconds.
      expect(message.replace('4m31s', '4m30s')).toBe(
        `going by the service's time, 4m30s ${off > 0 ? 'behind' : 'ahead of'} this machine's clock`,
      );
      expect(more).toEqual([]);
      expect(wrong.edges.length).toBeGreaterThan(3);
      // The start spread of a few minutes hangs on the moment of the first answer.
      expect(wrong.edges.map(({ line, high }) => `${line} ${high}`)).toEqual(
        right.edges.map(({ line, high }) => `${line} ${high}`),
      );
      for (const [i, { at }] of wrong.edges.entries())
        if (i > 1) expect(Math.abs(at - (right.edges[i]?.at ?? 0))).toBeLessThanOrEqual(minutes(1));
    },
  );
});

describe('4 odd days', () => {
  //  day                      noon before, in UTC       07:00 local, in UTC
  const rows = [
    ['summer time begins', '2026-03-08T02:30:00Z', '2026-03-08T14:00:00Z'],
    ['summer time ends', '2026-11-01T01:30:00Z', '2026-11-01T15:00:00Z'],
    ['leap day', '2028-02-29T02:30:00Z', '2028-02-29T15:00:00Z'],
    ['day after leap day', '2028-03-01T02:30:00Z', '2028-03-01T15:00:00Z'],
    ['year end', '2026-12-31T02:30:00Z', '2026-12-31T15:00:00Z'],
    ['new year', '2027-01-01T02:30:00Z', '2027-01-01T15:00:00Z'],
  ] as const;
  it.each(rows)('4 %s: the car has its four hours by 07:00 local time, no more and no less', async (_, start, by) => {
    const home = await onGrid({ start });
    await home.start();
    await home.pass((Date.parse(by) - Date.parse(start)) as ReturnType<typeof hours>);
    const on = sumTimeOn(home.edges, CAR_LINE, Date.parse(start), Date.parse(by));
    expect(on / hours(1)).toBeGreaterThanOrEqual(4 - 1 / 60);
    expect(on / hours(1)).toBeLessThanOrEqual(4 + 6 / 60);
  });
});

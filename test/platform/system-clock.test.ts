import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { addDuration, type Instant, milliseconds } from '../../src/domain/units.ts';
import { createScaledClock, createSystemClock, type MachineClock } from '../../src/platform/system-clock.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { type ClockUnderTest, describeClock } from './clock-contract.ts';

const NOON = Date.parse('2026-03-01T12:00:00Z') as Instant;

/** Real time passes by itself: it is enough to wait for turns of the event loop. */
async function untilReal(condition: () => boolean) {
  while (!condition()) await new Promise((resume) => setTimeout(resume, 1));
}

function virtual(): ClockUnderTest {
  const clock = createVirtualClock(NOON);
  const until = async (condition: () => boolean) => {
    for (let n = 0; n < 1_000 && !condition(); n += 1)
      await clock.runUntil(addDuration(clock.now().wall, milliseconds(20)));
  };
  return { clock, until };
}

const real = (clock: MachineClock): ClockUnderTest => ({ clock, until: untilReal });

describeClock('the machine clock', () => real(createSystemClock()));
describeClock('a clock at 3 times the speed', () => real(createScaledClock({ start: NOON, speed: 3 })));
describeClock('a clock at half the speed', () => real(createScaledClock({ start: NOON, speed: 0.5 })));
describeClock('the virtual clock', virtual);

describe('the machine clock', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'gridtide-clock-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));
  const sources = () => ({ synchronized: join(directory, 'synchronized'), fromBattery: join(directory, 'hctosys') });

  //  what the system says                          trusted
  const rows: readonly (readonly [string, Record<string, string>, boolean])[] = [
    ['nothing: no network, no battery clock', {}, false],
    ['the time service has synchronised', { synchronized: '' }, true],
    ['the kernel took the time from a battery clock', { hctosys: '1\n' }, true],
    ['there is a battery clock, but it was not used', { hctosys: '0\n' }, false],
  ];
  it.each(rows)('%s', (_, files, trusted) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
    expect(createSystemClock(sources()).now().trusted).toBe(trusted);
  });

  it('is not trusted by a battery clock that shows a year before the program, because its battery is dead', () => {
    writeFileSync(join(directory, 'hctosys'), '1\n');
    const now = vi.spyOn(Date, 'now').mockReturnValue(Date.parse('2010-01-01T00:00:07Z'));
    expect(createSystemClock(sources()).now().trusted).toBe(false);
    now.mockRestore();
  });

  it('is trusted once synchronised, and stays so', () => {
    writeFileSync(join(directory, 'synchronized'), '');
    const clock = createSystemClock(sources());
    expect(clock.now().trusted).toBe(true);
    rmSync(join(directory, 'synchronized'));
    expect(clock.now().trusted).toBe(true);
  });

  it('counts uptime from boot, so that two processes of one boot agree', () => {
    const before = createSystemClock().now().uptime;
    const other = Number(execFileSync(process.execPath, ['-p', 'process.hrtime.bigint().toString()'])) / 1e6;
    const later = createSystemClock().now().uptime;
    expect(other).toBeGreaterThanOrEqual(before);
    expect(other).toBeLessThanOrEqual(later);
    const sinceBoot = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * 1_000;
    expect(before).toBeLessThan(sinceBoot + 1_000);
  });
});

describe('a scaled clock', () => {
  it('starts where it was told and is trusted', () => {
    const { wall, uptime, trusted } = createScaledClock({ start: NOON, speed: 1 }).now();
    expect(wall - NOON).toBe(Math.floor(uptime));
    expect(trusted).toBe(true);
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('refuses the speed %d', (speed) => {
    expect(() => createScaledClock({ start: NOON, speed })).toThrow(`speed ${speed}`);
  });
});

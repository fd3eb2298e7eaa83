/** The relay: its first level, a running one kept, lines that fail. */

import { describe, expect, it } from 'vitest';
import type { Level } from '../../src/domain/load-types.ts';
import type { GpioFailure, GpioLine, GpioLines } from '../../src/domain/ports.ts';
import { createSimulatedLines } from '../../src/simulation/simulated-lines.ts';
import { buildLoad, createOfflineParts, createTestOutput } from './output-fixture.ts';

const relay = (pins: GpioLines, { activeLow = false, boot = 'off' as Level } = {}) =>
  createTestOutput(buildLoad({ kind: 'relay', pin: 17, activeLow }, { initialLevel: boot, name: 'boiler' }), {
    ...createOfflineParts(),
    pins,
  });

describe('the first level', () => {
  //  boot   active low  driven     physical writes  level found
  const rows: readonly (readonly [Level, boolean, boolean | undefined, readonly boolean[], Level])[] = [
    ['off', false, undefined, [false], 'off'],
    ['off', true, undefined, [true], 'off'],
    ['on', false, undefined, [true], 'on'],
    ['on', true, undefined, [false], 'on'],
    ['off', false, true, [], 'on'],
    ['off', true, false, [], 'on'],
    ['on', true, true, [], 'off'],
  ];
  it.each(rows)('boot %s, active low %s, driven %s', async (boot, activeLow, driven, writes, level) => {
    const seen: boolean[] = [];
    const before = driven === undefined ? [] : [[17, driven] as const];
    const under = relay(
      createSimulatedLines((_, high) => void seen.push(high), before),
      { activeLow, boot },
    );
    expect(await under.open()).toEqual({ level });
    expect(seen).toEqual(writes);
  });
});

/** One line that fails as told. */
function failing(failures: { open?: GpioFailure; write?: GpioFailure; read?: GpioFailure; sticks?: boolean }) {
  let high = false;
  let opened = 0;
  let closed = 0;
  const pin: GpioLine = {
    async write(level) {
      if (failures.write !== undefined) return failures.write;
      if (failures.sticks !== true) high = level;
      return undefined;
    },
    read: async () => failures.read ?? high,
    close: async () => {
      closed += 1;
    },
  };
  const pins: GpioLines = {
    watch: async (line) => ({ kind: 'missing', detail: `line ${line} is no input` }),
    async open() {
      opened += 1;
      return failures.open ?? pin;
    },
  };
  return { pins, failures, counts: () => ({ opened, closed }) };
}

describe('a line that fails', () => {
  const io: GpioFailure = { kind: 'io', detail: 'line 17 does not answer (EIO)' };

  it('says so, and is taken anew the next time', async () => {
    const line = failing({ write: io });
    const under = relay(line.pins);
    await under.open();
    expect(await under.apply('on')).toEqual({ kind: 'io', detail: 'line 17 does not answer (EIO)' });
    expect(line.counts()).toEqual({ opened: 1, closed: 1 });
    delete line.failures.write;
    expect(await under.apply('on')).toBeUndefined();
    expect(line.counts()).toEqual({ opened: 2, closed: 1 });
  });

  it('is not claimed to have switched when it reads the other level', async () => {
    const line = failing({ sticks: true });
    const failure = await relay(line.pins).apply('on');
    expect(failure).toMatchObject({ kind: 'unconfirmed' });
    expect(failure?.detail).toMatch(/^line 17 was written for "on" and reads the other level/);
  });

  it('tells why it cannot be opened, and opens once it can', async () => {
    const line = failing({ open: { kind: 'busy', detail: 'line 17 is in use by "fan"' } });
    const under = relay(line.pins);
    expect(await under.open()).toEqual({ kind: 'busy', detail: 'line 17 is in use by "fan"' });
    delete line.failures.open;
    expect(await under.open()).toEqual({ level: 'off' });
  });

  it('without lines on the machine says so', async () => {
    const under = createTestOutput(buildLoad({ kind: 'relay', pin: 17, activeLow: false }), createOfflineParts());
    expect(await under.apply('on')).toMatchObject({ kind: 'missing' });
  });
});

describe('a load in shadow', () => {
  it('decides and reports, and its line is never touched', async () => {
    const line = failing({});
    const parts = { ...createOfflineParts(), pins: line.pins };
    const under = createTestOutput(
      buildLoad({ kind: 'relay', pin: 17, activeLow: false }, { observeOnly: true }),
      parts,
    );
    await under.open();
    await under.apply('on');
    await under.apply('on');
    expect(line.counts().opened).toBe(0);
    expect(parts.logLines).toEqual(['info: dry run: "car" would be switched on']);
  });
});

/** The relay: its first level, a running one kept, lines that fail. */

import { describe, expect, it } from 'vitest';
import type { Level } from '../../src/config/config.ts';
import { createDryPins } from '../../src/replay/pins.ts';
import type { Pin, PinFailure, Pins } from '../../src/world.ts';
import { load, output, quiet } from './cellar.ts';

const relay = (pins: Pins, { activeLow = false, boot = 'off' as Level } = {}) =>
  output(load({ kind: 'relay', pin: 17, activeLow }, { boot, name: 'boiler' }), { ...quiet(), pins });

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
      createDryPins((_, high) => void seen.push(high), before),
      { activeLow, boot },
    );
    expect(await under.open()).toEqual({ level });
    expect(seen).toEqual(writes);
  });
});

/** One line that fails as told. */
function failing(failures: { open?: PinFailure; write?: PinFailure; read?: PinFailure; sticks?: boolean }) {
  let high = false;
  let opened = 0;
  let closed = 0;
  const pin: Pin = {
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
  const pins: Pins = {
    async open() {
      opened += 1;
      return failures.open ?? pin;
    },
  };
  return { pins, failures, counts: () => ({ opened, closed }) };
}

describe('a line that fails', () => {
  const io: PinFailure = { kind: 'io', detail: 'line 17 does not answer (EIO)' };

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
    const line = failing({ open: { kind: 'busy', detail: 'line 17 is held by "fan"' } });
    const under = relay(line.pins);
    expect(await under.open()).toEqual({ kind: 'busy', detail: 'line 17 is held by "fan"' });
    delete line.failures.open;
    expect(await under.open()).toEqual({ level: 'off' });
  });

  it('without lines on the machine says so', async () => {
    const under = output(load({ kind: 'relay', pin: 17, activeLow: false }), quiet());
    expect(await under.apply('on')).toMatchObject({ kind: 'missing' });
  });
});

describe('a load in shadow', () => {
  it('decides and reports, and its line is never touched', async () => {
    const line = failing({});
    const parts = { ...quiet(), pins: line.pins };
    const under = output(load({ kind: 'relay', pin: 17, activeLow: false }, { shadow: true }), parts);
    await under.open();
    await under.apply('on');
    await under.apply('on');
    expect(line.counts().opened).toBe(0);
    expect(parts.said).toEqual(['info: dry run: "car" would be told on']);
  });
});

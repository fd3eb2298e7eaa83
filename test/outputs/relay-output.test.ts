/** The relay: its first level, a running one kept, lines that fail. */

import { describe, expect, it } from 'vitest';
import type { Level } from '../../src/domain/load-types.ts';
import type { GpioFailure, GpioLine, GpioLines } from '../../src/domain/ports.ts';
import { type Instant, milliseconds } from '../../src/domain/units.ts';
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

  it('that was lost and is found at another level reports it, for the core to decide', async () => {
    const lines = createSimulatedLines();
    let onLevel: ((high: boolean) => void) | undefined;
    const open: GpioLines['open'] = (line, options) => {
      onLevel = options.onLevel;
      return lines.open(line, options);
    };
    const under = relay({ ...lines, open }, { activeLow: true });
    const reports: unknown[] = [];
    under.watch((update) => reports.push(update));
    await under.apply('on');
    onLevel?.(true);
    expect(reports).toEqual(['off']);
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

describe('a relay with a feedback contact and a button', () => {
  const FEEDBACK = 24;
  const BUTTON = 25;

  /** A relay whose contact follows the coil until it is told to stay. */
  function wire(initialCoil?: boolean) {
    const coilWrites: boolean[] = [];
    let stuckAt: boolean | undefined;
    const lines = createSimulatedLines(
      (line, high) => {
        if (line !== 17) return;
        coilWrites.push(high);
        lines.setInput(FEEDBACK, !(stuckAt ?? high));
      },
      initialCoil === undefined ? [] : [[17, initialCoil]],
    );
    const parts = { ...createOfflineParts(), pins: lines };
    const contact = { activeLow: true };
    const load = buildLoad({
      ...{ kind: 'relay', pin: 17, activeLow: false },
      ...{ feedback: { pin: FEEDBACK, ...contact }, button: { pin: BUTTON, ...contact } },
    });
    const output = createTestOutput(load, parts);
    const reports: unknown[] = [];
    const statuses: unknown[] = [];
    const presses: Level[] = [];
    const inputFailures: unknown[] = [];
    output.watch((update) => reports.push(typeof update === 'string' ? update : update.kind));
    output.watchDevice?.({
      onStatus: (status) => statuses.push(status),
      onButton: (level) => presses.push(level),
      onInputs: (failure) => inputFailures.push(failure?.detail),
      onPress() {},
      onMeter() {},
    });
    return {
      ...{ output, lines, coilWrites, reports, statuses, presses, inputFailures, clock: parts.clock },
      weld(closed: boolean | undefined) {
        stuckAt = closed;
      },
      /** Ends within the time that trouble may take to be told. */
      async apply(level: Level) {
        const begun = parts.clock.now().uptime;
        const failure = await parts.clock.runUntilDone(output.apply(level));
        expect(parts.clock.now().uptime - begun).toBeLessThanOrEqual(2_000);
        return failure;
      },
      pass: (wait: number) => parts.clock.runUntil((parts.clock.now().wall + wait) as Instant),
    };
  }

  it('confirms each level by the contact', async () => {
    const under = wire();
    expect(await under.output.open()).toEqual({ level: 'off' });
    expect(await under.apply('on')).toBeUndefined();
    expect(await under.apply('off')).toBeUndefined();
    expect(under.statuses.at(-1)).toEqual({ sent: 'off', confirmed: 'off' });
    expect(under.inputFailures.at(-1)).toBeUndefined();
  });

  it('welded: trouble, never read as off, and not switched on before the contact opens', async () => {
    const under = wire();
    await under.output.open();
    await under.apply('on');
    under.weld(true);
    const failure = await under.apply('off');
    expect(failure).toMatchObject({
      kind: 'unconfirmed',
      detail: expect.stringMatching(/^the relay on GPIO 17 .* welded/),
    });
    expect(await under.output.read()).toBe('on');
    expect(under.statuses.at(-1)).toEqual({ sent: 'off', confirmed: 'on' });
    for (const level of ['on', 'off', 'on'] as const) expect(await under.apply(level)).toBeDefined();
    expect(under.coilWrites).toEqual([false, true, false]);
    under.weld(undefined);
    under.lines.setInput(FEEDBACK, true);
    await under.pass(2_000);
    expect(under.reports).toEqual(['off']);
    expect(await under.apply('on')).toBeUndefined();
  });

  it('stuck open: trouble, its coil switched off again, and tried again after an hour', async () => {
    const under = wire();
    await under.output.open();
    under.weld(false);
    expect(await under.apply('on')).toMatchObject({
      detail: expect.stringMatching(/is open, so the load does not run/),
    });
    expect(under.coilWrites).toEqual([false, true, false]);
    expect(under.statuses.at(-1)).toEqual({ sent: 'off', confirmed: 'off' });
    expect(await under.apply('off')).toBeUndefined();
    expect(await under.apply('on')).toBeDefined();
    const writes = under.coilWrites.length;
    await under.pass(3_600_000);
    under.weld(undefined);
    expect(await under.apply('on')).toBeUndefined();
    expect(under.coilWrites.slice(writes)).toEqual([true]);
  });

  it('a contact that moves without a command is told within 2 s, one that bounces is not', async () => {
    const under = wire();
    await under.output.open();
    await under.apply('off');
    under.lines.setInput(FEEDBACK, false);
    await under.pass(500);
    under.lines.setInput(FEEDBACK, true);
    await under.pass(2_000);
    expect(under.reports).toEqual([]);
    under.lines.setInput(FEEDBACK, false);
    await under.pass(2_000);
    expect(under.reports).toEqual(['unconfirmed']);
  });

  it('is confirmed by the contact also where nobody listens to its inputs', async () => {
    const under = wire();
    under.output.watchDevice?.({ onStatus() {}, onPress() {}, onMeter() {} });
    under.weld(true);
    expect(await under.output.open()).toEqual({ level: 'on' });
    expect(await under.apply('off')).toMatchObject({ kind: 'unconfirmed' });
  });

  it('is found as its contact is, whatever the line', async () => {
    const under = wire(false);
    under.lines.setInput(FEEDBACK, false);
    expect(await under.output.open()).toEqual({ level: 'on' });
  });

  it('a press of the button asks for the other level, a release for none', async () => {
    const under = wire();
    await under.output.open();
    for (const high of [false, true]) under.lines.setInput(BUTTON, high);
    await under.apply('on');
    for (const high of [false, true]) under.lines.setInput(BUTTON, high);
    expect(under.presses).toEqual(['on', 'off']);
  });

  it('is switched all the same while an input is in use by another program, and says so', async () => {
    const under = wire();
    const other = await under.lines.watch(BUTTON, { pull: 'up', debounce: milliseconds(0), onLevel() {} });
    await under.output.open();
    expect(await under.apply('on')).toBeUndefined();
    expect(under.inputFailures.at(-1)).toMatch(/^button: line 25 is in use/);
    if ('close' in other) await other.close();
    await under.apply('off');
    expect(under.inputFailures.at(-1)).toBeUndefined();
  });
});

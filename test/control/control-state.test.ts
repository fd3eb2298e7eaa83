import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeControlState, encodeControlState } from '../../src/agent/control-state-codec.ts';
import { createInitialState } from '../../src/control/step.ts';
import { hours, minutes } from '../../src/domain/units.ts';
import { buildHorizon, buildSite, ControlBench, carLoad, heatingLoad, instantFrom, tankLoad } from './control-setup.ts';

function livedThrough() {
  const bench = new ControlBench(buildSite(carLoad(), heatingLoad(), tankLoad()), instantFrom('2026-06-04T01:00:00Z'));
  bench.send({ kind: 'found', levels: { car: 'off', heating: 'normal', tank: 'off' } });
  bench.sendSignal({ horizon: buildHorizon(bench.now.wall, [9, Number.NaN, 3, 2, 1]) });
  bench.send({ kind: 'override', load: 'tank', level: 'on', for: hours(3), source: 'remote' });
  bench.runFor(hours(2));
  return bench;
}

describe('the saved state', () => {
  it('comes back as it was, but for the view, which is built anew from the signal data', () => {
    const { state } = livedThrough();
    const read = decodeControlState(encodeControlState(state));
    expect(state.view).toBeDefined();
    expect(read).toEqual({ ...state, view: undefined });
  });

  //  text                                  what is wrong
  const rows = [
    ['', 'it is not JSON'],
    ['{', 'it is not JSON'],
    ['null', 'the whole: expected Object, received null'],
    ['[]', 'version'],
    ['{}', 'version is missing'],
    ['{"version":2}', 'version: expected 1, received 2'],
  ] as const;
  it.each(rows)('%j: %s', (text, what) => {
    const read = decodeControlState(text);
    expect(read).toMatchObject({ kind: 'unreadable', detail: expect.stringContaining(what) as string });
  });

  it('says what it expected of a list', () => {
    const state = JSON.parse(encodeControlState(livedThrough().state));
    state.loads[0].starts = ['x'];
    expect(decodeControlState(JSON.stringify(state))).toMatchObject({
      detail: expect.stringContaining(
        'loads.0.starts: expected a list of at most 2000 times, received Array',
      ) as string,
    });
  });

  it('with any byte changed or cut off it is read or refused, never half believed', () => {
    const text = encodeControlState(livedThrough().state);
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.string({ maxLength: 3 }), fc.boolean(), (where, other, cut) => {
        const torn = cut ? text.slice(0, where) : text.slice(0, where) + other + text.slice(where + 1);
        const read = decodeControlState(torn);
        if ('kind' in read) return;
        const bench = new ControlBench(
          buildSite(carLoad(), heatingLoad(), tankLoad()),
          instantFrom('2026-06-04T03:00:00Z'),
          {
            saved: read,
            restart: 'same-boot',
          },
        );
        bench.send({ kind: 'tick' });
        expect(bench.wakeAt).toBeGreaterThan(bench.now.uptime);
      }),
      { numRuns: 500 },
    );
  });

  it('a load that is new starts anew, one that is gone is forgotten', () => {
    const saved = livedThrough().state;
    const state = createInitialState(buildSite(tankLoad(), tankLoad({ name: 'second' })), saved, 'same-boot');
    expect(state.loads.map(({ name, level }) => [name, level])).toEqual([
      ['tank', 'on'],
      ['second', undefined],
    ]);
  });

  it('another boot serves the least pause again and keeps overrides and starts', () => {
    const { state, now } = livedThrough();
    const bench = new ControlBench(buildSite(tankLoad()), (now.wall + minutes(10)) as typeof now.wall, {
      saved: state,
    });
    bench.send({ kind: 'found', levels: { tank: 'off' } });
    expect(bench.decision('tank')).toMatchObject({
      level: 'off',
      wanted: 'on',
      why: 'min-off',
      wantedWhy: 'remote-override',
    });
    // The device was off for ten minutes: the override has fifty minutes left, the start is two hours and ten minutes old.
    const [one] = bench.state.loads;
    expect((one?.remote?.until ?? 0) - bench.now.uptime).toBe(minutes(50));
    expect(bench.now.uptime - (one?.starts[0] ?? 0)).toBe(hours(2) - minutes(5) + minutes(10));
  });
});

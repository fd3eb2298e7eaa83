/** The SG-Ready contacts: which line moves when, in which order, from which start. */

import { describe, expect, it } from 'vitest';
import type { Level } from '../../src/domain/load-types.ts';
import { findStatePath, isSgReadyState, type SgReadyState } from '../../src/outputs/sg-ready-output.ts';
import { createSimulatedLines } from '../../src/simulation/simulated-lines.ts';
import { buildLoad, createOfflineParts, createTestOutput } from './output-fixture.ts';

const [A, B] = [17, 27];

/** The output over lines of which some are driven already, and a record of each move as `A1`, `B0` (physical). */
function heatPump({ activeLow = false, driven = [] as readonly (readonly [number, boolean])[] } = {}) {
  const moves: string[] = [];
  const pins = createSimulatedLines(
    (line, high) => void moves.push(`${line === A ? 'A' : 'B'}${high ? 1 : 0}`),
    driven,
  );
  return {
    moves,
    under: createTestOutput(buildLoad({ kind: 'sg-ready', pins: [A, B], activeLow }), {
      ...createOfflineParts(),
      pins,
    }),
  };
}

describe('the way between two states', () => {
  const rows: readonly (readonly [SgReadyState, SgReadyState, readonly SgReadyState[]])[] = [
    ['block', 'block', []],
    ['block', 'force', ['normal', 'recommend', 'force']],
    ['normal', 'force', ['recommend', 'force']],
    ['force', 'normal', ['recommend', 'normal']],
    ['recommend', 'block', ['normal', 'block']],
  ];
  it.each(rows)('%s to %s', (from, to, way) => expect(findStatePath(from, to)).toEqual(way));
});

describe('the contacts', () => {
  //  before     told         moves in this order
  const rows: readonly (readonly [readonly Level[], readonly string[]])[] = [
    [['normal'], []],
    [['block'], ['A1']],
    [['recommend'], ['B1']],
    [['force'], ['B1', 'A1']],
    [
      ['force', 'block'],
      ['B1', 'A1', 'A0', 'B0', 'A1'],
    ],
    [
      ['block', 'recommend'],
      ['A1', 'A0', 'B1'],
    ],
  ];
  it.each(rows)('%j: %j', async (levels, wanted) => {
    const { under, moves } = heatPump();
    await under.open();
    moves.length = 0;
    for (const level of levels) expect(await under.apply(level)).toBeUndefined();
    expect(moves).toEqual(wanted);
  });

  it('first level right: both contacts open, on an active low board both lines high', async () => {
    const plain = heatPump();
    await plain.under.open();
    expect(plain.moves).toEqual(['B0', 'A0']);
    const low = heatPump({ activeLow: true });
    expect(await low.under.open()).toEqual({ level: 'normal' });
    expect(low.moves).toEqual(['B1', 'A1']);
  });

  //  driven lines                   found at the start, nothing moved but the other line to open
  const starts: readonly (readonly [readonly (readonly [number, boolean])[], Level])[] = [
    [
      [
        [A, true],
        [B, true],
      ],
      'force',
    ],
    [[[A, true]], 'block'],
    [[[B, true]], 'recommend'],
  ];
  it.each(starts)('lines %j driven already: %s', async (driven, level) => {
    const { under, moves } = heatPump({ driven });
    expect(await under.open()).toEqual({ level });
    expect(moves.filter((move) => move.endsWith('1'))).toEqual([]);
    expect(moves.length).toBe(2 - driven.length);
  });

  it('never passes a block on the way from normal to force, over all pairs', async () => {
    const states: readonly Level[] = ['block', 'normal', 'recommend', 'force'];
    for (const from of states)
      for (const to of states) {
        const { under, moves } = heatPump();
        await under.apply(from);
        moves.length = 0;
        await under.apply(to);
        const passed = moves.length;
        expect(passed).toBe(Math.abs(states.indexOf(from) - states.indexOf(to)));
      }
  });

  it('knows no relay level', async () => {
    expect(isSgReadyState('on')).toBe(false);
    await expect(heatPump().under.apply('on')).rejects.toThrow(
      'SG-Ready has the states block, normal, recommend, force',
    );
  });
});

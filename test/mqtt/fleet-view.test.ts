/** What a watcher of many devices makes of their documents: one row each, in bounded memory, whatever the texts hold. */

import { describe, expect, it } from 'vitest';
import { createFleetView } from '../../src/mqtt/fleet-view.ts';
import { parseTopic } from '../../src/mqtt/topics.ts';

function view(...messages: readonly (readonly [topic: string, text: string])[]) {
  const fleet = createFleetView();
  for (const [topic, text] of messages) {
    const parsed = parseTopic(topic);
    if (parsed !== undefined) fleet.apply(parsed, text);
  }
  return fleet.rows();
}

describe('parseTopic', () => {
  //  topic                              device and what it holds
  const rows = [
    ['gridtide/cellar/health', { device: 'cellar', topic: 'health', load: '' }],
    ['gridtide/cellar/loads/car', { device: 'cellar', topic: 'load', load: 'car' }],
    ['gridtide/cellar/loads/car/plan', undefined],
    ['gridtide/cellar/signal', undefined],
    ['gridtide/cellar', undefined],
    ['gridtide-owners/car/set', undefined],
  ] as const;
  it.each(rows)('%s: %j', (topic, parsed) => expect(parseTopic(topic)).toEqual(parsed));
});

describe('the view of a fleet', () => {
  it('joins the documents of a device into one row', () =>
    expect(
      view(
        ['gridtide/a/availability', 'online'],
        ['gridtide/a/info', '{"version": "0.1.0", "region": "CAISO_NORTH"}'],
        ['gridtide/a/health', '{"basis": "fresh-forecast", "problem": ""}'],
        ['gridtide/a/loads/car', '{"time": "2026-03-01T07:00:00+00:00", "running": true}'],
        ['gridtide/a/loads/water', '{"time": "2026-03-01T06:00:00+00:00", "running": false}'],
        ['gridtide/a/totals', '{"today": {"energyKwh": 3.2, "savedKg": -0.1}}'],
      ),
    ).toEqual([
      {
        device: 'a',
        online: true,
        version: '0.1.0',
        region: 'CAISO_NORTH',
        basis: 'fresh-forecast',
        problem: '',
        lastSeen: '2026-03-01T07:00:00+00:00',
        running: ['car'],
        energyTodayKwh: 3.2,
        savedTodayKg: -0.1,
      },
    ]));

  it('lists first who is offline, then who has a problem, then the others by name', () =>
    expect(
      view(
        ['gridtide/b/availability', 'online'],
        ['gridtide/a/availability', 'online'],
        ['gridtide/trouble/availability', 'online'],
        ['gridtide/trouble/health', '{"problem": "clock: not synchronised"}'],
        ['gridtide/gone/availability', 'offline'],
      ).map(({ device }) => device),
    ).toEqual(['gone', 'trouble', 'a', 'b']));

  it('drops what is erased', () => {
    const erased = view(
      ['gridtide/a/availability', 'online'],
      ['gridtide/b/availability', 'online'],
      ['gridtide/b/loads/car', '{"running": true}'],
      ['gridtide/a/availability', ''],
      ['gridtide/b/loads/car', ''],
    );
    expect(erased.map(({ device, running }) => [device, running])).toEqual([['b', []]]);
  });

  it('ignores what is no document, and bounds what one device may fill', () => {
    const loads = Array.from({ length: 1_000 }, (_, i) => [`gridtide/a/loads/l${i}`, '{"running": true}'] as const);
    const [row] = view(
      ['gridtide/a/availability', 'online'],
      ['gridtide/a/health', 'x'],
      ['gridtide/a/health', '[1]'],
      ['gridtide/a/totals', '{"today": 7}'],
      ['gridtide/a/info', JSON.stringify({ version: 'v'.repeat(10_000), region: 5 })],
      [`gridtide/a/loads/${'l'.repeat(201)}`, '{"running": true}'],
      ...loads,
    );
    expect(row).toMatchObject({ region: '', energyTodayKwh: null, problem: '' });
    expect([row?.version.length, row?.running.length, row?.running[0]]).toEqual([200, 64, 'l0']);
  });
});

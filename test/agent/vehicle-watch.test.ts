/** What a charger reports of its vehicle, and what is made of it: full is judged only while it may charge, and not at the first moment. */

import { describe, expect, it } from 'vitest';
import { createVehicleWatches } from '../../src/agent/vehicle-watch.ts';
import { addDuration, type Instant, type Kilowatt, minutes } from '../../src/domain/units.ts';
import type { DeviceStatus } from '../../src/outputs/output.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { buildLoad } from '../outputs/output-fixture.ts';

const ON: DeviceStatus = { sent: 'on', confirmed: 'on' };
const OFF: DeviceStatus = { sent: 'off', confirmed: 'off' };
const WAITING = { vehicle: { connected: true, charging: false } };
const CHARGING = { vehicle: { connected: true, charging: true } };
const AWAY = { vehicle: { connected: false, charging: false } };

/** A report of the charger, its meter in kW, or minutes that pass. */
type Happening = DeviceStatus | { readonly power: number } | number;

const rows: readonly (readonly [string, readonly Happening[], readonly string[]])[] = [
  ['comes and goes', [AWAY, { ...OFF, ...WAITING }, AWAY], ['away', 'connected', 'away']],
  ['"complete" while it must not charge is not full', [{ ...OFF, ...WAITING }, 600], ['connected']],
  ['"complete" for a moment is not full', [{ ...ON, ...WAITING }, 4, { ...ON, ...CHARGING }, 60], ['connected']],
  [
    'nothing drawn for five minutes is full',
    [{ ...ON, ...CHARGING }, 60, { ...ON, ...WAITING }, 5],
    ['connected', 'full'],
  ],
  ['full until it goes', [{ ...ON, ...WAITING }, 5, { ...OFF, ...WAITING }, 60, AWAY], ['connected', 'full', 'away']],
  [
    'full until it charges again',
    [{ ...ON, ...WAITING }, 5, { ...ON, ...CHARGING }],
    ['connected', 'full', 'connected'],
  ],
  ['a fall to neutral tells nothing', [{ sent: 'on', confirmed: 'other', ...WAITING }, 60], ['connected']],
  ['at a plug with a meter: no power while on', [ON, { power: 3 }, 60, { power: 0.002 }, 5], ['full']],
  ['at a plug: the electronics may draw a tenth of a kilowatt', [ON, { power: 0.1 }, 5], ['full']],
  ['at a plug: more than that charges', [ON, { power: 0.11 }, 60], []],
  ['at a plug: what was measured before it was on tells nothing', [OFF, { power: 0 }, ON, 60], []],
];

describe('the vehicle at a charger', () => {
  it.each(rows)('%s', async (_, happenings, expected) => {
    const clock = createVirtualClock(Date.UTC(2026, 2, 1) as Instant);
    const found: string[] = [];
    const load = buildLoad({ kind: 'dry-run', as: 'relay' }, { name: 'car' });
    const watches = createVehicleWatches([load], clock, (_load, vehicle) => found.push(vehicle));
    for (const what of happenings) {
      if (typeof what === 'number') await clock.runUntil(addDuration(clock.now().wall, minutes(what)));
      else if ('power' in what) watches.updateMeter('car', { power: what.power as Kilowatt });
      else watches.updateStatus('car', what);
    }
    expect(found).toEqual(expected);
    watches.stop();
  });
});

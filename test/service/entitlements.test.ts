/** What an account may ask, by its access description, and which model of those it lists. */

import { describe, expect, it } from 'vitest';
import type { Access, AccessModel } from '../../src/service/api/response-types.ts';
import {
  applyGate,
  createUnknownEntitlements,
  deriveEntitlements,
  formatEntitlementChanges,
} from '../../src/service/entitlements/entitlements.ts';
import { chooseModel } from '../../src/service/entitlements/pinned-model.ts';
import { instantAt } from './client-fixture.ts';

const MODEL: AccessModel = { model: '2026-03-01', dataStart: '2019-01-01', dataEnd: '2026-11-21' };
const listing = (regions: Readonly<Record<string, readonly string[]>>): Access => ({
  signalTypes: [
    {
      signalType: 'co2_moer',
      regions: Object.entries(regions).map(([region, paths]) => ({
        region,
        regionFullName: region,
        endpoints: paths.map((endpoint) => ({ endpoint, models: [MODEL] })),
      })),
    },
  ],
});

const INDEX = ['v3/signal-index'];
const DATA = ['v3/signal-index', 'v3/forecast', 'v3/forecast/historical', 'v3/historical'];
const free = listing({ PSCO: INDEX, CAISO_NORTH: DATA });
const basic = listing({ PSCO: DATA, CAISO_NORTH: DATA });
const analyst = listing({ PSCO: [...DATA, 'v3/maps'], CAISO_NORTH: [...DATA, 'v3/maps'] });

describe('what may be asked', () => {
  //  account   region          signal            forecast   history    index     map
  const rows: readonly (readonly [string, Access, string, string, string, string, string, string])[] = [
    ['free', free, 'PSCO', 'co2_moer', 'closed', 'closed', 'open', 'unknown'],
    ['free', free, 'CAISO_NORTH', 'co2_moer', 'open', 'open', 'open', 'unknown'],
    ['basic', basic, 'PSCO', 'co2_moer', 'open', 'open', 'open', 'unknown'],
    ['analyst', analyst, 'PSCO', 'co2_moer', 'open', 'open', 'open', 'open'],
    ['analyst', analyst, 'NOWHERE', 'co2_moer', 'closed', 'closed', 'open', 'open'],
    ['analyst', analyst, 'PSCO', 'health_damage', 'closed', 'closed', 'closed', 'unknown'],
  ];
  it.each(rows)('%s account: %s %s %s', (_, access, region, signalType, forecast, history, index, map) => {
    expect(deriveEntitlements(access, { region, signalType })).toMatchObject({ forecast, history, index, map });
  });
});

describe('a gate that opens or closes is said', () => {
  const PSCO = { region: 'PSCO', signalType: 'co2_moer' };
  const said = (before: Access, now: Access) =>
    formatEntitlementChanges(deriveEntitlements(before, PSCO), deriveEntitlements(now, PSCO));

  it('subscription bought', () =>
    expect(said(free, basic)).toEqual([
      'the account now includes the forecast of PSCO',
      'the account now includes past forecasts of PSCO',
      'the account now includes history of PSCO',
    ]));
  it('subscription ended', () => expect(said(basic, free)).toHaveLength(3));
  it('nothing new', () => expect(said(basic, basic)).toEqual([]));
  it('first look at an open account', () =>
    expect(
      formatEntitlementChanges(createUnknownEntitlements('PSCO', 'co2_moer'), deriveEntitlements(analyst, PSCO)),
    ).toEqual([]));
  it('first look at a free account', () =>
    expect(
      formatEntitlementChanges(createUnknownEntitlements('PSCO', 'co2_moer'), deriveEntitlements(free, PSCO))[0],
    ).toBe('the account does not include the forecast of PSCO; a subscription would'));
  it('a request that met a gate', () => {
    const plan = deriveEntitlements(analyst, PSCO);
    expect(formatEntitlementChanges(plan, applyGate(plan, 'map', 'closed'))).toEqual([
      'the account does not include the map of PSCO; a subscription would',
    ]);
    expect(applyGate(plan, 'map', 'open')).toBe(plan);
  });
});

describe('the model asked for', () => {
  const listed: readonly AccessModel[] = [
    MODEL,
    { model: '2025-03-01', dataEnd: '2026-04-14' },
    { model: '2024-03-01' },
    { model: '2023-03-01', dataEnd: 'soon' },
    { model: '2022-03-01', dataEnd: '2026-02-30' },
  ];
  //  pinned        listed     asked         note
  const rows: readonly (readonly [string | undefined, readonly AccessModel[], string | undefined, string])[] = [
    [undefined, listed, undefined, ''],
    ['2026-03-01', listed, '2026-03-01', ''],
    ['2025-03-01', listed, undefined, 'no new data since 2026-04-14'],
    ['2024-03-01', listed, '2024-03-01', ''],
    ['2023-03-01', listed, '2023-03-01', ''],
    ['2022-03-01', listed, '2022-03-01', ''],
    ['1999-01-01', listed, undefined, 'knows no model 1999-01-01'],
    ['1999-01-01', [], '1999-01-01', ''],
  ];
  it.each(rows)('pinned %s', (pinned, models, asked, note) => {
    const choice = chooseModel(pinned, models, instantAt('2026-11-22T08:00:00Z'));
    expect(choice.model).toBe(asked);
    expect(choice.note ?? '').toContain(note);
  });
});

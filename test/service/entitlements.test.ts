/** What an account may ask, by its access description, and which model of those it lists. */

import { describe, expect, it } from 'vitest';
import type { Access, AccessModel } from '../../src/service/api/response-types.ts';
import {
  applyGate,
  createUnknownEntitlements,
  deriveEntitlements,
  formatEntitlementChanges,
  formatEntitlements,
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
const published = listing({ PSCO: ['v3/forecast', 'v3/historical'] });
const analyst = listing({ PSCO: [...DATA, 'v3/maps'], CAISO_NORTH: [...DATA, 'v3/maps'] });

describe('what may be asked', () => {
  //  account      region         signal           forecast   past       history    index     map
  const rows: readonly (readonly [string, Access, string, string, string, string, string, string, string])[] = [
    ['free', free, 'PSCO', 'co2_moer', 'unknown', 'unknown', 'unknown', 'open', 'unknown'],
    ['free', free, 'CAISO_NORTH', 'co2_moer', 'open', 'open', 'open', 'open', 'unknown'],
    ['basic', basic, 'PSCO', 'co2_moer', 'open', 'open', 'open', 'open', 'unknown'],
    ['analyst', analyst, 'PSCO', 'co2_moer', 'open', 'open', 'open', 'open', 'open'],
    ['analyst', analyst, 'NOWHERE', 'co2_moer', 'unknown', 'unknown', 'unknown', 'open', 'open'],
    ['analyst', analyst, 'PSCO', 'health_damage', 'unknown', 'unknown', 'unknown', 'closed', 'unknown'],
    // A deployment that lists two endpoints opens more than those.
    ['published', published, 'PSCO', 'co2_moer', 'open', 'unknown', 'open', 'open', 'unknown'],
  ];
  it.each(rows)('%s account: %s %s', (_, access, region, signalType, forecast, pastForecasts, history, index, map) => {
    expect(deriveEntitlements(access, { region, signalType })).toMatchObject({
      forecast,
      pastForecasts,
      history,
      index,
      map,
    });
  });
});

describe('a gate that opens or closes is said', () => {
  const PSCO = { region: 'PSCO', signalType: 'co2_moer' };
  const describeChange = (before: Access, now: Access) =>
    formatEntitlementChanges(
      (['forecast', 'history'] as const).reduce(
        (plan, part) => (plan[part] === 'unknown' ? applyGate(plan, part, 'closed') : plan),
        deriveEntitlements(before, PSCO),
      ),
      deriveEntitlements(now, PSCO),
    );

  it('subscription bought', () =>
    expect(describeChange(free, basic)).toEqual([
      'the account now includes the forecast of PSCO',
      'the account now includes history of PSCO',
    ]));
  it('subscription ended: said when a request is refused, for no list of endpoints is complete', () => {
    expect(describeChange(basic, free)).toEqual([]);
    const ended = deriveEntitlements(free, PSCO);
    expect(formatEntitlementChanges(ended, applyGate(ended, 'forecast', 'closed'))).toEqual([
      'the account does not include the forecast of PSCO; a subscription does',
    ]);
  });
  it('nothing new', () => expect(describeChange(basic, basic)).toEqual([]));
  it('first look at an open account', () =>
    expect(
      formatEntitlementChanges(createUnknownEntitlements('PSCO', 'co2_moer'), deriveEntitlements(analyst, PSCO)),
    ).toEqual([]));
  it('first look at a free account', () =>
    expect(
      formatEntitlementChanges(createUnknownEntitlements('PSCO', 'co2_moer'), deriveEntitlements(free, PSCO)),
    ).toEqual([]));
  it('a request that met a gate', () => {
    const plan = deriveEntitlements(analyst, PSCO);
    expect(formatEntitlementChanges(plan, applyGate(plan, 'map', 'closed'))).toEqual([
      'the account does not include the map of PSCO; an analyst or pro subscription does',
    ]);
    expect(applyGate(plan, 'map', 'open')).toBe(plan);
  });
});

describe('the plan in words', () => {
  const PSCO = { region: 'PSCO', signalType: 'co2_moer' };
  it('names what is open and what was refused, and promises nothing that is not known', () => {
    const plan = deriveEntitlements(published, PSCO);
    expect(formatEntitlements(plan)).toBe('PSCO: the live index, the forecast, history');
    expect(formatEntitlements(applyGate(plan, 'map', 'closed'))).toBe(
      'PSCO: the live index, the forecast, history; not included: the map',
    );
    expect(formatEntitlements(createUnknownEntitlements('PSCO', 'co2_moer'))).toBe(undefined);
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

/** Sections 2.7, 3 and 9 by plain HTTP: what each plan opens, and the phases of the data models. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { encodeQuery, NOW, type PlainService, startPlainService } from './plain-http.ts';
import { inZone, isPublished } from './profile-under-test.ts';

let service: PlainService;
beforeAll(async () => {
  service = await startPlainService();
});
beforeEach(() => service.setTime(NOW));
afterAll(() => service.close());

interface Model {
  readonly model: string;
  readonly train_start: string;
  readonly train_end: string;
  readonly data_end: string;
}
interface Region {
  readonly region: string;
  readonly endpoints: readonly { readonly endpoint: string; readonly models: readonly Model[] }[];
}

const access = (plan: string, fields: Readonly<Record<string, string>> = {}) =>
  service.get(`/v3/my-access?${encodeQuery(fields)}`, plan);
const psco = { region: 'PSCO', signal_type: 'co2_moer' };
const endpointsOf = async (plan: string, region: string) => {
  const { json } = await access(plan, { region, signal_type: 'co2_moer' });
  return json.signal_types.flatMap(({ regions }: { regions: Region[] }) =>
    regions.flatMap(({ endpoints }) => endpoints.map(({ endpoint }) => endpoint)),
  );
};

describe('4.1 GET /v3/my-access', () => {
  it('2.7: nests signal types, regions, endpoints and models', async () => {
    const { status, json } = await access('pro', psco);
    expect(status).toBe(200);
    expect(Object.keys(json)).toEqual(['signal_types']);
    const [signal] = json.signal_types;
    expect(signal.signal_type).toBe('co2_moer');
    const [region] = signal.regions;
    expect({ ...region, endpoints: undefined }).toEqual({
      region: 'PSCO',
      region_full_name: 'Public Service Co of Colorado',
      parent: 'PSCO',
      data_point_period_seconds: 300,
      endpoints: undefined,
    });
    expect(region.endpoints[0]).toEqual({
      endpoint: 'v3/forecast',
      models: [
        {
          model: '2026-03-01',
          data_start: '2019-01-01',
          data_end: '2026-06-10',
          train_start: '2023-01-01',
          train_end: '2025-12-31',
          type: 'proxy',
        },
        {
          model: '2025-03-01',
          data_start: '2019-01-01',
          data_end: '2026-04-13',
          train_start: '2022-07-01',
          train_end: '2025-06-30',
          type: 'proxy',
        },
      ],
    });
  });

  //  plan      region          endpoints
  const free = ['v3/signal-index', 'v3/region-from-loc'];
  const data = ['v3/forecast', 'v3/forecast/historical', 'v3/historical'];
  const keepListed = (paths: readonly string[]) =>
    paths.filter((path) => !isPublished || path === 'v3/forecast' || path === 'v3/historical');
  it.each([
    ['free', 'PSCO', free],
    ['free', 'CAISO_NORTH', [...data, ...free]],
    ['basic', 'PSCO', [...data, ...free]],
    ['analyst', 'PSCO', [...data, ...free, 'v3/maps']],
    ['pro', 'PSCO', [...data, ...free, 'v3/maps']],
  ])('1.4: plan %s in %s', async (plan, region, expected) => {
    expect(await endpointsOf(plan, region)).toEqual(keepListed(expected));
  });

  it.each(['free', 'basic', 'analyst', 'pro'])(
    '1.4: what it lists for the plan %s is open, and nothing else',
    async (plan) => {
      const all = (await access('pro')).json.signal_types as { signal_type: string; regions: Region[] }[];
      const own = (await access(plan)).json.signal_types as typeof all;
      const instant = { start: '2026-06-01T00:00Z', end: '2026-06-01T00:00Z', horizon_hours: '0' };
      for (const { signal_type, regions } of all)
        for (const { region } of regions.filter((each, i) => i % 23 === 0 || each.region === 'CAISO_NORTH')) {
          const listed = own
            .filter((signal) => signal.signal_type === signal_type)
            .flatMap((signal) => signal.regions.filter((each) => each.region === region))
            .flatMap(({ endpoints }) => endpoints.map(({ endpoint }) => endpoint));
          const open: string[] = [];
          for (const path of [...data, 'v3/signal-index'])
            if (
              (await service.get(`/${path}?${encodeQuery({ ...instant, signal_type, region })}`, plan)).status === 200
            )
              open.push(path);
          expect(
            listed.filter((path) => !['v3/region-from-loc', 'v3/maps'].includes(path)),
            region,
          ).toEqual(keepListed(open));
        }
    },
  );
  it('shows three signals to a subscriber', async () => {
    const { json } = await access('basic');
    expect(json.signal_types.map((signal: { signal_type: string }) => signal.signal_type)).toEqual([
      'co2_moer',
      'co2_aoer',
      'health_damage',
    ]);
  });
  it('shows the averages as history only, hour by hour', async () => {
    const { json } = await access('basic', { region: 'CAISO', signal_type: 'co2_aoer' });
    const [region] = json.signal_types[0].regions;
    expect(region.data_point_period_seconds).toBe(3600);
    expect(region.endpoints.map(({ endpoint }: { endpoint: string }) => endpoint)).toEqual(
      keepListed(['v3/historical', 'v3/region-from-loc']),
    );
  });
  it('both filters narrow', async () => {
    const { json } = await access('pro', { region: 'CAISO_NORTH' });
    const pairs = json.signal_types.map((signal: { signal_type: string; regions: Region[] }) => [
      signal.signal_type,
      signal.regions.map(({ region }) => region),
    ]);
    expect(pairs).toEqual([
      ['co2_moer', ['CAISO_NORTH']],
      ['health_damage', ['CAISO_NORTH']],
    ]);
  });
  it.each([
    ['an unknown region', { region: 'NOWHERE' }],
    ['an unknown signal type', { signal_type: 'co2' }],
  ])('%s is 400', async (_, fields) => {
    expect((await access('pro', fields)).status).toBe(400);
  });
  it('a region closed to the plan is an empty list', async () => {
    expect((await access('free', { region: 'CAISO', signal_type: 'co2_aoer' })).json).toEqual({ signal_types: [] });
  });
});

describe('3 and 9: the life of a model', () => {
  const forecast = (model?: string) =>
    service.get(
      `/v3/forecast?${encodeQuery({ region: 'PSCO', signal_type: 'co2_moer', horizon_hours: 1, ...(model === undefined ? {} : { model }) })}`,
    );
  const labelsAt = async (time: string) => {
    service.setTime(Date.parse(time));
    const { json } = await access('pro', psco);
    const { endpoints } = json.signal_types[0].regions[0] as Region;
    const history = endpoints.find(({ endpoint }) => endpoint === 'v3/historical');
    return history?.models.map(({ model }: Model) => model) ?? [];
  };

  const ended = ['2024-03-01', '2023-03-01'];
  //  moment                  default        others that give new forecasts   labels of the history
  const rows: readonly (readonly [string, string, readonly string[], readonly string[]])[] = [
    ['2026-02-28T12:00:00Z', '2025-03-01', [], ['2025-03-01', ...ended]],
    ['2026-03-01T00:00:00Z', '2025-03-01', ['2026-03-01'], ['2026-03-01', '2025-03-01', ...ended]], // preview
    ['2026-03-31T00:00:00Z', '2026-03-01', ['2025-03-01'], ['2026-03-01', '2025-03-01', ...ended]], // overlap
    ['2026-04-14T00:00:00Z', '2026-03-01', [], ['2026-03-01', '2025-03-01', ...ended]], // discontinued
  ];
  it.each(rows)('at %s the default is %s', async (time, standard, others, labels) => {
    expect(await labelsAt(time)).toEqual(labels);
    expect((await forecast()).json.meta.model.date).toBe(standard);
    for (const label of others) {
      const { json } = await forecast(label);
      expect(json.meta.model.date).toBe(label);
      expect(json.data).toHaveLength(12);
    }
    for (const label of labels.filter((name) => name !== standard && !others.includes(name))) {
      const { status, json } = await forecast(label);
      expect([status, json.data]).toEqual([200, []]);
    }
  });
  it('a discontinued model answers for its history and is empty after it', async () => {
    const at = async (time: string, model = '2025-03-01') => {
      const fields = { region: 'PSCO', signal_type: 'co2_moer', model, start: time, end: time };
      return (await service.get(`/v3/historical?${encodeQuery(fields)}`)).json.data.length;
    };
    expect(await at('2026-04-13T23:55:00Z')).toBe(1);
    expect(await at('2026-04-14T00:00:00Z')).toBe(0);
    expect(await at('2020-01-01T00:00:00Z')).toBe(1);
    // So do older ones, each up to its own end.
    expect(await at('2024-04-13T23:55:00Z', '2023-03-01')).toBe(1);
    expect(await at('2024-04-14T00:00:00Z', '2023-03-01')).toBe(0);
  });
  it('a preview reaches back as far as the default', async () => {
    service.setTime(Date.parse('2026-03-10T00:00:00Z'));
    const fields = { region: 'PSCO', signal_type: 'co2_moer', start: '2019-01-01T00:00Z', end: '2019-01-01T01:00Z' };
    const preview = await service.get(`/v3/historical?${encodeQuery({ ...fields, model: '2026-03-01' })}`);
    const standard = await service.get(`/v3/historical?${encodeQuery(fields)}`);
    expect(preview.json.data).toHaveLength(13);
    expect(standard.json.data).toHaveLength(13);
    expect(preview.json.data).not.toEqual(standard.json.data);
  });
  //  the service's clock        default        newest map
  it.each([
    ['1970-01-05T00:00:00Z', '1969-03-01', '1969-03-01'],
    ['2019-01-01T00:00:00Z', '2018-03-01', '2018-03-01'],
    ['2100-03-01T00:00:00Z', '2099-03-01', '2100-03-01'],
    ['9999-12-31T00:00:00Z', '9999-03-01', '9999-03-01'],
  ])('at %s there is a default too', async (time, standard, map) => {
    service.setTime(Date.parse(time));
    expect((await forecast()).json.meta.model.date).toBe(standard);
    const { json } = await service.get('/v3/maps?signal_type=co2_moer');
    expect(json.meta.last_updated).toBe(inZone(`${map}T00:00:00+00:00`));
  });
  it('an unknown model is 400', async () => {
    expect((await forecast('2022-03-01')).status).toBe(400);
  });
  it('a retrain keeps the label and moves the training dates', async () => {
    const trained = async (time: string) => {
      service.setTime(Date.parse(time));
      const { json } = await access('pro', psco);
      const { model, train_start, train_end } = json.signal_types[0].regions[0].endpoints[0].models[0];
      return [model, train_start, train_end];
    };
    expect(await trained('2026-08-27T00:00:00Z')).toEqual(['2026-03-01', '2023-01-01', '2025-12-31']);
    expect(await trained('2026-08-28T00:00:00Z')).toEqual(['2026-03-01', '2023-07-01', '2026-06-30']);
  });
});

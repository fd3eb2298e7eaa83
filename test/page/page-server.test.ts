/** The page under attack and in use: who is answered, what changes something, and what the texts hold. */

import { request } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import parsePrometheusTextFormat from 'parse-prometheus-text-format';
import { describe, expect, it } from 'vitest';
import * as command from '../../src/cli/agent/page.ts';
import { listenForPage } from '../../src/cli/shared/page-address.ts';
import type { Latitude, Longitude, Place } from '../../src/domain/units.ts';
import { buildEvccForecast, buildPowerSaverForecast } from '../../src/page/forecast-shapes.ts';
import { formatOpenMetrics } from '../../src/page/open-metrics.ts';
import { createPageServer } from '../../src/page/page-server.ts';
import { drawRegion } from '../../src/page/region-outline.ts';
import { createRunTracker } from '../../src/page/run-tracker.ts';
import { describeWithMosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { runCommand } from '../doubles/run-command.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';
import { type PageFixture, startPageFixture } from './page-fixture.ts';

const startHouse = async (options: Parameters<typeof startPageFixture>[1] = {}) => {
  const mosquitto = stopAfterTest(await startMosquitto());
  const house = await startPageFixture(mosquitto.url, options);
  if (options.password === undefined) await waitForDocuments(house, 'loads/heating');
  return house;
};

interface Call {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends exactly these headers, Host among them. */
const call = ({ port }: PageFixture, { method = 'GET', path = '/', headers = {}, body = '' }: Call) =>
  new Promise<{ status: number; text: string; headers: NodeJS.Dict<string | string[]> }>((resolve, reject) => {
    const length = body === '' ? {} : { 'content-length': `${Buffer.byteLength(body)}` };
    const sent = request({ port, host: '127.0.0.1', method, path, headers: { ...length, ...headers } }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text, headers: answer.headers }));
    });
    sent.on('error', reject);
    sent.end(body);
  });

const waitForDocuments = async (house: PageFixture, path: string): Promise<Record<string, unknown>> => {
  for (;;) {
    const documents = JSON.parse((await call(house, { path: '/documents.json' })).text);
    if (path in documents) return documents;
    await new Promise((resume) => setTimeout(resume, 20));
  }
};

const IDLE = {
  ...{ files: new Map(), documents: () => ({}), watch: () => () => {}, texts: {}, names: [], now: () => 0 },
  sendCommand: async () => ({ ok: true, message: '' }),
};

const OVERRIDE = '{"command":"override","level":"on","for":"1h"}';

describeWithMosquitto('who is answered', () => {
  //  Host                        status
  const rows: readonly (readonly [string, number])[] = [
    ['127.0.0.1:PORT', 200],
    ['localhost:PORT', 200],
    ['[::1]:PORT', 200],
    ['house.lan', 200],
    ['evil.example', 421],
    ['evil.example:PORT', 421],
    ['127.0.0.1.evil.example', 421],
    ['192.0.2.9', 421],
    ['local host', 421],
  ];
  it('knows its own names alone, so that no other site can borrow them', async () => {
    const house = await startHouse({ names: ['house.lan'] });
    for (const [host, status] of rows) {
      const answer = await call(house, { headers: { host: host.replace('PORT', `${house.port}`) } });
      expect([host, answer.status]).toEqual([host, status]);
    }
  });

  it('asks for the password, and lets ten wrong ones pass a minute', async () => {
    const house = await startHouse({ password: 'correct-horse' });
    const login = (password: string) => ({
      authorization: `Basic ${Buffer.from(`me:${password}`).toString('base64')}`,
    });
    expect((await call(house, {})).status).toBe(401);
    expect((await call(house, { headers: login('correct-horse') })).status).toBe(200);
    for (let i = 0; i < 10; i++) expect((await call(house, { headers: login(`wrong-${i}`) })).status).toBe(401);
    expect((await call(house, { headers: login('correct-horse') })).status).toBe(429);
  });

  it('sends a strict policy and no inline script', async () => {
    const house = await startHouse();
    const { text, headers } = await call(house, {});
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'/);
    expect(text).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|style=/);
  });
});

describeWithMosquitto('what changes something', () => {
  const own = (house: PageFixture) => ({ origin: house.address, 'content-type': 'application/json' });

  it('is a command from the page itself, and it is answered by the agent', async () => {
    const house = await startHouse();
    const answer = await call(house, { method: 'POST', path: '/loads/car/set', headers: own(house), body: OVERRIDE });
    expect(JSON.parse(answer.text)).toEqual({ ok: true, message: 'car does as told' });
    expect(house.commands).toMatchObject([{ load: 'car', kind: 'override', level: 'on' }]);
  });

  it('is no request of another kind', async () => {
    const house = await startHouse();
    const good = own(house);
    //  what                       call                                                             status
    const rows: readonly (readonly [string, Call, number])[] = [
      ['a GET', { path: '/loads/car/set' }, 404],
      ['no Origin', { method: 'POST', headers: { 'content-type': 'application/json' } }, 403],
      ['another Origin', { method: 'POST', headers: { ...good, origin: 'http://evil.example' } }, 403],
      ['an opaque Origin', { method: 'POST', headers: { ...good, origin: 'null' } }, 403],
      ['another port', { method: 'POST', headers: { ...good, origin: 'http://127.0.0.1:1' } }, 403],
      ['a cross-site fetch', { method: 'POST', headers: { ...good, 'sec-fetch-site': 'cross-site' } }, 403],
      ['a form', { method: 'POST', headers: { ...good, 'content-type': 'text/plain' } }, 400],
      ['no JSON', { method: 'POST', headers: good, body: 'on' }, 400],
      ['a list', { method: 'POST', headers: good, body: '[]' }, 400],
      ['a long body', { method: 'POST', headers: good, body: JSON.stringify({ command: 'x'.repeat(2_000) }) }, 400],
      ['PUT', { method: 'PUT', headers: good }, 405],
      ['a path out of the tree', { method: 'POST', path: '/loads/..%2f..%2fx/set', headers: good }, 404],
    ];
    for (const [what, one, status] of rows) {
      const answer = await call(house, { path: '/loads/car/set', body: one.method ? OVERRIDE : '', ...one });
      expect([what, answer.status]).toEqual([what, status]);
    }
    expect(house.commands).toEqual([]);
  });

  it('is refused with the sentence of the agent', async () => {
    const house = await startHouse();
    const body = '{"command":"override","level":"sideways"}';
    const answer = await call(house, { method: 'POST', path: '/loads/car/set', headers: own(house), body });
    expect(answer.status).toBe(409);
    expect(JSON.parse(answer.text).message).toContain('expected on, off or auto');
  });
});

describeWithMosquitto('clients that are slow or hostile', () => {
  it('are cut off, while the others are answered', async () => {
    const house = await startHouse();
    const sockets = Array.from({ length: 40 }, () => connect(house.port, '127.0.0.1'));
    const closed = sockets.map(
      (socket) =>
        new Promise<void>((resolve) => {
          socket.on('error', () => {});
          socket.on('close', () => resolve());
          socket.write('GET / HTTP/1.1\r\nHost: 127.0');
        }),
    );
    expect((await call(house, {})).status).toBe(200);
    await Promise.all(closed);
  });

  it('are cut off when they watch and never read', async () => {
    let publish: ((changed: Readonly<Record<string, unknown>>) => void) | undefined;
    let isCutOff = false;
    const watch = (onChange: (changed: Readonly<Record<string, unknown>>) => void) => {
      publish = onChange;
      return () => {
        isCutOff = true;
      };
    };
    const page = createPageServer({ ...IDLE, watch });
    stopAfterTest({ stop: () => page.close() });
    const { port } = await page.listen(0, '127.0.0.1');
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    stopAfterTest({ stop: async () => void socket.destroy() });
    socket.write('GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    while (!isCutOff) {
      publish?.({ forecast: 'x'.repeat(50_000) });
      await new Promise((resume) => setImmediate(resume));
    }
  });

  it('get an answer to anything, and the page goes on', async () => {
    const house = await startHouse();
    const pieces = [
      '..',
      '%2e%2e',
      '%00',
      'loads',
      'set',
      '__proto__',
      'constructor',
      'a'.repeat(3_000),
      '?x=<script>',
      'index.html',
    ];
    const statuses = new Set<number>();
    for (let i = 0; i < 300; i++) {
      const path = `/${pieces[i % pieces.length]}/${pieces[(i * 7 + 3) % pieces.length]}`;
      statuses.add((await call(house, { path, method: i % 3 === 0 ? 'POST' : 'GET' })).status);
    }
    expect([...statuses].sort()).toEqual([200, 403, 404]);
    expect((await call(house, {})).status).toBe(200);
  });
});

describeWithMosquitto('the documents', () => {
  it('are those of the broker', async () => {
    const house = await startHouse();
    const documents = await waitForDocuments(house, 'loads/car');
    expect(documents['loads/car']).toMatchObject({ level: 'on', text: 'index 21: clean enough to run' });
    expect(documents.page).toMatchObject({ device: 'cellar', link: 'online' });
  });

  it('are metrics too', async () => {
    const house = await startHouse();
    await waitForDocuments(house, 'health');
    const { text, headers } = await call(house, { path: '/metrics' });
    expect(headers['content-type']).toContain('application/openmetrics-text');
    expect(text).toContain('gridtide_load_running{load="car"} 1\n');
    expect(text).toContain('gridtide_healthy{part="service"} 1\n');
    expect(text.endsWith('# EOF\n')).toBe(true);
  });

  it('are what a parser of Prometheus reads, with names and labels of any letters', () => {
    const text = formatOpenMetrics({
      availability: 'online',
      signal: { index: 21.5, rate: 583.4, units: 'lb/MWh' },
      'loads/ca"r\\': { running: true, powerKw: 7.2, nextStart: '2026-03-01T20:00:00+00:00' },
      totals: {
        loads: { car: { all: { energyKwh: 4, kg: 1, savedKg: -0.5, bill: { currency: 'EUR', paid: 1.25 } } } },
      },
    });
    const families = new Map(parsePrometheusTextFormat(text).map((family) => [family.name, family]));
    const read = (name: string) => families.get(name)?.metrics;
    expect(read('gridtide_up')).toEqual([{ value: '1' }]);
    expect(read('gridtide_rate')).toEqual([{ value: '583.4', labels: { unit: 'lb/MWh' } }]);
    expect(read('gridtide_load_running')).toEqual([{ value: '1', labels: { load: 'ca"r\\' } }]);
    expect(read('gridtide_load_next_start_seconds')).toEqual([{ value: '1772395200', labels: { load: 'ca"r\\' } }]);
    expect(read('gridtide_saved_kilograms')).toEqual([{ value: '-0.5', labels: { load: 'car' } }]);
    expect(read('gridtide_paid')).toEqual([{ value: '1.25', labels: { load: 'car', currency: 'EUR' } }]);
    expect(families.get('gridtide_energy_kilowatthours_total')?.metrics).toEqual([
      { value: '4', labels: { load: 'car' } },
    ]);
    // OpenMetrics names a counter without the ending of its samples, which this parser of the older text does not know.
    const named = [...families.values()].filter(({ name }) => !name.endsWith('_total'));
    expect(named.filter(({ help, type }) => help === '' || type === '')).toEqual([]);
  });

  it('of a house of which nothing is known are metrics as well', () =>
    expect(formatOpenMetrics({})).toBe(
      '# TYPE gridtide_up gauge\n# HELP gridtide_up Whether the agent is online.\ngridtide_up 0\n# EOF\n',
    ));
});

describe('the forecast for other programs', () => {
  const document = {
    ...{ from: '2026-03-01T20:05:00+00:00', periodSeconds: 300, units: 'lb/MWh' },
    values: [1_000, 500, ...Array.from({ length: 12 }, () => 1_000), null, ...Array.from({ length: 12 }, () => 2_000)],
  };
  it("is a list of quarters of an hour in g/kWh, as evcc's custom tariff reads it", () => {
    const list = buildEvccForecast(document);
    expect(list.slice(0, 2)).toEqual([
      { start: '2026-03-01T20:00:00+00:00', end: '2026-03-01T20:15:00+00:00', value: 340.2 },
      { start: '2026-03-01T20:15:00+00:00', end: '2026-03-01T20:30:00+00:00', value: 453.6 },
    ]);
    expect(list.every(({ start, end }) => Date.parse(end) - Date.parse(start) === 900_000)).toBe(true);
    // The quarter with the gap is left out.
    expect(list.map(({ start }) => start.slice(11, 16))).not.toContain('21:15');
  });
  it('is hourly price data, as the strategy nodes of power-saver read it', () =>
    expect(buildPowerSaverForecast({ ...document, units: 'g/kWh' })).toEqual({
      priceData: [{ value: 954.5, start: '2026-03-01T20:00:00+00:00', end: '2026-03-01T21:00:00+00:00' }],
    }));
  it('is empty for a signal that is no mass of CO2, and before the first forecast', () => {
    expect(buildEvccForecast({ ...document, units: 'stretched-percentile' })).toEqual([]);
    expect(buildEvccForecast(undefined)).toEqual([]);
    expect(buildPowerSaverForecast(null)).toEqual({ priceData: [] });
  });
});

describe('the runs of the past', () => {
  const at = (minute: number) => new Date(Date.UTC(2026, 2, 1) + minute * 60_000).toISOString();
  const record = (...steps: readonly (readonly [number, boolean])[]) => {
    let runs: unknown;
    const tracker = createRunTracker((all) => {
      runs = all;
    });
    for (const [minute, running] of steps) tracker.record('loads/car', { time: at(minute), running });
    return (runs as { car?: { from: number; to?: number }[] } | undefined)?.car?.map(({ from, to }) => [
      (from - Date.UTC(2026, 2, 1)) / 60_000,
      to === undefined ? undefined : (to - Date.UTC(2026, 2, 1)) / 60_000,
    ]);
  };
  //  documents                                           runs
  it.each([
    [
      [
        [0, true],
        [30, false],
      ],
      [[0, 30]],
    ],
    [
      [
        [0, true],
        [10, true],
        [30, false],
        [60, true],
      ],
      [
        [0, 30],
        [60, undefined],
      ],
    ],
    [
      [
        [0, true],
        [30, false],
        [31, true],
        [40, false],
      ],
      [[0, 40]],
    ],
    [[[0, false]], undefined],
  ] as const)('%j are the runs %j', (steps, runs) => expect(record(...steps)).toEqual(runs));
});

describe('the shape of a region', () => {
  const house = { latitude: 40 as Latitude, longitude: 10 as Longitude };
  const disc = async ({ latitude, longitude }: Place) =>
    Math.hypot(latitude - 42, longitude - 11) < 5 ? 'DISC' : latitude < 30 ? 'SOUTH' : undefined;

  it('fills its frame, and holds the house', async () => {
    const outline = await drawRegion(house, disc);
    if (outline === undefined) throw new Error('nothing is drawn');
    const boxes = [...outline.path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g)].map(([, ...numbers]) =>
      numbers.map(Number),
    );
    const area = boxes.reduce((sum, [, , width = 0]) => sum + width, 0) / (outline.width * outline.height);
    // A disc takes 0.785 of the square around it, less the margin.
    expect(area).toBeGreaterThan(0.6);
    expect(area).toBeLessThan(0.785);
    const [x = 0, y = 0] = outline.house;
    expect(boxes.some(([from = 0, row, width = 0]) => row === Math.floor(y) && from <= x && x < from + width)).toBe(
      true,
    );
    expect(outline.path.length).toBeLessThan(5_000);
  });

  it('is none where the house lies in no region', async () =>
    expect(await drawRegion({ ...house, latitude: 60 as Latitude }, disc)).toBeUndefined());
});

describe('gridtide page', () => {
  //  arguments                                      what it says
  it.each([
    [['--listen', '0.0.0.0:7080'], '--listen 0.0.0.0:7080: beyond this machine the page needs a password'],
    [['--listen', '7080'], '--listen 7080: expected an address and a port, such as 127.0.0.1:7080'],
    [['--listen', '127.0.0.1:99999'], 'expected an address and a port'],
    [['--password-file', '/nowhere'], '--password-file /nowhere: it cannot be read'],
  ])('%j is wrong use', async (argv, sentence) => {
    const { code, err } = await runCommand(command, argv);
    expect(code).toBe(2);
    expect(err).toContain(sentence);
  });

  it('says who has its port', async () => {
    const server = createServer();
    stopAfterTest({ stop: () => new Promise<void>((resolve) => void server.close(() => resolve())) });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const page = { listen: (wanted: number, host: string) => createPageServer(IDLE).listen(wanted, host) };
    await expect(listenForPage(page, `127.0.0.1:${port}`, false)).rejects.toThrow(
      `the page cannot listen on 127.0.0.1:${port}: another program listens there; choose another address with --listen`,
    );
  });
});

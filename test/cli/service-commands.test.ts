/** The commands account, signal and v1 as a person at a terminal meets them, against a service on loopback. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as account from '../../src/cli/service/account.ts';
import * as signal from '../../src/cli/service/signal.ts';
import * as v1 from '../../src/cli/service/v1.ts';
import type { CommandModule } from '../../src/cli/shared/command.ts';
import { createReferenceService, type ReferenceService } from '../../src/reference/reference-service.ts';
import { isPublished, PROFILE } from '../contract/profile-under-test.ts';
import { createCertificate } from '../doubles/certificate.ts';
import { runCommand } from '../doubles/run-command.ts';
import { afterTest } from '../doubles/stop-after-test.ts';

const NOW = Date.parse('2026-06-10T18:02:30Z');
const PASSWORD = 'pass-word1';

let folder = '';
let url = '';
let reference: ReferenceService;
const file = (name: string) => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gridtide-service-'));
  const accounts = (['free', 'pro'] as const).map((plan) => ({ username: plan, password: PASSWORD, plan }));
  reference = await createReferenceService({ seed: 7, accounts, profile: PROFILE, clock: () => NOW });
  ({ url } = await reference.listen());
  await writeFile(file('user'), 'pro\n');
  await writeFile(file('password'), `${PASSWORD}\n`, { mode: 0o600 });
  const config = [
    'device: cellar',
    'place: {latitude: 39.7522, longitude: -105, timezone: America/Denver}',
    `service: {url: "${url}", usernameFile: user, passwordFile: password}`,
    'loads:',
    '  car: {type: ev, output: {kind: dry-run}, powerKw: 7.2}',
  ];
  await writeFile(file('config.yaml'), config.join('\n'));
});
afterAll(async () => {
  await reference.close();
  await rm(folder, { recursive: true });
});

/** The words of a command line after `gridtide`, as the account `pro` by environment unless said otherwise. */
function run(command: CommandModule, line: string, env: Readonly<Record<string, string>> = {}) {
  const account = { GRIDTIDE_URL: url, GRIDTIDE_USERNAME: 'pro', GRIDTIDE_PASSWORD: PASSWORD };
  return runCommand(command, line.split(' ').filter(Boolean), { env: { HOME: folder, ...account, ...env } });
}

const jsonOf = async (command: CommandModule, line: string) => JSON.parse((await run(command, line)).out);

describe('where service and account come from', () => {
  it('files', async () => {
    const line = `now --region PSCO --url ${url} --username-file ${file('user')} --password-file ${file('password')}`;
    const { code, out } = await runCommand(signal, line.split(' '), { env: { HOME: folder } });
    expect([code, out.includes('index')]).toEqual([0, true]);
  });

  it('the configuration, whose relative paths start at its own directory', async () => {
    const { code, out } = await runCommand(signal, ['now', '--config', file('config.yaml')], { env: { HOME: folder } });
    expect([code, out.split(' ')[0]]).toEqual([0, 'PSCO']);
  });

  it('over TLS with the authority of --ca, and not without', async () => {
    const tls = createCertificate();
    await writeFile(file('ca.pem'), tls.cert);
    const accounts = [{ username: 'pro', password: PASSWORD, plan: 'pro' as const }];
    const own = await createReferenceService({ seed: 7, accounts, profile: PROFILE, clock: () => NOW, tls });
    try {
      const { url } = await own.listen();
      expect((await run(signal, `now --region PSCO --url ${url} --ca ${file('ca.pem')}`)).code).toBe(0);
      const refused = await run(signal, `now --region PSCO --url ${url}`);
      expect([refused.code, /signed by an unknown authority/.test(refused.err)]).toEqual([1, true]);
      const unsafe = await run(signal, `now --region PSCO --url ${url.replace('https', 'http')}`);
      expect([unsafe.code, /closed the connection without an answer/.test(unsafe.err)]).toEqual([1, true]);
    } finally {
      await own.close();
    }
  });

  it('https asked of plain HTTP is told as that, and not as a certificate', async () => {
    const { code, err } = await run(account, `login --url ${url.replace('http', 'https')}`);
    expect(err).toBe(
      'the service could not be reached: the server does not use TLS (ERR_SSL_WRONG_VERSION_NUMBER); check the port, and https:// in the address',
    );
    expect(code).toBe(1);
  });

  it('no password is taken from the command line', async () => {
    for (const command of [account, signal, v1])
      expect(Object.keys(command.spec.options).filter((name) => name === 'password')).toEqual([]);
    expect((await run(account, 'login --password x')).code).toBe(2);
  });

  //  what is wrong                       command line                          exit  words
  const rows: readonly (readonly [string, CommandModule, string, Readonly<Record<string, string>>, number, RegExp])[] =
    [
      ['no service', account, 'login', { GRIDTIDE_URL: '' }, 2, /the address of the service is missing/],
      ['no address', account, 'login --url here', {}, 2, /--url: "here" is not an address such as/],
      ['no address in the environment', account, 'login', { GRIDTIDE_URL: 'here' }, 2, /^\$GRIDTIDE_URL: "here" is/],
      ['a port without a scheme', account, 'login --url localhost:8080', {}, 2, /is not an address such as https/],
      [
        'a password in the address',
        account,
        'login --url http://u:p@127.0.0.1',
        {},
        2,
        /contains credentials; remove them/,
      ],
      ['a query in the address', account, 'login --url http://127.0.0.1?x=1', {}, 2, /has a query/],
      ['no authority in --ca', account, `login --ca ${import.meta.filename}`, {}, 2, /holds no certificate/],
      ['no password', account, 'login', { GRIDTIDE_PASSWORD: '' }, 2, /the password of pro is missing/],
      // 2026-11: a login beside three requests threw where nothing could catch it, and the process ended with a stack.
      [
        'no password for a range',
        signal,
        'history --region PSCO --start 2026-06-01',
        { GRIDTIDE_PASSWORD: '' },
        2,
        /the password of pro is missing/,
      ],
      ['no user name', v1, 'datapoints', { GRIDTIDE_USERNAME: '' }, 2, /a password without a user name/],
      ['neither', account, 'login', { GRIDTIDE_USERNAME: '', GRIDTIDE_PASSWORD: '' }, 1, /nothing was sent; give both/],
      ['plain http elsewhere', account, 'login --url http://192.0.2.1', {}, 2, /in clear; write https/],
      [
        'nobody there',
        account,
        'login --url http://127.0.0.1:1',
        {},
        1,
        /could not be reached: connection refused; check/,
      ],
      ['no file', account, `login --password-file ${tmpdir()}/none`, {}, 2, /cannot be read/],
      ['wrong password', account, 'login', { GRIDTIDE_PASSWORD: 'wrong-1x' }, 1, /rejected the credentials/],
      ['no action', account, '', {}, 2, /register, login, reset-password, access/],
      ['another action', signal, 'tomorrow', {}, 2, /now, forecast, history, past-forecasts, index/],
      ['one of a prototype', v1, 'constructor', {}, 2, /token, authorities, datapoints, marginal/],
      ['two shapes at once', signal, 'forecast --region PSCO --json --csv', {}, 2, /one of them/],
      ['no region', signal, 'forecast', {}, 2, /the region is missing/],
      ['half a place', signal, 'forecast --latitude 39', {}, 2, /longitude is missing/],
      ['no place on earth', signal, 'forecast --latitude 139 --longitude 1', {}, 2, /139/],
      ['open sea', signal, 'forecast --latitude 0 --longitude 0', {}, 1, /no region/],
      ['no start', signal, 'history --region PSCO', {}, 2, /--start is missing/],
      ['no time', signal, 'history --region PSCO --start yesterday', {}, 2, /expected a time with a zone/],
      ['a time without a zone', signal, 'history --region PSCO --start 2026-01-01T00:00', {}, 2, /zone/],
      ['a start to come', signal, 'history --region PSCO --start 2101-01-01', {}, 2, /is in the future; give --end/],
      ['end before start', signal, 'history --region PSCO --start 2026-02-01 --end 2026-01-01', {}, 2, /is before/],
      ['a horizon too far', signal, 'forecast --region PSCO --horizon-hours 73', {}, 2, /0 to 72/],
      ['a signal unheard of', signal, 'forecast --region PSCO --signal-type co3', {}, 2, /co2_moer/],
      [
        'a plan without it',
        signal,
        'forecast --region PSCO',
        { GRIDTIDE_USERNAME: 'free' },
        1,
        /plan does not include/,
      ],
      ['a weak password', account, 'register --username n --email a@b.example', { GRIDTIDE_PASSWORD: 'short' }, 2, /8/],
      ['no e-mail', account, 'register --username n', {}, 2, /--email/],
      [
        'no such file',
        signal,
        'index --forecast /nowhere.json',
        {},
        1,
        /there is no such file; gridtide signal forecast/,
      ],
      [
        'a file for another action',
        signal,
        'now --forecast x.json',
        {},
        2,
        /--forecast is an option of index; signal now/,
      ],
      [
        'a range for what is now',
        signal,
        'now --region PSCO --start 2026-01-01',
        {},
        2,
        /--start is an option of history, past-/,
      ],
      [
        'a model of the index',
        signal,
        'index --region PSCO --model 2026-03-01',
        {},
        2,
        /--model is an option of now, forecast/,
      ],
      ['a marker of forecasts', signal, 'past-forecasts --include-imputed-marker', {}, 2, /is an option of history/],
      ['a moment of the live index', signal, 'index --region PSCO --at 2026-01-01', {}, 2, /--at needs --forecast/],
      ['the table of a list', v1, 'authorities --csv', {}, 2, /--csv is an option of datapoints, marginal/],
      ['an address for a login', account, 'login --email a@b.example', {}, 2, /--email is an option of register/],
    ];
  it.each(rows)('%s', async (_, command, line, env, exit, words) => {
    const { code, err, out } = await run(command, line, env);
    expect(err).toMatch(words);
    expect([code, out]).toEqual([exit, '']);
    expect(err).not.toContain(PASSWORD);
  });
});

describe('gridtide account', () => {
  it('registers, logs in, resets, tells the access', async () => {
    const registered = await run(account, 'register --username new --email new@example.org --json');
    expect(JSON.parse(registered.out)).toEqual({ ok: 'User created', user: 'new' });
    expect((await run(account, 'login', { GRIDTIDE_USERNAME: 'new' })).code).toBe(0);
    expect((await run(account, 'reset-password --username new')).out).toMatch(/\w/);
    expect(await jsonOf(account, 'access --region PSCO --signal-type co2_moer --json')).toMatchObject({
      signal_types: [
        {
          signal_type: 'co2_moer',
          regions: [
            {
              region: 'PSCO',
              region_full_name: 'Public Service Co of Colorado',
              data_point_period_seconds: 300,
              endpoints: expect.arrayContaining([
                {
                  endpoint: 'v3/forecast',
                  models: expect.arrayContaining([
                    {
                      model: '2026-03-01',
                      type: expect.any(String),
                      data_start: '2019-01-01',
                      data_end: '2026-06-10',
                      train_start: expect.stringMatching(/^2/),
                      train_end: expect.stringMatching(/^2/),
                    },
                  ]),
                },
              ]),
            },
          ],
        },
      ],
    });
    expect((await run(account, 'access --region PSCO')).out).toMatch(
      /^signal +region +endpoints +data models +name\nco2_moer +PSCO +forecast/,
    );
  });

  it('prints a token only when JSON is asked for', async () => {
    const { token } = await jsonOf(account, 'login --json');
    expect(token.length).toBeGreaterThan(20);
    expect((await run(account, 'login')).out).not.toMatch(/[\w-]{25,}/);
  });
});

describe('--json of what the service says', () => {
  const RANGE = '--region PSCO --start 2026-05-01 --end 2026-05-01T00:10:00Z';
  //  command          line
  const rows: readonly (readonly [CommandModule, string])[] = [
    [account, 'login'],
    [account, 'access --region PSCO'],
    [signal, 'now --region PSCO'],
    [signal, 'index --region PSCO'],
    [signal, 'forecast --region PSCO'],
    [signal, `history ${RANGE} --include-imputed-marker`],
    [signal, `past-forecasts ${RANGE}`],
    [v1, 'token'],
    [v1, 'authorities --latitude 38.5 --longitude -122'],
    [v1, 'datapoints --ba CAISO --page-size 1'],
    [v1, 'marginal --ba CAISO --page-size 1'],
  ];
  const namesOf = (value: unknown): string[] =>
    typeof value !== 'object' || value === null
      ? []
      : Array.isArray(value)
        ? value.flatMap(namesOf)
        : Object.entries(value).flatMap(([name, inner]) => [name, ...namesOf(inner)]);
  it.each(rows.map(([command, line]) => [command.spec.name, line, command] as const))(
    '%s %s is in the names of the interface',
    async (_, line, command) => {
      const names = new Set(namesOf(await jsonOf(command, `${line} --json`)));
      expect(names.size).toBeGreaterThan(0);
      // gen_MW is the one name of the interface with capitals.
      expect([...names].filter((name) => name !== 'gen_MW' && !/^[a-z0-9_]+$/.test(name))).toEqual([]);
    },
  );
});

describe('gridtide signal', () => {
  it('now: index and rate, each with its unit', async () => {
    const now = await jsonOf(signal, 'now --region PSCO --json');
    expect(now).toMatchObject({
      region: 'PSCO',
      index: { units: 'percentile', point_time: '2026-06-10T18:00:00+00:00' },
      rate: { units: 'lbs_co2_per_mwh', point_time: '2026-06-10T18:00:00+00:00' },
    });
    const free = await run(signal, 'now --region PSCO', { GRIDTIDE_USERNAME: 'free' });
    expect(free.out).toMatch(/index .*\nno rate: .*plan/);
    expect(free.code).toBe(0);
  });

  it('now: a model is asked of the rate alone', async () => {
    const { code, out } = await run(signal, 'now --region PSCO --model 2025-03-01');
    expect([code, out]).toEqual([0, expect.stringMatching(/\nindex [\d.]+ of 100 .*\nno rate for now\n$/)]);
  });

  it('now: as much as there is of another signal', async () => {
    const damage = '--signal-type health_damage --region PSCO';
    expect((await run(signal, `now ${damage}`)).out).toMatch(
      /\nno index: only co2_moer has one\nrate [\d.]+ usd_per_mwh/,
    );
    expect(await jsonOf(signal, `now ${damage} --json`)).toMatchObject({ index: null, rate: { units: 'usd_per_mwh' } });
    expect((await run(signal, 'now --signal-type co2_aoer --region CAISO')).code).toBe(1);
  });

  it('a model that makes no new data is said beside the data as well', async () => {
    for (const shape of ['--json', '--csv', '']) {
      const { out, err, code } = await run(signal, `forecast --region PSCO --model 2025-03-01 ${shape}`);
      expect([code, `${out}${err}`.includes('does this model still publish data?')]).toEqual([0, true]);
      expect(out.includes('does this')).toBe(shape === '');
    }
  });

  it('forecast: the envelope of the interface, CSV, or a table under a chart', async () => {
    const document = await jsonOf(signal, 'forecast --region PSCO --horizon-hours 72 --json');
    expect(document.data).toHaveLength(864);
    expect(document.meta).toMatchObject({
      region: 'PSCO',
      units: 'lbs_co2_per_mwh',
      data_point_period_seconds: 300,
      generated_at: '2026-06-10T18:00:00+00:00',
      model: { date: '2026-03-01' },
    });
    const csv = await run(signal, 'forecast --region PSCO --csv');
    expect(csv.out.split('\n').slice(0, 2)).toEqual([
      'time,value',
      expect.stringMatching(/^2026-06-10T18:00:00\+00:00,/),
    ]);
    expect(csv.err).toBe('values in lbs_co2_per_mwh\n');
    const table = (await run(signal, 'forecast --region CAISO_NORTH')).out.split('\n');
    expect(table[0]).toBe('CAISO_NORTH co2_moer in lbs_co2_per_mwh, model 2026-03-01; times in UTC');
    expect(table.some((line) => /[▁▂▃▄▅▆▇█]{5}/.test(line))).toBe(true);
    expect(table.every((line) => line.length <= 80)).toBe(true);
    expect(table.filter((line) => /^2026-06-1\d \d\d:00 /.test(line)).length).toBeGreaterThan(23);
  });

  it('history of any length is one document, without a repeated point', async () => {
    const line = 'history --region PSCO --start 2026-01-01 --end 2026-04-01T00:00:00Z';
    const { out, err } = await run(signal, `${line} --json`);
    const { data, meta } = JSON.parse(out);
    expect(data).toHaveLength(90 * 288 + 1);
    expect(new Set(data.map(({ point_time }: { point_time: string }) => point_time)).size).toBe(data.length);
    expect(meta).toMatchObject({ units: 'lbs_co2_per_mwh', model: { type: expect.any(String) } });
    expect(err).toMatch(/100 % read, 3 requests/);
    const csv = await run(signal, `${line} --csv`);
    expect(csv.out.split('\n')).toHaveLength(90 * 288 + 3);
    expect((await run(signal, line)).out).toMatch(/2026-03-01 00:00 .* 8928\n/);
  });

  it('a range that fails in the middle prints where the rest begins, and the rest completes it', async () => {
    const line = 'history --region PSCO --end 2026-06-01 --chunk 10d --in-flight 1 --csv';
    reference.setFaults([{ fault: 'wrong-region', path: '/v3/historical', skip: 2 }]);
    afterTest(async () => reference.setFaults([]));
    const broken = await run(signal, `${line} --start 2026-05-01`);
    expect([broken.code, broken.err]).toEqual([
      1,
      expect.stringContaining('the rest begins at --start 2026-05-21T00:00:00+00:00\n'),
    ]);
    expect(broken.err).toContain('60 % read, 2 requests, up to 2026-05-21 00:00\n');
    reference.setFaults([]);
    const rest = await run(signal, `${line} --start 2026-05-21T00:00:00+00:00`);
    const rows = [...broken.out.trim().split('\n'), ...rest.out.trim().split('\n').slice(1)];
    expect(rows).toEqual((await run(signal, `${line} --start 2026-05-01`)).out.trim().split('\n'));
    const wrong = await run(signal, `${line.replace('--chunk 10d', '--chunk 10')} --start 2026-05-01`);
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('--chunk 10: expected a duration')]);
  });

  it('says how many points are missing, in a forecast and in a history', async () => {
    reference.setFaults([{ fault: 'missing-points' }]);
    afterTest(async () => reference.setFaults([]));
    const forecast = await run(signal, 'forecast --region PSCO --csv');
    const points = forecast.out.trim().split('\n').length - 1;
    expect(points).toBeLessThan(288);
    expect(forecast.err).toContain(`the forecast has ${points} of 288 points; the rest is missing`);
    const history = await run(signal, 'history --region PSCO --start 2026-05-01 --end 2026-05-02 --csv');
    const times = history.out
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => Date.parse(line.split(',')[0] ?? ''));
    const all = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 300_000 + 1;
    expect(all - times.length).toBeGreaterThan(0);
    expect(history.err).toContain(`${all - times.length} points missing between the first and the last`);
  });

  it('history tells marks and changes when asked', async () => {
    const line = 'history --region PSCO --start 2026-05-01 --end 2026-05-01T00:10:00Z';
    const marked = await run(signal, `${line} --include-imputed-marker --csv`);
    expect(marked.out.split('\n')[0]).toBe('time,value,last_updated,imputed_data_used');
    expect(marked.out.split('\n')[1]).toMatch(
      isPublished
        ? /^2026-05-01T00:00:00\+00:00,[\d.]+,,(true|false)$/
        : /^2026-05-01T00:00:00\+00:00,[\d.]+,2026-\S+,(true|false)$/,
    );
    const nothing = await run(signal, `${line} --updated-since 2026-06-10T18:02:30Z`);
    expect(nothing.out).toMatch(/times in UTC\n\nno values in this range\n$/);
    const month = 'history --region PSCO --start 2026-05-01 --end 2026-05-31T23:55Z --include-imputed-marker';
    const { data } = await jsonOf(signal, `${month} --json`);
    const imputed = data.filter((point: { imputed_data_used: boolean }) => point.imputed_data_used).length;
    expect(imputed).toBeGreaterThan(0);
    const table = (await run(signal, month)).out.split('\n');
    expect(table[2]).toMatch(/points {2}imputed$/);
    const days = table.filter((row) => /^2026-05/.test(row));
    expect(days).toHaveLength(31);
    expect(days.reduce((sum, row) => sum + Number(row.trim().split(/ +/).at(-1)), 0)).toBe(imputed);
  });

  it('past forecasts: each with its generation', async () => {
    const line = 'past-forecasts --region PSCO --start 2026-05-01 --end 2026-05-01T00:10:00Z --horizon-hours 1';
    const { data } = await jsonOf(signal, `${line} --json`);
    expect(data.map((entry: { generated_at: string; forecast: unknown[] }) => entry.forecast.length)).toEqual([
      12, 12, 12,
    ]);
    const csv = await run(signal, `${line} --csv`);
    expect(csv.out.split('\n')[0]).toBe('generated_at,time,value');
    expect(csv.out.trim().split('\n')).toHaveLength(1 + 36);
    expect((await run(signal, line)).out).toMatch(/3 forecasts\n$/);
  });

  it('a range that breaks off is still a whole document, and a failed job', async () => {
    reference.setFaults([{ fault: 'wrong-units', path: '/v3/historical', skip: 1 }]);
    const { code, out, err } = await run(
      signal,
      'history --region PSCO --start 2026-01-01 --end 2026-04-01 --json --in-flight 1',
    );
    reference.setFaults([]);
    expect(JSON.parse(out).data).toHaveLength(32 * 288);
    expect([code, err.includes('meta.units is kg_co2_per_mwh')]).toEqual([1, true]);
  });

  it('a range that has to wait says so once, not for each request that waits, and ends when stopped', async () => {
    reference.setFaults([{ fault: '429', value: 600, path: '/v3/historical' }]);
    const stop = new AbortController();
    const env = { HOME: folder, GRIDTIDE_URL: url, GRIDTIDE_USERNAME: 'pro', GRIDTIDE_PASSWORD: PASSWORD };
    const line = 'history --region PSCO --start 2026-01-01 --end 2026-06-01 --csv';
    const reading = runCommand(signal, line.split(' '), { env, stop: stop.signal, onStderr: () => stop.abort() });
    const { code, err } = await reading;
    reference.setFaults([]);
    expect(err).toMatch(/^waiting 6\d\d s: too many requests\nstopped before the service answered$/);
    expect(code).toBe(1);
  });

  it('index from a saved forecast agrees with the service', async () => {
    const forecast = await run(signal, 'forecast --region CAISO_NORTH --json');
    await writeFile(file('forecast.json'), forecast.out);
    const at = '--at 2026-06-10T18:02:30Z';
    const own = await jsonOf(signal, `index --forecast ${file('forecast.json')} ${at} --json`);
    const live = await jsonOf(signal, 'index --region CAISO_NORTH --json');
    expect(own).toMatchObject({ pointTime: '2026-06-10T18:00:00+00:00', pool: 288, quality: 'full' });
    expect(own.mid).toBeCloseTo(live.data[0].value, 6);
    expect(own.strict).toBeLessThanOrEqual(own.mid);
    expect(own.weak).toBeGreaterThanOrEqual(own.mid);
    expect((await run(signal, `index --forecast ${file('forecast.json')} ${at}`)).out).toMatch(/288 values \(full\)/);
    const late = await run(signal, `index --forecast ${file('forecast.json')} --at 2026-06-11T18:00:00Z --json`);
    expect(JSON.parse(late.out)).toMatchObject({ mid: null, pool: 0, quality: 'none' });
    expect(late).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^no index at 2026-06-11 18:00: the file has 0/),
    });
  });
});

describe('gridtide v1', () => {
  it('token, authorities, data points and marginal', async () => {
    expect((await jsonOf(v1, 'token --json')).token).toMatch(/^[0-9a-f]{40}$/);
    expect((await run(v1, 'authorities --latitude 38.5 --longitude -122')).out).toMatch(/^CAISO /);
    expect((await run(v1, 'authorities --loc POINT(0,0)')).code).toBe(1);
    const range = '--ba CAISO --market RT5M --start-at 2026-06-10T16:00:00Z --end-at 2026-06-10T17:00:00Z';
    const first = await jsonOf(v1, `datapoints ${range} --json`);
    expect(first).toMatchObject({ count: 13, next: expect.stringMatching(/^http.*page=2/), results: { length: 12 } });
    expect(first.previous).toBeNull();
    const last = await jsonOf(v1, `datapoints ${range} --page 2 --json`);
    expect([last.next, last.previous, last.results.length]).toEqual([null, expect.stringMatching(/^http/), 1]);
    const before = reference.counts().requests;
    const all = await run(v1, `datapoints ${range} --all --page-size 5 --json`);
    expect(JSON.parse(all.out).results).toHaveLength(13);
    expect(Object.keys(JSON.parse(all.out))).toEqual(['count', 'results']);
    expect(all.err).toBe('5 of 13 points read\n10 of 13 points read\n13 of 13 points read\n');
    // The token and three pages; with a page size of its own, one.
    expect(reference.counts().requests - before).toBe(4);
    expect((await run(v1, `datapoints ${range} --all --json`)).err).toBe('');
    expect(reference.counts().requests - before).toBe(6);
    expect(await run(v1, 'datapoints --ba NOWHERE --csv')).toMatchObject({
      code: 0,
      out: 'time,ba,market,freq,carbon,genmix\n',
      err: expect.stringMatching(/no data in this range/),
    });
    const csv = await run(v1, `marginal ${range} --page-size 5 --page 3 --csv`);
    expect(csv.out.trim().split('\n')).toHaveLength(1 + 3);
    expect(csv.out.split('\n')[0]).toBe('time,ba,market,freq,marginal_carbon,units,load,genmix');
  });

  it('visitors may look too', async () => {
    const { code, out } = await runCommand(v1, ['datapoints', '--ba', 'CAISO', '--page-size', '1'], {
      env: { GRIDTIDE_URL: url },
    });
    expect([code, out.trim().split('\n').length]).toEqual([0, 2]);
  });
});

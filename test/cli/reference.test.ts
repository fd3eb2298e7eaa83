/** `gridtide reference` as somebody types it: the first line, the flags, each mistake in a sentence, an end when told. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run, spec } from '../../src/cli/service/reference.ts';
import { JobError, type Terminal, UsageError } from '../../src/cli/shared/command.ts';
import { parseArguments } from '../../src/cli/shared/parse-arguments.ts';
import { basicAuthorization, encodeQuery, sendPlainRequest } from '../contract/plain-http.ts';
import { createCertificate } from '../doubles/certificate.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reference-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs the command until it listens, then hands over its address; ends it as a signal would. */
async function running(argv: readonly string[], use: (url: string) => Promise<void>): Promise<number> {
  const stop = new AbortController();
  let listening: (line: string) => void = () => {};
  const first = new Promise<string>((resolve) => {
    listening = resolve;
  });
  const terminal: Terminal = {
    out: (text) => listening(text),
    err: () => {},
    input: (async function* () {})(),
    env: {},
    interactive: false,
    showsProgress: false,
    columns: 80,
    stop: stop.signal,
  };
  const ended = run(parseArguments(spec, argv), terminal);
  const line = await Promise.race([first, ended.then((code) => `ended with ${code}`)]);
  try {
    await use(JSON.parse(line).listening);
  } finally {
    stop.abort();
  }
  return ended;
}

const refusedWith = async (argv: readonly string[]) => {
  try {
    await running(argv, async () => {});
  } catch (error) {
    if (error instanceof UsageError || error instanceof JobError) return error;
    throw error;
  }
  throw new Error('was not refused');
};

describe('gridtide reference', () => {
  it('listens, serves an account on its own clock, and ends with 0', async () => {
    const argv = ['--account', 'me:pass:word-1:analyst', '--now', '2026-06-10T00:00:00Z', '--speed', '0.001'];
    const code = await running(argv, async (url) => {
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
      const login = await sendPlainRequest(`${url}/login`, {
        headers: { authorization: basicAuthorization('me', 'pass:word-1') },
      });
      expect(login.headers.date).toBe('Wed, 10 Jun 2026 00:00:00 GMT');
      const headers = { authorization: `Bearer ${JSON.parse(login.text).token}` };
      expect((await sendPlainRequest(`${url}/v3/maps?signal_type=co2_aoer`, { headers })).status).toBe(200);
    });
    expect(code).toBe(0);
  });
  it('--new-plan makes what register gives', () =>
    running(['--new-plan', 'analyst'], async (url) => {
      const body = JSON.stringify({ username: 'me', password: 'pass-word1', email: 'me@example.org' });
      expect((await sendPlainRequest(`${url}/register`, { method: 'POST', body })).status).toBe(200);
      const login = await sendPlainRequest(`${url}/login`, {
        headers: { authorization: basicAuthorization('me', 'pass-word1') },
      });
      const headers = { authorization: `Bearer ${JSON.parse(login.text).token}` };
      expect((await sendPlainRequest(`${url}/v3/maps?signal_type=co2_aoer`, { headers })).status).toBe(200);
    }).then((code) => expect(code).toBe(0)));
  it('--faults by name, and --auth-errors html', () =>
    running(['--faults', '503', '--auth-errors', 'html'], async (url) => {
      expect((await sendPlainRequest(`${url}/login`)).status).toBe(503);
    }).then((code) => expect(code).toBe(0)));
  it('--profile published answers with pages, unless --auth-errors says otherwise', async () => {
    for (const [more, type] of [
      [[], /html/],
      [['--auth-errors', 'json'], /json/],
    ] as const)
      await running(['--profile', 'published', ...more], async (url) => {
        const { headers } = await sendPlainRequest(`${url}/login`);
        expect([headers['content-type'], headers['x-request-id']]).toEqual([expect.stringMatching(type), undefined]);
      });
  });
  it('the same seed and moment, the same answers', async () => {
    const answers: string[] = [];
    for (const seed of ['5', '5', '6'])
      await running(
        ['--seed', seed, '--now', '2026-06-10T00:00:00Z', '--speed', '0.001', '--account', 'me:pass-word1:pro'],
        async (url) => {
          const login = await sendPlainRequest(`${url}/login`, {
            headers: { authorization: basicAuthorization('me', 'pass-word1') },
          });
          const headers = { authorization: `Bearer ${JSON.parse(login.text).token}` };
          const moer = encodeQuery({ region: 'PSCO', signal_type: 'health_damage', horizon_hours: 72 });
          answers.push((await sendPlainRequest(`${url}/v3/forecast?${moer}`, { headers })).text);
        },
      );
    expect(answers[1]).toBe(answers[0]);
    expect(answers[2]).not.toBe(answers[0]);
  });
  it('--series without --now begins 9 days in, more files after it', async () => {
    const day = (n: number) => {
      const rows = Array.from({ length: 288 }, (_, i) => {
        const at = new Date(Date.UTC(2020, 2, n, 0, i * 5)).toISOString();
        return `${at},${i}`;
      });
      return ['time,value', ...rows].join('\n');
    };
    const files = Array.from({ length: 12 }, (_, i) => join(folder, `${i}.csv`));
    for (const [i, file] of files.entries()) await writeFile(file, day(i + 1));
    await running(['--units', 'lbs_co2_per_mwh', '--series', ...files], async (url) => {
      expect((await sendPlainRequest(`${url}/login`)).headers.date).toContain('10 Mar 2020');
    });
  });
  it('--tls-cert and --tls-key serve HTTPS', async () => {
    const { cert, key } = createCertificate();
    const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    await writeFile(certFile, cert);
    await writeFile(keyFile, key);
    await running(['--tls-cert', certFile, '--tls-key', keyFile, '--host', 'localhost'], async (url) => {
      // A certificate for a name alone fits no address.
      expect(url).toMatch(/^https:\/\/localhost:\d+$/);
      expect((await sendPlainRequest(`${url}/login`, { ca: cert })).status).toBe(401);
    });
  });
});

describe('mistakes', () => {
  //  typed                                       sentence
  const rows: readonly (readonly [readonly string[], RegExp])[] = [
    [['--port', '70000'], /--port 70000: expected a whole number within 0 to 65535/],
    [['--seed', 'x'], /--seed x: expected a whole number/],
    [['--speed', '0'], /--speed 0: expected a number within/],
    [['--now', 'noon'], /--now noon: expected a time with a zone/],
    [['--new-plan', 'gold'], /--new-plan gold: expected one of free, basic, analyst, pro/],
    [['--account', 'me:secret'], /--account: expected USER:PASSWORD:PLAN$/],
    [['--account', 'me:secret:gold'], /--account me: the plan is not one of free, basic/],
    [['--account', 'me:secret:pro', '--account', 'me:secret:free'], /--account me: the same name is given twice/],
    [['--profile', 'real'], /--profile real: expected one of specification, published/],
    [['--auth-errors', 'xml'], /--auth-errors xml: expected one of json, html/],
    [['--host', '0.0.0.0'], /--host 0\.0\.0\.0: only loopback is served without --tls-cert and --tls-key/],
    [['--tls-cert', 'c.pem'], /given together/],
    [
      ['--tls-cert', '/nowhere.pem', '--tls-key', '/nowhere.pem'],
      /--tls-cert \/nowhere\.pem: cannot be read \(ENOENT\)/,
    ],
    [['--tls-cert', import.meta.filename, '--tls-key', import.meta.filename], /not a PEM certificate and its key/],
    [['--tls-cert', '/dev/null', '--tls-key', '/dev/null'], /not a PEM certificate and its key/],
    [['--faults', 'rain'], /--faults rain: neither the name of a fault nor a file/],
    [['--series', '/nowhere.csv'], /--series: \/nowhere\.csv: cannot be read \(ENOENT\)/],
    [['more.csv'], /"more\.csv" is not expected without --series/],
    [['--region', 'PSCO'], /--region PSCO: names the region of a series; --series FILE is missing/],
    [['--units', 'lbs_co2_per_mwh'], /--units lbs_co2_per_mwh: names the unit of a series; --series FILE is missing/],
    [['--host', '127.0.0.1', '--port', '1.5'], /--port 1\.5: expected a whole number/],
  ];
  it.each(rows)('%j', async (argv, sentence) => {
    const error = await refusedWith(argv);
    expect(error).toBeInstanceOf(UsageError);
    expect(error.message).toMatch(sentence);
    expect(error.message).not.toContain('secret');
  });
  it('are told all at once', async () => {
    const error = await refusedWith(['--port', '-1', '--new-plan', 'gold', '--now', 'noon']);
    expect(error.message.split('\n')).toHaveLength(3);
  });
  it('a port in use is a failed job, with the cure', async () => {
    await running([], async (url) => {
      const { port } = new URL(url);
      const error = await refusedWith(['--port', port]);
      expect(error).toBeInstanceOf(JobError);
      expect(error.message).toBe(
        `port ${port} of 127.0.0.1 is in use by another program; choose another with --port, or --port 0 for any free one`,
      );
    });
  });

  it("a host that is not this machine's is wrong use", async () => {
    const { cert, key } = createCertificate();
    const [certFile, keyFile] = [join(folder, 'other.pem'), join(folder, 'other-key.pem')];
    await writeFile(certFile, cert);
    await writeFile(keyFile, key);
    // An address for documents, which no machine has.
    const error = await refusedWith(['--tls-cert', certFile, '--tls-key', keyFile, '--host', '192.0.2.1']);
    expect(error).toBeInstanceOf(UsageError);
    expect(error.message).toBe('--host 192.0.2.1: is not an address of this machine');
  });

  it('a place where nothing can be made', async () => {
    const error = await refusedWith(['--data', '/proc/gridtide/data']);
    expect(error.message).toBe(
      '--data: /proc/gridtide/data cannot be made or written (ENOENT); name another directory',
    );
  });

  //  in the way of --data          file or folder        sentence
  it.each([
    [
      'accounts that are not JSON',
      'broken/accounts.json',
      '{',
      /accounts\.json is not a list of accounts; move it away/,
    ],
    [
      'a file in place of the directory',
      'broken',
      'x',
      /broken cannot be made or written \((ENOTDIR|EEXIST)\); name another/,
    ],
  ])('%s', async (_, path, text, sentence) => {
    await rm(join(folder, 'broken'), { recursive: true, force: true });
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
    const error = await refusedWith(['--data', join(folder, 'broken')]);
    expect(error).toBeInstanceOf(JobError);
    expect(error.message).toMatch(/^--data: /);
    expect(error.message).toMatch(sentence);
  });
});

/** The process edge, as a shell meets it: help in every spelling, pipes that close, disks that are full, Ctrl-C. */

import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createReferenceService, type ReferenceService } from '../../src/reference/reference-service.ts';
import { type BundledProgram, bundleProgram } from '../doubles/bundle-program.ts';
import { afterTest } from '../doubles/stop-after-test.ts';

const PASSWORD = 'pass-word1';
const SOURCE = join(import.meta.dirname, '..', '..', 'src', 'main.ts');
/** With a compiled part; none of these commands drives a line. */
const EXTERNAL = ['onoff'];

let program: BundledProgram;
let reference: ReferenceService;
let url = '';
beforeAll(async () => {
  program = await bundleProgram(SOURCE, EXTERNAL);
  const accounts = [{ username: 'pro', password: PASSWORD, plan: 'pro' as const }];
  reference = await createReferenceService({ seed: 7, accounts, clock: () => Date.parse('2026-06-10T18:02:30Z') });
  ({ url } = await reference.listen());
});
afterAll(async () => {
  await reference.close();
  await program.remove();
});

function start(line: string, stdout: 'pipe' | number = 'pipe', stderr: 'pipe' | number = 'pipe', env: object = {}) {
  const child = spawn(process.execPath, [program.path, ...line.split(' ').filter(Boolean)], {
    stdio: ['pipe', stdout, stderr],
    env: { ...process.env, ...env, GRIDTIDE_URL: url, GRIDTIDE_USERNAME: 'pro', GRIDTIDE_PASSWORD: PASSWORD },
  });
  let out = '';
  let err = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => resolve(code));
  });
  return { child, ended: async () => ({ code: await ended, out, err }) };
}

async function run(line: string) {
  const { child, ended } = start(line);
  child.stdin?.end();
  return ended();
}

describe('help', () => {
  //  line                 exit  stdout begins                              stderr
  const rows: readonly (readonly [string, number, RegExp, RegExp])[] = [
    ['--help', 0, /^gridtide \d.*\n\nusage: gridtide COMMAND/, /^$/],
    ['-h', 0, /usage: gridtide COMMAND/, /^$/],
    ['help', 0, /usage: gridtide COMMAND/, /^$/],
    ['', 2, /usage: gridtide COMMAND/, /^$/],
    ['help run', 0, /^gridtide run \[options\]/, /^$/],
    ['run --help', 0, /^gridtide run \[options\]/, /^$/],
    ['run -h', 0, /^gridtide run \[options\]/, /^$/],
    ['signal forecast -h', 0, /^gridtide signal now\|forecast/, /^$/],
    ['singal', 2, /^$/, /no command "singal" \(signal\?\)/],
    ['help nothing', 2, /^$/, /no command "nothing";/],
    ['constructor', 2, /^$/, /no command "constructor"/],
    ['account', 2, /^$/, /^gridtide account: expected one of register, login, reset-password, access; .*--help/],
    ['signal forcast', 2, /^$/, /"forcast": expected one of .* \(forecast\?\)/],
  ];
  it.each(rows)('gridtide %s', async (line, code, out, err) => {
    const ran = await run(line);
    expect(ran.err).toMatch(err);
    expect(ran.out).toMatch(out);
    expect(ran.code).toBe(code);
  });
});

describe('what is printed gets nowhere', () => {
  const YEARS = 'history --region CAISO_NORTH --start 2019-01-01 --end 2026-01-01 --in-flight 1';

  it.each(['--json', '--csv', ''])('a reader that has enough ends the asking (signal history %s)', async (shape) => {
    const before = reference.counts().requests;
    const { child, ended } = start(`signal ${YEARS} ${shape}`);
    child.stdout?.once('data', () => child.stdout?.destroy());
    const { code, err } = await ended();
    expect(err).not.toMatch(/gridtide signal:/);
    expect(code).toBe(0);
    // The whole range takes 80.
    expect(reference.counts().requests - before).toBeLessThan(20);
  });

  it.each(['signal forecast --region CAISO_NORTH --json', 'help', 'help run', '--version'])(
    'a full disk is a failed job (%s)',
    async (line) => {
      const { child, ended } = start(line, openSync('/dev/full', 'w'));
      child.stdin?.end();
      expect(await ended()).toMatchObject({
        code: 1,
        err: expect.stringMatching(/the output is incomplete \(ENOSPC\)/),
      });
    },
  );
});

describe('a failure with --json', () => {
  //  line                                          exit  document
  const rows: readonly (readonly [string, number, object])[] = [
    ['signal now --json --region NOWHERE', 1, { error: expect.stringContaining('NOWHERE'), kind: expect.any(String) }],
    ['signal forecast --json --horizon-hours 99', 2, { error: expect.stringContaining('--horizon-hours 99') }],
    ['why lamp --json --config none.yaml', 2, { error: expect.stringContaining('none.yaml: there is no such file') }],
  ];
  it.each(rows)('%s', async (line, exit, document) => {
    const { code, out, err } = await run(line);
    expect([code, JSON.parse(out)]).toEqual([exit, expect.objectContaining(document)]);
    expect(err).toMatch(/^gridtide /);
  });
});

describe('gridtide try', () => {
  async function writeHouse() {
    const folder = await mkdtemp(join(tmpdir(), 'try-house-'));
    afterTest(() => rm(folder, { recursive: true }));
    const file = join(folder, 'house.yaml');
    await writeFile(
      file,
      `device: cellar
place: {latitude: 38.5, longitude: -122, timezone: America/Los_Angeles}
service: {url: "https://signal.invalid"}
mqtt: {url: "mqtt://127.0.0.1:1"}
loads:
  heating: {type: heat-pump, output: {kind: sg-ready, pins: [17, 27]}}
`,
    );
    return { folder, file };
  }

  it('ends once nobody reads its log any more', async () => {
    const { file } = await writeHouse();
    const { child, ended } = start(`try --config ${file} --now 2026-03-01T20:00:00Z --speed 1440`);
    child.stdout?.once('data', () => child.stdout?.destroy());
    expect(await ended()).toMatchObject({ code: 0, err: expect.stringMatching(/ of cellar:\n {2}heating /) });
  });

  it('refuses a start so late that the clock could pass the last year of a ledger', async () => {
    const { file } = await writeHouse();
    const { code, err } = await run(`try --config ${file} --now 9999-12-31T23:00:00Z --speed 3000`);
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/^gridtide try: --now 9999-.*: expected a time before 9000-.*\n$/),
    ]);
  });

  it('leaves nothing behind at an internal error', async () => {
    const { folder, file } = await writeHouse();
    const NODE_OPTIONS = "--import=data:text/javascript,process.once('SIGUSR2',()=>{null.injected})";
    const { child, ended } = start(`try --config ${file}`, 'pipe', 'pipe', { TMPDIR: folder, NODE_OPTIONS });
    const listed = new Promise((resolve) => {
      child.stdout?.once('data', () => {
        resolve(readdir(folder).finally(() => child.kill('SIGUSR2')));
      });
    });
    expect(await listed).toEqual(expect.arrayContaining([expect.stringMatching(/^try-gridtide-/)]));
    const { code, out, err } = await ended();
    expect([code, out + err]).toEqual([1, expect.stringContaining('injected')]);
    expect(await readdir(folder)).toEqual(['house.yaml']);
  });

  it('on a full disk is a failed job once Ctrl-C ends it', async () => {
    const { file } = await writeHouse();
    const { child, ended } = start(`try --config ${file}`, openSync('/dev/full', 'w'));
    child.stderr?.once('data', () => child.kill('SIGINT'));
    expect(await ended()).toMatchObject({
      code: 1,
      err: expect.stringMatching(/ of cellar:\n(.*\n)+gridtide try: the output is incomplete \(ENOSPC\)/),
    });
  });

  it('whose summary finds no room is a failed job', async () => {
    const { file } = await writeHouse();
    const { child, ended } = start(`try --config ${file}`, 'pipe', openSync('/dev/full', 'w'));
    child.stdout?.once('data', () => child.kill('SIGINT'));
    expect(await ended()).toMatchObject({ code: 1, out: expect.stringMatching(/gridtide has stopped/) });
  });

  it('runs a configuration without its account, broker and hardware, and leaves nothing behind', async () => {
    const { folder, file } = await writeHouse();
    const { child, ended } = start(`try --config ${file} --now 2026-03-01T20:00:00Z --speed 1440`);
    let out = '';
    child.stdout?.on('data', (text: string) => {
      const isDecided = /heating .*: index \d+/.test(out);
      out += text;
      if (!isDecided && /heating .*: index \d+/.test(out)) child.kill('SIGINT');
    });
    const { code, err } = await ended();
    expect([code, err]).toEqual([0, expect.stringMatching(/^trying cellar at .*nothing is published over MQTT/)]);
    expect(out).toMatch(/dry run: .*heating.* would be switched/);
    expect(err).toMatch(
      / of cellar:\n {2}heating {2}(ran .*|did not run); at the end \w+: index \d+.*\nNo saving is claimed: .*\n$/,
    );
    expect(await readdir(folder)).toEqual(['house.yaml']);
  });

  it('ends in order when its terminal closes', async () => {
    const { folder, file } = await writeHouse();
    const { child, ended } = start(`try --config ${file}`);
    // The shell passes its own on, and the system sends another when the shell ends.
    child.stdout?.on('data', () => child.kill('SIGHUP'));
    expect((await ended()).out).toMatch(/gridtide has stopped/);
    expect(child.signalCode).toBe('SIGHUP');
    expect(await readdir(folder)).toEqual(['house.yaml']);
  });
});

describe('Ctrl-C', () => {
  it('in the middle of a range leaves a whole document and a failed job', async () => {
    const { child, ended } = start('signal history --region CAISO_NORTH --start 2019-01-01 --end 2026-01-01 --json');
    child.stdout?.once('data', () => child.kill('SIGINT'));
    const { code, out, err } = await ended();
    expect(JSON.parse(out).data.length).toBeGreaterThan(0);
    expect(err).toMatch(/gridtide signal: stopped/);
    expect(code).toBe(130);
  });

  it('ends a command that waits for its next line', async () => {
    const { child, ended } = start('region --online --batch');
    child.stdin?.write('39.7522 -105\n');
    child.stdout?.once('data', () => child.kill('SIGINT'));
    expect(await ended()).toMatchObject({
      code: 130,
      out: 'PSCO\n',
      err: expect.stringMatching(/stopped after line 1/),
    });
  });
});

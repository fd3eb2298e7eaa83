import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDocumentStore } from '../../src/agent/document-store.ts';
import { createPersistence } from '../../src/agent/persistence.ts';
import { formatRunningPlans } from '../../src/cli/agent/running-plan.ts';
import { run as runWhy, spec as whySpec } from '../../src/cli/agent/why.ts';
import { run, spec } from '../../src/cli/lab/plan.ts';
import type { LoadPlan } from '../../src/control/state/control-state.ts';
import { type Kilogram, minutes } from '../../src/domain/units.ts';
import { createFileDisk } from '../../src/platform/file-disk.ts';
import { buildHorizon, buildSite, ControlBench, carLoad, instantFrom } from '../control/control-setup.ts';
import { runCommand } from '../doubles/run-command.ts';

let folder = '';
let file = '';

const FROM = Date.parse('2026-03-01T18:00:00Z');

/** 24 hours of 5-minute rates: 500 lb/MWh, but 100 from 02:00 to 04:00 and 200 from 10:00 to 11:00 UTC the next day. */
function answer() {
  const data = Array.from({ length: 288 }, (_, i) => {
    const hour = new Date(FROM + i * 300_000).getUTCHours();
    const value = hour === 2 || hour === 3 ? 100 : hour === 10 ? 200 : 500;
    return { point_time: `${new Date(FROM + i * 300_000).toISOString().slice(0, 19)}+00:00`, value };
  });
  const meta = {
    data_point_period_seconds: 300,
    generated_at: '2026-03-01T18:00:00+00:00',
    generated_at_period_seconds: 300,
    model: { date: '2024-01-01' },
    region: 'CAISO_NORTH',
    signal_type: 'co2_moer',
    units: 'lbs_co2_per_mwh',
    warnings: [],
  };
  return { data, meta };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gridtide-plan-'));
  file = join(folder, 'forecast.json');
  await writeFile(file, JSON.stringify(answer()));
});
afterAll(() => rm(folder, { recursive: true }));

async function plan(...argv: string[]) {
  const { code, out, err } = await runCommand({ spec, run }, argv);
  return { code, out, err, json: () => JSON.parse(out) as unknown };
}

describe('gridtide plan --forecast', () => {
  it('finds the cleanest hours, in as many runs as that takes', async () => {
    const { json } = await plan(
      '--forecast',
      file,
      '--need',
      '3h',
      '--by',
      '2026-03-02T14:00:00Z',
      '--power',
      '7.2',
      '--json',
    );
    expect(json()).toEqual({
      slots: [
        { start: '2026-03-02T02:00:00+00:00', minutes: 120, kw: 7.2 },
        { start: '2026-03-02T10:00:00+00:00', minutes: 60, kw: 7.2 },
      ],
      starts: 2,
      // 7.2 kW × (2 h × 100 + 1 h × 200) lb/MWh × 0.45359237 / 1000
      emissions: { value: 1.306346, units: 'kg' },
      feasible: true,
      shortfallMinutes: 0,
    });
  });

  it('prices the schedule by the table of a configuration', async () => {
    const config = join(folder, 'house.yaml');
    const secrets = ['username', 'password'].map((name) => `${name}File: ${name}`).join(', ');
    const head = `device: house\nplace: {latitude: 38.5, longitude: -122, timezone: UTC}\nservice: {url: "http://127.0.0.1:1", ${secrets}}\n`;
    const loads = 'loads:\n  water: {type: tank, powerKw: 3, output: {kind: dry-run, as: relay}}\n';
    const rates = 'tariff: {currency: USD, rates: [{price: 0.62, hours: "10:00-10:30"}], otherwise: 0.3}\n';
    await writeFile(config, head + rates + loads);
    const args = ['--forecast', file, '--need', '3h', '--by', '2026-03-02T14:00:00Z', '--config', config];
    // 2 h at 0.3, half an hour at 0.62, half an hour at 0.3
    expect((await plan(...args, '--power', '1', '--json')).json()).toMatchObject({
      bill: { value: 1.06, currency: 'USD' },
    });
    expect((await plan(...args, '--power', '2')).out).toMatch(/2 starts, 0\.36 kg CO2, 2\.12 USD\n$/);
  });

  it('takes times of day, power and zone from the house of a configuration', async () => {
    const config = join(folder, 'one-load.yaml');
    const lines = [
      'device: cellar',
      'place: {latitude: 38.5, longitude: -122, timezone: America/Los_Angeles}',
      'service: {url: "https://signal.example"}',
      'loads: {car: {type: ev, powerKw: 7.2, output: {kind: dry-run}}}',
    ];
    await writeFile(config, lines.join('\n'));
    const args = ['--forecast', file, '--need', '2h', '--config', config];
    const { out } = await plan(...args, '--by', '07:00');
    expect(out).toMatch(/^times in America\/Los_Angeles\n2026-03-01 18:00 +120 min {2}7.2 kW\n1 start, /);
    const instants = ['--from', '2026-03-02T04:00:00Z', '--by', '2026-03-02T15:00:00Z'];
    const spelledOut = (await plan(...args, ...instants, '--json')).json();
    // 20:00 is after the clean hours of the evening, and 07:00 the one after it.
    expect((await plan(...args, '--from', '20:00', '--by', '07:00', '--json')).json()).toEqual(spelledOut);
    expect((await plan(...args, '--by', '07:00', '--power', '2', '--json')).json()).toMatchObject({
      slots: [{ kw: 2 }],
    });
  });

  it('keeps to one block when told to', async () => {
    const { json } = await plan(
      '--forecast',
      file,
      '--need',
      '3h',
      '--by',
      '2026-03-02T14:00:00Z',
      '--max-starts',
      '1',
      '--json',
    );
    expect(json()).toMatchObject({ starts: 1, slots: [{ start: '2026-03-02T01:00:00+00:00', minutes: 180, kw: 1 }] });
  });

  it('a part slot counts in part and ends before the deadline', async () => {
    const { json } = await plan('--forecast', file, '--need', '7m', '--by', '2026-03-02T02:07:00Z', '--json');
    expect(json()).toMatchObject({
      slots: [{ start: '2026-03-02T02:00:00+00:00', minutes: 7, kw: 1 }],
      emissions: { value: 0.005292, units: 'kg' },
    });
  });

  //  what is asked                                     exit  slots           is missing   words
  const tooMuch: readonly (readonly [string, string, number, number])[] = [
    ['4h', '2026-03-01T20:30:00Z', 150, 90],
    ['26h', '2026-03-05', 1440, 120],
  ];
  it.each(tooMuch)('%s by %s cannot be: it runs at once, and is a failed job', async (need, by, runs, missing) => {
    const { json, code, err } = await plan('--forecast', file, '--need', need, '--by', by, '--json');
    expect(json()).toMatchObject({
      slots: [{ start: '2026-03-01T18:00:00+00:00', minutes: runs, kw: 1 }],
      feasible: false,
      shortfallMinutes: missing,
    });
    expect(err).toMatch(new RegExp(`the job does not fit: ${missing} of \\d+ minutes do not fit`));
    expect(err.includes('the forecast ends at 2026-03-02T18:00:00+00:00')).toBe(by === '2026-03-05');
    expect(code).toBe(1);
  });

  it('what is no rate of CO2 is not told in kilograms', async () => {
    const damage = join(folder, 'damage.json');
    const { data, meta } = answer();
    await writeFile(
      damage,
      JSON.stringify({ data, meta: { ...meta, signal_type: 'health_damage', units: 'usd_per_mwh' } }),
    );
    const asked = ['--forecast', damage, '--need', '3h', '--by', '2026-03-02T14:00:00Z', '--power', '10'];
    // 10 kW × (2 h × 100 + 1 h × 200) usd/MWh
    expect((await plan(...asked, '--json')).json()).toMatchObject({ emissions: { value: 4, units: 'usd' } });
    expect((await plan(...asked)).out).toMatch(/2 starts, 4\.00 usd\n$/);
  });

  //  what is wrong                  arguments                                                          exit  words
  const wrong: readonly (readonly [string, readonly string[], number, RegExp])[] = [
    ['nothing is said', [], 2, /--forecast is missing[\s\S]*--need is missing[\s\S]*--by is missing/],
    [
      'every mistake at once',
      ['--need', 'soon', '--by', 'noon'],
      2,
      /--forecast is missing[\s\S]*--need soon: expected a duration[\s\S]*--by noon: expected a time with a zone.* or a time of day such as 07:00/,
    ],
    ['nothing is needed', ['--forecast', 'x', '--need', '0h', '--by', '2026-03-02'], 2, /--need 0: expected more/],
    ['a need with --config', ['--config', 'x.yaml', '--need', '4h'], 2, /--need needs --forecast/],
    [
      'what belongs to a forecast, without one',
      ['--power', '7', '--min-on', '30m', '--min-off', '10m'],
      2,
      /--forecast is missing: --min-on and --min-off and --power plan by a saved forecast/,
    ],
    ['a power with --config', ['--config', 'x.yaml', '--power', '7'], 2, /--power needs --forecast/],
    [
      'a deadline before the forecast',
      ['--forecast', 'SAVED', '--need', '1h', '--by', '2026-02-28'],
      1,
      /is not after 2026-03-01T18:00:00\+00:00, where the forecast begins/,
    ],
    [
      'no file',
      ['--forecast', '/nowhere', '--need', '1h', '--by', '2026-03-02'],
      1,
      /there is no such file; gridtide signal forecast/,
    ],
  ];
  it.each(wrong)('%s', async (_, argv, exit, words) => {
    const { code, out, err } = await plan(...argv.map((word) => (word === 'SAVED' ? file : word)));
    expect(err).toMatch(words);
    expect([code, out]).toEqual([exit, '']);
  });

  it('a file that is no forecast is told as such', async () => {
    const other = join(folder, 'other.json');
    await writeFile(other, '{"data": []}');
    const { code, err } = await plan('--forecast', other, '--need', '1h', '--by', '2026-03-02T14:00:00Z');
    expect(err).toMatch(
      /not an answer of \/v3\/forecast \(meta is not there, expected a value\); gridtide signal forecast --json > FILE saves one/,
    );
    expect(code).toBe(1);
  });
});

describe('gridtide plan of the running configuration', () => {
  const configuration = `
device: cellar
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "http://127.0.0.1:1", usernameFile: /dev/null, passwordFile: /dev/null, signalType: co2_moer}
loads:
  car:
    type: ev
    output: {kind: dry-run}
    powerKw: 7.2
    goal: {need: 4h, by: {mon-sun: "07:00"}}
`;

  /** A configuration beside a state directory in which an agent, since gone, has saved a job of the car. */
  async function saveCarJob(sums: Pick<LoadPlan, 'expected'> = {}) {
    const home = await mkdtemp(join(folder, 'house-'));
    const config = join(home, 'gridtide.yaml');
    const state = join(home, 'state');
    await writeFile(config, configuration);
    await mkdir(state, { mode: 0o700 });
    const load = carLoad();
    const bench = new ControlBench(buildSite(load), instantFrom('2024-06-04T01:00:00Z'));
    bench.send({ kind: 'found', levels: { car: 'off' } });
    bench.sendSignal({ horizon: buildHorizon(bench.now.wall, [9, 9, 9, 9, 9, 9, 9, 1, 1, 1, 1, 9, 9, 9]) });
    const store = createDocumentStore(createFileDisk(state), () => {});
    const memory = createPersistence({ store, scratch: undefined, signalType: 'co2_moer', boot: 'one', note() {} });
    const loads = bench.state.loads.map((one) => ({ ...one, plan: one.plan && { ...one.plan, ...sums } }));
    memory.saveControl({ ...bench.state, loads }, { now: bench.now, jobs: {}, atMost: minutes(0) });
    await memory.close();
    return { config, state };
  }

  it('tells what the plan was expected to emit where no forecast is saved', async () => {
    const { config, state } = await saveCarJob({ expected: { kg: 3 as Kilogram, cost: 2, currency: 'EUR' } });
    expect((await plan('--config', config, '--state', state, '--json')).json()).toMatchObject({
      loads: [{ emissions: { value: 3, units: 'kg' }, bill: { value: 2, currency: 'EUR', spent: 0 } }],
    });
  });

  it('tells what the agent has saved, and changes nothing', async () => {
    const { config, state } = await saveCarJob();
    const { json, err } = await plan('--config', config, '--state', state, '--json');
    expect(json()).toMatchObject({
      loads: [
        {
          load: 'car',
          by: '2024-06-04T14:00:00+00:00',
          needMinutes: 240,
          doneMinutes: 0,
          slots: [{ start: '2024-06-04T08:00:00+00:00', minutes: 240, kw: 7.2 }],
          starts: 1,
          feasible: true,
          shortfallMinutes: 0,
          // Its night is long over, and nothing held tells of it.
          isPast: true,
          emissions: { value: null, units: 'kg' },
        },
      ],
    });
    // Another container, or a /proc that hides processes, may hold one.
    expect(err).toMatch(/^no running agent of .*state is seen from here: no load follows this plan, unless one runs /);
    expect((await plan('--config', config, '--state', state)).out).toMatch(
      /the deadline 2024-06-04 07:00 has passed and this plan is from 2024-06-03 18:00: no agent has run since/,
    );
  });

  const HTTP = 'output: {kind: http, allowPlainHttp: true';
  const [ON, OFF, RELEASE] = ['on', 'off', 'release'].map((name) => `${name}: {url: "http://127.0.0.1:1/${name}"}`);
  //  the load                                        what a stop does
  it.each([
    ['output: {kind: dry-run}', 'a stop sets the load to its fail-safe level, on'],
    ['output: {kind: dry-run}\n    failSafe: off', 'a stop sets the load to its fail-safe level, off'],
    ['output: {kind: dry-run}\n    onStop: hold', 'a stop leaves the load at its last level'],
    [`${HTTP}, ${ON}, ${OFF}}`, 'a stop sets the load to its fail-safe level, on'],
    [`${HTTP}, ${ON}, ${OFF}, ${RELEASE}}`, 'a stop leaves the device to its own rules'],
  ])('why says no more of an agent that is not seen than what its stop does: %j', async (output, stop) => {
    const { config, state } = await saveCarJob();
    await writeFile(config, configuration.replace('output: {kind: dry-run}', output));
    const { out, err } = await runCommand({ spec: whySpec, run: runWhy }, [
      'car',
      '--config',
      config,
      '--state',
      state,
    ]);
    expect([out, err]).toEqual([expect.stringMatching(`; no running agent is seen from here: ${stop}\n$`), '']);
  });

  it('tells by how much the loads together cost more than each alone would, and does not deny an agent that is seen', () => {
    const one = {
      load: 'car',
      by: '2026-06-04T14:00:00+00:00',
      needMinutes: 240,
      doneMinutes: 30,
      madeAt: '2026-06-04T01:00:00+00:00',
      gapToBound: 0.0312,
      mustRun: false,
      isPast: false,
      slots: [{ start: '2026-06-04T08:00:00+00:00', minutes: 210, kw: 7.2 }],
      starts: 1,
      emissions: { value: 5, units: 'kg' },
      bill: null,
      feasible: true,
      shortfallMinutes: 0,
    };
    const plans = { timezone: 'America/Los_Angeles', isAgentSeen: true };
    expect(formatRunningPlans({ loads: [one], ...plans })).toBe(
      `times in America/Los_Angeles
car: 30m of 4h by 2026-06-04 07:00
  2026-06-04 01:00    3h30m  7.2 kW
  5.00 kg CO2 still to come; the loads together cost 3.1 % more than if each had the power budget to itself
`,
    );
    // The agent may run in virtual time, for which the clock of this machine says nothing.
    expect(formatRunningPlans({ loads: [{ ...one, isPast: true }], ...plans })).toMatch(
      /by the clock of this machine the deadline .* 07:00 has passed; .*: the running agent follows a clock of its own/,
    );
  });

  it('says so where no agent has run', async () => {
    const config = join(folder, 'gridtide.yaml');
    await writeFile(config, configuration);
    const { code, err } = await plan('--config', config, '--state', join(folder, 'none'));
    expect([code, /has no plan/.test(err)]).toEqual([1, true]);
  });
});

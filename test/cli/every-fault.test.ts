/** Every fault of the reference service by its name, and what each command of the interface says of it. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as account from '../../src/cli/service/account.ts';
import * as region from '../../src/cli/service/region.ts';
import * as signal from '../../src/cli/service/signal.ts';
import * as v1 from '../../src/cli/service/v1.ts';
import type { FaultName } from '../../src/reference/faults/fault-rules.ts';
import { createReferenceService, type ReferenceService } from '../../src/reference/reference-service.ts';
import { PROFILE } from '../contract/profile-under-test.ts';
import { type CommandResult, runCommand } from '../doubles/run-command.ts';

const PASSWORD = 'pass-word1';
let reference: ReferenceService;
let url = '';
beforeAll(async () => {
  // Each row has an account of its own: a hundred logins in five minutes are too many for one.
  const accounts = [...Object.keys(rows), 'others'].map((username) => ({
    username,
    password: PASSWORD,
    plan: 'pro' as const,
  }));
  reference = await createReferenceService({ seed: 7, accounts, profile: PROFILE, clock: Date.now });
  ({ url } = await reference.listen());
});
afterAll(() => reference.close());

const RANGE = '--start 2026-06-01 --end 2026-06-01T02:00Z --csv';
const commands = {
  now: [signal, 'now --region PSCO'],
  index: [signal, 'index --region PSCO'],
  forecast: [signal, 'forecast --region PSCO --csv'],
  history: [signal, `history --region PSCO ${RANGE}`],
  past: [signal, `past-forecasts --region PSCO ${RANGE}`],
  access: [account, 'access --region PSCO'],
  login: [account, 'login'],
  region: [region, '--latitude 39.7522 --longitude -105 --online'],
  v1: [v1, 'datapoints --ba CAISO --market RT5M --start-at 2026-06-01 --end-at 2026-06-01T01:00Z --csv'],
} as const;
type Name = keyof typeof commands;
const DATA = ['now', 'index', 'forecast', 'history', 'past'] as const;
/** A range waits for what passes by itself, as long as people would. */
const WITHOUT_RANGES = ['now', 'index', 'forecast', 'access', 'login', 'region', 'v1'] as const;
const ALL: readonly Name[] = [...DATA, 'access', 'login', 'region', 'v1'];

/** What these commands print as they fail; the others succeed and print none of it. */
interface FailureRow {
  readonly fails: readonly Name[];
  readonly says: RegExp;
  /** Commands that wait for the fault to pass. */
  readonly waits?: readonly Name[];
}
/** What these commands print beside their data; no command fails. */
interface NoteRow {
  readonly notes: Partial<Readonly<Record<Name, RegExp>>>;
}

const refused = (says: RegExp): FailureRow => ({ fails: ALL, says });
const waited = (says: RegExp): FailureRow => ({ fails: WITHOUT_RANGES, says, waits: ['history', 'past'] });
const wrong = (says: RegExp): FailureRow => ({ fails: DATA, says });
const nothing: NoteRow = { notes: {} };
const SKIPPED = /values? of the service skipped: not a number/;

const rows: Readonly<Record<Exclude<FaultName, 'hang' | 'slow-body'>, FailureRow | NoteRow>> = {
  '401': { fails: [...DATA, 'access', 'region'], says: /token|credentials/ },
  // A command ends long before the age at which these strike.
  '401-mid-life': nothing,
  'html-401': nothing,
  'html-403': nothing,
  '429': waited(/^too many requests: the next is sent in 3\d s; try again then$/),
  '429-bare': waited(/^too many requests: the next is sent in \d+ s; try again then$/),
  '500': waited(/server error \(500: Something went wrong/),
  '502-html': waited(/server error \(502/),
  '503': waited(/server error \(503: The service is down for maintenance/),
  redirect: refused(/redirect \(302\) to https:\/\/elsewhere.invalid\/, which is not followed/),
  'captive-portal': refused(/expected JSON.*sign in to the network/),
  'clock-skew': {
    notes: Object.fromEntries(
      DATA.map((name) => [name, /clock of the service is 10m ahead of that of this machine; check this machine/]),
    ),
  },
  'cut-body': waited(/connection broke; try again/),
  'gzip-bomb': refused(/the body is larger than \d+ bytes; request a shorter range, or check the address/),
  'truncated-json': waited(/body is \d+ bytes that cannot be read as such, expected whole JSON/),
  empty: waited(/body is 0 bytes that cannot be read as such, expected whole JSON/),
  'text-values': { fails: ['now', 'index'], says: /data\.0\.value is n\/a, expected a percentile of 0 to 100/ },
  nulls: { fails: ['now', 'index'], says: /data\.0\.value is null, expected a percentile of 0 to 100/ },
  'repeated-points': nothing,
  'unsorted-points': nothing,
  'missing-points': {
    notes: { forecast: /forecast has 216 of 288 points/, history: /points missing between the first and the last/ },
  },
  'older-generated-at': { notes: { forecast: /the forecast is (59m|1h\dm|1h) old; the service makes one every 5m/ } },
  'model-switch': nothing,
  'wrong-units': wrong(/meta\.units is kg_co2_per_mwh, expected (percentile|lbs_co2_per_mwh)/),
  'wrong-region': wrong(/meta\.region is ELSEWHERE, expected PSCO/),
  'no-warnings-field': nothing,
  warnings: {
    notes: Object.fromEntries(
      DATA.map((name) => [name, /the service warns about PSCO: data_quality: Some inputs were late\./]),
    ),
  },
  'map-border': nothing,
  'map-rename': { fails: [...DATA, 'access'], says: /"PSCO" is not a (known region|region of co2_moer)/ },
  'plan-change': { fails: ['forecast', 'history', 'past'], says: /the account's plan does not include this/ },
};

const environmentOf = (username: string) => ({
  HOME: '/nonexistent',
  GRIDTIDE_URL: url,
  GRIDTIDE_USERNAME: username,
  GRIDTIDE_PASSWORD: PASSWORD,
});

async function runAll(
  username: string,
  skipped: readonly Name[],
): Promise<readonly (readonly [Name, CommandResult])[]> {
  const env = environmentOf(username);
  const names = ALL.filter((name) => !skipped.includes(name));
  return Promise.all(
    names.map(async (name) => {
      const [command, line] = commands[name];
      return [name, await runCommand(command, line.split(' '), { env })] as const;
    }),
  );
}

describe('a fault by name', () => {
  it.each(Object.entries(rows))('%s', async (fault, row) => {
    reference.setFaults([{ fault: fault as FaultName }]);
    const results = await runAll(fault, 'fails' in row ? (row.waits ?? []) : []);
    for (const [name, { code, out, err }] of results) {
      const fails = 'fails' in row && row.fails.includes(name);
      const note = 'notes' in row ? row.notes[name] : undefined;
      expect([name, code], err).toEqual([name, fails ? 1 : 0]);
      if (fails) expect([name, err.split('\n').at(-1)]).toEqual([name, expect.stringMatching(row.says)]);
      if (note !== undefined) expect([name, err]).toEqual([name, expect.stringMatching(note)]);
      if (!fails) expect(out.length).toBeGreaterThan(0);
    }
    reference.setFaults([]);
  });

  it('values that are no numbers are counted, in a forecast and in a history', async () => {
    reference.setFaults([{ fault: 'text-values' }]);
    for (const [name, { err }] of await runAll('others', ['now', 'index', 'access', 'login', 'region', 'v1']))
      expect([name, err]).toEqual([name, expect.stringMatching(SKIPPED)]);
    reference.setFaults([]);
  });

  it('the same by a script: struck twice, healthy after', async () => {
    reference.setFaults([{ fault: 'wrong-region', path: '/v3/forecast', times: 2 }]);
    const codes = [];
    const env = environmentOf('others');
    for (let i = 0; i < 3; i++) codes.push((await runCommand(signal, commands.forecast[1].split(' '), { env })).code);
    expect(codes).toEqual([1, 1, 0]);
    reference.setFaults([]);
  });
});

/** `gridtide relay` against the reference service and a real mosquitto: its flags, its key, and that `check` of an agent finds its signal. */

import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as check from '../../src/cli/agent/check.ts';
import * as relay from '../../src/cli/service/relay.ts';
import { createSystemClock } from '../../src/platform/system-clock.ts';
import { createReferenceService } from '../../src/reference/reference-service.ts';
import { describeWithMosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { startMqttSpy } from '../doubles/mqtt-spy.ts';
import { runCommand } from '../doubles/run-command.ts';
import { afterTest, stopAfterTest } from '../doubles/stop-after-test.ts';

async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gridtide-relay-'));
  afterTest(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe('its flags', () => {
  const account = '--url http://127.0.0.1:1 --username a';
  //  words                                                       exit 2 with
  const rows = [
    ['', 'the regions are missing; give --region REGION, once for each'],
    ['--region A/B --signal co2', /^--region: "A\/B" is not a region such as CAISO_NORTH\n--signal: "co2" is not/],
    ['--region A', 'the signing key is missing; give --key FILE, or write one with --new-key FILE'],
    ['--region A --key /nowhere', '--key /nowhere: it cannot be read; write one with --new-key FILE'],
    [
      '--region A --key KEY',
      'the address of the broker is missing; give --broker URL, such as mqtt://localhost:1883, or --config FILE',
    ],
    ['--region A --key KEY --peer-key x', /^--peer-key: "x" is not a key of 43 characters/],
    ['--region A --key WORD --broker mqtt://localhost', /it is no Ed25519 key in PEM; write one with --new-key FILE$/],
    ['--region A --key OPEN --broker mqtt://localhost', /mode 644, so others on this machine may read it: chmod 600/],
    [`--region A --key KEY --broker mqtt://localhost ${account}`, /^the password of a is missing/],
    ['--region A --key KEY --broker mqtt://localhost --url http://127.0.0.1:1', /^a relay needs an account/],
  ] as const;
  it.each(rows)('%s', async (words, expected) => {
    const folder = await createFolder();
    await runCommand(relay, ['--new-key', join(folder, 'KEY')]);
    await writeFile(join(folder, 'WORD'), 'secret', { mode: 0o600 });
    await writeFile(join(folder, 'OPEN'), 'secret', { mode: 0o644 });
    const argv = words.split(' ').filter(Boolean);
    const result = await runCommand(
      relay,
      argv.map((word) => (['KEY', 'WORD', 'OPEN'].includes(word) ? join(folder, word) : word)),
    );
    expect(result.code).toBe(2);
    if (typeof expected === 'string') expect(result.err).toBe(expected);
    else expect(result.err).toMatch(expected);
  });

  it('--new-key writes a key that only its owner may read, and never over another', async () => {
    const file = join(await createFolder(), 'relay.key');
    const { code, out } = await runCommand(relay, ['--new-key', file]);
    expect([code, (await stat(file)).mode & 0o777]).toEqual([0, 0o600]);
    expect(out).toMatch(/^publicKey: [A-Za-z0-9_-]{43}\n$/);
    expect(await runCommand(relay, ['--new-key', file])).toMatchObject({
      code: 2,
      err: `--new-key ${file}: the file exists, and agents may rely on its key; name another`,
    });
  });
});

describeWithMosquitto('gridtide relay on a broker', () => {
  it('publishes what check of an agent with its key accepts, and with another key refuses', async () => {
    const mosquitto = stopAfterTest(await startMosquitto());
    const clock = createSystemClock();
    const login = { username: 'relay', password: 'clean-grid-2' };
    const reference = await createReferenceService({
      seed: 3,
      clock: () => clock.now().wall,
      accounts: [{ ...login, plan: 'basic' }],
    });
    afterTest(() => reference.close());
    const { url } = await reference.listen();
    const folder = await createFolder();
    const key = join(folder, 'relay.key');
    const { out } = await runCommand(relay, ['--new-key', key]);
    const env = { GRIDTIDE_USERNAME: login.username, GRIDTIDE_PASSWORD: login.password };
    const stopping = new AbortController();
    const words = ['--url', url, '--key', key, '--broker', mosquitto.url, '--region', 'CAISO_NORTH'];
    const running = runCommand(relay, words, { env, stop: stopping.signal });
    const spy = stopAfterTest(await startMqttSpy(mosquitto.url));
    await spy.waitFor(({ topic }) => topic === 'gridtide-signal/CAISO_NORTH/co2_moer/forecast');

    const config = join(folder, 'gridtide.yaml');
    const checkWith = async (publicKey: string) => {
      await writeFile(
        config,
        `{device: cellar, state: ${folder}/state, service: {relay: true, region: CAISO_NORTH, ${publicKey.trim()}},
          place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}, mqtt: {url: "${mosquitto.url}"},
          loads: {water: {type: tank, output: {kind: dry-run}}}}`,
      );
      return (await runCommand(check, ['--config', config])).out;
    };
    expect(await checkWith(out)).toMatch(/ok {5}service\.relay: a signed forecast of CAISO_NORTH, generated at 20/);
    expect(await checkWith(`publicKey: "${'A'.repeat(43)}"`)).toMatch(
      /WRONG {2}service\.relay: the message on gridtide-signal\/CAISO_NORTH\/co2_moer\/forecast is not signed with the key/,
    );
    stopping.abort();
    expect(await running).toMatchObject({ code: 0 });
  });
});

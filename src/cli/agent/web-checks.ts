/** The checks that `gridtide check` makes of devices over HTTP: each is asked for its state, and none is switched. */

import type { LocatedConfig } from '../../config/config-paths.ts';
import { findWebDevice } from '../../domain/levels.ts';
import { formatReading } from '../../outputs/command-sender.ts';
import { createPolledDevice } from '../../outputs/devices/create-polled-device.ts';
import type { PolledDevice } from '../../outputs/devices/polled-device.ts';
import { isOutputFailure } from '../../outputs/output.ts';
import { createHttp } from '../../platform/http-client.ts';
import { createSecrets } from '../../platform/secret-files.ts';
import { createSystemClock } from '../../platform/system-clock.ts';
import { readCaFile } from '../shared/ca-file.ts';
import type { Terminal } from '../shared/command.ts';
import { type CheckContext, type Finding, note, ok, wrong } from './device-checks.ts';

/** The requests of a command to devices over HTTP; the caller closes `http`. */
export async function openDeviceWeb({ service: { ca } }: LocatedConfig, env: Terminal['env']) {
  const authority = ca === undefined ? undefined : await readCaFile(ca);
  return {
    http: createHttp(authority === undefined ? {} : { ca: authority }),
    secrets: createSecrets({ credentials: env.CREDENTIALS_DIRECTORY }),
  };
}

/** `hidden`: the files that this user may not read. */
export async function checkWebDevices(
  { config, env, stop }: CheckContext,
  hidden: readonly string[],
): Promise<readonly Finding[]> {
  const devices = config.loads.flatMap(({ name, output }) => {
    const device = findWebDevice(output);
    return device === undefined || hidden.includes(`loads.${name}.output.tokenFile`)
      ? []
      : [{ at: `loads.${name}.output`, device }];
  });
  if (devices.length === 0) return [];
  const web = await openDeviceWeb(config, env);
  try {
    return await Promise.all(
      devices.map(async ({ at, device }) =>
        checkDevice(at, createPolledDevice(device, { ...web, clock: createSystemClock() }), stop),
      ),
    );
  } finally {
    await web.http.close();
  }
}

async function checkDevice(at: string, { read, stateSource }: PolledDevice, stop: AbortSignal): Promise<Finding> {
  if (read === undefined)
    return note(at, 'it has no state address, so its device was not asked and no level will be confirmed: add state');
  const found = await read(stop);
  if (isOutputFailure(found)) return wrong(at, found.detail);
  if (found.available === false) return wrong(at, `the device is not available (${stateSource}): check its power`);
  return found.reading === undefined
    ? note(at, `the device tells no state yet (${stateSource})`)
    : ok(at, `the device reports ${formatReading(found.reading)} (${stateSource})`);
}

/** The checks that `gridtide check` makes on the device: files, state directory, clock, GPIO lines, place and map, time zone. */

import { constants } from 'node:fs';
import { access, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createDocumentStore } from '../../agent/document-store.ts';
import { loadRegionCheckedAt } from '../../agent/region-loop.ts';
import type { LocatedConfig } from '../../config/config-paths.ts';
import { PLACEHOLDER_URL } from '../../config/example-config.ts';
import { formatHeaderLine } from '../../domain/gpio-header.ts';
import { listInputs, listOutputLines } from '../../domain/levels.ts';
import { toPlace } from '../../domain/place.ts';
import { type Disk, DiskError } from '../../domain/ports.ts';
import { getZoneOffset } from '../../domain/time-zone.ts';
import { days, durationBetween, formatCount, formatInstant, type Instant, type Place } from '../../domain/units.ts';
import { createSharedFileDisk, resolveOwnDirectory } from '../../platform/file-disk.ts';
import { createSecrets, findSecretProblems } from '../../platform/secret-files.ts';
import { createSystemClock } from '../../platform/system-clock.ts';
import { isCheckOverdue } from '../../region/refresh-policy.ts';
import type { MapInfo, RegionMap } from '../../region/region-types.ts';
import { parsePriceFile } from '../../tariff/parse-prices.ts';
import { holdsCertificate } from '../shared/ca-file.ts';
import type { Terminal } from '../shared/command.ts';
import { listConfiguredFiles } from '../shared/load-configuration.ts';

/** `note`: works, and is worth knowing; `wrong`: the owner must act; `skipped`: not checked. */
export interface Finding {
  /** A path in the configuration, or the part that was checked. */
  readonly at: string;
  readonly state: 'ok' | 'note' | 'wrong' | 'skipped';
  /** The result; of a problem also its meaning and its fix. */
  readonly text: string;
}

export interface CheckContext {
  readonly config: LocatedConfig;
  readonly env: Terminal['env'];
  readonly stop: AbortSignal;
  /** The state is that of the installed unit: another user's, who gets the credentials from the service manager. */
  readonly isInstalled: boolean;
}

export type Check = (context: CheckContext) => Promise<readonly Finding[]>;

export const ok = (at: string, text: string): Finding => ({ at, state: 'ok', text });
export const note = (at: string, text: string): Finding => ({ at, state: 'note', text });
export const wrong = (at: string, text: string): Finding => ({ at, state: 'wrong', text });
export const skipped = (at: string, text: string): Finding => ({ at, state: 'skipped', text });

const MIN_FREE_BYTES = 32 * 1024 * 1024;
/** Zones follow borders, not the sun: the widest country of one zone is three hours off it. */
const MAX_ZONE_OFFSET_HOURS = 4;

const isAccessible = (path: string, mode: number) =>
  access(path, mode).then(
    () => true,
    () => false,
  );

export const checkServiceAddress: Check = async ({ config: { service } }) =>
  service.url === PLACEHOLDER_URL
    ? [
        wrong(
          'service.url',
          `${PLACEHOLDER_URL} is a placeholder: write the address of your service (docs/services.md)`,
        ),
      ]
    : [];

const LOGIN_FILE = /^(service|mqtt)\.(username|password)File$/;
/** A reader takes the last line break away; an editor may leave more, or begin with a mark. */
const NOT_OF_A_LINE = /[\p{Cc}\uFEFF]/u;

/** Every file that the configuration names; a secret file may be readable by its owner alone. */
export const checkFiles: Check = async ({ config, env, isInstalled }) => {
  const files = listConfiguredFiles(config);
  const problems = await findSecretProblems(files, env.CREDENTIALS_DIRECTORY);
  const secrets = createSecrets({ credentials: env.CREDENTIALS_DIRECTORY });
  const findings: Finding[] = [];
  for (const { at, path } of files) {
    const problem = problems.find((one) => one.at === at);
    const text = await secrets.read(path);
    if (problem !== undefined) findings.push(wrong(at, problem.text));
    else if (text === undefined && isInstalled && (await isAccessible(path, constants.F_OK)))
      findings.push(skipped(at, `${path} is there; root alone may read it, and the unit hands it to the agent`));
    else if (text === undefined)
      findings.push(wrong(at, `${path} cannot be read, so the login would fail: create it, readable by this user`));
    else if (text.trim() === '') findings.push(wrong(at, `${path} is empty: write one line into it`));
    else if (LOGIN_FILE.test(at) && NOT_OF_A_LINE.test(text))
      findings.push(
        wrong(at, `${path} holds more than a line, and a login sends all of it: no blank lines, no byte order mark`),
      );
    else if (at.endsWith('.ca') && !holdsCertificate(text))
      findings.push(
        wrong(at, `${path} holds no certificate, so it adds no trust: write the authority's certificate into it, PEM`),
      );
    else findings.push(ok(at, path));
  }
  return findings;
};

/** The file of prices that plans need; what is wrong with it, as the agent would say. */
export const checkPrices: Check = async ({ config: { tariff }, env }) => {
  if (tariff?.source.kind !== 'file') return [];
  const { path } = tariff.source;
  const text = await createSecrets({ credentials: env.CREDENTIALS_DIRECTORY }).read(path, 'public');
  const instead = 'plans go by carbon';
  if (text === undefined)
    return [wrong('tariff.file', `${path} cannot be read, so ${instead}: create it, readable by the agent`)];
  const parsed = parsePriceFile(text, tariff.currency);
  return [
    parsed.ok
      ? ok('tariff.file', path)
      : wrong('tariff.file', `the prices of ${path} ${parsed.problem}, so ${instead}`),
  ];
};

/** The directory, or its nearest existing parent. */
async function findExistingParent(path: string): Promise<string> {
  return (await isAccessible(path, constants.F_OK)) || dirname(path) === path
    ? path
    : findExistingParent(dirname(path));
}

/** Undefined for a directory that the agent could use. */
async function findStateProblem(existing: string, state: string, isInstalled: boolean): Promise<string | undefined> {
  if (!(await stat(existing)).isDirectory()) return `${existing} is not a directory: give another --state`;
  if (!isInstalled && !(await isAccessible(existing, constants.W_OK | constants.X_OK)))
    return `this user may not write to ${existing}, so the agent could not save its state: ${existing === state ? `sudo chown "$USER" ${state}` : `sudo install -d -m 700 -o "$USER" ${state}`}, or give another --state`;
  if (existing === state) {
    const ownershipError = await resolveOwnDirectory(state, { allowsOtherOwner: isInstalled }).then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (ownershipError !== undefined) return `${ownershipError}, so the agent could not save its state`;
  }
  const { bavail, bsize } = await statfs(existing);
  return bavail * bsize < MIN_FREE_BYTES
    ? `${existing} has ${Math.floor((bavail * bsize) / 2 ** 20)} MiB free, and a map needs 32: make room`
    : undefined;
}

export const checkState: Check = async ({ config: { state }, isInstalled }) => {
  const existing = await findExistingParent(state);
  const problem = await findStateProblem(existing, state, isInstalled);
  if (problem !== undefined) return [wrong('state', problem)];
  if (existing !== state)
    return [
      ok('state', isInstalled ? `the unit makes ${state} at its start` : `${state} will be created in ${existing}`),
    ];
  return [ok('state', isInstalled ? `${state} belongs to the installed agent` : `${state} is writable`)];
};

export const checkClock: Check = async ({ config: { service } }) => {
  if (createSystemClock().now().trusted) return [ok('clock', 'synchronised')];
  const cure =
    service.url === undefined
      ? 'the clock is synchronised; turn on systemd-timesyncd or fit a battery clock: an agent without an account gets no time of the service'
      : 'the service has answered with its time';
  const text = `not synchronised (no time service, no battery clock): loads stay at their fail-safe level until ${cure}`;
  return [note('clock', text)];
};

const listGpioLines = ({ loads }: LocatedConfig) =>
  loads.flatMap(({ name, output }) => {
    const at = `loads.${name}.output`;
    const key = output.kind === 'relay' ? 'pin' : 'pins';
    return [
      ...listOutputLines(output).map((line) => ({ at: `${at}.${key}`, line, use: 'may be driven' })),
      ...listInputs(output).map(([input, { pin }]) => ({ at: `${at}.${input}.pin`, line: pin, use: 'may be read' })),
    ];
  });

const INTERFACE_TEXTS = {
  onoff: 'onoff, over /sys/class/gpio',
  'character-device': 'the character device, held by gridtide-lines',
} as const;

/** Chip, line and permission; drives no line. */
export const checkLines: Check = async ({ config, isInstalled }) => {
  const lines = listGpioLines(config);
  if (lines.length === 0) return [skipped('loads', 'no load uses a GPIO line')];
  const { chooseGpioInterface, probeLines } = await import('../../platform/gpio-interface.ts');
  const chosen = await chooseGpioInterface(config.gpio);
  const failures = await probeLines(
    lines.map(({ line }) => line),
    chosen,
  );
  const findings = lines.map(({ at, line, use }, i) => {
    const failure = failures[i];
    const name = formatHeaderLine(line);
    if (failure?.kind === 'forbidden' && isInstalled)
      return skipped(at, `${name}: exists; this user may not drive it, and the user of the agent may`);
    return failure === undefined ? ok(at, `${name}: exists and ${use}`) : wrong(at, failure.detail);
  });
  const by = config.gpio === 'auto' ? 'chosen by probing as this user' : 'forced';
  const text = `${INTERFACE_TEXTS[chosen]} (${by})`;
  // A line that another program uses was reached.
  const reachesNone = findings.every(({ state }, i) => state === 'wrong' && failures[i]?.kind !== 'busy');
  return [
    reachesNone ? note('gpio', `${text}: it reaches none of the configured lines`) : ok('gpio', text),
    // A problem of the whole chip appears at each line of a load and is reported once.
    ...findings.filter(
      ({ at, text }, i) => findings.findIndex((other) => other.at === at && other.text === text) === i,
    ),
  ];
};

/** The distance to the nearest region: a street or a continent. Imported only here; lookups do not need it. */
async function describeNearestRegion(disk: Disk, { info: { signalType } }: RegionMap, place: Place): Promise<string> {
  const { findNearestRegion } = await import('../../region/nearest-region.ts');
  const nearest = await findNearestRegion(disk, signalType, place);
  if (nearest === undefined) return '';
  const { region, distance } = nearest;
  return `; the nearest is ${region}, ${distance.toFixed(distance < 10 ? 1 : 0)} km away`;
}

/** The most common mistakes with two numbers: swapped, or a sign lost. */
async function suggestPlace(map: RegionMap, { latitude, longitude }: Place, disk: Disk): Promise<string> {
  const guesses = [
    [longitude, latitude, 'are the two swapped?'],
    [latitude, -longitude, 'is the sign of the longitude missing?'],
    [-latitude, longitude, 'is the sign of the latitude missing?'],
  ] as const;
  for (const [north, east, question] of guesses) {
    const place = toPlace(north, east);
    const found = typeof place === 'string' ? undefined : await map.findRegion(place);
    if (found !== undefined) return `; latitude ${north}, longitude ${east} would be ${found.region}: ${question}`;
  }
  return `${await describeNearestRegion(disk, map, { latitude, longitude })}: check both numbers`;
}

/** An unchanged map is not downloaded again, so the age that counts is that of the last request. */
function checkMapAge({ lastUpdated, importedAt }: MapInfo, checkedAt: Instant | undefined): Finding {
  const now = createSystemClock().now().wall;
  const requestedAt = checkedAt === undefined || checkedAt < importedAt ? importedAt : checkedAt;
  const mapDate = lastUpdated === undefined ? 'of unknown date' : `of ${formatInstant(lastUpdated).slice(0, 10)}`;
  const age = `${mapDate}, requested ${formatCount(Math.floor(durationBetween(requestedAt, now) / days(1)), 'day')} ago`;
  return isCheckOverdue(requestedAt, now)
    ? note('map', `${age}; the agent requests a newer one when it runs`)
    : ok('map', age);
}

async function checkLookup(
  map: RegionMap,
  place: Place,
  disk: Disk,
  checkedAt: Instant | undefined,
): Promise<readonly Finding[]> {
  const found = await map.findRegion(place);
  return [
    found === undefined
      ? wrong(
          'place',
          `latitude ${place.latitude}, longitude ${place.longitude} lies in no region of the map${await suggestPlace(map, place, disk)}`,
        )
      : ok('place', `${found.region}, ${found.regionFullName}`),
    checkMapAge(map.info, checkedAt),
  ];
}

function describeMissingMap({ region, url }: LocatedConfig['service']): string {
  if (region !== undefined) return `not needed: service.region names ${region}`;
  return url === undefined
    ? 'no map yet; an agent without an account has that of a relay with --map, or reads one by gridtide map import'
    : 'no map yet: the agent downloads one where the account includes maps, else it asks the service for the region';
}

export const checkPlace: Check = async ({ config: { state, place, service } }) => {
  if (!(await isAccessible(join(state, `map.${service.signalType}.idx`), constants.F_OK)))
    return [note('map', describeMissingMap(service))];
  const { openMap } = await import('../../region/lookup.ts');
  try {
    const disk = createSharedFileDisk(state);
    const checkedAt = await loadRegionCheckedAt(createDocumentStore(disk, () => {}));
    const map = await openMap(disk, service.signalType);
    if (map === undefined || 'kind' in map)
      return [wrong('map', `${map?.message ?? 'it cannot be opened'}: download it again with gridtide map update`)];
    try {
      return await checkLookup(map, place, disk, checkedAt);
    } finally {
      await map.close();
    }
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    return [wrong('map', `${error.message}: download it again with gridtide map update`)];
  }
};

export const checkTimezone: Check = async ({ config: { place } }) => {
  const { timezone, longitude } = place;
  const offset = getZoneOffset(timezone, createSystemClock().now().wall) / 3_600_000;
  const hoursApart = Math.abs(offset - longitude / 15);
  // Across the date line the difference wraps around.
  const isFar = Math.min(hoursApart, 24 - hoursApart) > MAX_ZONE_OFFSET_HOURS;
  const solar = `longitude ${longitude} is ${(longitude / 15).toFixed(1)} h from Greenwich by the sun`;
  return [
    isFar
      ? wrong(
          'place.timezone',
          `${timezone} is ${offset} h from Greenwich and ${solar}, so deadlines would come at the wrong hours: correct one of them`,
        )
      : ok('place.timezone', timezone),
  ];
};

/** What `gridtide check` can find out on the device itself: files, state directory, clock, GPIO lines, place and map, time zone. Changes nothing. */

import { constants } from 'node:fs';
import { access, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { regionCheckedAt } from '../agent/region-keeper.ts';
import { createStore } from '../agent/store.ts';
import type { Located } from '../config/sources.ts';
import { createSystemClock } from '../platform/clock.ts';
import { createDisk, ownPath } from '../platform/disk.ts';
import { createSecrets } from '../platform/secrets.ts';
import type { MapInfo, RegionMap } from '../region/map.ts';
import { placeOf } from '../region/place.ts';
import { isOverdue } from '../region/renewal.ts';
import { between, counted, days, type Instant, iso, type Place } from '../units.ts';
import { type Disk, DiskError } from '../world.ts';
import { offsetAt } from '../zone.ts';
import { holdsCertificate } from './authority.ts';
import type { Terminal } from './command.ts';

/** `note` is worth knowing and costs nothing; `wrong` needs the owner; `skipped` was not looked at. */
export interface Finding {
  /** Where: a path in the configuration, or what was asked. */
  readonly at: string;
  readonly state: 'ok' | 'note' | 'wrong' | 'skipped';
  /** What is found; of something wrong also what it means and what to do. */
  readonly words: string;
}

export interface Subject {
  readonly config: Located;
  readonly env: Terminal['env'];
  readonly stop: AbortSignal;
}

export type Check = (subject: Subject) => Promise<readonly Finding[]>;

export const ok = (at: string, words: string): Finding => ({ at, state: 'ok', words });
export const note = (at: string, words: string): Finding => ({ at, state: 'note', words });
export const wrong = (at: string, words: string): Finding => ({ at, state: 'wrong', words });
export const skipped = (at: string, words: string): Finding => ({ at, state: 'skipped', words });

const OTHERS = 0o077;
const LEAST_FREE = 32 * 1024 * 1024;
/** Zones follow borders, not the sun: the widest country of one zone is three hours off it. */
const FARTHEST_ZONE_HOURS = 4;

const allows = (path: string, mode: number) =>
  access(path, mode).then(
    () => true,
    () => false,
  );

/** Every file that the configuration names; what is secret, its owner alone may read. */
export const checkFiles: Check = async ({ config: { service, mqtt }, env }) => {
  const files = [
    ['service.usernameFile', service.usernameFile, false],
    ['service.passwordFile', service.passwordFile, true],
    ['service.ca', service.ca, false],
    ['mqtt.usernameFile', mqtt?.usernameFile, false],
    ['mqtt.passwordFile', mqtt?.passwordFile, true],
    ['mqtt.ca', mqtt?.ca, false],
    ['mqtt.certificate', mqtt?.certificate, false],
    ['mqtt.key', mqtt?.key, true],
  ] as const;
  const secrets = createSecrets({ credentials: env.CREDENTIALS_DIRECTORY });
  const findings: Finding[] = [];
  for (const [at, path, isSecret] of files) {
    if (path === undefined) continue;
    const text = await secrets.read(path);
    const mode = await stat(path).then(
      ({ mode }) => mode,
      () => 0,
    );
    if (text === undefined)
      findings.push(wrong(at, `${path} cannot be read, so nobody can log in with it: write it, readable by this user`));
    else if (text.trim() === '') findings.push(wrong(at, `${path} is empty: write one line there`));
    else if (at.endsWith('.ca') && !holdsCertificate(text))
      findings.push(
        wrong(at, `${path} holds no certificate, so nobody is trusted by it: write the authority's there, PEM`),
      );
    else if (isSecret && (mode & OTHERS) !== 0)
      findings.push(
        wrong(
          at,
          `${path} has mode ${(mode & 0o777).toString(8)}, so others on this machine may read it: chmod 600 ${path}`,
        ),
      );
    else findings.push(ok(at, path));
  }
  return findings;
};

/** The directory, or what would hold it once it is made. */
async function standing(path: string): Promise<string> {
  return (await allows(path, constants.F_OK)) || dirname(path) === path ? path : standing(dirname(path));
}

export const checkState: Check = async ({ config: { state } }) => {
  const there = await standing(state);
  if (!(await stat(there)).isDirectory()) return [wrong('state', `${there} is no directory: give another --state`)];
  if (!(await allows(there, constants.W_OK | constants.X_OK)))
    return [
      wrong(
        'state',
        `${there} may not be written by this user, so nothing would be remembered: sudo chown "$USER" ${there}, or give another --state`,
      ),
    ];
  const refused =
    there === state
      ? await ownPath(state).then(
          () => undefined,
          (error: Error) => error.message,
        )
      : undefined;
  if (refused !== undefined) return [wrong('state', `${refused}, so nothing would be remembered`)];
  const { bavail, bsize } = await statfs(there);
  if (bavail * bsize < LEAST_FREE)
    return [
      wrong(
        'state',
        `${Math.floor((bavail * bsize) / 2 ** 20)} MiB are free at ${there}, and a map needs 32: make room`,
      ),
    ];
  return [ok('state', there === state ? `${state} can be written` : `${state} will be made in ${there}`)];
};

export const checkClock: Check = async () => {
  const { trusted } = createSystemClock().now();
  const words = trusted
    ? 'synchronised'
    : "nothing vouches for it yet (no time service, no battery clock): until the service's time is heard the loads stay at their fail-safe level";
  return [trusted ? ok('clock', words) : note('clock', words)];
};

const linesOf = ({ loads }: Located) =>
  loads.flatMap(({ name, output }) => {
    const at = `loads.${name}.output`;
    if (output.kind === 'relay') return [{ at: `${at}.pin`, line: output.pin }];
    return output.kind === 'sg-ready' ? output.pins.map((line) => ({ at: `${at}.pins`, line })) : [];
  });

/** Chip, line and right to drive it; no line is touched. */
export const checkLines: Check = async ({ config }) => {
  const lines = linesOf(config);
  if (lines.length === 0) return [skipped('loads', 'no load is wired to a GPIO line')];
  const { lookAtLine } = await import('../platform/pin-look.ts');
  const findings = await Promise.all(
    lines.map(async ({ at, line }) => {
      const failure = await lookAtLine(line);
      return failure === undefined ? ok(at, `line ${line} is there and may be driven`) : wrong(at, failure.detail);
    }),
  );
  // What is wrong with the whole chip is wrong with each of a load's lines, and told once.
  return findings.filter(
    ({ at, words }, i) => findings.findIndex((other) => other.at === at && other.words === words) === i,
  );
};

/** How far the next region is: whether the place is off by a street or by a continent. Loaded only here, for lookups never ask. */
async function nearestWords(disk: Disk, { info: { signalType } }: RegionMap, place: Place): Promise<string> {
  const { nearestRegion } = await import('../region/nearest.ts');
  const nearest = await nearestRegion(disk, signalType, place);
  if (nearest === undefined) return '';
  const { region, away } = nearest;
  return `; the nearest is ${region}, ${away < 10 ? away.toFixed(1) : away.toFixed(0)} km away`;
}

/** The most common mistakes with two numbers: swapped, or a sign lost. */
async function betterPlace(map: RegionMap, { latitude, longitude }: Place, disk: Disk): Promise<string> {
  const guesses = [
    [longitude, latitude, 'are the two swapped?'],
    [latitude, -longitude, 'is the sign of the longitude lost?'],
    [-latitude, longitude, 'is the sign of the latitude lost?'],
  ] as const;
  for (const [north, east, question] of guesses) {
    const place = placeOf(north, east);
    const found = typeof place === 'string' ? undefined : await map.regionAt(place);
    if (found !== undefined) return `; latitude ${north}, longitude ${east} would be ${found.region}: ${question}`;
  }
  return `${await nearestWords(disk, map, { latitude, longitude })}: check both numbers`;
}

/** A map that is unchanged is not fetched again: what counts is when it was asked for. */
function ageOf({ lastUpdated, importedAt }: MapInfo, checkedAt: Instant | undefined): Finding {
  const now = createSystemClock().now().wall;
  const askedAt = checkedAt === undefined || checkedAt < importedAt ? importedAt : checkedAt;
  const held = lastUpdated === undefined ? 'of an unknown day' : `of ${iso(lastUpdated).slice(0, 10)}`;
  const age = `${held}, asked for ${counted(Math.floor(between(askedAt, now) / days(1)), 'day')} ago`;
  return isOverdue(askedAt, now) ? note('map', `${age}; the agent asks for a newer one when it runs`) : ok('map', age);
}

async function lookedUp(
  map: RegionMap,
  place: Place,
  disk: Disk,
  checkedAt: Instant | undefined,
): Promise<readonly Finding[]> {
  const found = await map.regionAt(place);
  return [
    found === undefined
      ? wrong(
          'place',
          `latitude ${place.latitude}, longitude ${place.longitude} lies in no region of the map${await betterPlace(map, place, disk)}`,
        )
      : ok('place', `${found.region}, ${found.regionFullName}`),
    ageOf(map.info, checkedAt),
  ];
}

export const checkPlace: Check = async ({ config: { state, place, service } }) => {
  if (!(await allows(join(state, `map.${service.signalType}.idx`), constants.F_OK)))
    return [note('map', 'none is held yet; the agent fetches it, and so does gridtide map update')];
  const { openMap } = await import('../region/lookup.ts');
  try {
    const disk = createDisk(state);
    const checkedAt = await regionCheckedAt(createStore(disk, () => {}));
    const map = await openMap(disk, service.signalType);
    if (map === undefined || 'kind' in map)
      return [wrong('map', `${map?.message ?? 'it cannot be opened'}: gridtide map update brings a new one`)];
    try {
      return await lookedUp(map, place, disk, checkedAt);
    } finally {
      await map.close();
    }
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    return [wrong('map', `${error.message}: gridtide map update brings a new one`)];
  }
};

export const checkTimezone: Check = async ({ config: { place } }) => {
  const { timezone, longitude } = place;
  const offset = offsetAt(timezone, createSystemClock().now().wall) / 3_600_000;
  const apart = Math.abs(offset - longitude / 15);
  // The date line is no distance.
  const isFar = Math.min(apart, 24 - apart) > FARTHEST_ZONE_HOURS;
  const sun = `longitude ${longitude} is ${(longitude / 15).toFixed(1)} h from Greenwich by the sun`;
  return [
    isFar
      ? wrong(
          'place.timezone',
          `${timezone} is ${offset} h from Greenwich and ${sun}, so deadlines would come at other hours than yours: correct one of them`,
        )
      : ok('place.timezone', timezone),
  ];
};

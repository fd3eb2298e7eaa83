/** `gridtide region`: which region a place lies in, by the map held, or by the service with `--online`. Never answers with the nearest. */

import { decimalOf } from '../config/written.ts';
import { createDisk } from '../platform/disk.ts';
import { openMap } from '../region/lookup.ts';
import type { RegionFound, RegionMap } from '../region/map.ts';
import { placeOf } from '../region/place.ts';
import { iso, type Place } from '../units.ts';
import { DiskError } from '../world.ts';
import { placeAsked, placeOptions } from './asked.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal, UsageError } from './command.ts';
import { type Here, hereOf, hereOptions } from './here.ts';
import { linesOf } from './lines.ts';
import { serviceOptions } from './service-options.ts';

type Row =
  | 'batch'
  | 'online'
  | 'json'
  | keyof typeof placeOptions
  | keyof typeof hereOptions
  | keyof typeof serviceOptions;

export const spec: CommandSpec<Row> = {
  name: 'region',
  summary: 'which region a place lies in',
  positionals: '',
  options: {
    ...placeOptions,
    batch: { help: 'read "latitude longitude" lines on stdin; one region, or -, a line' },
    online: { help: 'ask the service (region-from-loc) instead of the map held' },
    json: { help: 'one JSON document; with --batch one a line' },
    ...hereOptions,
    ...serviceOptions,
  },
  notes: ['The map comes with: gridtide map update, or gridtide map import FILE.'],
};

/** What is said of one place: found, outside, or no place at all. */
interface Answer {
  readonly region: string;
  readonly regionFullName: string;
  readonly candidates: readonly string[];
  readonly mapLastUpdated: string | null;
}

type Resolve = (place: Place) => Promise<Answer | undefined>;

const OUTSIDE = 'Coordinates not found';

const unusable = (why: string) => new JobError(`${why}; gridtide map update brings a new one`);

async function openHeldMap(here: Here): Promise<RegionMap> {
  const map = await openMap(createDisk(here.directory), here.signalType);
  if (map === undefined)
    throw new JobError(
      `no map of ${here.signalType} is held in ${here.directory}; bring one with gridtide map update or gridtide map import FILE`,
    );
  if ('kind' in map) throw unusable(map.message);
  return map;
}

function offline(map: RegionMap): Resolve {
  const { lastUpdated } = map.info;
  const mapLastUpdated = lastUpdated === undefined ? null : iso(lastUpdated);
  return async (place) => {
    const found: RegionFound | undefined = await map.regionAt(place);
    if (found === undefined) return undefined;
    const { region, regionFullName, candidates } = found;
    return { region, regionFullName, candidates, mapLastUpdated };
  };
}

const document = ({ region, regionFullName, candidates, mapLastUpdated }: Answer, here: Here, place: Place) => ({
  region,
  regionFullName,
  signalType: here.signalType,
  latitude: place.latitude,
  longitude: place.longitude,
  mapLastUpdated,
  candidates,
});

function onePlace(args: Arguments<Row>, here: Here): Place {
  const place = placeAsked(args, here.place);
  if (place === undefined)
    throw new UsageError('which place? give --latitude and --longitude, or --config with a place');
  return place;
}

/** A map often answers for the swapped pair: the most common mistake is worth a look. */
async function swappedHint({ latitude, longitude }: Place, resolve: Resolve): Promise<string> {
  const swapped = placeOf(longitude, latitude);
  const found = typeof swapped === 'string' ? undefined : await resolve(swapped);
  return found === undefined
    ? ''
    : `; latitude ${longitude}, longitude ${latitude} would be ${found.region}: are the two swapped?`;
}

interface Telling {
  readonly here: Here;
  readonly resolve: Resolve;
  readonly online: boolean;
  readonly json: boolean;
  readonly terminal: Terminal;
}

async function tellOne(place: Place, { here, resolve, online, json, terminal }: Telling): Promise<number> {
  const found = await resolve(place);
  if (found === undefined) {
    const hint = online ? '' : await swappedHint(place, resolve);
    terminal.err(
      `gridtide region: ${OUTSIDE}: ${place.latitude} ${place.longitude} lies in no region of ${here.signalType}${hint}\n`,
    );
    if (json) terminal.out(`${JSON.stringify({ error: OUTSIDE })}\n`);
    return 1;
  }
  if (json) {
    terminal.out(`${JSON.stringify(document(found, here, place))}\n`);
    return 0;
  }
  terminal.out(`${found.region}  ${found.regionFullName}\n`);
  const others = found.candidates.slice(1);
  if (others.length > 0) terminal.err(`on a border or an overlap: ${others.join(', ')} too\n`);
  return 0;
}

function placeOfLine(line: string): Place | string {
  const words = line.trim().split(/[\s,;]+/);
  const [north, east, ...more] = words.map(decimalOf);
  if (north === undefined || east === undefined || more.length > 0)
    return `"${line.slice(0, 60)}" is not "latitude longitude", each in digits such as -38.5`;
  return placeOf(north, east);
}

async function tellBatch({ here, resolve, json, terminal }: Telling): Promise<number> {
  let bad = 0;
  let nth = 0;
  for await (const line of linesOf(terminal)) {
    nth++;
    if (line.trim() === '') continue;
    const place = placeOfLine(line);
    if (typeof place === 'string') {
      bad++;
      terminal.err(`gridtide region: line ${nth}: ${place}\n`);
      terminal.out(json ? `${JSON.stringify({ error: place })}\n` : '-\n');
      continue;
    }
    const found = await resolve(place);
    if (json)
      terminal.out(`${JSON.stringify(found === undefined ? { error: OUTSIDE } : document(found, here, place))}\n`);
    else terminal.out(`${found?.region ?? '-'}\n`);
  }
  if (terminal.stop.aborted) throw new JobError(`stopped after line ${nth}`);
  return bad === 0 ? 0 : 1;
}

async function withResolve<T>(
  args: Arguments<Row>,
  terminal: Terminal,
  here: Here,
  work: (resolve: Resolve) => Promise<T>,
): Promise<T> {
  if (args.flag('online')) {
    const { withOnlineRegions } = await import('./region-online.ts');
    return withOnlineRegions(args, terminal, here.signalType, work);
  }
  const map = await openHeldMap(here);
  try {
    return await work(offline(map));
  } finally {
    await map.close();
  }
}

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const here = await hereOf(args, terminal);
  const json = args.flag('json');
  const batch = args.flag('batch');
  if (batch && (args.number('latitude') ?? args.number('longitude')) !== undefined)
    throw new UsageError('--batch reads the places on stdin; --latitude and --longitude are for one place');
  const place = batch ? undefined : onePlace(args, here);
  try {
    return await withResolve(args, terminal, here, (resolve) => {
      const telling = { here, resolve, online: args.flag('online'), json, terminal };
      return place === undefined ? tellBatch(telling) : tellOne(place, telling);
    });
  } catch (error) {
    if (error instanceof DiskError) throw unusable(error.failure.detail);
    throw error;
  }
}

/** `gridtide region`: the region of a place by the local map, or by the service with `--online`; never the nearest one. */

import { toPlace } from '../../domain/place.ts';
import { DiskError } from '../../domain/ports.ts';
import { parseDecimal } from '../../domain/text-format.ts';
import { formatInstant, type Place } from '../../domain/units.ts';
import { createSharedFileDisk } from '../../platform/file-disk.ts';
import { openMap } from '../../region/lookup.ts';
import type { RegionMap } from '../../region/region-types.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal, UsageError } from '../shared/command.ts';
import { parsePlaceFlags, placeOptions } from '../shared/flag-parsers.ts';
import {
  buildNoMapMessage,
  type LocalContext,
  localContextOptions,
  readLocalContext,
} from '../shared/local-context.ts';
import { serviceOptions } from '../shared/service-options.ts';
import { readStdinLines } from '../shared/stdin-lines.ts';
import type { RegionAnswer, RegionResolver } from './region-resolver.ts';

export const spec = {
  name: 'region',
  positionals: '',
  options: {
    ...placeOptions,
    batch: { help: 'read "latitude longitude" lines on stdin; print one region, or -, per line' },
    online: { help: 'ask the service (region-from-loc) instead of the local map' },
    json: { help: 'one JSON document; with --batch one per line' },
    ...localContextOptions,
    ...serviceOptions,
  },
  notes: ['Get the map with gridtide map update or gridtide map import FILE.'],
} satisfies CommandSpec;

type Row = keyof typeof spec.options;

const OUTSIDE = 'Coordinates not found';

const buildUnusableMapError = (cause: string) => new JobError(`${cause}; get a new map with gridtide map update`);

async function openStoredMap(context: LocalContext): Promise<RegionMap> {
  const map = await openMap(createSharedFileDisk(context.stateDirectory), context.signalType);
  if (map === undefined) throw new JobError(buildNoMapMessage(context));
  if ('kind' in map) throw buildUnusableMapError(map.message);
  return map;
}

function createMapResolver(map: RegionMap): RegionResolver {
  const { lastUpdated } = map.info;
  const mapLastUpdated = lastUpdated === undefined ? null : formatInstant(lastUpdated);
  return async (place) => {
    const found = await map.findRegion(place);
    if (found === undefined) return undefined;
    const { region, regionFullName, candidates } = found;
    return { region, regionFullName, candidates, mapLastUpdated };
  };
}

const toRegionDocument = (
  { region, regionFullName, candidates, mapLastUpdated }: RegionAnswer,
  context: LocalContext,
  place: Place,
) => ({
  region,
  regionFullName,
  signalType: context.signalType,
  latitude: place.latitude,
  longitude: place.longitude,
  mapLastUpdated,
  candidates,
});

function requirePlace(args: Arguments<Row>, context: LocalContext): Place {
  const place = parsePlaceFlags(args, context.place);
  if (place === undefined)
    throw new UsageError('the place is missing; give --latitude and --longitude, or --config with a place');
  return place;
}

/** The most common mistake: latitude and longitude are swapped. */
async function suggestSwapped({ latitude, longitude }: Place, resolve: RegionResolver): Promise<string> {
  const swapped = toPlace(longitude, latitude);
  const found = typeof swapped === 'string' ? undefined : await resolve(swapped);
  return found === undefined
    ? ''
    : `; latitude ${longitude}, longitude ${latitude} would be ${found.region}: are the two swapped?`;
}

interface PrintContext {
  readonly local: LocalContext;
  readonly resolve: RegionResolver;
  readonly online: boolean;
  readonly json: boolean;
  readonly terminal: Terminal;
}

async function printRegion(place: Place, { local, resolve, online, json, terminal }: PrintContext): Promise<number> {
  const found = await resolve(place);
  if (found === undefined) {
    const hint = online ? '' : await suggestSwapped(place, resolve);
    terminal.err(
      `gridtide region: ${OUTSIDE}: ${place.latitude} ${place.longitude} lies in no region of ${local.signalType}${hint}\n`,
    );
    if (json) terminal.out(`${JSON.stringify({ error: OUTSIDE })}\n`);
    return 1;
  }
  if (json) {
    terminal.out(`${JSON.stringify(toRegionDocument(found, local, place))}\n`);
    return 0;
  }
  terminal.out(`${found.region}  ${found.regionFullName}\n`);
  const others = found.candidates.slice(1);
  if (others.length > 0) terminal.err(`on a border or an overlap with ${others.join(', ')}\n`);
  return 0;
}

function parsePlaceLine(line: string): Place | string {
  const words = line.trim().split(/[\s,;]+/);
  const [north, east, ...more] = words.map(parseDecimal);
  if (north === undefined || east === undefined || more.length > 0)
    return `"${line.slice(0, 60)}" is not "latitude longitude", each in digits such as -38.5`;
  return toPlace(north, east);
}

async function printBatch({ local, resolve, json, terminal }: PrintContext): Promise<number> {
  let badLines = 0;
  let lineNumber = 0;
  for await (const line of readStdinLines(terminal)) {
    lineNumber++;
    if (line.trim() === '') continue;
    const place = parsePlaceLine(line);
    if (typeof place === 'string') {
      badLines++;
      terminal.err(`gridtide region: line ${lineNumber}: ${place}\n`);
      terminal.out(json ? `${JSON.stringify({ error: place })}\n` : '-\n');
      continue;
    }
    const found = await resolve(place);
    if (json)
      terminal.out(
        `${JSON.stringify(found === undefined ? { error: OUTSIDE } : toRegionDocument(found, local, place))}\n`,
      );
    else terminal.out(`${found?.region ?? '-'}\n`);
  }
  if (terminal.stop.aborted) throw new JobError(`stopped after line ${lineNumber}`);
  return badLines === 0 ? 0 : 1;
}

async function withResolver<T>(
  args: Arguments<Row>,
  terminal: Terminal,
  context: LocalContext,
  work: (resolve: RegionResolver) => Promise<T>,
): Promise<T> {
  if (args.flag('online')) {
    const { withOnlineRegions } = await import('./region-online.ts');
    return withOnlineRegions(args, terminal, context.signalType, work);
  }
  const map = await openStoredMap(context);
  try {
    return await work(createMapResolver(map));
  } finally {
    await map.close();
  }
}

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const context = await readLocalContext(args, terminal);
  const json = args.flag('json');
  const batch = args.flag('batch');
  if (batch && (args.number('latitude') ?? args.number('longitude')) !== undefined)
    throw new UsageError('--batch reads places from stdin; drop --latitude and --longitude, which name one place');
  const place = batch ? undefined : requirePlace(args, context);
  try {
    return await withResolver(args, terminal, context, (resolve) => {
      const printContext = { local: context, resolve, online: args.flag('online'), json, terminal };
      return place === undefined ? printBatch(printContext) : printRegion(place, printContext);
    });
  } catch (error) {
    if (error instanceof DiskError) throw buildUnusableMapError(error.failure.detail);
    throw error;
  }
}

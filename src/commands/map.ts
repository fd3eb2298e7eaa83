/** `gridtide map`: brings a region map into the index held, from the service or a file, and shows what is held. */

import { createDisk } from '../platform/disk.ts';
import { mapInfo } from '../region/held.ts';
import { importMap } from '../region/import.ts';
import type { ImportOptions, ImportProgress, ImportResult, MapInfo } from '../region/map.ts';
import { counted, type Instant, iso } from '../units.ts';
import { placeAsked, placeOptions } from './asked.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal } from './command.ts';
import { type Here, hereOf, hereOptions } from './here.ts';
import type { MapSource } from './map-source.ts';
import { serviceOptions } from './service-options.ts';

type Row = 'force' | 'json' | keyof typeof placeOptions | keyof typeof hereOptions | keyof typeof serviceOptions;

export const spec: CommandSpec<Row> = {
  name: 'map',
  summary: 'the region map held: download it, import a file, show it',
  positionals: ['update', 'import FILE', 'info'],
  options: {
    ...placeOptions,
    force: {
      help: 'take the map even when it is unchanged, or has lost regions or the own place',
      only: ['update', 'import'],
    },
    json: { help: 'one JSON document' },
    ...hereOptions,
    ...serviceOptions,
  },
  notes: [
    'import FILE takes GeoJSON (specification 2.8), plain or gzipped; - reads it from stdin.',
    'The map held before stays until the new one has passed its checks.',
  ],
};

const shown = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;

const document = (info: MapInfo) => ({
  signalType: info.signalType,
  lastUpdated: info.lastUpdated === undefined ? null : iso(info.lastUpdated),
  regions: info.regions,
  polygons: info.polygons,
  bytes: info.bytes,
  importedAt: iso(info.importedAt),
  features: info.features,
  vertices: info.vertices,
  pieces: info.pieces,
  sourceBytes: info.sourceBytes,
});

function sentence(info: MapInfo): string {
  const age = info.lastUpdated === undefined ? 'of unknown age' : `of ${iso(info.lastUpdated)}`;
  return `${info.signalType}: ${counted(info.regions, 'region')} ${age}, imported ${iso(info.importedAt)}, ${shown(info.bytes)} held (GeoJSON ${shown(info.sourceBytes)})`;
}

async function showInfo(here: Here, json: boolean, terminal: Terminal): Promise<number> {
  const info = await mapInfo(createDisk(here.directory), here.signalType);
  if (info === undefined || 'kind' in info) {
    const message =
      info === undefined
        ? `no map of ${here.signalType} is held in ${here.directory}; bring one with gridtide map update or gridtide map import FILE`
        : `${info.message}; bring a new one with gridtide map update or gridtide map import FILE`;
    if (json) terminal.out(`${JSON.stringify({ error: message })}\n`);
    throw new JobError(message);
  }
  terminal.out(json ? `${JSON.stringify(document(info))}\n` : `${sentence(info)}\n`);
  return 0;
}

/** A line that is written over, at a terminal only. */
function progressTo({ err, interactive }: Terminal, total: number | undefined): (progress: ImportProgress) => void {
  let told = 0;
  return ({ bytes, features }) => {
    if (!interactive || bytes - told < 1e6) return;
    told = bytes;
    err(`\r${shown(bytes)}${total === undefined ? '' : ` of ${shown(total)}`}, ${counted(features, 'feature')}`);
  };
}

async function take(source: MapSource, args: Arguments<Row>, here: Here, terminal: Terminal): Promise<ImportResult> {
  const { place: home } = here;
  const options: ImportOptions = {
    chunks: source.chunks,
    disk: createDisk(here.directory),
    signalType: here.signalType,
    now: Date.now() as Instant,
    force: args.flag('force'),
    progress: progressTo(terminal, source.total),
    log: (level, message) => {
      if (level === 'warn' || level === 'error') terminal.err(`${message}\n`);
    },
    stop: terminal.stop,
    ...(home === undefined ? {} : { home }),
  };
  const result = await importMap(options);
  if (terminal.interactive) terminal.err('\r\u001b[K');
  if (result.ok && home !== undefined && result.home === undefined)
    terminal.err(
      `${home.latitude} ${home.longitude} lies in no region of this map; check that latitude and longitude are not swapped\n`,
    );
  return result;
}

function tell(result: ImportResult, json: boolean, terminal: Terminal): number {
  if (!result.ok) throw new JobError(`${result.failure.message}; the map held before, if any, stays in use`);
  const { info, unchanged, home, change } = result;
  if (json) {
    const region = home === undefined ? {} : { region: home.region, regionFullName: home.regionFullName };
    terminal.out(`${JSON.stringify({ ...document(info), unchanged, ...region })}\n`);
    return 0;
  }
  terminal.out(`${unchanged ? 'unchanged: ' : ''}${sentence(info)}\n`);
  // Why the map is not followed has been said as a warning.
  const verb = change === 'vanished' || change === 'changed' ? 'stays' : 'lies';
  if (home !== undefined) terminal.out(`the own place ${verb} in ${home.region} (${home.regionFullName})\n`);
  return 0;
}

async function importFile(args: Arguments<Row>, here: Here, terminal: Terminal): Promise<number> {
  const [name = '-'] = args.positionals;
  const { openMapSource } = await import('./map-source.ts');
  const source = await openMapSource(name, terminal.input);
  return tell(await take(source, args, here, terminal), args.flag('json'), terminal);
}

async function update(args: Arguments<Row>, here: Here, terminal: Terminal): Promise<number> {
  const { openService, answerOf } = await import('./service-access.ts');
  const access = await openService(args, terminal);
  try {
    const { chunks, contentLength } = answerOf(await access.service.map({ signalType: here.signalType }));
    const source = contentLength === undefined ? { chunks } : { chunks, total: contentLength };
    return tell(await take(source, args, here, terminal), args.flag('json'), terminal);
  } finally {
    await access.close();
  }
}

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const told = await hereOf(args, terminal);
  const place = placeAsked(args, told.place);
  // The region of the place is stored beside the map.
  const here: Here = place === undefined ? told : { ...told, place };
  if (args.action === 'info') return showInfo(here, args.flag('json'), terminal);
  return args.action === 'import' ? importFile(args, here, terminal) : update(args, here, terminal);
}

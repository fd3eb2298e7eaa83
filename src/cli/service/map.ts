/** `gridtide map`: downloads or imports the region map into the local index, or describes the index. */

import { formatCount, formatInstant, type Instant } from '../../domain/units.ts';
import { createSharedFileDisk } from '../../platform/file-disk.ts';
import { keepYoungHeapSmall } from '../../platform/young-heap.ts';
import { type DownloadOptions, downloadHomeMap, importHomeMap } from '../../region/home-region.ts';
import { readMapInfo } from '../../region/index/index-reader.ts';
import type { ImportProgress, ImportResult, MapInfo } from '../../region/region-types.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal } from '../shared/command.ts';
import { parsePlaceFlags, placeOptions } from '../shared/flag-parsers.ts';
import {
  buildNoMapMessage,
  type LocalContext,
  localContextOptions,
  readLocalContext,
} from '../shared/local-context.ts';
import { serviceOptions } from '../shared/service-options.ts';

export const spec = {
  name: 'map',
  positionals: ['update', 'import FILE', 'info'],
  options: {
    ...placeOptions,
    force: {
      help: 'import the map even when it is unchanged, or lacks earlier regions or the own place',
      actions: ['update', 'import'],
    },
    json: { help: 'one JSON document' },
    ...localContextOptions,
    ...serviceOptions,
  },
  notes: [
    'import FILE reads GeoJSON (specification 2.8), plain or gzipped; FILE - is stdin.',
    'The earlier map stays in use until the new one has passed its checks.',
  ],
} satisfies CommandSpec;

type Row = keyof typeof spec.options;

const formatMegabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;

const toInfoDocument = (info: MapInfo) => ({
  signalType: info.signalType,
  lastUpdated: info.lastUpdated === undefined ? null : formatInstant(info.lastUpdated),
  regions: info.regions,
  polygons: info.polygons,
  bytes: info.bytes,
  importedAt: formatInstant(info.importedAt),
  features: info.features,
  vertices: info.vertices,
  pieces: info.pieces,
  sourceBytes: info.sourceBytes,
});

function formatInfo(info: MapInfo): string {
  const age = info.lastUpdated === undefined ? 'of unknown age' : `of ${formatInstant(info.lastUpdated)}`;
  return `${info.signalType}: ${formatCount(info.regions, 'region')} ${age}, imported ${formatInstant(info.importedAt)}, index ${formatMegabytes(info.bytes)} (GeoJSON ${formatMegabytes(info.sourceBytes)})`;
}

async function showInfo(context: LocalContext, json: boolean, terminal: Terminal): Promise<number> {
  const info = await readMapInfo(createSharedFileDisk(context.stateDirectory), context.signalType);
  if (info === undefined || 'kind' in info) {
    const message =
      info === undefined
        ? buildNoMapMessage(context)
        : `${info.message}; get a new map with gridtide map update or gridtide map import FILE`;
    if (json) terminal.out(`${JSON.stringify({ error: message })}\n`);
    throw new JobError(message);
  }
  terminal.out(json ? `${JSON.stringify(toInfoDocument(info))}\n` : `${formatInfo(info)}\n`);
  return 0;
}

/** A line that is overwritten, at a terminal only. */
function createImportProgress(
  { err, showsProgress }: Terminal,
  total: number | undefined,
): (progress: ImportProgress) => void {
  let shownBytes = 0;
  return ({ bytes, features }) => {
    if (!showsProgress || bytes - shownBytes < 1e6) return;
    shownBytes = bytes;
    err(
      `\r${formatMegabytes(bytes)}${total === undefined ? '' : ` of ${formatMegabytes(total)}`}, ${formatCount(features, 'feature')}`,
    );
  };
}

function buildImportOptions(args: Arguments<Row>, { place, ...context }: LocalContext, terminal: Terminal) {
  return {
    disk: createSharedFileDisk(context.stateDirectory),
    signalType: context.signalType,
    now: Date.now() as Instant,
    force: args.flag('force'),
    log: (level, message) => {
      if (level === 'warn' || level === 'error') terminal.err(`${message}\n`);
    },
    stop: terminal.stop,
    ...(place === undefined ? {} : { homePlace: place }),
  } satisfies DownloadOptions;
}

/** Ends the line of progress and warns of a place outside the map. */
function finishImport(result: ImportResult, { place: home }: LocalContext, terminal: Terminal): ImportResult {
  if (terminal.showsProgress) terminal.err('\r\u001b[K');
  if (result.ok && home !== undefined && result.home === undefined)
    terminal.err(
      `${home.latitude} ${home.longitude} lies in no region of this map; check whether latitude and longitude are swapped\n`,
    );
  return result;
}

function printImport(result: ImportResult, json: boolean, terminal: Terminal): number {
  if (!result.ok) throw new JobError(`${result.failure.message}; an earlier map stays in use`);
  const { info, unchanged, home, change } = result;
  if (json) {
    const region = home === undefined ? {} : { region: home.region, regionFullName: home.regionFullName };
    terminal.out(`${JSON.stringify({ ...toInfoDocument(info), unchanged, ...region })}\n`);
    return 0;
  }
  terminal.out(`${unchanged ? 'unchanged: ' : ''}${formatInfo(info)}\n`);
  // A warning has explained why the region stays.
  const verb = change === 'vanished' || change === 'changed' ? 'stays' : 'lies';
  if (home !== undefined) terminal.out(`the own place ${verb} in ${home.region} (${home.regionFullName})\n`);
  return 0;
}

async function importFile(args: Arguments<Row>, context: LocalContext, terminal: Terminal): Promise<number> {
  const [name = '-'] = args.positionals;
  const { openMapSource } = await import('./map-source.ts');
  const { chunks, total } = await openMapSource(name, terminal.input);
  const options = buildImportOptions(args, context, terminal);
  const result = await importHomeMap({ ...options, chunks, onProgress: createImportProgress(terminal, total) });
  return printImport(finishImport(result, context, terminal), args.flag('json'), terminal);
}

async function updateMap(args: Arguments<Row>, context: LocalContext, terminal: Terminal): Promise<number> {
  const { openService, unwrapOutcome } = await import('../shared/service-access.ts');
  const access = await openService(args, terminal);
  try {
    const result = await downloadHomeMap(access.service, {
      ...buildImportOptions(args, context, terminal),
      onStart: (total) => createImportProgress(terminal, total),
    });
    return printImport(finishImport(unwrapOutcome(result), context, terminal), args.flag('json'), terminal);
  } finally {
    await access.close();
  }
}

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const given = await readLocalContext(args, terminal);
  const place = parsePlaceFlags(args, given.place);
  // The region of the place is stored beside the map.
  const context: LocalContext = place === undefined ? given : { ...given, place };
  if (args.action === 'info') return showInfo(context, args.flag('json'), terminal);
  keepYoungHeapSmall();
  return args.action === 'import' ? importFile(args, context, terminal) : updateMap(args, context, terminal);
}

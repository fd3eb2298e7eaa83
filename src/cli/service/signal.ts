/** `gridtide signal`: what the service says of a region's signal, as table, chart, CSV or the interface's own JSON. Stores nothing. */

import {
  addDuration,
  durationBetween,
  formatCount,
  formatInstant,
  PERCENTILE_UNITS,
  type Place,
} from '../../domain/units.ts';
import { createFileDisk } from '../../platform/file-disk.ts';
import type { ForecastQuery } from '../../service/api/query-types.ts';
import type { Envelope, LiveIndex } from '../../service/api/response-types.ts';
import { failureText } from '../../service/failure-text.ts';
import { computeLocalIndex } from '../../signal/percentile-index.ts';
import {
  type Arguments,
  type CommandSpec,
  JobError,
  selectAction,
  type Terminal,
  UsageError,
} from '../shared/command.ts';
import { parsePlaceFlags, parseTimeFlag, readSavedForecast } from '../shared/flag-parsers.ts';
import { type LocalContext, localContextOptions, readLocalContext } from '../shared/local-context.ts';
import { openService, type ServiceAccess, serviceOptions, unwrapOutcome } from '../shared/service-access.ts';
import type { SignalContext, SignalRow } from './signal-context.ts';
import { printHistory, printPastForecasts } from './signal-range.ts';
import {
  chooseTableSpan,
  createSignalTable,
  drawForecast,
  formatHeading,
  formatUtcMinute,
  toForecastDocument,
  toIndexDocument,
  toPointDocument,
} from './signal-text.ts';

const RANGES = ['history', 'past-forecasts'];

export const spec: CommandSpec<SignalRow> = {
  name: 'signal',
  positionals: ['now', 'forecast', 'history', 'past-forecasts', 'index'],
  options: {
    region: { value: 'REGION', help: 'abbreviation; else the place is looked up' },
    latitude: { value: 'DEGREES', help: 'with --longitude: the place, looked up in the map held, else by the service' },
    longitude: { value: 'DEGREES', help: 'east of Greenwich' },
    model: {
      value: 'DATE',
      help: "label of a data model; the service's default without",
      actions: ['now', 'forecast', ...RANGES],
    },
    'horizon-hours': { value: 'N', help: '0 to 72 (24)', actions: ['forecast', 'past-forecasts'] },
    start: { value: 'TIME', help: 'first time, inclusive', actions: RANGES },
    end: { value: 'TIME', help: 'last time, inclusive; now without', actions: RANGES },
    'include-imputed-marker': { help: 'say which values were imputed', actions: ['history'] },
    'updated-since': { value: 'TIME', help: 'only values changed after', actions: ['history'] },
    'in-flight': { value: 'N', help: 'requests of a range under way at once', default: '3', actions: RANGES },
    forecast: { value: 'FILE', help: 'computed here from a saved forecast answer', actions: ['index'] },
    at: { value: 'TIME', help: 'with --forecast: of this moment; now without', actions: ['index'] },
    json: { help: 'one JSON document, in the names of the interface' },
    csv: { help: 'time,value', actions: ['forecast', 'index', ...RANGES] },
    ...localContextOptions,
    ...serviceOptions,
  },
  notes: [
    'Ranges may have any length: they are split for the service and printed as they come.',
    'example: gridtide signal history --region CAISO_NORTH --start 2026-01-01 --end 2026-03-01 --csv',
  ],
};

/** By the map held, where there is one: a place that is known here is not told to anybody. */
async function findRegionInMap(
  place: Place,
  { stateDirectory: directory, signalType }: LocalContext,
): Promise<string | undefined> {
  const { openMap } = await import('../../region/lookup.ts');
  const map = await openMap(createFileDisk(directory), signalType).catch(() => undefined);
  if (map === undefined || 'kind' in map) return undefined;
  try {
    return (await map.findRegion(place))?.region;
  } finally {
    await map.close();
  }
}

async function resolveRegion(
  args: Arguments<SignalRow>,
  { service }: ServiceAccess,
  here: LocalContext,
): Promise<string> {
  const region = args.text('region');
  if (region !== undefined) return region;
  const place = parsePlaceFlags(args, here.place);
  if (place === undefined)
    throw new UsageError('which region? give --region, or --latitude and --longitude, or --config with a place');
  const regionInMap = await findRegionInMap(place, here);
  return regionInMap ?? unwrapOutcome(await service.regionFromLoc({ place, signalType: here.signalType })).region;
}

async function buildForecastQuery(
  args: Arguments<SignalRow>,
  access: ServiceAccess,
  terminal: Terminal,
): Promise<ForecastQuery> {
  const here = await readLocalContext(args, terminal);
  const model = args.text('model');
  const horizonHours = args.number('horizon-hours', { from: 0, to: 72, whole: true });
  return {
    region: await resolveRegion(args, access, here),
    signalType: here.signalType,
    ...(model === undefined ? {} : { model }),
    ...(horizonHours === undefined ? {} : { horizonHours }),
  };
}

const printJson = (terminal: Terminal, document: unknown) => terminal.out(`${JSON.stringify(document)}\n`);
const printLines = (terminal: Terminal, text: readonly string[]) => terminal.out(`${text.join('\n')}\n`);

const NO_VALUES = 'no value is forecast: does this model still make new data?';

async function printForecast({ args, terminal, access, query }: SignalContext): Promise<void> {
  const answer = unwrapOutcome(await access.service.forecast(query));
  const { points, period, units } = answer;
  const end = points.at(-1)?.at;
  const isData = args.flag('json') || args.flag('csv');
  if (isData && end === undefined) terminal.err(`${NO_VALUES}\n`);
  if (args.flag('json')) return printJson(terminal, toForecastDocument(answer));
  if (args.flag('csv')) {
    terminal.err(`values in ${units}\n`);
    return printLines(terminal, ['time,value', ...points.map(({ at, value }) => `${formatInstant(at)},${value}`)]);
  }
  const [first] = points;
  if (first === undefined || end === undefined) return printLines(terminal, [formatHeading(answer), NO_VALUES]);
  const table = createSignalTable(chooseTableSpan(durationBetween(first.at, addDuration(end, period)), period));
  const bars = drawForecast(points, period, terminal.columns);
  printLines(terminal, [
    formatHeading(answer),
    `generated ${formatUtcMinute(answer.generatedAt)}`,
    '',
    ...(bars.length === 0 ? [] : [...bars, '']),
    table.head,
    ...table.add(points),
    ...table.end(),
  ]);
}

const formatIndexLine = ({ point, period }: LiveIndex) =>
  `index ${point.value.toFixed(1)} of 100 (0 cleanest, 100 dirtiest of the next 24 h), ${formatUtcMinute(point.at)} to ${formatUtcMinute(addDuration(point.at, period)).slice(11)}`;

async function printLiveIndex({ args, terminal, access, query }: SignalContext): Promise<void> {
  const answer = unwrapOutcome(await access.service.signalIndex(query));
  if (args.flag('json')) return printJson(terminal, toIndexDocument(answer));
  const { at, value } = answer.point;
  if (args.flag('csv')) return printLines(terminal, ['time,value', `${formatInstant(at)},${value}`]);
  printLines(terminal, [formatHeading(answer), formatIndexLine(answer)]);
}

/** Index and rate together, as far as there are both: the index is of one signal alone (specification 4.4), the rate not of every account. */
async function printNow({ args, terminal, access, query }: SignalContext): Promise<void> {
  const { region, signalType } = query;
  const index = signalType === 'co2_moer' ? unwrapOutcome(await access.service.signalIndex(query)) : undefined;
  const forecastOutcome = await access.service.forecast({ ...query, horizonHours: 0 });
  // With neither there is nothing to tell.
  if (index === undefined) unwrapOutcome(forecastOutcome);
  const rate = forecastOutcome.ok ? forecastOutcome.value.points[0] : undefined;
  if (args.flag('json'))
    return printJson(terminal, {
      region,
      signal_type: signalType,
      index: index === undefined ? null : { ...toPointDocument(index.point), units: index.units },
      rate:
        forecastOutcome.ok && rate !== undefined
          ? { ...toPointDocument(rate), units: forecastOutcome.value.units }
          : null,
      warnings: mergeWarnings(index, forecastOutcome.ok ? forecastOutcome.value : undefined),
    });
  const rateLine = !forecastOutcome.ok
    ? `no rate: ${failureText(forecastOutcome.failure)}`
    : rate === undefined
      ? 'no rate is given for now'
      : `rate ${rate.value} ${forecastOutcome.value.units}, ${formatUtcMinute(rate.at)} to ${formatUtcMinute(addDuration(rate.at, forecastOutcome.value.period)).slice(11)}`;
  const indexText = index === undefined ? 'no index: there is one of co2_moer alone' : formatIndexLine(index);
  printLines(terminal, [`${region} ${signalType}; times in UTC`, indexText, rateLine]);
}

/** Those of both answers, each once. */
function mergeWarnings(...answers: readonly (Envelope | undefined)[]) {
  const all = answers.flatMap((answer) => answer?.warnings ?? []);
  return [...new Map(all.map((warning) => [`${warning.type} ${warning.message}`, warning])).values()];
}

/** All three rules for ties, from a file; asks nobody. */
async function printComputedIndex(args: Arguments<SignalRow>, terminal: Terminal, file: string): Promise<void> {
  const { createSystemClock } = await import('../../platform/system-clock.ts');
  const at = parseTimeFlag(args, 'at') ?? createSystemClock().now().wall;
  const { points, period, units } = await readSavedForecast(file);
  const { pointTime, strict, weak, mid, pool, quality } = computeLocalIndex(points, period, at);
  if (args.flag('json'))
    printJson(terminal, {
      pointTime: formatInstant(pointTime),
      strict: strict ?? null,
      weak: weak ?? null,
      mid: mid ?? null,
      pool,
      quality,
      units: PERCENTILE_UNITS,
    });
  if (mid === undefined || strict === undefined || weak === undefined)
    throw new JobError(
      `no index at ${formatUtcMinute(pointTime)}: the file holds ${formatCount(pool, 'value')} of the 24 h from then, in ${units}; name another moment with --at`,
    );
  if (args.flag('json')) return;
  printLines(terminal, [
    `index at ${formatUtcMinute(pointTime)} from ${formatCount(pool, 'value')} (${quality}): ${mid.toFixed(1)} of 100`,
    `ties counted below ${weak.toFixed(1)}, above ${strict.toFixed(1)}, half and half ${mid.toFixed(1)}`,
  ]);
}

const actions: Readonly<Record<string, (asking: SignalContext) => Promise<void>>> = {
  now: printNow,
  forecast: printForecast,
  history: printHistory,
  'past-forecasts': printPastForecasts,
  index: printLiveIndex,
};

export async function run(args: Arguments<SignalRow>, terminal: Terminal): Promise<number> {
  const file = args.text('forecast');
  if (file !== undefined) {
    await printComputedIndex(args, terminal, file);
    return 0;
  }
  if (args.text('at') !== undefined)
    throw new UsageError('--at goes with --forecast FILE: the service tells the index of now alone');
  const access = await openService(args, terminal);
  try {
    await selectAction(
      actions,
      args,
    )({ args, terminal, access, query: await buildForecastQuery(args, access, terminal) });
    return 0;
  } finally {
    await access.close();
  }
}

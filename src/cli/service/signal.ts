/** `gridtide signal`: the signal of a region as table, chart, CSV or the JSON of the interface. */

import { formatDuration } from '../../domain/duration-text.ts';
import {
  addDuration,
  type Duration,
  days,
  durationBetween,
  formatCount,
  formatInstant,
  hours,
  inMinutes,
  milliseconds,
  minutes,
  PERCENTILE_UNITS,
  type Place,
} from '../../domain/units.ts';
import { createSharedFileDisk } from '../../platform/file-disk.ts';
import type { ForecastQuery } from '../../service/api/query-types.ts';
import type { Envelope, Forecast, LiveIndex } from '../../service/api/response-types.ts';
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
/** Of the interface. */
const DEFAULT_HORIZON_HOURS = 24;

export const spec: CommandSpec<SignalRow> = {
  name: 'signal',
  positionals: ['now', 'forecast', 'history', 'past-forecasts', 'index'],
  options: {
    region: { value: 'REGION', help: 'abbreviation; default: the region of the place' },
    latitude: {
      value: 'DEGREES',
      range: {},
      help: 'with --longitude: the place, looked up in the local map or else by the service',
    },
    longitude: { value: 'DEGREES', range: {}, help: 'east of Greenwich' },
    model: {
      value: 'DATE',
      help: "label of a data model; default: the service's",
      actions: ['now', 'forecast', ...RANGES],
    },
    'horizon-hours': {
      value: 'N',
      range: { from: 0, to: 72, whole: true },
      help: '0 to 72 (24)',
      actions: ['forecast', 'past-forecasts'],
    },
    start: { value: 'TIME', help: 'first time, inclusive', actions: RANGES },
    end: { value: 'TIME', help: 'last time, inclusive; default: now', actions: RANGES },
    'include-imputed-marker': { help: 'mark imputed values', actions: ['history'] },
    'updated-since': { value: 'TIME', help: 'only values changed after', actions: ['history'] },
    chunk: { value: 'LENGTH', help: 'longest part of a range in one request, such as 10d', actions: RANGES },
    'in-flight': {
      value: 'N',
      range: { from: 1, to: 6, whole: true },
      help: 'concurrent requests of a range, 1 to 6',
      default: '3',
      actions: RANGES,
    },
    forecast: { value: 'FILE', help: 'compute the index from a saved forecast answer', actions: ['index'] },
    at: { value: 'TIME', help: 'with --forecast: the time of the index; default: now', actions: ['index'] },
    json: { help: 'one JSON document with the names of the interface' },
    csv: { help: 'time,value', actions: ['forecast', 'index', ...RANGES] },
    ...localContextOptions,
    ...serviceOptions,
  },
  notes: [
    'Ranges may have any length: they are split for the service and printed as they arrive. The parts shrink where it is slow.',
    'A range that fails in the middle prints the --start of the rest.',
    'example: gridtide signal history --region CAISO_NORTH --start 2026-01-01 --end 2026-03-01 --csv',
  ],
};

/** By the local map, where there is one: then the place stays on the device. */
async function findRegionInMap(
  place: Place,
  { stateDirectory, signalType }: LocalContext,
): Promise<string | undefined> {
  const { openMap } = await import('../../region/lookup.ts');
  const map = await openMap(createSharedFileDisk(stateDirectory), signalType).catch(() => undefined);
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
  local: LocalContext,
): Promise<string> {
  const region = args.text('region');
  if (region !== undefined) return region;
  const place = parsePlaceFlags(args, local.place);
  if (place === undefined)
    throw new UsageError(
      'the region is missing; give --region, or --latitude and --longitude, or --config with a place',
    );
  const regionInMap = await findRegionInMap(place, local);
  return regionInMap ?? unwrapOutcome(await service.regionFromLoc({ place, signalType: local.signalType })).region;
}

async function buildForecastQuery(
  args: Arguments<SignalRow>,
  access: ServiceAccess,
  terminal: Terminal,
): Promise<ForecastQuery> {
  const local = await readLocalContext(args, terminal);
  const model = args.text('model');
  const horizonHours = args.number('horizon-hours');
  return {
    region: await resolveRegion(args, access, local),
    signalType: local.signalType,
    ...(model === undefined ? {} : { model }),
    ...(horizonHours === undefined ? {} : { horizonHours }),
  };
}

const printJson = (terminal: Terminal, document: unknown) => terminal.out(`${JSON.stringify(document)}\n`);
const printLines = (terminal: Terminal, text: readonly string[]) => terminal.out(`${text.join('\n')}\n`);

/** A service that makes one every few minutes has newer ones; less is a delay. */
const OLD_FORECAST = minutes(30);
/** Clocks that are further apart are meant to be: a service may serve another time than the present. */
const TOLERATED_SKEW = minutes(2);
const MEANT_SKEW = days(1);

const toWholeMinutes = (length: Duration) => minutes(Math.round(inMinutes(length)));

/** By the clock of the service, once an answer has shown it. */
const estimateServiceTime = ({ service, clock }: ServiceAccess) =>
  addDuration(clock.now().wall, service.skew() ?? milliseconds(0));

/** Prints what is wrong with a forecast that can be used all the same. */
function printForecastNotes(
  { generatedAt, generatedPeriod, refusedPoints }: Forecast,
  { terminal, access }: Pick<SignalContext, 'terminal' | 'access'>,
): void {
  const age = durationBetween(generatedAt, estimateServiceTime(access));
  if (age > Math.max(OLD_FORECAST, 3 * generatedPeriod))
    terminal.err(
      `the forecast is ${formatDuration(toWholeMinutes(age))} old; the service makes one every ${formatDuration(generatedPeriod)}\n`,
    );
  if (refusedPoints > 0) terminal.err(`${formatCount(refusedPoints, 'value')} of the service skipped: not a number\n`);
}

/** Every time that is printed, and every default of a range, is by one of the two clocks. */
function printClockNote({ terminal, access }: Pick<SignalContext, 'terminal' | 'access'>): void {
  const skew = access.service.skew() ?? 0;
  if (Math.abs(skew) < TOLERATED_SKEW || Math.abs(skew) > MEANT_SKEW) return;
  const side = skew > 0 ? 'ahead of' : 'behind';
  terminal.err(
    `the clock of the service is ${formatDuration(toWholeMinutes(milliseconds(Math.abs(skew))))} ${side} that of this machine; check this machine's clock\n`,
  );
}

const NO_VALUES = 'the forecast is empty: does this model still publish data?';

async function printForecast({ args, terminal, access, query }: SignalContext): Promise<void> {
  const answer = unwrapOutcome(await access.service.forecast(query));
  const { points, period, units } = answer;
  const end = points.at(-1)?.at;
  const isData = args.flag('json') || args.flag('csv');
  printForecastNotes(answer, { terminal, access });
  const expected = Math.max(1, Math.round(hours(query.horizonHours ?? DEFAULT_HORIZON_HOURS) / period));
  if (end !== undefined && points.length < expected)
    terminal.err(`the forecast has ${points.length} of ${formatCount(expected, 'point')}; the rest is missing\n`);
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

/** Index and rate, where available: one signal alone has an index (specification 4.4), and not every account has the rate. */
async function printNow({ args, terminal, access, query }: SignalContext): Promise<void> {
  const { region, signalType } = query;
  const index = signalType === 'co2_moer' ? unwrapOutcome(await access.service.signalIndex(query)) : undefined;
  const forecastOutcome = await access.service.forecast({ ...query, horizonHours: 0 });
  // Without both the failure is the answer.
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
      ? 'no rate for now'
      : `rate ${rate.value} ${forecastOutcome.value.units}, ${formatUtcMinute(rate.at)} to ${formatUtcMinute(addDuration(rate.at, forecastOutcome.value.period)).slice(11)}`;
  const indexText = index === undefined ? 'no index: only co2_moer has one' : formatIndexLine(index);
  printLines(terminal, [`${region} ${signalType}; times in UTC`, indexText, rateLine]);
}

/** The warnings of both answers, each once. */
function mergeWarnings(...answers: readonly (Envelope | undefined)[]) {
  const all = answers.flatMap((answer) => answer?.warnings ?? []);
  return [...new Map(all.map((warning) => [`${warning.type} ${warning.message}`, warning])).values()];
}

/** The index by all three tie rules, computed from a file. */
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
      `no index at ${formatUtcMinute(pointTime)}: the file has ${formatCount(pool, 'value')} of the following 24 h, in ${units}; give another time with --at`,
    );
  if (args.flag('json')) return;
  printLines(terminal, [
    `index at ${formatUtcMinute(pointTime)} from ${formatCount(pool, 'value')} (${quality}): ${mid.toFixed(1)} of 100`,
    `ties counted below ${weak.toFixed(1)}, above ${strict.toFixed(1)}, half and half ${mid.toFixed(1)}`,
  ]);
}

const actions: Readonly<Record<string, (context: SignalContext) => Promise<void>>> = {
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
    throw new UsageError('--at needs --forecast FILE: the service has only the present index');
  const access = await openService(args, terminal);
  try {
    const query = await buildForecastQuery(args, access, terminal);
    await selectAction(actions, args)({ args, terminal, access, query });
    printClockNote({ terminal, access });
    return 0;
  } finally {
    await access.close();
  }
}

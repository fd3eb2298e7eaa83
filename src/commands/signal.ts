/** `gridtide signal`: what the service says of a region's signal, as table, chart, CSV or the interface's own JSON. Stores nothing. */

import { createDisk } from '../platform/disk.ts';
import type { Envelope, LiveIndex } from '../service/answers.ts';
import { sentenceOf } from '../service/describe.ts';
import type { ForecastQuery } from '../service/queries.ts';
import { localIndex } from '../signal/local-index.ts';
import { after, between, counted, iso, type Place } from '../units.ts';
import { placeAsked, savedForecast, timeAsked } from './asked.ts';
import { type Arguments, actOf, type CommandSpec, JobError, type Terminal, UsageError } from './command.ts';
import { type Here, hereOf, hereOptions } from './here.ts';
import { answerOf, openService, type ServiceAccess, type ServiceRow, serviceOptions } from './service-access.ts';
import { printHistory, printPastForecasts } from './signal-range.ts';
import { drawn, forecastDocument, heading, indexDocument, pointJson, shown, spanOf, tableOf } from './signal-text.ts';

export type SignalRow =
  | 'region'
  | 'latitude'
  | 'longitude'
  | 'model'
  | 'horizon-hours'
  | 'start'
  | 'end'
  | 'include-imputed-marker'
  | 'updated-since'
  | 'in-flight'
  | 'forecast'
  | 'at'
  | 'json'
  | 'csv'
  | keyof typeof hereOptions
  | ServiceRow;

const RANGES = ['history', 'past-forecasts'];

export const spec: CommandSpec<SignalRow> = {
  name: 'signal',
  summary: 'the signal: now, forecast, history, past forecasts, index',
  positionals: ['now', 'forecast', 'history', 'past-forecasts', 'index'],
  options: {
    region: { value: 'REGION', help: 'abbreviation; else the place is looked up' },
    latitude: { value: 'DEGREES', help: 'with --longitude: the place, looked up in the map held, else by the service' },
    longitude: { value: 'DEGREES', help: 'east of Greenwich' },
    model: {
      value: 'DATE',
      help: "label of a data model; the service's default without",
      only: ['now', 'forecast', ...RANGES],
    },
    'horizon-hours': { value: 'N', help: '0 to 72 (24)', only: ['forecast', 'past-forecasts'] },
    start: { value: 'TIME', help: 'first time, inclusive', only: RANGES },
    end: { value: 'TIME', help: 'last time, inclusive; now without', only: RANGES },
    'include-imputed-marker': { help: 'say which values were imputed', only: ['history'] },
    'updated-since': { value: 'TIME', help: 'only values changed after', only: ['history'] },
    'in-flight': { value: 'N', help: 'requests of a range under way at once', default: '3', only: RANGES },
    forecast: { value: 'FILE', help: 'computed here from a saved forecast answer', only: ['index'] },
    at: { value: 'TIME', help: 'with --forecast: of this moment; now without', only: ['index'] },
    json: { help: 'one JSON document, in the names of the interface' },
    csv: { help: 'time,value', only: ['forecast', 'index', ...RANGES] },
    ...hereOptions,
    ...serviceOptions,
  },
  notes: [
    'Ranges may have any length: they are split for the service and printed as they come.',
    'example: gridtide signal history --region CAISO_NORTH --start 2026-01-01 --end 2026-03-01 --csv',
  ],
};

/** What each part of the command is given. */
export interface Asking {
  readonly args: Arguments<SignalRow>;
  readonly terminal: Terminal;
  readonly access: ServiceAccess;
  readonly query: ForecastQuery;
}

/** By the map held, where there is one: a place that is known here is not told to anybody. */
async function heldRegionOf(place: Place, { directory, signalType }: Here): Promise<string | undefined> {
  const { openMap } = await import('../region/lookup.ts');
  const map = await openMap(createDisk(directory), signalType).catch(() => undefined);
  if (map === undefined || 'kind' in map) return undefined;
  try {
    return (await map.regionAt(place))?.region;
  } finally {
    await map.close();
  }
}

async function regionOf(args: Arguments<SignalRow>, { service }: ServiceAccess, here: Here): Promise<string> {
  const region = args.text('region');
  if (region !== undefined) return region;
  const place = placeAsked(args, here.place);
  if (place === undefined)
    throw new UsageError('which region? give --region, or --latitude and --longitude, or --config with a place');
  const held = await heldRegionOf(place, here);
  return held ?? answerOf(await service.regionFromLoc({ place, signalType: here.signalType })).region;
}

async function queryOf(args: Arguments<SignalRow>, access: ServiceAccess, terminal: Terminal): Promise<ForecastQuery> {
  const here = await hereOf(args, terminal);
  const model = args.text('model');
  const horizonHours = args.number('horizon-hours', { from: 0, to: 72, whole: true });
  return {
    region: await regionOf(args, access, here),
    signalType: here.signalType,
    ...(model === undefined ? {} : { model }),
    ...(horizonHours === undefined ? {} : { horizonHours }),
  };
}

const written = (terminal: Terminal, document: unknown) => terminal.out(`${JSON.stringify(document)}\n`);
const lines = (terminal: Terminal, text: readonly string[]) => terminal.out(`${text.join('\n')}\n`);

const NO_VALUES = 'no value is forecast: does this model still make new data?';

async function forecast({ args, terminal, access, query }: Asking): Promise<void> {
  const answer = answerOf(await access.service.forecast(query));
  const { points, period, units } = answer;
  const end = points.at(-1)?.at;
  const isData = args.flag('json') || args.flag('csv');
  if (isData && end === undefined) terminal.err(`${NO_VALUES}\n`);
  if (args.flag('json')) return written(terminal, forecastDocument(answer));
  if (args.flag('csv')) {
    terminal.err(`values in ${units}\n`);
    return lines(terminal, ['time,value', ...points.map(({ at, value }) => `${iso(at)},${value}`)]);
  }
  const [first] = points;
  if (first === undefined || end === undefined) return lines(terminal, [heading(answer), NO_VALUES]);
  const table = tableOf(spanOf(between(first.at, after(end, period)), period));
  const bars = drawn(points, period, terminal.columns);
  lines(terminal, [
    heading(answer),
    `generated ${shown(answer.generatedAt)}`,
    '',
    ...(bars.length === 0 ? [] : [...bars, '']),
    table.head,
    ...table.add(points),
    ...table.end(),
  ]);
}

const indexLine = ({ point, period }: LiveIndex) =>
  `index ${point.value.toFixed(1)} of 100 (0 cleanest, 100 dirtiest of the next 24 h), ${shown(point.at)} to ${shown(after(point.at, period)).slice(11)}`;

async function liveIndex({ args, terminal, access, query }: Asking): Promise<void> {
  const answer = answerOf(await access.service.signalIndex(query));
  if (args.flag('json')) return written(terminal, indexDocument(answer));
  const { at, value } = answer.point;
  if (args.flag('csv')) return lines(terminal, ['time,value', `${iso(at)},${value}`]);
  lines(terminal, [heading(answer), indexLine(answer)]);
}

/** Index and rate together, as far as there are both: the index is of one signal alone (specification 4.4), the rate not of every account. */
async function now({ args, terminal, access, query }: Asking): Promise<void> {
  const { region, signalType } = query;
  const index = signalType === 'co2_moer' ? answerOf(await access.service.signalIndex(query)) : undefined;
  const ahead = await access.service.forecast({ ...query, horizonHours: 0 });
  // With neither there is nothing to tell.
  if (index === undefined) answerOf(ahead);
  const rate = ahead.ok ? ahead.value.points[0] : undefined;
  if (args.flag('json'))
    return written(terminal, {
      region,
      signal_type: signalType,
      index: index === undefined ? null : { ...pointJson(index.point), units: index.units },
      rate: ahead.ok && rate !== undefined ? { ...pointJson(rate), units: ahead.value.units } : null,
      warnings: warningsOf(index, ahead.ok ? ahead.value : undefined),
    });
  const rateLine = !ahead.ok
    ? `no rate: ${sentenceOf(ahead.failure)}`
    : rate === undefined
      ? 'no rate is given for now'
      : `rate ${rate.value} ${ahead.value.units}, ${shown(rate.at)} to ${shown(after(rate.at, ahead.value.period)).slice(11)}`;
  const indexText = index === undefined ? 'no index: there is one of co2_moer alone' : indexLine(index);
  lines(terminal, [`${region} ${signalType}; times in UTC`, indexText, rateLine]);
}

/** Those of both answers, each once. */
function warningsOf(...answers: readonly (Envelope | undefined)[]) {
  const all = answers.flatMap((answer) => answer?.warnings ?? []);
  return [...new Map(all.map((warning) => [`${warning.type} ${warning.message}`, warning])).values()];
}

/** All three rules for ties, from a file; asks nobody. */
async function ownIndex(args: Arguments<SignalRow>, terminal: Terminal, file: string): Promise<void> {
  const { createSystemClock } = await import('../platform/clock.ts');
  const at = timeAsked(args, 'at') ?? createSystemClock().now().wall;
  const { points, period, units } = await savedForecast(file);
  const { pointTime, strict, weak, mid, pool, quality } = localIndex(points, period, at);
  if (args.flag('json'))
    written(terminal, {
      pointTime: iso(pointTime),
      strict: strict ?? null,
      weak: weak ?? null,
      mid: mid ?? null,
      pool,
      quality,
      units: 'percentile',
    });
  if (mid === undefined || strict === undefined || weak === undefined)
    throw new JobError(
      `no index at ${shown(pointTime)}: the file holds ${counted(pool, 'value')} of the 24 h from then, in ${units}; name another moment with --at`,
    );
  if (args.flag('json')) return;
  lines(terminal, [
    `index at ${shown(pointTime)} from ${counted(pool, 'value')} (${quality}): ${mid.toFixed(1)} of 100`,
    `ties counted below ${weak.toFixed(1)}, above ${strict.toFixed(1)}, half and half ${mid.toFixed(1)}`,
  ]);
}

const parts: Readonly<Record<string, (asking: Asking) => Promise<void>>> = {
  now,
  forecast,
  history: printHistory,
  'past-forecasts': printPastForecasts,
  index: liveIndex,
};

export async function run(args: Arguments<SignalRow>, terminal: Terminal): Promise<number> {
  if (args.flag('json') && args.flag('csv')) throw new UsageError('--json and --csv: expected one of them');
  const file = args.text('forecast');
  if (file !== undefined) {
    await ownIndex(args, terminal, file);
    return 0;
  }
  if (args.text('at') !== undefined)
    throw new UsageError('--at goes with --forecast FILE: the service tells the index of now alone');
  const access = await openService(args, terminal);
  try {
    await actOf(parts, args)({ args, terminal, access, query: await queryOf(args, access, terminal) });
    return 0;
  } finally {
    await access.close();
  }
}

/** `gridtide v1`: the earlier interface (specification 4.5), with the account's credentials or without. */

import { formatCount, formatInstant, type Instant } from '../../domain/units.ts';
import type { PageReadOptions, V1Query } from '../../service/api/query-types.ts';
import type { Authority, FuelShare, V1DataPoint, V1MarginalPoint, V1Page } from '../../service/api/response-types.ts';
import type { Outcome } from '../../service/failure.ts';
import { type Arguments, type CommandSpec, selectAction, type Terminal, UsageError } from '../shared/command.ts';
import { parsePlaceFlags, parseTimeFlag } from '../shared/flag-parsers.ts';
import { openService, type ServiceAccess, serviceOptions, unwrapOutcome } from '../shared/service-access.ts';
import { createJsonWriter, createRowWriter, createWaitPrinter, writeStream } from '../shared/stream-writer.ts';
import { formatColumns } from '../shared/table.ts';
import { formatUtcMinute } from './signal-text.ts';

const POINTS = ['datapoints', 'marginal'];
/** The default page has 12 points: a month of 5-minute points would exhaust the rate limit of a quarter of an hour. */
const ALL_PAGE_SIZE = 500;

export const spec = {
  name: 'v1',
  positionals: ['token', 'authorities', 'datapoints', 'marginal'],
  options: {
    loc: { value: 'POINT', help: 'GeoJSON point, longitude first', actions: ['authorities'] },
    latitude: { value: 'DEGREES', range: {}, help: 'with --longitude, instead of --loc', actions: ['authorities'] },
    longitude: { value: 'DEGREES', range: {}, help: 'east of Greenwich', actions: ['authorities'] },
    ba: { value: 'ABBREV', help: 'balancing authority', actions: POINTS },
    'start-at': { value: 'TIME', help: 'first time, inclusive', actions: POINTS },
    'end-at': { value: 'TIME', help: 'last time, inclusive', actions: POINTS },
    market: {
      value: 'MARKET',
      help: 'RT5M for the past in 5 minutes, DAHR for the day ahead by the hour',
      actions: POINTS,
    },
    'page-size': {
      value: 'N',
      range: { from: 1, whole: true },
      help: `points per page; default: the service's, and ${ALL_PAGE_SIZE} with --all`,
      actions: POINTS,
    },
    page: { value: 'N', range: { from: 1, whole: true }, help: 'this page; from it on with --all', actions: POINTS },
    all: { help: 'all pages to the end', actions: POINTS },
    json: { help: 'one JSON document with the names of the interface; for token with the token' },
    csv: { help: 'time,ba,market,value,…', actions: POINTS },
    ...serviceOptions,
  },
  notes: [
    'Points come from future to past. Without credentials the service allows few requests per hour.',
    'example: gridtide v1 datapoints --ba CAISO --market RT5M --start-at 2026-03-01 --end-at 2026-03-02 --all',
  ],
} satisfies CommandSpec;

type Row = keyof typeof spec.options;

interface V1Context {
  readonly args: Arguments<Row>;
  readonly terminal: Terminal;
  readonly access: ServiceAccess;
}

async function printToken({ args, terminal, access }: V1Context): Promise<void> {
  const answer = unwrapOutcome(await access.service.v1.token());
  const text =
    'the service accepts the credentials; the token of the earlier interface does not change (--json prints it)';
  terminal.out(args.flag('json') ? `${JSON.stringify(answer)}\n` : `${text}\n`);
}

/** The document of specification 2.9. */
const toAuthorityDocument = ({ abbrev, name, type, url, link, states, notes }: Authority) => ({
  name,
  ba_type: type,
  url,
  abbrev,
  link,
  states,
  notes,
});

async function printAuthorities({ args, terminal, access }: V1Context): Promise<void> {
  const loc = args.text('loc');
  const place = parsePlaceFlags(args);
  if (loc !== undefined && place !== undefined) throw new UsageError('--loc and --latitude: expected one of them');
  const query = { ...(loc === undefined ? {} : { loc }), ...(place === undefined ? {} : { place }) };
  const found = unwrapOutcome(await access.service.v1.authorities(query));
  if (args.flag('json')) return void terminal.out(`${JSON.stringify(found.map(toAuthorityDocument))}\n`);
  if (found.length === 0) return void terminal.out('no balancing authority\n');
  const rows = found.map(({ abbrev, name, states }) => [
    abbrev,
    states.length === 0 ? name : `${name} (${states.join(', ')})`,
  ]);
  for (const line of formatColumns(rows)) terminal.out(`${line}\n`);
}

function parsePageQuery(args: Arguments<Row>): V1Query {
  const ba = args.text('ba');
  const market = args.text('market');
  const startAt = parseTimeFlag(args, 'start-at');
  const endAt = parseTimeFlag(args, 'end-at');
  const pageSize = args.number('page-size') ?? (args.flag('all') ? ALL_PAGE_SIZE : undefined);
  const page = args.number('page');
  return {
    ...(ba === undefined ? {} : { ba }),
    ...(market === undefined ? {} : { market }),
    ...(startAt === undefined ? {} : { startAt }),
    ...(endAt === undefined ? {} : { endAt }),
    ...(pageSize === undefined ? {} : { pageSize }),
    ...(page === undefined ? {} : { page }),
  };
}

/** How one kind of point is printed. */
interface PointFormat<P> {
  /** With the names of the interface. */
  readonly json: (point: P) => unknown;
  readonly units: string;
  readonly columns: string;
  readonly cells: (point: P) => readonly (string | number)[];
}

/** `coal=120 gas=300`, in megawatts. */
const formatGenmix = (generation: readonly FuelShare[] | undefined) =>
  (generation ?? []).map(({ fuel, megawatts }) => `${fuel}=${megawatts}`).join(' ');

type CommonPoint = Pick<V1DataPoint, 'at' | 'authority' | 'market' | 'frequency' | 'generation' | 'url'>;

const toGenmix = (generation: readonly FuelShare[] | undefined) =>
  generation?.map(({ fuel, megawatts }) => ({ fuel, gen_MW: megawatts })) ?? null;

const toCommonDocument = ({ at, authority, market, frequency, generation, url }: CommonPoint) => ({
  timestamp: formatInstant(at),
  ba: authority,
  market,
  freq: frequency ?? null,
  genmix: toGenmix(generation),
  url: url ?? null,
});

const formatOptionalTime = (at: Instant | undefined) => (at === undefined ? null : formatInstant(at));

const DATA_FORMAT: PointFormat<V1DataPoint> = {
  json: (point) => ({
    ...toCommonDocument(point),
    created_at: formatOptionalTime(point.createdAt),
    carbon: point.carbon ?? null,
  }),
  units: 'pounds of CO2 per MW',
  columns: 'time,ba,market,freq,carbon,genmix',
  cells: ({ at, authority, market, frequency = '', carbon = '', generation }) => [
    formatInstant(at),
    authority,
    market,
    frequency,
    carbon,
    formatGenmix(generation),
  ],
};

const MARGINAL_FORMAT: PointFormat<V1MarginalPoint> = {
  json: (point) => ({
    ...toCommonDocument(point),
    load: point.load ?? null,
    marginal_carbon:
      point.marginalCarbon === undefined
        ? null
        : {
            value: point.marginalCarbon.value,
            units: point.marginalCarbon.units,
            structural_model: point.marginalCarbon.structuralModel ?? null,
          },
  }),
  units: 'the units of each line',
  columns: 'time,ba,market,freq,marginal_carbon,units,load,genmix',
  cells: ({ at, authority, market, frequency = '', marginalCarbon, load = '', generation }) => [
    formatInstant(at),
    authority,
    market,
    frequency,
    marginalCarbon?.value ?? '',
    marginalCarbon?.units ?? '',
    load,
    formatGenmix(generation),
  ],
};

/** Reads one page, or with `--all` every page to the end. */
interface PageSource<P> {
  readonly one: (query: V1Query) => Promise<Outcome<V1Page<P>>>;
  readonly all: (query: V1Query, following: PageReadOptions) => AsyncIterable<Outcome<V1Page<P>>>;
}

/** Prints a line for each tenth that is read, where there are several pages. */
async function* reportProgress<P>(
  all: AsyncIterable<Outcome<V1Page<P>>>,
  { err }: Terminal,
): AsyncIterable<Outcome<V1Page<P>>> {
  let points = 0;
  let tenth = 0;
  for await (const page of all) {
    yield page;
    if (!page.ok) return;
    const { results, count, isLast } = page.value;
    const isOnly = points === 0 && isLast;
    points += results.length;
    const now = Math.floor((10 * points) / Math.max(1, count));
    if (now <= tenth || isOnly) continue;
    tenth = now;
    err(`${points} of ${formatCount(count, 'point')} read\n`);
  }
}

async function printPages<P extends CommonPoint>(
  { args, terminal, access }: V1Context,
  source: PageSource<P>,
  format: PointFormat<P>,
): Promise<void> {
  const query = parsePageQuery(args);
  async function* single() {
    yield await source.one(query);
  }
  const following: PageReadOptions = {
    signal: terminal.stop,
    onWait: createWaitPrinter(terminal, access.clock),
  };
  const unitsOf = () => format.units;
  const tableRow = (point: P) => `${formatUtcMinute(point.at)}  ${format.cells(point).slice(1).join('  ')}`;
  const writer = args.flag('json')
    ? createJsonWriter<V1Page<P>>(terminal, 'results', {
        // Joined pages have no neighbours.
        headOf: ({ count, next = null, previous = null }) => (args.flag('all') ? { count } : { count, next, previous }),
        itemsOf: ({ results }) => results.map(format.json),
      })
    : args.flag('csv')
      ? createRowWriter<V1Page<P>>(terminal, format.columns, {
          unitsOf,
          rowsOf: ({ results }) => results.map((point) => format.cells(point).join(',')),
        })
      : createRowWriter<V1Page<P>>(terminal, format.columns.replaceAll(',', '  '), {
          unitsOf,
          rowsOf: ({ results }) => results.map((point) => tableRow(point).trimEnd()),
        });
  await writeStream(args.flag('all') ? reportProgress(source.all(query, following), terminal) : single(), writer);
}

const actions: Readonly<Record<string, (context: V1Context) => Promise<void>>> = {
  token: printToken,
  authorities: printAuthorities,
  datapoints: (context) => {
    const { datapoints, datapointPages } = context.access.service.v1;
    return printPages(context, { one: datapoints, all: datapointPages }, DATA_FORMAT);
  },
  marginal: (context) => {
    const { marginal, marginalPages } = context.access.service.v1;
    return printPages(context, { one: marginal, all: marginalPages }, MARGINAL_FORMAT);
  },
};

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const access = await openService(args, terminal);
  try {
    await selectAction(actions, args)({ args, terminal, access });
    return 0;
  } finally {
    await access.close();
  }
}

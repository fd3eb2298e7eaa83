/** `gridtide v1`: the earlier interface (specification 4.5), as the account with credentials, as a visitor without. */

import type { Authority, FuelShare, V1DataPoint, V1MarginalPoint, V1Page } from '../service/answers.ts';
import type { Outcome } from '../service/failure.ts';
import type { Following, V1Query } from '../service/queries.ts';
import { counted, type Instant, iso } from '../units.ts';
import { placeAsked, timeAsked } from './asked.ts';
import { type Arguments, actOf, type CommandSpec, type Terminal, UsageError } from './command.ts';
import { answerOf, openService, type ServiceAccess, type ServiceRow, serviceOptions } from './service-access.ts';
import { shown } from './signal-text.ts';
import { jsonWriter, rowWriter, tellingWaits, written } from './writer.ts';

type Row =
  | 'loc'
  | 'latitude'
  | 'longitude'
  | 'ba'
  | 'start-at'
  | 'end-at'
  | 'market'
  | 'page-size'
  | 'page'
  | 'all'
  | 'json'
  | 'csv'
  | ServiceRow;

const POINTS = ['datapoints', 'marginal'];
/** A page holds 12 by default: a month of 5 minutes in those would use up the budget of a quarter of an hour. */
const ALL_AT_ONCE = 500;

export const spec: CommandSpec<Row> = {
  name: 'v1',
  summary: 'the earlier interface: token, authorities, datapoints, marginal',
  positionals: ['token', 'authorities', 'datapoints', 'marginal'],
  options: {
    loc: { value: 'POINT', help: 'GeoJSON point, longitude first', only: ['authorities'] },
    latitude: { value: 'DEGREES', help: 'with --longitude, instead of --loc', only: ['authorities'] },
    longitude: { value: 'DEGREES', help: 'east of Greenwich', only: ['authorities'] },
    ba: { value: 'ABBREV', help: 'balancing authority', only: POINTS },
    'start-at': { value: 'TIME', help: 'first time, inclusive', only: POINTS },
    'end-at': { value: 'TIME', help: 'last time, inclusive', only: POINTS },
    market: {
      value: 'MARKET',
      help: 'RT5M for the past in 5 minutes, DAHR for the day ahead by the hour',
      only: POINTS,
    },
    'page-size': {
      value: 'N',
      help: `points a page; without, the service's default, and ${ALL_AT_ONCE} with --all`,
      only: POINTS,
    },
    page: { value: 'N', help: 'this page; from it on with --all', only: POINTS },
    all: { help: 'all pages to the end', only: POINTS },
    json: { help: 'one JSON document, in the names of the interface; of token it holds the token' },
    csv: { help: 'time,ba,market,value,…', only: POINTS },
    ...serviceOptions,
  },
  notes: [
    'Points come from future to past. Without credentials the service allows few requests an hour.',
    'example: gridtide v1 datapoints --ba CAISO --market RT5M --start-at 2026-03-01 --end-at 2026-03-02 --all',
  ],
};

interface Asking {
  readonly args: Arguments<Row>;
  readonly terminal: Terminal;
  readonly access: ServiceAccess;
}

async function token({ args, terminal, access }: Asking): Promise<void> {
  const answer = answerOf(await access.service.v1.token());
  const words =
    'the service accepts the credentials; its token for the earlier interface does not change (--json prints it)';
  terminal.out(args.flag('json') ? `${JSON.stringify(answer)}\n` : `${words}\n`);
}

/** Specification 2.9, in its own names. */
const authorityDocument = ({ abbrev, name, type, url, link, states, notes }: Authority) => ({
  name,
  ba_type: type,
  url,
  abbrev,
  link,
  states,
  notes,
});

async function authorities({ args, terminal, access }: Asking): Promise<void> {
  const loc = args.text('loc');
  const place = placeAsked(args);
  if (loc !== undefined && place !== undefined) throw new UsageError('--loc and --latitude: expected one of them');
  const query = { ...(loc === undefined ? {} : { loc }), ...(place === undefined ? {} : { place }) };
  const found = answerOf(await access.service.v1.authorities(query));
  if (args.flag('json')) return void terminal.out(`${JSON.stringify(found.map(authorityDocument))}\n`);
  if (found.length === 0) return void terminal.out('no balancing authority there\n');
  const width = Math.max(...found.map(({ abbrev }) => abbrev.length));
  for (const { abbrev, name, states } of found)
    terminal.out(`${abbrev.padEnd(width)}  ${name}${states.length === 0 ? '' : ` (${states.join(', ')})`}\n`);
}

function pageQuery(args: Arguments<Row>): V1Query {
  const ba = args.text('ba');
  const market = args.text('market');
  const startAt = timeAsked(args, 'start-at');
  const endAt = timeAsked(args, 'end-at');
  const pageSize = args.number('page-size', { from: 1, whole: true }) ?? (args.flag('all') ? ALL_AT_ONCE : undefined);
  const page = args.number('page', { from: 1, whole: true });
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
interface Look<P> {
  /** In the words of the interface. */
  readonly json: (point: P) => unknown;
  readonly units: string;
  readonly columns: string;
  readonly cells: (point: P) => readonly (string | number)[];
}

type Common = Pick<V1DataPoint, 'at' | 'authority' | 'market' | 'frequency' | 'generation' | 'url'>;

const genmix = (generation: readonly FuelShare[] | undefined) =>
  generation?.map(({ fuel, megawatts }) => ({ fuel, gen_MW: megawatts })) ?? null;

const commonJson = ({ at, authority, market, frequency, generation, url }: Common) => ({
  timestamp: iso(at),
  ba: authority,
  market,
  freq: frequency ?? null,
  genmix: genmix(generation),
  url: url ?? null,
});

const optional = (at: Instant | undefined) => (at === undefined ? null : iso(at));

const dataLook: Look<V1DataPoint> = {
  json: (point) => ({ ...commonJson(point), created_at: optional(point.createdAt), carbon: point.carbon ?? null }),
  units: 'pounds of CO2 per MW',
  columns: 'time,ba,market,freq,carbon',
  cells: ({ at, authority, market, frequency = '', carbon = '' }) => [iso(at), authority, market, frequency, carbon],
};

const marginalLook: Look<V1MarginalPoint> = {
  json: (point) => ({
    ...commonJson(point),
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
  columns: 'time,ba,market,freq,marginal_carbon,units,load',
  cells: ({ at, authority, market, frequency = '', marginalCarbon, load = '' }) => [
    iso(at),
    authority,
    market,
    frequency,
    marginalCarbon?.value ?? '',
    marginalCarbon?.units ?? '',
    load,
  ],
};

/** Where the pages come from: one, or with `--all` each to the end. */
interface Source<P> {
  readonly one: (query: V1Query) => Promise<Outcome<V1Page<P>>>;
  readonly all: (query: V1Query, following: Following) => AsyncIterable<Outcome<V1Page<P>>>;
}

/** One line to people for each tenth of what is to come, where it takes several pages. */
async function* told<P>(all: AsyncIterable<Outcome<V1Page<P>>>, { err }: Terminal): AsyncIterable<Outcome<V1Page<P>>> {
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
    err(`${points} of ${counted(count, 'point')} read\n`);
  }
}

async function pages<P extends Common>(
  { args, terminal, access }: Asking,
  source: Source<P>,
  look: Look<P>,
): Promise<void> {
  const query = pageQuery(args);
  async function* single() {
    yield await source.one(query);
  }
  const following: Following = {
    signal: terminal.stop,
    waits: tellingWaits(terminal, access.clock),
  };
  const unitsOf = () => look.units;
  const tableRow = (point: P) => `${shown(point.at)}  ${look.cells(point).slice(1).join('  ')}`;
  const writer = args.flag('json')
    ? jsonWriter<V1Page<P>>(terminal, 'results', {
        // Of pages joined, none has a neighbour.
        headOf: ({ count, next = null, previous = null }) => (args.flag('all') ? { count } : { count, next, previous }),
        itemsOf: ({ results }) => results.map(look.json),
      })
    : args.flag('csv')
      ? rowWriter<V1Page<P>>(terminal, look.columns, {
          unitsOf,
          rowsOf: ({ results }) => results.map((point) => look.cells(point).join(',')),
        })
      : rowWriter<V1Page<P>>(terminal, look.columns.replaceAll(',', '  '), {
          unitsOf,
          rowsOf: ({ results }) => results.map(tableRow),
        });
  await written(args.flag('all') ? told(source.all(query, following), terminal) : single(), writer);
}

const parts: Readonly<Record<string, (asking: Asking) => Promise<void>>> = {
  token,
  authorities,
  datapoints: (asking) => {
    const { datapoints, datapointPages } = asking.access.service.v1;
    return pages(asking, { one: datapoints, all: datapointPages }, dataLook);
  },
  marginal: (asking) => {
    const { marginal, marginalPages } = asking.access.service.v1;
    return pages(asking, { one: marginal, all: marginalPages }, marginalLook);
  },
};

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  if (args.flag('json') && args.flag('csv')) throw new UsageError('--json and --csv: expected one of them');
  const access = await openService(args, terminal);
  try {
    await actOf(parts, args)({ args, terminal, access });
    return 0;
  } finally {
    await access.close();
  }
}

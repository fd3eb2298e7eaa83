/** Prints history and past forecasts of any length as they come: one piece held at a time, progress to stderr. */

import type { Envelope, HistoricalPoint, History, PastForecasts } from '../service/answers.ts';
import type { Failure, Outcome } from '../service/failure.ts';
import type { Range, Reading } from '../service/queries.ts';
import { between, counted, iso } from '../units.ts';
import { timeAsked } from './asked.ts';
import { type Terminal, UsageError } from './command.ts';
import type { Asking } from './signal.ts';
import { heading, historicalJson, metaOf, pastForecastJson, shown, spanOf, tableOf } from './signal-text.ts';
import { jsonWriter, rowWriter, tellingWaits, type Writer, written } from './writer.ts';

function rangeOf({ args, access }: Asking): Range {
  const start = timeAsked(args, 'start');
  if (start === undefined) throw new UsageError('--start is missing: from when on?');
  const said = timeAsked(args, 'end');
  const end = said ?? access.clock.now().wall;
  if (said === undefined && end < start)
    throw new UsageError(`--start ${iso(start)} is still to come: until when? give --end`);
  if (end < start) throw new UsageError(`--end ${iso(end)} is before --start ${iso(start)}`);
  return { start, end };
}

/** One line to people for each tenth of a range of several requests, and for each wait. */
function readingOf({ args, terminal, access }: Asking): Reading {
  const tellWait = tellingWaits(terminal, access.clock);
  // At a terminal the table itself shows how far it is.
  const isSeen = terminal.interactive && !args.flag('json') && !args.flag('csv');
  let tenth = 0;
  return {
    inFlight: args.number('in-flight', { from: 1, to: 6, whole: true }) ?? 3,
    signal: terminal.stop,
    progress: ({ done, whole, requests, waiting }) => {
      if (waiting !== undefined) tellWait(waiting.wait, waiting.failure);
      const now = whole === 0 ? 10 : Math.floor((10 * done) / whole);
      if (isSeen || now <= tenth || (requests === 1 && now === 10)) return;
      tenth = now;
      terminal.err(`${now * 10} % read, ${counted(requests, 'request')}\n`);
    },
  };
}

/** What is said while the pieces come: a seam between models, values left out; and the one thing that ends it, another unit. */
function watching(terminal: Terminal) {
  let before: Envelope | undefined;
  let refused = 0;
  return {
    check(answer: Envelope): Failure | undefined {
      const { model, units } = before ?? answer;
      if (units !== answer.units)
        return { kind: 'nonsense', where: 'meta.units', expected: units, received: answer.units };
      if (model !== undefined && answer.model !== undefined && model !== answer.model)
        terminal.err(
          `model ${model} gives way to ${answer.model} within this range: values on the two sides do not compare\n`,
        );
      before = answer;
      refused += answer.refusedPoints;
      return undefined;
    },
    end() {
      if (refused > 0) terminal.err(`${counted(refused, 'value')} of the service left out: not a number\n`);
    },
  };
}

async function watched<Answer extends Envelope>(
  pieces: AsyncIterable<Outcome<Answer>>,
  writer: Writer<Answer>,
  terminal: Terminal,
): Promise<void> {
  const watch = watching(terminal);
  try {
    await written(pieces, writer, watch.check);
  } finally {
    watch.end();
  }
}

const headOf = (first: Envelope) => ({ meta: metaOf(first) });
const unitsOf = ({ units }: Envelope) => units;

function historyTable({ args, terminal }: Asking, { start, end }: Range): Writer<History> {
  let table: ReturnType<typeof tableOf> | undefined;
  let isEmpty = true;
  const print = (lines: readonly string[]) => {
    if (lines.length > 0) terminal.out(`${lines.join('\n')}\n`);
  };
  return {
    begin(first) {
      table = tableOf(spanOf(between(start, end), first.period), { isMarked: args.flag('include-imputed-marker') });
      print([heading(first), '']);
    },
    piece({ points }) {
      if (table !== undefined && isEmpty && points.length > 0) print([table.head]);
      isEmpty &&= points.length === 0;
      print(table?.add(points) ?? []);
    },
    end() {
      const last = table?.end() ?? [];
      const bars = table?.bars(terminal.columns) ?? [];
      print(isEmpty ? ['no values in this range'] : [...last, '', ...bars]);
    },
  };
}

const marked = ({ at, value, lastUpdated, imputed }: HistoricalPoint) =>
  `${iso(at)},${value},${lastUpdated === undefined ? '' : iso(lastUpdated)},${imputed ?? ''}`;

export async function printHistory(asking: Asking): Promise<void> {
  const { args, terminal, access, query } = asking;
  const range = rangeOf(asking);
  const updatedSince = timeAsked(args, 'updated-since');
  const includeImputedMarker = args.flag('include-imputed-marker');
  const { model, region, signalType } = query;
  const pieces = access.service.historyRange(
    {
      region,
      signalType,
      ...range,
      ...(model === undefined ? {} : { model }),
      ...(updatedSince === undefined ? {} : { updatedSince }),
      ...(includeImputedMarker ? { includeImputedMarker } : {}),
    },
    readingOf(asking),
  );
  const isMarked = includeImputedMarker || updatedSince !== undefined;
  const row = (point: HistoricalPoint) => (isMarked ? marked(point) : `${iso(point.at)},${point.value}`);
  const rowsOf = ({ points }: History) => points.map(row);
  const itemsOf = ({ points }: History) => points.map(historicalJson);
  const head = isMarked ? 'time,value,last_updated,imputed_data_used' : 'time,value';
  const writer = args.flag('json')
    ? jsonWriter(terminal, 'data', { headOf, itemsOf })
    : args.flag('csv')
      ? rowWriter(terminal, head, { unitsOf, rowsOf })
      : historyTable(asking, range);
  await watched(pieces, writer, terminal);
}

/** One line a forecast: what it said of its own moment and of what came after. */
function pastForecastTable({ terminal }: Asking): Writer<PastForecasts> {
  let count = 0;
  return {
    begin: (first) => terminal.out(`${heading(first)}\n\ngenerated at        points     first     least      most\n`),
    piece({ forecasts }) {
      for (const { generatedAt, points } of forecasts) {
        const values = points.map(({ value }) => value);
        const numbers = [values[0] ?? Number.NaN, Math.min(...values), Math.max(...values)];
        count += 1;
        terminal.out(
          `${shown(generatedAt)}  ${String(points.length).padStart(8)}${points.length === 0 ? '' : numbers.map((n) => n.toFixed(1).padStart(10)).join('')}\n`,
        );
      }
    },
    end: () => terminal.out(count === 0 ? 'no forecasts in this range\n' : `${counted(count, 'forecast')}\n`),
  };
}

export async function printPastForecasts(asking: Asking): Promise<void> {
  const { args, terminal, access, query } = asking;
  const range = rangeOf(asking);
  const pieces = access.service.pastForecastsRange({ ...query, ...range }, readingOf(asking));
  const rowsOf = ({ forecasts }: PastForecasts) =>
    forecasts.flatMap(({ generatedAt, points }) =>
      points.map(({ at, value }) => `${iso(generatedAt)},${iso(at)},${value}`),
    );
  const itemsOf = ({ forecasts }: PastForecasts) => forecasts.map(pastForecastJson);
  const writer = args.flag('json')
    ? jsonWriter(terminal, 'data', { headOf, itemsOf })
    : args.flag('csv')
      ? rowWriter(terminal, 'generated_at,time,value', { unitsOf, rowsOf })
      : pastForecastTable(asking);
  await watched(pieces, writer, terminal);
}

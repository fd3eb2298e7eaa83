/** Prints history and past forecasts of any length as they arrive, with progress on stderr. */

import { formatDuration, parseDuration } from '../../domain/duration-text.ts';
import {
  type Duration,
  durationBetween,
  formatCount,
  formatInstant,
  type Instant,
  minutes,
} from '../../domain/units.ts';
import type { RangeReadOptions, TimeRange } from '../../service/api/query-types.ts';
import type { Envelope, HistoricalPoint, History, PastForecasts } from '../../service/api/response-types.ts';
import type { Failure, Outcome } from '../../service/failure.ts';
import { type Terminal, UsageError } from '../shared/command.ts';
import { parseTimeFlag } from '../shared/flag-parsers.ts';
import {
  createJsonWriter,
  createRowWriter,
  createWaitPrinter,
  type StreamWriter,
  writeStream,
} from '../shared/stream-writer.ts';
import type { SignalContext } from './signal-context.ts';
import {
  chooseTableSpan,
  createSignalTable,
  formatHeading,
  formatUtcMinute,
  toHistoricalDocument,
  toMetaDocument,
  toPastForecastDocument,
} from './signal-text.ts';

/** The finest cut of a range. */
const MIN_CHUNK = minutes(5);

function parseRangeFlags({ args, access }: SignalContext): TimeRange {
  const start = parseTimeFlag(args, 'start');
  if (start === undefined) throw new UsageError('--start is missing; give the first time of the range');
  const givenEnd = parseTimeFlag(args, 'end');
  const end = givenEnd ?? access.clock.now().wall;
  if (givenEnd === undefined && end < start)
    throw new UsageError(`--start ${formatInstant(start)} is in the future; give --end too`);
  if (end < start) throw new UsageError(`--end ${formatInstant(end)} is before --start ${formatInstant(start)}`);
  return { start, end };
}

function parseChunkFlag({ args }: SignalContext): Duration | undefined {
  const text = args.text('chunk');
  if (text === undefined) return undefined;
  const length = parseDuration(text);
  if (length === undefined || length < MIN_CHUNK)
    throw new UsageError(`--chunk ${text}: expected a duration of at least 5m, such as 10d or 12h`);
  return length;
}

interface RangeReading {
  readonly options: RangeReadOptions;
  /** Where to go on from after a failure; undefined when nothing was printed. */
  readonly findNextStart: () => Instant | undefined;
}

/** Prints a line for each tenth of a range of several requests, and for each wait. */
function createRangeReading(context: SignalContext, { start }: TimeRange): RangeReading {
  const { args, terminal, access } = context;
  const printWait = createWaitPrinter(terminal, access.clock);
  // At a terminal the table shows the progress.
  const showsTable = terminal.interactive && !args.flag('json') && !args.flag('csv');
  let tenth = 0;
  let splitTo: Duration | undefined;
  let nextStart: Instant = start;
  const options: RangeReadOptions = {
    inFlight: args.number('in-flight') ?? 3,
    maxSpan: parseChunkFlag(context),
    signal: terminal.stop,
    onProgress: ({ done, total: whole, next, requests, waiting, split }) => {
      if (waiting !== undefined) printWait(waiting.wait, waiting.failure);
      if (split !== undefined && (splitTo === undefined || split.span < splitTo)) {
        splitTo = split.span;
        const cause = split.failure.kind === 'unreachable' ? split.failure.cause : split.failure.kind;
        terminal.err(`${cause}; asking for ${formatDuration(split.span)} at a time\n`);
      }
      nextStart = next;
      const now = whole === 0 ? 10 : Math.floor((10 * done) / whole);
      if (showsTable || now <= tenth || (requests === 1 && now === 10)) return;
      tenth = now;
      terminal.err(`${now * 10} % read, ${formatCount(requests, 'request')}, up to ${formatUtcMinute(next)}\n`);
    },
  };
  return { options, findNextStart: () => (nextStart > start ? nextStart : undefined) };
}

/** Reports a change of model and refused values; a change of unit is a failure. */
function createEnvelopeCheck(terminal: Terminal) {
  let previous: Envelope | undefined;
  let refusedCount = 0;
  return {
    check(answer: Envelope): Failure | undefined {
      const { model, units } = previous ?? answer;
      if (units !== answer.units)
        return { kind: 'invalid-response', where: 'meta.units', expected: units, received: answer.units };
      if (model !== undefined && answer.model !== undefined && model !== answer.model)
        terminal.err(
          `the model changes from ${model} to ${answer.model} within this range: do not compare values across the change\n`,
        );
      previous = answer;
      refusedCount += answer.refusedPoints;
      return undefined;
    },
    end() {
      if (refusedCount > 0)
        terminal.err(`${formatCount(refusedCount, 'value')} of the service skipped: not a number\n`);
    },
  };
}

/** Passes the chunks of a history on and prints how many points are missing between the first and the last. */
async function* reportGaps(
  chunks: AsyncIterable<Outcome<History>>,
  { err }: Terminal,
): AsyncGenerator<Outcome<History>, void, undefined> {
  let missing = 0;
  let last: Instant | undefined;
  for await (const outcome of chunks) {
    yield outcome;
    if (!outcome.ok) continue;
    for (const { at } of outcome.value.points) {
      if (last !== undefined) missing += Math.max(0, Math.round(durationBetween(last, at) / outcome.value.period) - 1);
      last = at;
    }
  }
  if (missing > 0) err(`${formatCount(missing, 'point')} missing between the first and the last\n`);
}

async function writeChecked<Answer extends Envelope>(
  chunks: AsyncIterable<Outcome<Answer>>,
  writer: StreamWriter<Answer>,
  { terminal, findNextStart }: { readonly terminal: Terminal } & Pick<RangeReading, 'findNextStart'>,
): Promise<void> {
  const envelopeCheck = createEnvelopeCheck(terminal);
  try {
    await writeStream(chunks, writer, envelopeCheck.check);
  } catch (error) {
    const next = findNextStart();
    if (next !== undefined) terminal.err(`the rest begins at --start ${formatInstant(next)}\n`);
    throw error;
  } finally {
    envelopeCheck.end();
  }
}

const getHead = (first: Envelope) => ({ meta: toMetaDocument(first) });
const getUnits = ({ units }: Envelope) => units;

function createHistoryTable({ args, terminal }: SignalContext, { start, end }: TimeRange): StreamWriter<History> {
  let table: ReturnType<typeof createSignalTable> | undefined;
  let isEmpty = true;
  const print = (lines: readonly string[]) => {
    if (lines.length > 0) terminal.out(`${lines.join('\n')}\n`);
  };
  return {
    begin(first) {
      table = createSignalTable(chooseTableSpan(durationBetween(start, end), first.period), {
        showsImputed: args.flag('include-imputed-marker'),
      });
      print([formatHeading(first), '']);
    },
    chunk({ points }) {
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

const formatMarkedPoint = ({ at, value, lastUpdated, imputed }: HistoricalPoint) =>
  `${formatInstant(at)},${value},${lastUpdated === undefined ? '' : formatInstant(lastUpdated)},${imputed ?? ''}`;

export async function printHistory(context: SignalContext): Promise<void> {
  const { args, terminal, access, query } = context;
  const range = parseRangeFlags(context);
  const updatedSince = parseTimeFlag(args, 'updated-since');
  const includeImputedMarker = args.flag('include-imputed-marker');
  const { model, region, signalType } = query;
  const { options, findNextStart } = createRangeReading(context, range);
  const chunks = access.service.historyRange(
    {
      region,
      signalType,
      ...range,
      ...(model === undefined ? {} : { model }),
      ...(updatedSince === undefined ? {} : { updatedSince }),
      ...(includeImputedMarker ? { includeImputedMarker } : {}),
    },
    options,
  );
  const isMarked = includeImputedMarker || updatedSince !== undefined;
  const row = (point: HistoricalPoint) =>
    isMarked ? formatMarkedPoint(point) : `${formatInstant(point.at)},${point.value}`;
  const rowsOf = ({ points }: History) => points.map(row);
  const itemsOf = ({ points }: History) => points.map(toHistoricalDocument);
  const head = isMarked ? 'time,value,last_updated,imputed_data_used' : 'time,value';
  const writer = args.flag('json')
    ? createJsonWriter(terminal, 'data', { headOf: getHead, itemsOf })
    : args.flag('csv')
      ? createRowWriter(terminal, head, { unitsOf: getUnits, rowsOf })
      : createHistoryTable(context, range);
  // Only values that have changed are no series.
  const reportedChunks = updatedSince === undefined ? reportGaps(chunks, terminal) : chunks;
  await writeChecked(reportedChunks, writer, { terminal, findNextStart });
}

/** One line per forecast: its value for its own moment and the values after it. */
function createPastForecastTable({ terminal }: SignalContext): StreamWriter<PastForecasts> {
  let count = 0;
  return {
    begin: (first) =>
      terminal.out(`${formatHeading(first)}\n\ngenerated at        points     first     least      most\n`),
    chunk({ forecasts }) {
      for (const { generatedAt, points } of forecasts) {
        const values = points.map(({ value }) => value);
        const numbers = [values[0] ?? Number.NaN, Math.min(...values), Math.max(...values)];
        count += 1;
        terminal.out(
          `${formatUtcMinute(generatedAt)}  ${String(points.length).padStart(8)}${points.length === 0 ? '' : numbers.map((n) => n.toFixed(1).padStart(10)).join('')}\n`,
        );
      }
    },
    end: () => terminal.out(count === 0 ? 'no forecasts in this range\n' : `${formatCount(count, 'forecast')}\n`),
  };
}

export async function printPastForecasts(context: SignalContext): Promise<void> {
  const { args, terminal, access, query } = context;
  const range = parseRangeFlags(context);
  const { options, findNextStart } = createRangeReading(context, range);
  const chunks = access.service.pastForecastsRange({ ...query, ...range }, options);
  const rowsOf = ({ forecasts }: PastForecasts) =>
    forecasts.flatMap(({ generatedAt, points }) =>
      points.map(({ at, value }) => `${formatInstant(generatedAt)},${formatInstant(at)},${value}`),
    );
  const itemsOf = ({ forecasts }: PastForecasts) => forecasts.map(toPastForecastDocument);
  const writer = args.flag('json')
    ? createJsonWriter(terminal, 'data', { headOf: getHead, itemsOf })
    : args.flag('csv')
      ? createRowWriter(terminal, 'generated_at,time,value', { unitsOf: getUnits, rowsOf })
      : createPastForecastTable(context);
  await writeChecked(chunks, writer, { terminal, findNextStart });
}

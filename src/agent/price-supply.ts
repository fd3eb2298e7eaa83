/** The prices of the configured tariff: from its table, its file or its topic, and what is wrong with them. */

import { createPoller } from '../domain/poller.ts';
import type { Broker } from '../domain/ports.ts';
import { createTablePrices, findPriceSpan, type PriceSpan, type Prices } from '../domain/tariff.ts';
import { formatInstant, hours, type Instant, milliseconds, minutes } from '../domain/units.ts';
import { type ParsedPrices, parsePriceFile, parsePriceMessage } from '../tariff/parse-prices.ts';
import { type PriceBook, updatePrices } from '../tariff/price-book.ts';
import type { AgentContext } from './agent-context.ts';
import type { Part } from './lifecycle.ts';

export interface PriceSupply extends Part {
  /** Undefined while the present price is not known. */
  pricesAt(now: Instant): Prices | undefined;
}

export interface PriceSupplyParts {
  readonly broker: Broker | undefined;
  /** Other prices are known than before. */
  readonly onPrices: () => void;
}

const FILE_INTERVAL = hours(1);
const SUBJECT = 'tariff';
/** The first prices may take as long without being missed. */
const FIRST_WAIT = minutes(5);

export function createPriceSupply(context: AgentContext, parts: PriceSupplyParts): PriceSupply | undefined {
  const { tariff, place } = context.config;
  if (tariff === undefined) return undefined;
  const { currency, source } = tariff;
  if (source.kind === 'table') {
    const spansAt = createTablePrices(source.table, place.timezone);
    return { pricesAt: (now) => ({ currency, spans: spansAt(now) }) };
  }
  const name = source.kind === 'topic' ? `the topic ${source.topic}` : `the file ${source.path}`;
  const book = createPublishedPrices(context, { currency, name, onPrices: parts.onPrices });
  const reader =
    source.kind === 'topic'
      ? createTopicReader(parts.broker, source.topic, (text) => book.receive(parsePriceMessage(text, currency)))
      : createFileReader(context, source.path, (text) =>
          book.receive(text === undefined ? { ok: false, problem: 'cannot be read' } : parsePriceFile(text, currency)),
        );
  return { ...reader, pricesAt: book.pricesAt };
}

interface PublishedPricesParts {
  readonly currency: string;
  readonly name: string;
  readonly onPrices: () => void;
}

/** Prices that come from outside: kept until they end, and a problem while none holds. */
function createPublishedPrices({ clock, problems }: AgentContext, { currency, name, onPrices }: PublishedPricesParts) {
  let book: PriceBook = [];
  let receivedAt: Instant | undefined;
  let refusal: string | undefined;
  const startedAt = clock.now().uptime;

  const formatSilence = () =>
    receivedAt === undefined ? 'none has come yet' : `the last ones came at ${formatInstant(receivedAt)}`;
  const report = (covers: boolean): void => {
    if (receivedAt === undefined && refusal === undefined && clock.now().uptime - startedAt < FIRST_WAIT) return;
    const consequence = 'loads are planned by carbon until they are known';
    if (covers && refusal === undefined) problems.resolve(SUBJECT);
    else if (refusal !== undefined)
      problems.raise(
        SUBJECT,
        `the prices of ${name} ${refusal}${covers ? '; those before are kept' : `; ${consequence}`}`,
      );
    else
      problems.raise(
        SUBJECT,
        `${name} has no price of this hour (${formatSilence()}): ${consequence}; check that its publisher runs`,
      );
  };

  return {
    receive(parsed: ParsedPrices): void {
      const now = clock.now().wall;
      const update = parsed.ok ? updatePrices(book, parsed.spans, now) : parsed;
      if (update.ok) {
        book = update.book;
        receivedAt = now;
      }
      refusal = update.ok ? undefined : update.problem;
      onPrices();
    },
    pricesAt(now: Instant): Prices | undefined {
      const covers = findPriceSpan(book, now) !== undefined;
      report(covers);
      return covers ? { currency, spans: mergeEqual(book) } : undefined;
    },
  };
}

/** Published prices are often many equal ones: fewer spans make shorter work. */
function mergeEqual(spans: readonly PriceSpan[]): readonly PriceSpan[] {
  const merged: PriceSpan[] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    if (last !== undefined && last.to === span.from && last.price === span.price)
      merged[merged.length - 1] = { ...last, to: span.to };
    else merged.push(span);
  }
  return merged;
}

/** Longer messages are cut: they are no prices. */
const MAX_MESSAGE = 512 * 1024;

function createTopicReader(broker: Broker | undefined, topic: string, onText: (text: string) => void): Part {
  let stopWatching: (() => void) | undefined;
  return {
    start() {
      stopWatching = broker?.watchState((state) => {
        if (state.kind !== 'online') return;
        const receive = ({ payload }: { readonly payload: Uint8Array }) =>
          onText(new TextDecoder().decode(payload.subarray(0, MAX_MESSAGE)));
        void broker.subscribe(topic, receive, { wantsRetained: true });
      });
    },
    stop: () => stopWatching?.(),
  };
}

function createFileReader(
  { clock, world }: AgentContext,
  path: string,
  onText: (text: string | undefined) => void,
): Part {
  const poller = createPoller({
    clock,
    name: 'tariff file',
    async poll() {
      onText(await world.secrets.read(path, 'public'));
      return FILE_INTERVAL;
    },
  });
  return { start: () => poller.pollAfter(milliseconds(0)), stop: poller.stop };
}

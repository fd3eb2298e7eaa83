/** The service as an agent behind a relay has it: signals from the broker, and the own account, where there is one, while the relay is silent. */

import type { Broker, Clock, Random } from '../domain/ports.ts';
import { minutes } from '../domain/units.ts';
import { buildSignalTopic } from '../mqtt/topics.ts';
import type { MapSource } from '../region/region-types.ts';
import type { ForecastQuery, HistoryQuery, SignalQuery } from '../service/api/query-types.ts';
import type { History } from '../service/api/response-types.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Failure, Outcome } from '../service/failure.ts';
import type { MapReaderParts } from './map-reader.ts';
import { decodeRelayMessage, type RelayedAnswers, type SignalKind } from './relay-message.ts';
import { createSignalChannel, type SignalChannel } from './signal-channel.ts';
import { parsePublicKey } from './signing-key.ts';

/** What an agent asks of the service. */
export type SignalService = Pick<
  ServiceClient,
  'forecast' | 'signalIndex' | 'history' | 'myAccess' | 'regionFromLoc' | 'counts' | 'skew' | 'stop'
> &
  MapSource;

export interface RelayedServiceParts {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly random: Random;
  /** As configured. */
  readonly publicKeys: readonly string[];
  /** The own account. */
  readonly account: SignalService | undefined;
  /** A newer signal has come, or the present one again after a refused message: the next question will be answered with it. */
  readonly onNews: (kind: SignalKind) => void;
  readonly onRefusal: (kind: SignalKind, sentence: string) => void;
  /** A link for the time in which a map is read; without it maps are those of the account. */
  readonly createLink?: () => Broker;
}

/** Of the relay. */
const ROUND = minutes(5);

type Explanation = ReturnType<SignalChannel<SignalKind>['explain']>;

const fail = (explanation: Explanation): { readonly ok: false; readonly failure: Failure } => ({
  ok: false,
  failure: { kind: 'no-relayed-signal', ...explanation },
});
const NO_ACCOUNT = fail({ cause: 'this agent has a relay and no account' });

/** The map of the relay; that of the account where the relay has none, and at the try after one in which a piece failed. */
function createMapSource(
  { account, clock, createLink }: RelayedServiceParts,
  keys: MapReaderParts['keys'],
  signal: AbortSignal,
): SignalService['map'] {
  let hasFailed = false;
  const onFailure = () => {
    hasFailed = true;
  };
  return async (query) => {
    if (createLink === undefined) return account?.map(query) ?? NO_ACCOUNT;
    if (hasFailed && account !== undefined) {
      hasFailed = false;
      return account.map(query);
    }
    const { readRelayedMap } = await import('./map-reader.ts');
    const map = await readRelayedMap({ clock, keys, createLink, signal, onFailure }, query);
    return 'cause' in map ? (account?.map(query) ?? fail(map)) : { ok: true, value: map };
  };
}

export function createRelayedService(parts: RelayedServiceParts): SignalService {
  const { broker, clock, random, account, onNews, onRefusal } = parts;
  const keys = parts.publicKeys.map(parsePublicKey);
  const channels = new Map<string, SignalChannel<SignalKind>>();
  const stopping = new AbortController();

  const findChannel = <Kind extends SignalKind>(kind: Kind, query: SignalQuery): SignalChannel<Kind> => {
    const topic = buildSignalTopic(query.region, query.signalType, kind);
    const channel =
      channels.get(topic) ??
      createSignalChannel({
        ...{ broker, clock, random, topic },
        decode: (payload) => decodeRelayMessage(payload, { kind, query, keys, now: clock.now().wall }),
        onNews: () => onNews(kind),
        onRefusal: (sentence) => onRefusal(kind, sentence),
      });
    channels.set(topic, channel);
    return channel as SignalChannel<Kind>;
  };

  /** The relay's answer, else the account's, else why there is none. */
  async function ask<Kind extends SignalKind>(
    kind: Kind,
    { region, signalType, model }: SignalQuery & { readonly model?: string },
    askAccount: () => Promise<Outcome<RelayedAnswers[Kind]>> | undefined,
  ): Promise<Outcome<RelayedAnswers[Kind]>> {
    const channel = findChannel(kind, { region, signalType });
    const answer = (await channel.read(ROUND))?.answer;
    const isOtherModel = model !== undefined && answer?.model !== undefined && answer.model !== model;
    if (answer !== undefined && !isOtherModel) return { ok: true, value: answer };
    const otherModel = { cause: `the relay publishes the model ${answer?.model}; expected ${model}` };
    return askAccount() ?? fail(isOtherModel ? otherModel : channel.explain());
  }

  return {
    forecast: (query: ForecastQuery) => ask('forecast', query, () => account?.forecast(query)),
    signalIndex: (query) => ask('index', query, () => account?.signalIndex(query)),
    async history(query: HistoryQuery) {
      const outcome = await ask('history', query, () => account?.history(query));
      return outcome.ok ? { ok: true, value: selectRange(outcome.value, query) } : outcome;
    },
    myAccess: async (query) => account?.myAccess(query) ?? NO_ACCOUNT,
    map: createMapSource(parts, keys, stopping.signal),
    regionFromLoc: async (query) => account?.regionFromLoc(query) ?? NO_ACCOUNT,
    counts: () => account?.counts() ?? { requests: 0, logins: 0, bytesIn: 0 },
    skew: () => account?.skew(),
    stop() {
      stopping.abort();
      for (const channel of channels.values()) channel.stop();
      account?.stop();
    },
  };
}

/** A relay publishes the last days, whatever was asked for. */
const selectRange = (history: History, { start, end }: HistoryQuery): History => ({
  ...history,
  points: history.points.filter(({ at }) => at >= start && at <= end),
});

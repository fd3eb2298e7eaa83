/** Many houses in one process, each with a link and the agent's own intake of the signal; tells its parent what they hold. */

import { createBrokerFactory } from '../../../src/platform/mqtt-broker.ts';
import { createSystemRandom } from '../../../src/platform/random.ts';
import { createSystemClock } from '../../../src/platform/system-clock.ts';
import { createRelayedService, type SignalService } from '../../../src/relay/relayed-service.ts';

/** What the houses of a process hold, by `generated_at` of their newest forecast; 0: none. */
export interface HousesReport {
  readonly online: number;
  readonly forecasts: Readonly<Record<string, number>>;
  /** Forecasts that were older than the one before. */
  readonly older: number;
  /** Of processor time so far. */
  readonly cpuSeconds: number;
}

const [urls = '', publicKey = '', first = '0', count = '0', extra = ''] = process.argv.slice(2);
const QUERY = { region: 'CAISO_NORTH', signalType: 'co2_moer' };
/** Links that begin in a second: as houses come back after a power cut, each with a wait of its own. */
const LINKS_PER_SECOND = 400;
const REPORT_INTERVAL = 250;

const clock = createSystemClock();
const random = createSystemRandom();
const createBroker = createBrokerFactory({ clock, random });
const newest: number[] = [];
const links: ReturnType<typeof createBroker>[] = [];
let older = 0;

function startHouse(n: number): void {
  const all = urls.split(',');
  const link = createBroker({ url: all[n % all.length] ?? '', clientId: `house-${n}` });
  const i = links.push(link) - 1;
  newest[i] = 0;
  const ask = async () => {
    const outcome = await service.forecast(QUERY);
    const at = outcome.ok ? outcome.value.generatedAt : 0;
    if (outcome.ok && at < (newest[i] ?? 0)) older += 1;
    newest[i] = Math.max(newest[i] ?? 0, at);
  };
  const service: SignalService = createRelayedService({
    ...{ broker: link, clock, random, publicKeys: [publicKey], account: undefined },
    onNews: () => void ask(),
    onRefusal() {},
  });
  // Whole agents read their commands at QoS 1.
  if (extra === 'qos1')
    link.watchState(({ kind }) => {
      if (kind === 'online') void link.subscribe(`gridtide/house-${n}/loads/+/set`, () => {}, { wantsRetained: false });
    });
  link.start();
  void ask();
  // A message may be lost, a subscription denied: the agent asks again with each poll, every five minutes.
  setInterval(() => void ask(), 300_000 + (n % 100) * 100);
}

for (let n = 0; n < Number(count); n++) setTimeout(() => startHouse(Number(first) + n), (n * 1_000) / LINKS_PER_SECOND);

setInterval(() => {
  const forecasts: Record<string, number> = {};
  for (const at of newest) forecasts[at] = (forecasts[at] ?? 0) + 1;
  const online = links.filter(({ state }) => state.kind === 'online').length;
  const { user, system } = process.cpuUsage();
  process.send?.({ online, forecasts, older, cpuSeconds: (user + system) / 1e6 } satisfies HousesReport);
}, REPORT_INTERVAL);
process.on('disconnect', () => process.exit());

/** The page as one object: a client of the broker and of the state directory, and a server of browsers. */

import type { Config } from '../config/config.ts';
import type { Broker, BrokerState, Cancel, Clock, Disk } from '../domain/ports.ts';
import { addDuration, days, formatInstant, type Instant, minutes, seconds, subtractDuration } from '../domain/units.ts';
import { createHouseDocuments, type HouseDocuments } from './house-documents.ts';
import { createHouseFeed } from './house-feed.ts';
import { readPageFiles } from './page-files.ts';
import { createPageServer } from './page-server.ts';
import { createRunTracker, type RunTracker } from './run-tracker.ts';
import { readRecentEntries, readSavedHouse } from './saved-house.ts';

export interface PageOptions {
  readonly config: Config;
  readonly version: string;
  /** Real time, for timers. */
  readonly clock: Clock;
  /** The time of the house; absent: real time. */
  readonly houseNow?: () => Instant;
  readonly broker?: Broker;
  /** Absent where this user may not read it. */
  readonly disk?: Disk;
  /** Where the build has put the files for the browser. */
  readonly filesDirectory: string;
  readonly names: readonly string[];
  readonly password?: string;
}

export interface Page {
  listen(port: number, host: string): Promise<{ readonly port: number }>;
  close(): Promise<void>;
}

/** How often browsers get the time, and the saved state is read again while no broker answers. */
const TICK_INTERVAL = seconds(30);
const DEMO_TICK_INTERVAL = seconds(1);
const SAVED_INTERVAL = minutes(5);
const RUNS_SINCE = days(2);

/** What the page knows of its own link, for browsers. */
interface LinkStatus {
  state: BrokerState;
  savedAsOf?: string | undefined;
  /** On the monotonic clock. */
  savedReadAt?: number;
}

const buildStatus = ({ config, version }: PageOptions, now: Instant, { state, savedAsOf }: LinkStatus) => ({
  now: formatInstant(now),
  version,
  device: config.device,
  timezone: config.place.timezone,
  place: config.place,
  link: state.kind,
  problem: state.kind === 'offline' ? state.cause : null,
  savedAsOf: savedAsOf ?? null,
});

/** Keeps the documents current: status and time, the runs of the ledger, and the saved state while no broker answers. */
function createUpkeep(options: PageOptions, documents: HouseDocuments, runs: RunTracker) {
  const { config, version, clock, disk } = options;
  const houseNow = options.houseNow ?? (() => clock.now().wall);
  const link: LinkStatus = { state: { kind: 'offline', cause: 'no broker is configured', refused: true } };
  let isClosed = false;
  let isDrawing = false;
  let cancelTick: Cancel | undefined;

  const publishStatus = () => documents.set('page', buildStatus(options, houseNow(), link));
  /** Once: a border that moves is drawn after the next start. */
  const drawOutline = async (from: Disk): Promise<void> => {
    if (isDrawing || documents.get('outline') !== undefined) return;
    isDrawing = true;
    const { readRegionOutline } = await import('./region-outline.ts');
    const outline = await readRegionOutline(from, config.service.signalType, config.place);
    if (outline !== undefined) documents.set('outline', outline);
    isDrawing = false;
  };
  const readSaved = async (from: Disk): Promise<void> => {
    link.savedReadAt = clock.now().uptime;
    runs.addEntries(await readRecentEntries(from, houseNow()), subtractDuration(houseNow(), RUNS_SINCE));
    const saved = await readSavedHouse(from, config, version, houseNow());
    if (link.state.kind === 'online' || isClosed) return;
    link.savedAsOf = saved.asOf;
    for (const [path, document] of Object.entries(saved.documents)) documents.set(path, document);
    publishStatus();
  };
  const tick = (): void => {
    if (isClosed) return;
    publishStatus();
    if (disk !== undefined) void drawOutline(disk);
    const { savedReadAt } = link;
    if (disk !== undefined && (savedReadAt === undefined || clock.now().uptime - savedReadAt > SAVED_INTERVAL))
      void readSaved(disk);
    const interval = options.houseNow === undefined ? TICK_INTERVAL : DEMO_TICK_INTERVAL;
    cancelTick = clock.wakeAt(addDuration(clock.now().uptime, interval), 'page', tick);
  };
  return {
    start: tick,
    setLink(state: BrokerState): void {
      link.state = state;
      if (state.kind === 'online') link.savedAsOf = undefined;
      publishStatus();
    },
    stop(): void {
      isClosed = true;
      cancelTick?.();
    },
  };
}

const toJson = (document: unknown) => ({ type: 'application/json; charset=utf-8', text: JSON.stringify(document) });

export async function createPage(options: PageOptions): Promise<Page> {
  const { config, clock, broker, filesDirectory, names, password } = options;
  const files = await readPageFiles(filesDirectory);
  const documents = createHouseDocuments(clock);
  const runs = createRunTracker((all) => documents.set('runs', all));
  const upkeep = createUpkeep(options, documents, runs);
  const feed =
    broker && createHouseFeed({ device: config.device, broker, clock, documents, runs, onState: upkeep.setLink });
  const NO_BROKER = { ok: false, message: 'no broker is configured, so the agent cannot be reached' };
  const server = createPageServer({
    ...{ files, names, documents: documents.all, watch: documents.watch, now: () => clock.now().uptime },
    ...(password === undefined ? {} : { password }),
    sendCommand: async (load, command) => feed?.sendCommand(load, command as object) ?? NO_BROKER,
    texts: {
      '/evcc.json': async () =>
        toJson((await import('./forecast-shapes.ts')).buildEvccForecast(documents.get('forecast'))),
      '/power-saver.json': async () =>
        toJson((await import('./forecast-shapes.ts')).buildPowerSaverForecast(documents.get('forecast'))),
      '/metrics': async () => ({
        type: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
        // Read at the first request: a house without a collector pays nothing for it.
        text: (await import('./open-metrics.ts')).formatOpenMetrics(documents.all()),
      }),
    },
  });

  return {
    async listen(port, host) {
      const listening = await server.listen(port, host);
      feed?.start();
      upkeep.start();
      return listening;
    },
    async close() {
      upkeep.stop();
      await Promise.all([server.close(), feed?.stop()]);
    },
  };
}

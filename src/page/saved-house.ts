/** Builds the documents of a house from its state directory: for a page without a broker, and for the runs of the past. */

import { createDocumentStore } from '../agent/document-store.ts';
import { createExpectedRuns } from '../agent/expected-runs.ts';
import { loadSavedState, viewSavedSignal } from '../agent/persistence.ts';
import { collectSeenValues, findYesterday } from '../agent/series-publisher.ts';
import type { Config } from '../config/config.ts';
import { explainDecision } from '../control/explain.ts';
import { createDayFormatter, findNextDayStart } from '../domain/local-day.ts';
import { type Disk, DiskError } from '../domain/ports.ts';
import { days, formatInstant, type Instant, subtractDuration } from '../domain/units.ts';
import type { Entry } from '../ledger/entries.ts';
import { createHouseTotals } from '../ledger/house-totals.ts';
import { listLedgerFiles, readLedgerMonths } from '../ledger/ledger-files.ts';
import { buildInfoPayload, buildLoadPayload, getRateUnit } from '../mqtt/payloads.ts';
import {
  buildForecastPayload,
  buildHistoryPayload,
  buildPlanPayload,
  buildTotalsPayload,
} from '../mqtt/watcher-payloads.ts';

export interface SavedHouse {
  /** When the agent saved it last. */
  readonly asOf?: string;
  readonly documents: Readonly<Record<string, unknown>>;
}

/** Empty where nothing was saved, or where this user may not read it. */
export async function readSavedHouse(disk: Disk, config: Config, version: string, now: Instant): Promise<SavedHouse> {
  const unit = getRateUnit(config);
  const store = createDocumentStore(disk, () => {});
  const { control, signalData } = await loadSavedState([store], {
    signalType: config.service.signalType,
    note: () => {},
  });
  const documents: Record<string, unknown> = {};
  const view = signalData && viewSavedSignal(signalData, config.ties, now);
  if (view?.horizon !== undefined) documents.forecast = buildForecastPayload(view.horizon, view.region, unit);
  const seen = collectSeenValues(signalData, findYesterday(createDayFormatter(config.place.timezone), now), now);
  if (seen !== undefined) documents.history = buildHistoryPayload(seen, unit);
  const info = { startedAt: now, ...(view?.region === undefined ? {} : { region: view.region }) };
  documents.info = { ...buildInfoPayload(info, config, version), startedAt: null };
  const findExpectedRuns = createExpectedRuns(config.ties);
  for (const state of control?.state.loads ?? []) {
    const { name, decision } = state;
    const load = config.loads.find((one) => one.name === name);
    if (load === undefined) continue;
    const expected = control && findExpectedRuns(load, control.state, view?.horizon);
    const facts = { ...state, ...(expected && { expected }) };
    documents[`loads/${name}/plan`] = buildPlanPayload(name, facts, load.powerKw);
    if (decision === undefined) continue;
    const text = explainDecision(decision, config.place.timezone, unit);
    documents[`loads/${name}`] = buildLoadPayload(decision, text, { unit, load, control: facts });
  }
  const totals = await readTotals(disk, config, now);
  if (totals !== undefined) documents.totals = totals;
  const lastMoment = control?.state.lastMoment?.wall;
  return { ...(lastMoment === undefined ? {} : { asOf: formatInstant(lastMoment) }), documents };
}

async function readTotals(disk: Disk, { place, loads }: Config, now: Instant) {
  const formatDay = createDayFormatter(place.timezone);
  const names = loads.map(({ name }) => name);
  try {
    if (listLedgerFiles(await disk.list()).length === 0) return undefined;
    const totals = await createHouseTotals(disk, place.timezone)(now);
    const validUntil = findNextDayStart(formatDay, now);
    return buildTotalsPayload({ at: now, validUntil, today: formatDay(now), ...totals }, names);
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    return undefined;
  }
}

const RUNS_SHOWN = days(2);

/** The ledger of the last two days; none where it cannot be read. */
export async function readRecentEntries(disk: Disk, now: Instant): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  try {
    const since = subtractDuration(now, RUNS_SHOWN);
    const names = listLedgerFiles(await disk.list()).slice(-2);
    for await (const month of readLedgerMonths(disk, names))
      for (const entry of month.entries) if (entry.kind === 'slot' && entry.at >= since) entries.push(entry);
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
  }
  return entries;
}

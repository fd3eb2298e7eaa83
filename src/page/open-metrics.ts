/** Writes the documents of a house as OpenMetrics text. */

import type { Documents } from './house-documents.ts';

type Labels = Readonly<Record<string, string>>;
interface Sample {
  readonly labels?: Labels;
  readonly value: unknown;
}

const escapeLabel = (text: string) => text.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n');
const formatLabels = (labels: Labels) => {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
};

/** A family without a value is left out. */
function formatFamily(name: string, type: 'gauge' | 'counter', help: string, samples: readonly Sample[]): string {
  const known = samples.flatMap(({ labels = {}, value }) => {
    const number = typeof value === 'boolean' ? Number(value) : value;
    return typeof number === 'number' && Number.isFinite(number) ? [{ labels, number }] : [];
  });
  if (known.length === 0) return '';
  const suffix = type === 'counter' ? '_total' : '';
  const lines = known.map(({ labels, number }) => `${name}${suffix}${formatLabels(labels)} ${number}`);
  return [`# TYPE ${name} ${type}`, `# HELP ${name} ${help}`, ...lines, ''].join('\n');
}

type Json = Readonly<Record<string, unknown>>;
const asObject = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
const toSeconds = (text: unknown) => (typeof text === 'string' ? Date.parse(text) / 1_000 : undefined);

/** The text of `/metrics`. */
export function formatOpenMetrics(documents: Documents): string {
  const signal = asObject(documents.signal);
  const health = asObject(documents.health);
  const counters = asObject(documents.counters);
  const totals = asObject(asObject(documents.totals).loads);
  const loads = Object.keys(documents).flatMap((path) => /^loads\/([^/]+)$/.exec(path)?.[1] ?? []);
  const perLoad = (value: (document: Json) => unknown): readonly Sample[] =>
    loads.map((load) => ({ labels: { load }, value: value(asObject(documents[`loads/${load}`])) }));
  const perTotal = (key: string): readonly Sample[] =>
    Object.entries(totals).map(([load, spans]) => ({ labels: { load }, value: asObject(asObject(spans).all)[key] }));
  const paid = Object.entries(totals).flatMap(([load, spans]) => {
    const { currency, paid: value } = asObject(asObject(asObject(spans).all).bill);
    return typeof currency === 'string' ? [{ labels: { load, currency }, value }] : [];
  });
  const parts = Object.entries(asObject(health.parts)).map(([part, state]) => ({
    labels: { part },
    value: asObject(state).ok,
  }));
  const families = [
    formatFamily('gridtide_up', 'gauge', 'Whether the agent is online.', [
      { value: documents.availability === 'online' },
    ]),
    formatFamily('gridtide_index', 'gauge', 'Emissions index, 0 cleanest to 100 dirtiest of the next 24 hours.', [
      { value: signal.index },
    ]),
    formatFamily('gridtide_rate', 'gauge', 'Emissions rate in the unit of its label.', [
      { labels: { unit: `${signal.units ?? ''}` }, value: signal.rate },
    ]),
    formatFamily('gridtide_signal_fresh', 'gauge', 'Whether fresh data drive the loads.', [{ value: health.fresh }]),
    formatFamily('gridtide_healthy', 'gauge', 'Whether a part of the agent works.', parts),
    formatFamily(
      'gridtide_load_running',
      'gauge',
      'Whether the load runs.',
      perLoad(({ running }) => running),
    ),
    formatFamily(
      'gridtide_load_power_kilowatts',
      'gauge',
      'Power of the load.',
      perLoad(({ powerKw }) => powerKw),
    ),
    formatFamily(
      'gridtide_load_next_start_seconds',
      'gauge',
      'Next start as planned, or as expected by the forecast, Unix time.',
      perLoad(({ nextStart }) => toSeconds(nextStart)),
    ),
    formatFamily('gridtide_energy_kilowatthours', 'counter', 'Energy of the load.', perTotal('energyKwh')),
    formatFamily('gridtide_emitted_kilograms', 'gauge', 'CO2 of the energy of the load.', perTotal('kg')),
    formatFamily('gridtide_saved_kilograms', 'gauge', 'CO2 saved against the baseline.', perTotal('savedKg')),
    formatFamily('gridtide_paid', 'gauge', 'Cost of the energy of the load, in the currency of its label.', paid),
    formatFamily('gridtide_requests', 'counter', 'Requests to the service since the start.', [
      { value: counters.requests },
    ]),
    formatFamily('gridtide_logins', 'counter', 'Logins at the service since the start.', [{ value: counters.logins }]),
  ];
  return `${families.join('')}# EOF\n`;
}

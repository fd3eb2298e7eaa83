/** The page in the browser: follows the documents of the house and shows them. */

import './page.css';
import { createCards } from './cards.ts';
import {
  buildSentence,
  buildTimeline,
  createClockFormat,
  findTrouble,
  formatMoney,
  formatNumber,
  getPlannedRuns,
  type House,
  type Timeline,
  toTitle,
} from './house-model.ts';
import { createChart } from './signal-chart.ts';

const find = <Kind extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as Kind;
const setText = (id: string, text: string) => {
  const element = find(id);
  if (element.textContent !== text) element.textContent = text;
};

let house: House = {};
let timeline: Timeline = buildTimeline(house);
let receivedAt = performance.now();
let isConnected = false;
let mode: 'index' | 'rate' = localStorage.getItem('show') === 'rate' ? 'rate' : 'index';

const getNow = () =>
  house.page === undefined ? Date.now() : Date.parse(house.page.now) + (performance.now() - receivedAt);
const getFormat = () => createClockFormat(house.page?.timezone ?? 'UTC');

const describeMoment = (at: number): string => {
  const format = getFormat();
  const i = timeline.at.indexOf(at);
  const [rate, index] = [timeline.rate[i], timeline.index[i]];
  const parts = [format.clock(at * 1_000, getNow())];
  if (index !== null && index !== undefined) parts.push(`index ${formatNumber(index)}`);
  if (rate !== null && rate !== undefined) parts.push(`${formatNumber(rate)} ${timeline.units}`);
  if (at * 1_000 >= timeline.profileFrom) parts.push('own estimate');
  const price = timeline.price[i];
  if (price !== null && price !== undefined) parts.push(`${price} ${house.prices?.currency ?? ''}/kWh`);
  for (const { name } of house.info?.loads ?? []) {
    const ran = house.runs?.[name]?.some((run) => run.from <= at * 1_000 && at * 1_000 < (run.to ?? getNow()));
    const planned = getPlannedRuns(house, name).some((run) => run.from <= at * 1_000 && at * 1_000 < run.to);
    if (ran) parts.push(`${toTitle(name)} ran`);
    else if (planned) parts.push(`${toTitle(name)} is planned`);
  }
  return parts.join(', ');
};

const chart = createChart(find('chart'), (at) => setText('reading', at === undefined ? '' : describeMoment(at)));
const cards = createCards(find('loads'), {
  async send(load, command) {
    const { withinHours, ...rest } = command as { withinHours?: number };
    const by = withinHours === undefined ? {} : { by: new Date(getNow() + withinHours * 3_600_000).toISOString() };
    const answer = await fetch(`/loads/${load}/set`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...rest, ...by }),
    }).catch(() => undefined);
    if (answer === undefined) throw new Error('The page cannot be reached; try again when it is back.');
    const { message = '' } = (await answer.json().catch(() => ({}))) as { message?: string };
    if (!answer.ok) throw new Error(`Refused: ${message || answer.statusText}`);
    find('live').textContent = `${toTitle(load)}: ${message}`;
  },
});

/** One row an hour, for those who read no chart. */
function updateTable(): void {
  const format = getFormat();
  const table = find<HTMLTableElement>('table');
  if (!table.closest('details')?.open) return;
  const rows = timeline.at.flatMap((at, i) => {
    if ((at * 1_000) % 3_600_000 !== 0) return [];
    const { [i]: index } = timeline.index;
    const { [i]: rate } = timeline.rate;
    const plans = (house.info?.loads ?? []).map(({ name }) => {
      const covers = ({ from, to }: { from: number; to?: number }) =>
        from < at * 1_000 + 3_600_000 && (to ?? getNow()) > at * 1_000;
      if (house.runs?.[name]?.some(covers)) return 'ran';
      return getPlannedRuns(house, name).some(covers) ? 'planned' : '';
    });
    const cells = [format.clock(at * 1_000, getNow()), index, rate].map((value) =>
      typeof value === 'number' ? formatNumber(value) : (value ?? ''),
    );
    return [[...cells, ...plans]];
  });
  const head = [
    'Time',
    'Index',
    `Rate (${timeline.units})`,
    ...(house.info?.loads ?? []).map(({ name }) => toTitle(name)),
  ];
  const toRow = (cells: readonly string[], tag: 'th' | 'td') => {
    const row = document.createElement('tr');
    for (const text of cells) {
      const cell = document.createElement(tag);
      cell.textContent = text;
      row.append(cell);
    }
    return row;
  };
  table.replaceChildren(toRow(head, 'th'), ...rows.map((cells) => toRow(cells, 'td')));
}

function setList(id: string, entries: readonly (readonly [string, string])[]): void {
  const text = JSON.stringify(entries);
  const list = find(id);
  if (list.dataset.text === text) return;
  list.dataset.text = text;
  list.replaceChildren(
    ...entries.flatMap(([term, value]) => {
      const group = id === 'saved-totals' ? [document.createElement('div')] : [];
      const [dt, dd] = [document.createElement('dt'), document.createElement('dd')];
      dt.textContent = term;
      dd.textContent = value;
      group[0]?.append(dt, dd);
      return group.length > 0 ? group : [dt, dd];
    }),
  );
}

const SVG = 'http://www.w3.org/2000/svg';

/** A bar a day; days that were worse hang below the line. */
function updateDays(days: readonly { day: string; savedKg: number }[]): void {
  const most = Math.max(0.001, ...days.map(({ savedKg }) => Math.abs(savedKg)));
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 300 64');
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  const text = days.map(({ day, savedKg }) => `${day} ${formatNumber(savedKg)} kg`).join(', ');
  svg.setAttribute('aria-label', `Saved by day: ${text}`);
  for (const [i, { savedKg }] of days.entries()) {
    const height = (Math.abs(savedKg) / most) * 30;
    const bar = document.createElementNS(SVG, 'rect');
    if (savedKg < 0) bar.setAttribute('class', 'worse');
    for (const [name, value] of Object.entries({ x: i * 10 + 1, width: 8, y: savedKg < 0 ? 32 : 32 - height, height }))
      bar.setAttribute(name, `${value}`);
    svg.append(bar);
  }
  find('days').replaceChildren(...(days.length < 2 ? [] : [svg]));
}

function updateSaved(): void {
  const { totals } = house;
  if (totals === undefined) {
    setText('saved-note', 'Energy and savings follow after the first run.');
    return;
  }
  const describeSaved = ({ savedKg, bill }: (typeof totals)['all']) =>
    `${formatNumber(savedKg)} kg${!bill ? '' : `, ${formatMoney(bill.saved, bill.currency)}`}`;
  setList('saved-totals', [
    ['Today', describeSaved(totals.today)],
    ['This month', describeSaved(totals.month)],
    ['In all', describeSaved(totals.all)],
  ]);
  const { all } = totals;
  const share = all.insteadKg === 0 ? '' : ` (${formatNumber((100 * all.savedKg) / Math.abs(all.insteadKg))} %)`;
  const paid = !all.bill ? '' : `; paid ${formatMoney(all.bill.paid, all.bill.currency)}`;
  setText(
    'saved-note',
    `${formatNumber(all.energyKwh)} kWh, ${formatNumber(all.kg)} kg of CO₂ instead of ${formatNumber(all.insteadKg)} kg at once${share}; ${formatNumber(100 * all.settledShare)} % settled${paid}.`,
  );
  updateDays(totals.days);
}

/** The region, drawn from its own polygon, with the house in it. */
function drawOutline({ outline, info }: House): readonly Element[] {
  if (outline === undefined) return [];
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', `0 0 ${outline.width} ${outline.height}`);
  svg.setAttribute('class', 'outline');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', `The region ${info?.regionFullName ?? info?.region ?? ''} with the house in it`);
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', outline.path);
  path.setAttribute('fill-rule', 'evenodd');
  const dot = document.createElementNS(SVG, 'circle');
  for (const [name, value] of Object.entries({ cx: outline.house[0], cy: outline.house[1], r: 4 }))
    dot.setAttribute(name, `${value}`);
  svg.append(path, dot);
  return [svg];
}

function updateFoot(): void {
  const { health, info, page, forecast } = house;
  const format = getFormat();
  const at = (text: string | null | undefined) => (text ? format.clock(Date.parse(text), getNow()) : 'unknown');
  setText('health', health === undefined ? '' : health.ok ? 'All parts work.' : health.problem);
  setList('details', [
    ['Region', `${info?.regionFullName ?? info?.region ?? 'unknown'}`],
    ['Forecast', `generated ${at(health?.lastForecast)}, valid until ${at(forecast?.validUntil)}`],
    ['Basis', health?.basis ?? 'unknown'],
    ['Account', health?.plan ?? 'unknown'],
    ['Map', info?.mapLastUpdated?.slice(0, 10) ?? 'none'],
    ['Version', page?.version ?? ''],
    ...(health?.warnings ?? []).map((warning) => ['Warning', warning] as const),
  ]);
  const outlineText = JSON.stringify(house.outline ?? null);
  const list = find('details');
  if (list.dataset.outline !== outlineText) {
    list.dataset.outline = outlineText;
    list.parentElement?.querySelector('svg')?.remove();
    list.after(...drawOutline(house));
  }
}

let lastSentence = '';

function update(): void {
  const format = getFormat();
  const now = getNow();
  find('price-key').hidden = !timeline.price.some((price) => price !== null);
  const sentence = buildSentence(house, now, format);
  const trouble = isConnected ? findTrouble(house, now, format) : 'No link to the page server; trying again.';
  setText('device', house.page?.device ?? '');
  setText('sentence', sentence);
  find('trouble').hidden = trouble === undefined;
  setText('trouble', trouble ?? '');
  const { signal } = house;
  const values = [
    ...(signal?.index === null || signal?.index === undefined ? [] : [`index ${formatNumber(signal.index)}`]),
    ...(signal?.rate === null || signal?.rate === undefined ? [] : [`${formatNumber(signal.rate)} ${signal.units}`]),
  ];
  setText('now', `${format.time(now)}${values.length === 0 ? ', no valid signal' : `, ${values.join(', ')}`}`);
  find('show-index').setAttribute('aria-pressed', `${mode === 'index'}`);
  find('show-rate').setAttribute('aria-pressed', `${mode === 'rate'}`);
  const isEnabled =
    isConnected &&
    house.page?.link === 'online' &&
    house.availability === 'online' &&
    house.info?.acceptsCommands !== false;
  cards.update(house, now, format, isEnabled);
  chart.update({ house, timeline, now, mode, timezone: house.page?.timezone ?? 'UTC' });
  updateTable();
  updateSaved();
  updateFoot();
  if (lastSentence !== '' && lastSentence !== sentence) find('live').textContent = sentence;
  lastSentence = sentence;
}

function receive(changed: House, isAll: boolean): void {
  house = isAll ? changed : { ...house, ...changed };
  if (changed.page !== undefined) receivedAt = performance.now();
  if (isAll || changed.history !== undefined || changed.forecast !== undefined || changed.prices !== undefined)
    timeline = buildTimeline(house);
  update();
}

for (const wanted of ['index', 'rate'] as const)
  find(`show-${wanted}`).addEventListener('click', () => {
    mode = wanted;
    localStorage.setItem('show', wanted);
    update();
  });
find('table').closest('details')?.addEventListener('toggle', updateTable);

const events = new EventSource('/events');
events.addEventListener('open', () => {
  isConnected = true;
});
events.addEventListener('error', () => {
  isConnected = false;
  update();
});
events.addEventListener('all', ({ data }: MessageEvent<string>) => receive(JSON.parse(data), true));
events.addEventListener('changed', ({ data }: MessageEvent<string>) => receive(JSON.parse(data), false));
setInterval(update, 30_000);

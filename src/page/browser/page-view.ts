/** The page in the browser: follows the documents of the house and shows them. */

import './page.css';
import { createCards } from './cards.ts';
import {
  buildSentence,
  buildTimeline,
  createClockFormat,
  describeHealth,
  findExpectedRuns,
  findHold,
  findThresholds,
  findTrouble,
  formatMoney,
  formatNumber,
  getLoad,
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
/** As chosen here before; else a narrow screen shows a day, a wide one all that is known. */
let span = localStorage.getItem('span');
const getSpan = () => (span === 'day' || (span === null && innerWidth < NARROW) ? 'day' : 'all');

const getNow = () =>
  house.page === undefined ? Date.now() : Date.parse(house.page.now) + (performance.now() - receivedAt);
const getFormat = () => createClockFormat(house.page?.timezone ?? 'UTC');

/** A narrow screen, in pixels. */
const NARROW = 600;

/** The loads that run by the forecast at some moment of a stretch. */
const listExpected = (from: number, to: number): readonly string[] =>
  (house.info?.loads ?? [])
    .map(({ name }) => name)
    .filter((name) => findExpectedRuns(house, name, getNow()).some((run) => run.from <= to && from < run.to));

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
  const expected = listExpected(at * 1_000, at * 1_000);
  for (const { name } of house.info?.loads ?? []) {
    const ran = house.runs?.[name]?.some((run) => run.from <= at * 1_000 && at * 1_000 < (run.to ?? getNow()));
    const planned = getPlannedRuns(house, name).some((run) => run.from <= at * 1_000 && at * 1_000 < run.to);
    if (ran) parts.push(`${toTitle(name)} ran`);
    else if (planned) parts.push(`${toTitle(name)} is planned`);
    else if (expected.includes(name)) parts.push(`${toTitle(name)} runs by the forecast`);
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

/** Only what the chart draws, and what its figures mean. */
function updateLegend(): void {
  const loads = house.info?.loads ?? [];
  find('price-key').hidden = !timeline.price.some((price) => price !== null);
  setText('price-unit', `price, ${house.prices?.currency ?? ''}/kWh (right)`);
  find('own-key').hidden = !Number.isFinite(timeline.profileFrom);
  find('deadline-key').hidden = !loads.some(({ name }) => getLoad(house, name)?.job);
  find('held-key').hidden = !loads.some(({ name }) => findHold(house, name, getNow()) !== undefined);
  find('expected-key').hidden = !loads.some(({ name }) => findExpectedRuns(house, name, getNow()).length > 0);
  const [low, high] = findThresholds(house);
  const limits = `Clean is at or below ${low}, dirty at or above ${high}.`;
  setText(
    'meaning',
    mode === 'index'
      ? `Index: the rank of a moment among the 24 hours from it on, 0 the cleanest and 100 the dirtiest. ${limits}`
      : `Rate: CO₂ of one more kilowatt-hour, in ${timeline.units}. Tints go by the index: ${limits.toLowerCase()}`,
  );
}

/** One row an hour, for those who read no chart. */
function updateTable(): void {
  const format = getFormat();
  const table = find<HTMLTableElement>('table');
  if (!table.closest('details')?.open) return;
  const rows = timeline.at.flatMap((at, i) => {
    if ((at * 1_000) % 3_600_000 !== 0) return [];
    const { [i]: index } = timeline.index;
    const { [i]: rate } = timeline.rate;
    const expected = listExpected(at * 1_000, at * 1_000 + 3_599_999);
    const plans = (house.info?.loads ?? []).map(({ name }) => {
      const covers = ({ from, to }: { from: number; to?: number }) =>
        from < at * 1_000 + 3_600_000 && (to ?? getNow()) > at * 1_000;
      if (house.runs?.[name]?.some(covers)) return 'ran';
      if (getPlannedRuns(house, name).some(covers)) return 'planned';
      return expected.includes(name) ? 'by the forecast' : '';
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

const BAR_COUNT = 30;

/** A bar a day, today at the right; days that were worse hang below the line. */
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
    const x = (BAR_COUNT - days.length + i) * 10 + 1;
    for (const [name, value] of Object.entries({ x, width: 8, y: savedKg < 0 ? 32 : 32 - height, height }))
      bar.setAttribute(name, `${value}`);
    svg.append(bar);
  }
  find('days').hidden = days.length < 2;
  find('bars').replaceChildren(svg);
}

type Totals = NonNullable<House['totals']>['all'];

function describeTotals({ energyKwh, kg, insteadKg, savedKg, settledShare, bill }: Totals): string {
  const paid = !bill ? '' : ` Paid: ${formatMoney(bill.paid, bill.currency)}.`;
  const energy = `In all ${formatNumber(energyKwh)} kWh`;
  if (insteadKg === 0)
    return `${energy}, of which none is compared yet: that takes known rates, and a device that has confirmed or metered its run.${paid}`;
  const share = savedKg / Math.abs(insteadKg);
  const compared = `${formatNumber(100 * Math.abs(share))} % ${share < 0 ? 'more' : 'less'} than the ${formatNumber(insteadKg)} kg`;
  return `${energy} with ${formatNumber(kg)} kg of CO₂: ${compared} of the same energy drawn at once, or evenly over the day by loads without a goal. ${formatNumber(100 * settledShare)} % of the energy has its final rates.${paid}`;
}

function updateSaved(): void {
  const { totals } = house;
  if (totals === undefined) {
    setText('saved-note', 'Energy and savings follow after the first run.');
    return;
  }
  const describeSaved = ({ insteadKg, savedKg, bill }: Totals) =>
    insteadKg === 0
      ? '–'
      : `${formatNumber(savedKg)} kg${!bill ? '' : `\nand ${formatMoney(bill.saved, bill.currency)}`}`;
  setList('saved-totals', [
    ['Today', describeSaved(totals.today)],
    ['This month', describeSaved(totals.month)],
    ['In all', describeSaved(totals.all)],
  ]);
  const { all } = totals;
  setText('saved-note', describeTotals(all));
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
  setText('health', describeHealth(house));
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
  const sentence = buildSentence(house, { now, format });
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
  setText('now', `now, ${format.time(now)}: ${values.length === 0 ? 'no valid signal' : values.join(', ')}`);
  for (const one of ['index', 'rate']) find(`show-${one}`).setAttribute('aria-pressed', `${mode === one}`);
  for (const one of ['day', 'all']) find(`show-${one}`).setAttribute('aria-pressed', `${getSpan() === one}`);
  const isEnabled =
    isConnected &&
    house.page?.link === 'online' &&
    house.availability === 'online' &&
    house.info?.acceptsCommands !== false;
  cards.update({ house, now, format, isEnabled });
  chart.update({ house, timeline, now, mode, span: getSpan(), timezone: house.page?.timezone ?? 'UTC' });
  updateLegend();
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
for (const wanted of ['day', 'all'] as const)
  find(`show-${wanted}`).addEventListener('click', () => {
    span = wanted;
    localStorage.setItem('span', wanted);
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

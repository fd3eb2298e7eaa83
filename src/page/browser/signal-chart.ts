/** The chart: index or rate over time with tints, thresholds and a now-line, and a lane for each load below. */

import 'uplot/dist/uPlot.min.css';
import uPlot from 'uplot';
import {
  findExpectedRuns,
  findHold,
  findThresholds,
  getLoad,
  getPlannedRuns,
  type House,
  isNight,
  type Load,
  type Timeline,
  type TimeSpan,
  toTitle,
} from './house-model.ts';

export interface ChartView {
  readonly house: House;
  readonly timeline: Timeline;
  readonly now: number;
  readonly mode: 'index' | 'rate';
  /** A day around now, or all that is known. */
  readonly span: 'day' | 'all';
  readonly timezone: string;
}

const LANE_HEIGHT = 36;
const LABEL_HEIGHT = 15;
const PLOT_HEIGHT = 220;
const AXIS_HEIGHT = 30;
const HOUR = 3_600;

const readColour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** A fill of diagonal lines, crossed or not: planned runs, and what is told by more than colour. */
function createHatch(colour: string, isCrossed = false): CanvasPattern | string {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 8;
  const pen = tile.getContext('2d');
  if (pen === null) return colour;
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  for (const shift of [-8, 0, 8]) {
    pen.beginPath();
    pen.moveTo(shift, 8);
    pen.lineTo(shift + 8, 0);
    if (isCrossed) {
      pen.moveTo(shift, 0);
      pen.lineTo(shift + 8, 8);
    }
    pen.stroke();
  }
  return pen.createPattern(tile, 'repeat') ?? colour;
}

function drawTints(plot: uPlot, view: ChartView): void {
  const { ctx, bbox } = plot;
  const [low, high] = findThresholds(view.house);
  const { at, index } = view.timeline;
  const half = (at[1] ?? 300) - (at[0] ?? 0) || 300;
  for (const [i, value] of index.entries()) {
    const from = at[i];
    if (value === null || from === undefined || (value > low && value < high)) continue;
    const x = Math.max(bbox.left, plot.valToPos(from, 'x', true));
    const end = Math.min(bbox.left + bbox.width, plot.valToPos(from + half, 'x', true));
    if (end <= x) continue;
    ctx.fillStyle = readColour(value <= low ? '--clean-tint' : '--dirty-tint');
    ctx.fillRect(x, bbox.top, end - x, bbox.height);
  }
}

/** Behind the time axis and the lanes, where no tint says how clean an hour is. */
function drawNights(plot: uPlot, { house, timeline }: ChartView, bottom: number): void {
  const { ctx, bbox } = plot;
  const place = house.page?.place;
  if (place === undefined) return;
  ctx.fillStyle = readColour('--night');
  const clamp = (at: number) => Math.min(bbox.left + bbox.width, Math.max(bbox.left, plot.valToPos(at, 'x', true)));
  let dusk: number | undefined;
  for (const [i, at] of timeline.at.entries()) {
    const isDark = isNight(at * 1_000, place) && i < timeline.at.length - 1;
    if (isDark) dusk ??= at;
    else if (dusk !== undefined) {
      const top = bbox.top + bbox.height;
      ctx.fillRect(clamp(dusk), top, clamp(at) - clamp(dusk), bottom - top);
      dusk = undefined;
    }
  }
}

function drawThresholds(plot: uPlot, view: ChartView): void {
  if (view.mode !== 'index') return;
  const { ctx, bbox } = plot;
  ctx.setLineDash([2, 4]);
  for (const [value, colour] of [
    [findThresholds(view.house)[0], '--clean'],
    [findThresholds(view.house)[1], '--dirty'],
  ] as const) {
    const y = plot.valToPos(value, 'y', true);
    ctx.strokeStyle = readColour(colour);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
  }
  ctx.setLineDash([]);
}

function drawNow(plot: uPlot, view: ChartView, bottom: number): void {
  const { ctx, bbox } = plot;
  const x = plot.valToPos(view.now / 1_000, 'x', true);
  if (x < bbox.left || x > bbox.left + bbox.width) return;
  ctx.strokeStyle = readColour('--ink');
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bottom);
  ctx.stroke();
  ctx.lineWidth = 1;
}

interface Lane {
  readonly top: number;
  readonly height: number;
}

/** Ran (filled), planned (hatched), runs by the forecast (outlined), held (cross-hatched), deadline (a flag). */
function drawLane(plot: uPlot, view: ChartView, load: Load, { top, height }: Lane): void {
  const { ctx, bbox } = plot;
  const clean = readColour('--clean');
  const clamp = (at: number) =>
    Math.min(bbox.left + bbox.width, Math.max(bbox.left, plot.valToPos(at / 1_000, 'x', true)));
  const drawAhead = (spans: readonly TimeSpan[], fill: CanvasPattern | string, dash: number[]) => {
    ctx.setLineDash(dash.map((length) => length * devicePixelRatio));
    ctx.strokeStyle = clean;
    ctx.fillStyle = fill;
    for (const { from, to } of spans) {
      const start = clamp(Math.max(from, view.now));
      const width = clamp(to) - start;
      if (width <= 0) continue;
      ctx.fillRect(start, top, width, height);
      ctx.strokeRect(start, top, width, height);
    }
    ctx.setLineDash([]);
  };
  ctx.strokeStyle = readColour('--line');
  ctx.strokeRect(bbox.left, top, bbox.width, height);
  drawAhead(findExpectedRuns(view.house, load.name, view.now), readColour('--clean-tint'), [3, 3]);
  drawAhead(getPlannedRuns(view.house, load.name), createHatch(clean), []);
  const hold = findHold(view.house, load.name, view.now);
  if (hold !== undefined) drawAhead([hold], createHatch(readColour('--quiet'), true), []);
  ctx.fillStyle = clean;
  for (const { from, to } of view.house.runs?.[load.name] ?? []) {
    const [start, end] = [clamp(from), clamp(to ?? view.now)];
    if (end > start) ctx.fillRect(start, top, Math.max(1, end - start), height);
  }
  const by = getLoad(view.house, load.name)?.job?.by;
  if (by === undefined || plot.valToPos(Date.parse(by) / 1_000, 'x', true) > bbox.left + bbox.width) return;
  const x = clamp(Date.parse(by));
  ctx.fillStyle = readColour('--ink');
  ctx.fillRect(x - devicePixelRatio, top, 2 * devicePixelRatio, height);
  ctx.fillRect(x, top, 7 * devicePixelRatio, 6 * devicePixelRatio);
}

function drawLanes(plot: uPlot, view: ChartView): void {
  const { ctx, bbox } = plot;
  ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textBaseline = 'middle';
  ctx.textAlign = 'left';
  const height = (LANE_HEIGHT - LABEL_HEIGHT - 6) * devicePixelRatio;
  for (const [i, load] of (view.house.info?.loads ?? []).entries()) {
    const labelTop = bbox.top + bbox.height + (AXIS_HEIGHT + i * LANE_HEIGHT) * devicePixelRatio;
    ctx.fillStyle = readColour('--ink');
    ctx.fillText(
      toTitle(load.name),
      bbox.left + 4 * devicePixelRatio,
      labelTop + (LABEL_HEIGHT / 2) * devicePixelRatio,
    );
    drawLane(plot, view, load, { top: labelTop + LABEL_HEIGHT * devicePixelRatio, height });
  }
}

/** Past, forecast and own estimate as three lines that meet. */
function splitSeries({ timeline, mode, now }: ChartView): uPlot.AlignedData {
  const { at, profileFrom } = timeline;
  const values = mode === 'index' ? timeline.index : timeline.rate;
  const pick = (wanted: (from: number, to: number) => boolean) =>
    values.map((value, i) => {
      const from = (at[i] ?? 0) * 1_000;
      return wanted(from, ((at[i + 1] ?? at[i] ?? 0) as number) * 1_000) ? value : null;
    });
  return [
    at,
    pick((from) => from <= now),
    pick((from, to) => to > now && from < profileFrom),
    pick((_, to) => to >= profileFrom && to > now),
    timeline.price,
  ] as uPlot.AlignedData;
}

/** All that has a value, or of it the part from four hours ago to twenty ahead. */
function findRange({ span, now, timeline, mode }: ChartView): [number, number] {
  const values = mode === 'index' ? timeline.index : timeline.rate;
  const isKnown = (value: number | null) => value !== null;
  const [from = 0, to = 0] = [values.findIndex(isKnown), values.findLastIndex(isKnown)].map((i) => timeline.at[i]);
  if (span === 'all') return [from, to];
  return [Math.max(from, now / 1_000 - 4 * HOUR), Math.min(to, now / 1_000 + 20 * HOUR)];
}

/** `06:00`; midnight is the name of the day. */
function createTimeLabels(timezone: string) {
  const time = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: timezone });
  const day = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', timeZone: timezone });
  return (_: uPlot, splits: number[]) =>
    splits.map((at) => {
      const text = time.format(at * 1_000);
      return text === '00:00' ? day.format(at * 1_000) : text;
    });
}

const findBottom = ({ bbox }: uPlot, lanes: number) =>
  bbox.top + bbox.height + (AXIS_HEIGHT + lanes * LANE_HEIGHT) * devicePixelRatio;

function buildOptions(
  element: HTMLElement,
  getView: () => ChartView,
  onCursor: (at: number | undefined) => void,
): uPlot.Options {
  const { timezone, house, mode } = getView();
  const lanes = house.info?.loads.length ?? 0;
  const axis = { stroke: () => readColour('--quiet'), grid: { stroke: () => readColour('--line'), width: 1 } };
  const line = (colour: string, dash: number[]) => ({
    stroke: () => readColour(colour),
    width: 2,
    dash,
    points: { show: false },
  });
  const hasPrices = getView().timeline.price.some((price) => price !== null);
  const priceLine = { ...line('--price', []), width: 1.5, scale: 'price', paths: uPlot.paths.stepped?.({ align: 1 }) };
  return {
    width: element.clientWidth,
    height: PLOT_HEIGHT + AXIS_HEIGHT + lanes * LANE_HEIGHT,
    padding: [8, 8, lanes * LANE_HEIGHT, 0],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), timezone),
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { range: () => findRange(getView()) },
      ...(mode === 'index' ? { y: { range: [0, 100] } } : {}),
      price: { range: (_, from, to) => [Math.min(0, from), to * 1.1] },
    },
    axes: [
      { ...axis, size: AXIS_HEIGHT, space: 60, values: createTimeLabels(timezone) },
      { ...axis, size: 46 },
      ...(hasPrices ? [{ ...axis, scale: 'price', side: 1, size: 46, grid: { show: false } }] : []),
    ],
    series: [{}, line('--ink', []), line('--ink', [6, 4]), line('--quiet', [2, 4]), priceLine],
    hooks: {
      drawClear: [
        (plot) => {
          drawTints(plot, getView());
          drawNights(plot, getView(), findBottom(plot, lanes));
        },
      ],
      draw: [
        (plot) => {
          const view = getView();
          drawThresholds(plot, view);
          drawLanes(plot, view);
          drawNow(plot, view, findBottom(plot, lanes));
        },
      ],
      setCursor: [
        (plot) =>
          onCursor(
            plot.cursor.idx === null || plot.cursor.idx === undefined ? undefined : plot.data[0][plot.cursor.idx],
          ),
      ],
    },
  };
}

/** Draws into `element`; `update` after each change. */
export function createChart(element: HTMLElement, onCursor: (at: number | undefined) => void) {
  let plot: uPlot | undefined;
  let shape = '';
  let view: ChartView | undefined;
  const getView = () => view as ChartView;

  const draw = (): void => {
    if (view === undefined || view.timeline.at.length === 0) return;
    const data = splitSeries(view);
    const hasPrices = view.timeline.price.some((price) => price !== null);
    const wanted = `${view.mode} ${view.timezone} ${view.house.info?.loads.length} ${hasPrices}`;
    if (plot !== undefined && wanted === shape) {
      plot.setData(data);
      return;
    }
    plot?.destroy();
    shape = wanted;
    plot = new uPlot(buildOptions(element, getView, onCursor), data, element);
  };
  new ResizeObserver(() => {
    if (plot !== undefined && plot.width !== element.clientWidth)
      plot.setSize({ width: element.clientWidth, height: plot.height });
  }).observe(element);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => plot?.redraw());
  element.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -3, ArrowRight: 3, PageUp: -36, PageDown: 36 }[event.key];
    if (plot === undefined || view === undefined || step === undefined) return;
    event.preventDefault();
    const { at } = view.timeline;
    const nowIndex = at.findIndex((time) => time * 1_000 > (view?.now ?? 0));
    const present = plot.cursor.idx ?? nowIndex;
    const next = Math.min(at.length - 1, Math.max(0, present + step));
    plot.setCursor({ left: plot.valToPos(at[next] ?? 0, 'x'), top: 20 });
  });

  return {
    update(next: ChartView): void {
      view = next;
      draw();
    },
  };
}

/** Draws docs/images/day.svg from a run of the demo and prints its switches as a table: node scripts/draw-day.mjs (after npm run build). */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const TIMEZONE = 'America/Los_Angeles';
const [WIDTH, LEFT, RIGHT, TOP, CHART, LANE] = [960, 72, 20, 26, 190, 34];
const THRESHOLDS = [
  [33, 'on below 33', '#0b5da8'],
  [43, 'off above 43', '#a8480b'],
];

const output = execFileSync(process.execPath, [join(ROOT, 'dist', 'main.js'), 'demo', '--json'], { encoding: 'utf8' });
const events = output
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));
const loads = events.at(-1).result.loads.map(({ load }) => load);
const decisions = events
  .filter(({ event }) => event === 'decision')
  .map((one) => ({ ...one, time: Date.parse(one.at) }));
const [start, end] = [decisions[0].time, decisions[0].time + events.at(-1).result.hours * 3_600_000];
const x = (time) => LEFT + ((time - start) / (end - start)) * (WIDTH - LEFT - RIGHT);
const y = (index) => TOP + CHART - (index / 100) * CHART;
const clock = new Intl.DateTimeFormat('en-GB', {
  timeZone: TIMEZONE,
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});
const points = decisions.flatMap(({ time, text }) => {
  const index = /^index (\d+)/.exec(text)?.[1];
  return index === undefined ? [] : [`${x(time).toFixed(1)},${y(Number(index)).toFixed(1)}`];
});
const switches = decisions.filter(({ switched }) => switched).map((one, i) => ({ ...one, number: i + 1 }));
const isIdle = (level) => level === 'off' || level === 'normal' || level === 'block';

function drawLane(load, row) {
  const top = TOP + CHART + 34 + row * LANE;
  const own = switches.filter((one) => one.load === load);
  const runs = own.flatMap(({ time, level }, i) => {
    if (isIdle(level)) return [];
    const width = x(own[i + 1]?.time ?? end) - x(time);
    return [`<rect x="${x(time).toFixed(1)}" y="${top}" width="${width.toFixed(1)}" height="16" fill="#0b5da8"/>`];
  });
  const marks = own.map(
    ({ time, level, number }) =>
      `<text x="${x(time).toFixed(1)}" y="${isIdle(level) ? top + 27 : top - 2}" font-size="9" text-anchor="middle">${number}</text>`,
  );
  const lane = `<rect x="${LEFT}" y="${top}" width="${WIDTH - LEFT - RIGHT}" height="16" fill="none" stroke="#c3cad3"/>`;
  return [`<text x="${LEFT - 8}" y="${top + 12}" text-anchor="end">${load}</text>`, lane, ...runs, ...marks];
}

const hours = Array.from({ length: 13 }, (_, i) => start + i * 2 * 3_600_000);
const height = TOP + CHART + 40 + loads.length * LANE;
const svg = [
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12" fill="#1d2733" role="img" aria-label="The index of a day and what each load did">`,
  `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
  `<text x="${LEFT}" y="16">index: 0 cleanest, 100 dirtiest of the next 24 hours</text>`,
  ...hours.flatMap((time) => [
    `<line x1="${x(time).toFixed(1)}" y1="${TOP}" x2="${x(time).toFixed(1)}" y2="${TOP + CHART}" stroke="#e3e7ec"/>`,
    `<text x="${x(time).toFixed(1)}" y="${TOP + CHART + 15}" text-anchor="middle" font-size="10">${clock.format(time)}</text>`,
  ]),
  ...[0, 50, 100].map(
    (index) => `<text x="${LEFT - 8}" y="${y(index) + 4}" text-anchor="end" font-size="10">${index}</text>`,
  ),
  ...THRESHOLDS.flatMap(([index, label, colour]) => [
    `<line x1="${LEFT}" y1="${y(index)}" x2="${WIDTH - RIGHT}" y2="${y(index)}" stroke="${colour}" stroke-dasharray="3 4"/>`,
    `<text x="${WIDTH - RIGHT - 4}" y="${y(index) - 3}" text-anchor="end" font-size="10" fill="${colour}">${label}</text>`,
  ]),
  `<polyline fill="none" stroke="#1d2733" stroke-width="1.2" points="${points.join(' ')}"/>`,
  ...loads.flatMap(drawLane),
  '</svg>',
];
writeFileSync(join(ROOT, 'docs', 'images', 'day.svg'), `${svg.join('\n')}\n`);
for (const { number, time, load, level, text } of switches)
  console.log(`| ${number} | ${clock.format(time)} | ${load} | ${level} | ${text} |`);

/** Which values do not go together. Looks at drafts that may have gaps; changes nothing. */

import { type Duration, hours, inHours, minutes } from '../units.ts';
import type { Goal } from './config.ts';
import type { Report } from './kind.ts';
import { type ConfigValues, type LoadDraft, levelsOf } from './options.ts';
import { durationText, minutesFrom, timeText } from './written.ts';

type Draft = Partial<ConfigValues>;

function thresholds({ onBelow, offAbove, blockAbove, forceBelow, output }: LoadDraft, report: Report): void {
  if (onBelow !== undefined && offAbove !== undefined && offAbove < onBelow)
    report(`${offAbove} is below onBelow ${onBelow}; it must be at or above`, 'offAbove');
  if (blockAbove !== undefined && offAbove !== undefined && blockAbove < offAbove)
    report(`${blockAbove} is below offAbove ${offAbove}; it must be at or above`, 'blockAbove');
  if (forceBelow !== undefined && onBelow !== undefined && forceBelow > onBelow)
    report(`${forceBelow} is above onBelow ${onBelow}; it must be at or below`, 'forceBelow');
  if (output === undefined || levelsOf(output) === 'sg-ready') return;
  for (const [key, value] of Object.entries({ blockAbove, forceBelow }))
    if (value !== undefined) report(`${value} needs an output of kind sg-ready; take it out`, key);
}

function levels({ output, failSafe, boot }: LoadDraft, report: Report): void {
  if (output === undefined) return;
  const known = levelsOf(output) === 'sg-ready' ? ['normal', 'recommend'] : ['off', 'on'];
  for (const [key, level] of Object.entries({ failSafe, boot }))
    if (level !== undefined && !known.includes(level))
      report(`"${level}" is no safe level of an output of kind ${output.kind}; expected ${known.join(' or ')}`, key);
}

function times({ output, minOn, hold, maxBlock, window }: LoadDraft, report: Report): void {
  if (window !== undefined && minOn !== undefined) {
    const length = minutes(minutesFrom(window.from, window.to));
    if (minOn > length)
      report(
        `${durationText(minOn)} is longer than the window ${timeText(window.from)}-${timeText(window.to)} (${durationText(length)}); shorten it or widen the window`,
        'minOn',
      );
  }
  if (output !== undefined && levelsOf(output) === 'sg-ready' && hold !== undefined && maxBlock !== undefined)
    if (hold > maxBlock)
      report(`${durationText(hold)} is longer than maxBlock ${durationText(maxBlock)}; a block could not end`, 'hold');
}

/** From `from`, or from the same time a day before, to the earliest deadline. */
function shortestSpan({ from, by }: Goal): Duration {
  if (from === undefined) return hours(24);
  const spans = by.filter((time) => time !== undefined).map((time) => minutesFrom(from, time));
  return minutes(Math.min(1440, ...spans));
}

function goals({ goal, powerKw, minOn }: LoadDraft, report: Report): void {
  if (goal === undefined || powerKw === undefined) return;
  const time = goal.need.kind === 'time' ? goal.need.time : hours(goal.need.energy / powerKw);
  const span = shortestSpan(goal);
  const room = goal.from === undefined ? 'a day' : `the time from ${timeText(goal.from)} to its deadline`;
  if (minOn !== undefined && minOn > span)
    report(
      `${durationText(minOn)} is longer than ${room} (${durationText(span)}); shorten it or widen the goal`,
      'minOn',
    );
  if (time <= span) return;
  const said =
    goal.need.kind === 'time'
      ? durationText(goal.need.time)
      : `${goal.need.energy}kWh at ${powerKw} kW takes ${Math.ceil(inHours(time) * 10) / 10} h, which`;
  report(`${said} is longer than ${room} (${durationText(span)}); it could never be done`, 'goal', 'need');
}

/** The wires and topics a load holds, each with the key it is written under. */
function claims({ output }: LoadDraft): readonly (readonly [string, string])[] {
  if (output === undefined) return [];
  switch (output.kind) {
    case 'relay':
      return [[`GPIO ${output.pin}`, 'pin']];
    case 'sg-ready':
      return output.pins.map((line) => [`GPIO ${line}`, 'pins'] as const);
    case 'mqtt':
      return [[`the command topic ${output.commandTopic}`, 'topic']];
    case 'dry-run':
      return [];
  }
}

function sharedWires(loads: readonly LoadDraft[], report: Report): void {
  const holders = new Map<string, string>();
  for (const load of loads)
    for (const [claim, key] of claims(load)) {
      const holder = holders.get(claim);
      if (holder !== undefined)
        report(`${claim} is used by loads.${holder} already`, 'loads', load.name, 'output', key);
      else holders.set(claim, load.name);
    }
}

function site({ budgetKw, mqtt, loads = [] }: Draft, written: ReadonlySet<string>, report: Report): void {
  for (const { name, powerKw, output } of loads) {
    if (budgetKw !== undefined && powerKw !== undefined && powerKw > budgetKw)
      report(`${budgetKw} is below loads.${name}.powerKw ${powerKw}; that load could never run`, 'budgetKw');
    if (output?.kind === 'mqtt' && !written.has('mqtt'))
      report('an output over MQTT needs the section mqtt with the url of a broker', 'loads', name, 'output');
  }
  if (mqtt?.passwordFile !== undefined && mqtt.usernameFile === undefined)
    report('missing; a passwordFile needs it', 'mqtt', 'usernameFile');
  if ((mqtt?.certificate === undefined) !== (mqtt?.key === undefined)) {
    const [lacking, there] = mqtt?.key === undefined ? ['key', 'certificate'] : ['certificate', 'key'];
    report(`missing; a ${there} needs it`, 'mqtt', lacking);
  }
}

/** `written`: the keys of the file at its top. */
export function checkRules(draft: Draft, written: ReadonlySet<string>, report: Report): void {
  for (const load of draft.loads ?? []) {
    const here: Report = (says, ...under) => report(says, 'loads', load.name, ...under);
    for (const rule of [thresholds, levels, times, goals]) rule(load, here);
  }
  sharedWires(draft.loads ?? [], report);
  site(draft, written, report);
}

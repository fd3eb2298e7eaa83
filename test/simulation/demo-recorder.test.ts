/** The recorder of the demo: one story, however often the broker's pace lets a document through. */

import { describe, expect, it } from 'vitest';
import type { Instant } from '../../src/domain/units.ts';
import { buildTopics } from '../../src/mqtt/topics.ts';
import { createDemoRecorder } from '../../src/simulation/demo-recorder.ts';
import type { DemoEvent } from '../../src/simulation/transcript.ts';

const START = Date.parse('2026-03-01T20:00:00Z') as Instant;
const topics = buildTopics({ device: 'demo' });
const health = (problem: string) => [topics.health, { problem }] as const;
const signal = (index: number, indexTime: string, rate: number, rateTime: string) =>
  [topics.signal, { index, indexTime, rate, rateTime, basis: 'live-index' }] as const;
const car = (level: string, text = 'clean') => [topics.load('car'), { level, why: 'x', text, job: null }] as const;
const tank = (level: string) => [topics.load('tank'), { level, why: 'x', text: 'clean', job: null }] as const;
type Message = ReturnType<typeof health | typeof car | typeof signal>;

/** Each inner list is one moment, a minute after the one before. */
function record(moments: readonly (readonly Message[])[]) {
  const events: DemoEvent[] = [];
  let wall = START;
  const recorder = createDemoRecorder(
    'demo',
    { now: () => ({ wall, uptime: 0 as never, trusted: true }) },
    (event) => void events.push(event),
  );
  for (const messages of moments) {
    for (const [topic, document] of messages) recorder.onMessage(topic, JSON.stringify(document));
    wall = (wall + 60_000) as Instant;
  }
  recorder.endMoment();
  return { events, switches: recorder.countSwitches('car') };
}

const first = [health(''), car('off')];

describe('what a moment tells', () => {
  it.each<[string, readonly Message[], readonly Message[]]>([
    ['a level that passed', [car('on'), car('off', 'dirty')], [car('off', 'dirty')]],
    ['a level that came back', [car('on'), car('off')], []],
    ['a text that was replaced', [car('on', 'one'), car('on', 'two')], [car('on', 'two')]],
    ['a problem that passed', [health('no signal'), health('')], []],
    ['two loads in another order', [tank('on'), car('on')], [car('on'), tank('on')]],
  ])('%s: the same as its end alone', (_name, every, end) => {
    expect(record([first, every])).toEqual(record([first, end]));
  });

  it('what one moment said and the next took back is told twice, each with its own time', () => {
    const { events, switches } = record([first, [car('on')], [car('off')]]);
    expect(switches).toBe(2);
    expect(events.map((event) => ('at' in event ? event.at.slice(11, 16) : event))).toEqual([
      '20:00',
      '20:01',
      '20:02',
    ]);
  });

  it('the signal of an hour waits for the index that ranks its rate', () => {
    const { events } = record([[signal(7, '19:55', 500, '20:00')], [signal(33, '20:00', 500, '20:00')]]);
    expect(events).toEqual([
      { event: 'signal', at: '2026-03-01T20:01:00+00:00', index: 33, rate: 500, basis: 'live-index' },
    ]);
  });
});

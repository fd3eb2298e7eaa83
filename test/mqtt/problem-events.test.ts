/** Which changes of the health are events, and that a subscriber gets them once. */

import { expect, it } from 'vitest';
import type { Instant } from '../../src/domain/units.ts';
import type { PartName } from '../../src/mqtt/health.ts';
import { createProblemEvents, type ProblemEvent } from '../../src/mqtt/problem-events.ts';
import { describeWithMosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { startMqttSpy } from '../doubles/mqtt-spy.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';
import { sampleHealth, startMonitorFixture } from './monitor-fixture.ts';

const since = 0 as Instant;
const healthWith = (problems: Partial<Record<PartName, string>>) => {
  const parts = Object.entries(problems).map(([name, problem]) => [name, { ok: false, problem, since }]);
  return sampleHealth({ parts: { ...sampleHealth().parts, ...Object.fromEntries(parts) } });
};

//  the healths in their order                                      the events
const rows: readonly (readonly [Partial<Record<PartName, string>>[], string[]])[] = [
  [[{}, { service: 'away' }], ['problem service: away']],
  [
    [{}, { service: 'away' }, {}],
    ['problem service: away', 'resolved service: works again'],
  ],
  // Another sentence about the same part is the same problem.
  [[{}, { service: 'away' }, { service: 'away; next try 14:05' }], ['problem service: away']],
  // A start without a signal is no event, and neither is the first signal.
  [[{ service: 'no signal yet' }, {}], []],
  [[{ service: 'no signal yet' }, { service: 'away', broker: 'gone' }], ['problem broker: gone']],
  [
    [{}, { service: 'a', map: 'b' }, { map: 'b' }],
    ['problem service: a', 'problem map: b', 'resolved service: works again'],
  ],
];
it.each(rows)('%j', (healths, wanted) => {
  const events: ProblemEvent[] = [];
  const receive = createProblemEvents((event) => void events.push(event));
  for (const health of healths) receive(healthWith(health));
  expect(events.map(({ event, text }) => `${event} ${text}`)).toEqual(wanted);
});

describeWithMosquitto('on the broker', () => {
  it('an event is there once and is not stored', async () => {
    const { url } = stopAfterTest(await startMosquitto());
    const spy = stopAfterTest(await startMqttSpy(url));
    const { monitor } = stopAfterTest(startMonitorFixture(url));
    await spy.waitFor(({ topic, text }) => topic.endsWith('/availability') && text === 'online');
    monitor.publishHealth(healthWith({ service: 'away' }));
    const { text, retained } = await spy.waitFor(({ topic }) => topic === 'gridtide/cellar/events');
    expect(retained).toBe(false);
    expect(JSON.parse(text)).toMatchObject({ event: 'problem', part: 'service', text: 'service: away' });
  });
});

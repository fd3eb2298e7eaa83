/** What counts as a report of a device's state, and how a charger reads that runs at another current than commanded. */

import { expect, it } from 'vitest';
import { buildMqttOutput } from '../../src/config/presets.ts';
import type { MqttOutputConfig } from '../../src/domain/load-types.ts';
import { addDuration, seconds } from '../../src/domain/units.ts';
import { createDeviceReports } from '../../src/outputs/device-reports.ts';
import { toConfirmedLevel, toFoundLevel } from '../../src/outputs/output.ts';
import { createOfflineParts } from './output-fixture.ts';

function openReports(config: MqttOutputConfig | string) {
  if (typeof config === 'string') throw new Error(config);
  const { clock } = createOfflineParts();
  const events: string[] = [];
  const reports = createDeviceReports({
    ...{ load: 'car', config, clock },
    onReading: (reading) => events.push(reading),
    onAvailability: () => {},
    onMeter: () => {},
    onSilence: () => events.push('silent'),
    onChange: () => {},
  });
  const receive = (topic: string, text: string) =>
    reports.receive({ topic, payload: new TextEncoder().encode(text), retained: false, duplicate: false });
  const lower = (amps: number) =>
    reports.expectLevel(
      'on',
      config.lowerCurrents?.find((current) => current.amps === amps),
    );
  const passSeconds = (length: number) => clock.runUntil(addDuration(clock.now().wall, seconds(length)));
  return { reports, events, receive, lower, passSeconds };
}

it('a plug that goes on telling its radio link, and no state, falls silent', async () => {
  const plug = buildMqttOutput({ preset: 'zigbee2mqtt', topic: 'plug', stateMaxAge: seconds(60) });
  const { reports, events, receive, passSeconds } = openReports(plug);
  receive('plug', '{"state":"ON"}');
  for (let message = 0; message < 3; message += 1) {
    await passSeconds(25);
    receive('plug', '{"linkquality":80}');
  }
  expect([events, reports.reportCount(), reports.reading()]).toEqual([['on', 'silent'], 1, undefined]);
});

it('a report of the current alone counts where it changes the reading, and never for the age of the state', async () => {
  const charger = buildMqttOutput({ preset: 'go-e', topic: 'goe/1', amps: 16, stateMaxAge: seconds(60) });
  const { reports, events, receive, lower, passSeconds } = openReports(charger);
  receive('goe/1/frc', '2');
  lower(10);
  receive('goe/1/amp', '16');
  receive('goe/1/amp', '16');
  await passSeconds(50);
  receive('goe/1/amp', '10');
  expect([events, reports.reportCount()]).toEqual([['on', 'other-current', 'on'], 3]);
  await passSeconds(11);
  expect(events.at(-1)).toBe('silent');
});

it('a charger that runs at another current than commanded runs, and has not confirmed', () => {
  const charger = buildMqttOutput({ preset: 'go-e', topic: 'goe/1', amps: 16 });
  const { reports, receive, lower } = openReports(charger);
  receive('goe/1/frc', '2');
  receive('goe/1/amp', '16');
  lower(10);
  expect([reports.reading(), toConfirmedLevel(reports.reading())]).toEqual(['other-current', 'on']);
  receive('goe/1/frc', '0');
  expect([reports.reading(), toFoundLevel(reports.reading())]).toEqual(['other', undefined]);
});

it.each([
  ['10000', 'other-current', 'on'],
  ['16000', 'on', 'on'],
  ['0', 'off', 'off'],
])('a WARP at %s mA reads %s, and is found %s', (current, reading, level) => {
  const charger = buildMqttOutput({ preset: 'warp', topic: 'warp/1', amps: 16 });
  const { reports, receive } = openReports(charger);
  receive('warp/1/evse/external_current', `{"current":${current}}`);
  expect([reports.reading(), toFoundLevel(reports.reading())]).toEqual([reading, level]);
});

/** In the machine: carries out a day's transcript with the agent's own outputs, one level after the other. */

import { readFileSync } from 'node:fs';
import { parseConfig } from '../../../src/config/parse-config.ts';
import type { Level } from '../../../src/domain/load-types.ts';
import type { Instant } from '../../../src/domain/units.ts';
import { createOutput } from '../../../src/outputs/create-output.ts';
import { isOutputFailure } from '../../../src/outputs/output.ts';
import { createGpio } from '../../../src/platform/gpio-interface.ts';
import { createVirtualClock } from '../../../src/simulation/virtual-clock.ts';
import { playScene } from './scene.ts';

const transcript: readonly { readonly load: string; readonly level: Level }[] = JSON.parse(
  readFileSync('/app/transcript.json', 'utf8'),
);
const read = parseConfig(`
device: demo
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "https://signal.example", usernameFile: u, passwordFile: p}
loads:
  heating: {type: heat-pump, powerKw: 2, output: {kind: sg-ready, pins: [5, 6], activeLow: true}}
  water: {type: tank, powerKw: 3, output: {kind: relay, pin: 16}}
`);
if (!read.ok) throw new Error(read.mistakes.join('\n'));

const chosen = process.argv[2] === 'onoff' ? 'onoff' : 'character-device';
const { pins } = createGpio(chosen, '/tmp/lines-day/socket');
const parts = { pins, clock: createVirtualClock(0 as Instant), log: () => {} };
const outputs = new Map(read.config.loads.map((load) => [load.name, createOutput(load, parts)]));

await playScene('a day', async () => {
  const failures: string[] = [];
  // An answer of the holder keeps no process alive.
  const alive = setInterval(() => {}, 60_000);
  for (const output of outputs.values()) await output.open();
  for (const { load, level } of transcript) {
    const failure = await outputs.get(load)?.apply(level);
    if (isOutputFailure(failure)) failures.push(failure.detail);
  }
  // onoff would give its lines back to the kernel, which is no edge of the day.
  if (chosen !== 'onoff') for (const output of outputs.values()) await output.close();
  clearInterval(alive);
  return { failures };
});

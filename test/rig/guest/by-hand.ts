/** In the machine: the commands an owner types before and without the agent, on lines that are free, held and not there. */

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { measureLine as measuredAt, playScene } from './scene.ts';

const [, , outside = ''] = process.argv;
const measured = (line: number) => measuredAt(outside, line);

const CONFIG = '/app/gridtide.yaml';
writeFileSync(
  CONFIG,
  `
device: cellar
state: /app/state
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "http://127.0.0.1:9", usernameFile: /app/none, passwordFile: /app/none}
loads:
  pump: {type: generic, powerKw: 1, failSafe: "off", minOn: 0s, minOff: 0s, output: {kind: relay, pin: 17}}
  heating: {type: heat-pump, powerKw: 2, output: {kind: sg-ready, pins: [22, 23], activeLow: true}}
  held: {type: generic, powerKw: 1, output: {kind: relay, pin: 7}}
  absent: {type: generic, powerKw: 1, output: {kind: relay, pin: 25}}
`,
);

function gridtide(...words: readonly string[]) {
  const { status, stdout, stderr } = spawnSync('node', ['/app/gridtide.mjs', ...words, '--config', CONFIG, '--json'], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  return { status, said: stdout === '' ? null : JSON.parse(stdout), errors: stderr };
}

await playScene('checked', async () => gridtide('check', '--offline'));
await playScene('tried pump', async () => ({
  ...gridtide('test', 'pump', '--level', 'on', '--for', '1s'),
  wire: [measured(17)],
}));
await playScene('tried heating', async () => ({
  ...gridtide('test', 'heating', '--level', 'recommend', '--for', '1s'),
  wire: [measured(22), measured(23)],
}));
await playScene('tried held', async () => gridtide('test', 'held', '--for', '1s'));
await playScene('tried absent', async () => gridtide('test', 'absent', '--for', '1s'));

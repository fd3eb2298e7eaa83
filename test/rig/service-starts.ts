/** The installed service under a real systemd: each credential goes to its own party, and a start on a busy machine is confirmed. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeInInstallation } from './emulated-machine.ts';

/** Sixty take three quarters of an hour; one proves the way in the ordinary run. */
const STARTS = Number(process.env.GRIDTIDE_RIG_STARTS ?? 1);
// Each start may take its 90 s; the machine is given up after forty minutes otherwise.
process.env.GRIDTIDE_RIG_LIMIT ??= `${2400 + 60 * STARTS}`;

const LISTENER = `
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import net from 'node:net';
const note = (line) => appendFileSync('/run/received', line + '\\n');
createServer(({ headers: { authorization = '' } }, response) => {
  if (authorization.startsWith('Basic ')) note('service ' + Buffer.from(authorization.slice(6), 'base64'));
  response.writeHead(401).end('{}');
}).listen(8099, '127.0.0.1');
net.createServer((socket) => socket.on('error', () => {}).once('data', (packet) => {
  note('broker ' + packet.toString('latin1').replace(/[^\\x21-\\x7e]+/g, ' '));
  socket.destroy();
})).listen(1883, '127.0.0.1');
`;

const SETTINGS = {
  'etc/gridtide/gridtide.yaml': `
device: cellar
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "http://127.0.0.1:8099", usernameFile: /etc/gridtide/username, passwordFile: /etc/gridtide/password}
mqtt: {url: "mqtt://127.0.0.1", usernameFile: /etc/gridtide/mqtt/username, passwordFile: /etc/gridtide/mqtt_password}
loads:
  car: {type: ev, powerKw: 7.2, output: {kind: relay, pin: 17}}
`,
  // The broker's names come first in the alphabet and end as the service's.
  'etc/gridtide/username': 'service-name\n',
  'etc/gridtide/password': 'service-word\n',
  'etc/gridtide/mqtt/username': 'broker-name\n',
  'etc/gridtide/mqtt_password': 'broker-word\n',
  'opt/listener.mjs': LISTENER,
};

const prepare = () => ({
  start: readFileSync(join(import.meta.dirname, 'guest', 'starts.sh'), 'utf8').replace('STARTS', `${STARTS}`),
  files: SETTINGS,
});

describeInInstallation('the installed service under systemd', ['service-starts', prepare], (run) => {
  it('sends the service and the broker each its own name and password, with underscores and subdirectories', () => {
    const { service, broker } = run.part('credentials') as Record<string, string>;
    expect(service).toBe('service service-name:service-word');
    expect(broker).toMatch(/broker-name .*broker-word/);
    expect(broker).not.toContain('service-');
  });

  it('is not started with two files that systemd would hand over under one name', () => {
    expect(run.part('ambiguous')).toMatchObject({ journal: 'two files that systemd hands over as mqtt_username' });
    expect(run.output).not.toContain('it started with two files');
  });

  it(`confirms each start under load, of ${STARTS}`, () => {
    const starts = run.part('starts');
    console.log(`${starts.started} of ${starts.of} starts confirmed, the slowest after ${starts.slowest} s`);
    expect(starts).toMatchObject({ of: `${STARTS}`, started: `${STARTS}` });
  });
});

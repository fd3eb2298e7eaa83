/** The words to the service manager, heard by a real datagram socket through the real systemd-notify. */

import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createSystemdHost } from '../../src/platform/systemd.ts';

/** Prints each datagram as one line, its own line breaks as blanks. */
const LISTENER = `
use Socket; $| = 1;
socket(my $s, AF_UNIX, SOCK_DGRAM, 0) or die; bind($s, pack_sockaddr_un($ARGV[0])) or die;
print "listening\\n";
while (defined recv($s, my $m, 4096, 0)) { $m =~ s/\\n/ /g; print "$m\\n"; }`;

const isThere = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
const canListen = isThere('systemd-notify') && isThere('perl');
if (!canListen) console.warn('SKIPPED: words to the service manager want systemd-notify and perl');

async function withListener(use: (socket: string, waitForLine: (line: RegExp) => Promise<void>) => Promise<void>) {
  const directory = await mkdtemp(join(tmpdir(), 'gridtide-notify-'));
  const socket = join(directory, 'notify');
  const child = spawn('perl', ['-e', LISTENER, socket]);
  let text = '';
  let look = () => {};
  child.stdout.on('data', (chunk) => {
    text += chunk;
    look();
  });
  const waitForLine = (line: RegExp) =>
    new Promise<void>((resolve) => {
      look = () => line.test(text) && resolve();
      look();
    });
  try {
    await waitForLine(/^listening$/m);
    await use(socket, waitForLine);
  } finally {
    child.kill();
    await rm(directory, { recursive: true });
  }
  return text;
}

describe('the host', () => {
  it.skipIf(!canListen)('tells systemd that it is ready, how it goes, that it lives, that it ends', async () => {
    const text = await withListener(async (socket, waitForLine) => {
      const host = createSystemdHost({ NOTIFY_SOCKET: socket, PATH: process.env.PATH });
      host.notifyReady();
      await waitForLine(/READY=1/);
      host.setStatus('3 loads, index 41\nREADY=0');
      await waitForLine(/STATUS=3 loads, index 41 READY=0/);
      for (let n = 0; n < 20; n += 1) host.notifyAlive();
      await waitForLine(/WATCHDOG=1/);
      host.notifyStopping();
      await waitForLine(/STOPPING=1/);
    });
    // Twenty signs of life while a word is on its way are one, or the first of them and one more.
    expect(text.match(/WATCHDOG=1/g)?.length).toBeLessThanOrEqual(2);
  });

  it.skipIf(!canListen)('repeats READY with the first three signs of life, and never after STOPPING', async () => {
    const text = await withListener(async (socket, waitForLine) => {
      const host = createSystemdHost({ NOTIFY_SOCKET: socket, PATH: process.env.PATH });
      host.notifyReady();
      await waitForLine(/READY=1/);
      for (let n = 1; n <= 5; n += 1) {
        host.setStatus(`sign ${n}`);
        await waitForLine(new RegExp(`STATUS=sign ${n}`));
        host.notifyAlive();
        await waitForLine(new RegExp(`(WATCHDOG=1.*\n[^]*){${n}}`));
      }
      host.notifyStopping();
      host.notifyAlive();
      await waitForLine(/STOPPING=1/);
    });
    expect(text.match(/READY=1/g)?.length).toBe(4);
  });

  it('says nothing and wants no signs of life where nobody listens', () => {
    const host = createSystemdHost({ WATCHDOG_USEC: '15000000' });
    host.notifyReady();
    host.setStatus('x');
    host.notifyAlive();
    host.notifyStopping();
    expect(host.watchdogInterval).toBeUndefined();
  });

  it('goes on where there is no systemd-notify', () => {
    const host = createSystemdHost({ NOTIFY_SOCKET: '/run/none', PATH: '/nonexistent' });
    expect(() => host.notifyReady()).not.toThrow();
  });

  //  environment                                                       every
  const rows: readonly (readonly [Record<string, string>, number | undefined])[] = [
    [{}, undefined],
    [{ WATCHDOG_USEC: '45000000' }, 15_000],
    [{ WATCHDOG_USEC: '45000000', WATCHDOG_PID: `${process.pid}` }, 15_000],
    [{ WATCHDOG_USEC: '45000000', WATCHDOG_PID: '1' }, undefined],
    [{ WATCHDOG_USEC: '0' }, undefined],
    [{ WATCHDOG_USEC: 'soon' }, undefined],
  ];
  it.each(rows)('with %j it wants a sign of life every %s ms', (env, every) => {
    expect(createSystemdHost({ NOTIFY_SOCKET: '/run/none', ...env }).watchdogInterval).toBe(every);
  });
});

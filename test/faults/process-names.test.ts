/** Row 29 of the fault table on the agent as a process: a name server that never answers, and names whose addresses are of the one kind or the other. */

import { spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createSystemClock } from '../../src/platform/system-clock.ts';
import { describeWithMosquitto } from '../doubles/mosquitto.ts';
import { startProcess } from '../doubles/running-process.ts';
import { afterTest, stopAfterTest } from '../doubles/stop-after-test.ts';
import { startTcpProxy } from '../doubles/tcp-proxy.ts';
import {
  type AgentSetup,
  buildEnvironment,
  bundleAgentForTests,
  COUNT_TENTHS,
  createAgentSetup,
  isOnline,
  PLUG_STATE_TOPIC,
  publishOverride,
  terminateCounted,
} from './agent-setup.ts';
import { startSignalService } from './scripted-signal-service.ts';

const NAME_SERVER = '127.9.8.7';

const program = bundleAgentForTests();

/** Files of the system that one process sees otherwise. */
const isRoot = process.getuid?.() === 0;
const canMount = isRoot && spawnSync('unshare', ['-m', 'true']).status === 0;
if (!canMount) {
  if (process.env.CI === 'true' && isRoot) throw new Error('root must be able to unshare in CI');
  console.warn('\n  SKIPPED: names that lead nowhere, seen by a process; they want root\n');
}

/** A life of the agent that finds these names, and the name server that never answers. */
async function runWithNames({ config, directory }: AgentSetup, hosts: string) {
  const files = { 'resolv.conf': `nameserver ${NAME_SERVER}\n`, hosts, 'nsswitch.conf': 'hosts: files dns\n' };
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  const mounts = Object.keys(files).map((name) => `mount --bind '${join(directory, name)}' /etc/${name}`);
  const words = [process.execPath, ...COUNT_TENTHS, program.path, 'run', '--config', config];
  const script = `${mounts.join(' && ')} && exec "$0" "$@"`;
  return stopAfterTest(startProcess('unshare', ['-m', 'sh', '-c', script, ...words], buildEnvironment(directory)));
}

async function silentNameServer() {
  const socket = createSocket('udp4');
  let came = () => {};
  const asked = new Promise<void>((resolve) => {
    came = resolve;
  });
  socket.on('message', came);
  await new Promise<void>((ready) => socket.bind(53, NAME_SERVER, ready));
  afterTest(() => new Promise<void>((closed) => socket.close(closed)));
  return { asked };
}

describeWithMosquitto('29 names', () => {
  it.skipIf(!canMount)(
    '29 a name server that never answers: the plug is switched, files are written, and the end does not wait for it',
    async () => {
      const { asked } = await silentNameServer();
      const house = await createAgentSetup({ service: 'https://service.example' });
      const agent = await runWithNames(house, '127.0.0.1 localhost\n');
      await house.spy.waitFor(isOnline);
      await asked;
      for (const level of ['on', 'off', 'on'] as const) {
        house.spy.clear();
        await publishOverride(house.spy, level);
        await house.spy.waitFor(({ topic, text }) => topic === PLUG_STATE_TOPIC && text === level);
      }
      expect((await readdir(house.state)).some((name) => name.startsWith('control.'))).toBe(true);
      const { code, seconds } = await terminateCounted(agent);
      expect(code).toBe(0);
      expect(seconds).toBeLessThan(5);
    },
  );

  //  what                                            hosts                                            listens on
  const rows = [
    ['one address, of the sixth version', '::1 localhost\n', '::1'],
    [
      'a dead one of the sixth and a good one of the fourth',
      '2001:db8::1 localhost\n127.0.0.1 localhost\n',
      '127.0.0.1',
    ],
    ['a good one of the sixth and a dead one of the fourth', '::1 localhost\n192.0.2.1 localhost\n', '::1'],
  ] as const;
  it.skipIf(!canMount).each(rows)('29 a name with %s: the service is reached', async (_, hosts, host) => {
    const grid = await startSignalService(createSystemClock());
    stopAfterTest({ stop: () => grid.close() });
    const wire = stopAfterTest(await startTcpProxy(Number(new URL(grid.url).port), undefined, host));
    const house = await createAgentSetup({ service: `http://localhost:${wire.port}` });
    const agent = await runWithNames(house, hosts);
    await house.spy.waitFor(({ topic, text }) => topic === 'gridtide/cellar/info' && /PSCO/.test(text));
    expect(await agent.terminate()).toBe(0);
  });
});

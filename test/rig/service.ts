/** The installed service under a real systemd, with the shipped unit: what the wires do when the agent is killed, hangs or is stopped. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeInInstallation, formatSteps } from './emulated-machine.ts';

const SETTINGS = {
  'etc/gridtide/gridtide.yaml': `
device: cellar
place: {latitude: 38.5, longitude: -122.0, timezone: America/Los_Angeles}
service: {url: "http://127.0.0.1:9", usernameFile: /etc/gridtide/service-username, passwordFile: /etc/gridtide/service-password}
loads:
  car: {type: ev, powerKw: 7.2, failSafe: on, initialLevel: on, output: {kind: relay, pin: 17}}
  water: {type: tank, powerKw: 3, failSafe: off, output: {kind: relay, pin: 18, activeLow: true}}
  heating: {type: heat-pump, powerKw: 2, failSafe: normal, output: {kind: sg-ready, pins: [22, 23]}}
`,
  'etc/gridtide/service-username': 'cellar\n',
  'etc/gridtide/service-password': 'canary-4711\n',
  'etc/systemd/system/gridtide.service.d/soon.conf': '[Service]\nWatchdogSec=15\n',
};

/** Lines 17, 18, 22, 23 on the wire when everything is safe. */
const SAFE = '1100';

const prepare = () => ({
  start: readFileSync(join(import.meta.dirname, 'guest', 'service.sh'), 'utf8'),
  files: SETTINGS,
});

describeInInstallation('the installed service under systemd', ['service', prepare], (run) => {
  const HEADER = 512;
  const FAILSAFE_STEPS = ['17 1', '17 out', '18 1', '18 out', '22 0', '22 out', '23 0', '23 out'];
  const of = (name: string, task: string) =>
    formatSteps(
      run.eventsOf(name).filter((event) => event.task === task),
      HEADER,
    );

  it('starts under a user of its own, with the credentials handed over and the lines opened to it by udev', () => {
    const { before, user, credentials, group, settings, state } = run.part('rights') as Record<string, string>;
    expect(before).toBe('0000');
    expect(user).toBe('gridtide');
    expect(credentials).toBe('etc_gridtide.yaml,etc_service-password,etc_service-username,');
    expect(group).toBe('997 664');
    expect(settings).toBe('0 gridtide 2750');
    expect(state).toBe('gridtide gridtide 750');
    expect(run.part('started')).toMatchObject({
      wires: SAFE,
      state: 'running',
      failsafe: '17 high,18 high,22 low,23 low,',
    });
  });

  it('killed, its lines are safe within 2 s, each in one step, before it runs again', () => {
    const events = run.eventsOf('killed').filter(({ task }) => task === 'failsafe');
    expect(of('killed', 'failsafe')).toEqual(FAILSAFE_STEPS);
    const after = (events.at(-1)?.at ?? Number.POSITIVE_INFINITY) - run.markedAt('kill');
    console.log(`killed: the last line was safe after ${after.toFixed(2)} s`);
    expect(after).toBeLessThan(2);
    expect(of('killed', 'node')).toEqual([]);
  });

  it('runs again, in the same boot, and the lines stay', () => {
    const first = run.part('started').boot;
    expect(first).toMatch(/^[0-9a-f-]{36}$/);
    expect(run.part('killed')).toMatchObject({ wires: SAFE, state: 'running', restarts: '1', boot: first });
  });

  it('stuck, it is ended by the watchdog, and its lines are safe', () => {
    expect(run.part('watchdog')).toMatchObject({ said: '1' });
    expect(of('stuck', 'failsafe')).toEqual(FAILSAFE_STEPS);
    expect(run.part('stuck')).toMatchObject({ wires: SAFE, state: 'running', restarts: '2' });
  });

  it('stopped in order, it leaves the lines safe itself and nothing for others to do', () => {
    expect(run.part('stopped')).toMatchObject({ wires: SAFE, state: 'dead', failsafe: '' });
    expect(of('stopped', 'failsafe')).toEqual([]);
  });

  describe('without /sys/class/gpio', () => {
    it('has the character device hold the lines: the first levels are right in one step', () => {
      expect(run.part('character-device-started')).toMatchObject({ wires: '0000', state: 'running', failsafe: '' });
      expect(new Set(of('character-device started', 'gridtide-lines'))).toEqual(
        new Set(['17 0', '17 out', '18 0', '18 out', '22 0', '22 out', '23 0', '23 out']),
      );
    });

    it('restarted, a relay that the stop holds does not notice: 0 edges', () => {
      expect(
        of('character-device restarted', 'gridtide-lines').filter((step) => ['18 1', '18 out'].includes(step)),
      ).toEqual([]);
      expect(run.part('character-device-restarted')).toMatchObject({
        wires: expect.stringMatching(/^.0/),
        state: 'running',
      });
    });

    it('killed, its lines are safe within 2 s, set by the program that holds them', () => {
      const events = run.eventsOf('character-device killed').filter(({ kind }) => kind === 'value');
      const after = (events.at(-1)?.at ?? Number.POSITIVE_INFINITY) - run.markedAt('character-device kill');
      console.log(`killed: the last line of the character device was safe after ${after.toFixed(3)} s`);
      expect(after).toBeLessThan(2);
      expect(of('character-device killed', 'gridtide-lines')).toEqual(['17 1', '18 1', '22 0', '23 0']);
      console.log(`gridtide-lines: ${run.part('holder').rss} resident`);
    });
  });

  it('with a mistake in the configuration it says so once and is not started again', () => {
    expect(run.part('mistaken')).toEqual({ part: 'mistaken', state: 'failed', code: '2', restarts: '0' });
    expect(run.output).toContain('gridtide.yaml: line ');
  });

  it('says no password', () => {
    expect(run.output).not.toContain('4711');
  });
});

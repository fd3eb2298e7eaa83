/** The shipped systemd files: how much the units expose, what they promise, and that they install and leave without a trace. */

import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const PROJECT = join(import.meta.dirname, '..', '..');
const UNITS = join(PROJECT, 'systemd');
const unitText = (name: string) => readFileSync(join(UNITS, name), 'utf8');

const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0;
if (!hasAnalyze) {
  if (process.env.CI === 'true') throw new Error('systemd-analyze must be there in CI: apt install systemd');
  console.warn('\n  SKIPPED: the exposure of the units; there is no systemd-analyze\n');
}

describe.each(['gridtide.service', 'gridtide-mqtt.service'])('%s', (name) => {
  it.skipIf(!hasAnalyze)('exposes at most 1.3 of 10', () => {
    const { status, stdout, stderr } = spawnSync(
      'systemd-analyze',
      ['security', '--offline=true', '--threshold=13', '--no-pager', join(UNITS, name)],
      { encoding: 'utf8' },
    );
    expect(status, `${stdout.split('\n').slice(-3).join('\n')}${stderr}`).toBe(0);
  });

  it('starts without network and time, for ever, and leaves neither dumps nor rights', () => {
    const text = unitText(name).replace(/^#.*$/gm, '');
    expect(text).not.toMatch(/network-online|time-sync|network\.target/);
    for (const line of [
      'Type=notify',
      'Restart=always',
      'StartLimitIntervalSec=0',
      'DynamicUser=yes',
      'LimitCORE=0',
      'LoadCredential=etc:/etc/gridtide',
      'CapabilityBoundingSet=',
    ])
      expect(text.split('\n')).toContain(line);
    expect(text).toMatch(/^WatchdogSec=\d+$/m);
    expect(text).not.toMatch(/MemoryDenyWriteExecute/);
  });
});

describe('gridtide.service', () => {
  it('has the fail-safe program run after any end, on the file that the agent leaves', () => {
    expect(unitText('gridtide.service')).toContain(
      '\nExecStopPost=/usr/local/lib/gridtide/systemd/failsafe %t/gridtide/failsafe\n',
    );
    expect(unitText('gridtide-mqtt.service')).not.toContain('ExecStopPost');
  });
});

describe('scripts/install', () => {
  let base: string;
  let checkout: string;
  let root: string;
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'gridtide-install-'));
    checkout = join(base, 'checkout');
    root = join(base, 'root');
    mkdirSync(root);
    mkdirSync(join(checkout, 'dist'), { recursive: true });
    for (const name of ['scripts/install', 'systemd', 'package.json', 'node_modules/onoff', 'node_modules/epoll'])
      if (existsSync(join(PROJECT, name))) cpSync(join(PROJECT, name), join(checkout, name), { recursive: true });
    writeFileSync(join(checkout, 'dist', 'main.js'), "console.log('gridtide of the test');\n", { mode: 0o755 });
  });
  afterEach(() => rmSync(base, { recursive: true }));

  const install = (...options: readonly string[]) =>
    spawnSync('bash', [join(checkout, 'scripts', 'install'), '--root', root, ...options], { encoding: 'utf8' });

  const tree = () =>
    readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((name) => !lstatSync(join(root, name)).isDirectory())
      .filter((name) => !name.includes('node_modules'))
      .sort();

  const GPIO_FILES = [
    'etc/systemd/system/gridtide.service',
    'etc/udev/rules.d/60-gridtide-gpio.rules',
    'usr/local/bin/gridtide',
    'usr/local/lib/gridtide/dist/main.js',
    'usr/local/lib/gridtide/package.json',
    'usr/local/lib/gridtide/systemd/failsafe',
  ];

  it('lays the same files however often it is run, and the command works', () => {
    for (const run of [1, 2, 3]) {
      const { status, stderr } = install();
      expect(status, `run ${run}: ${stderr}`).toBe(0);
      expect(tree()).toEqual(GPIO_FILES);
    }
    expect(spawnSync('node', [join(root, 'usr/local/bin/gridtide')], { encoding: 'utf8' }).stdout).toContain(
      'of the test',
    );
    expect(lstatSync(join(root, 'etc/gridtide')).mode & 0o777).toBe(0o700);
  });

  it('replaces the program and leaves settings and state alone', () => {
    install();
    writeFileSync(join(root, 'etc/gridtide/gridtide.yaml'), 'device: cellar\n');
    writeFileSync(join(root, 'usr/local/lib/gridtide/dist/old-chunk.js'), '');
    writeFileSync(join(checkout, 'dist/new-chunk.js'), '');
    install();
    expect(readFileSync(join(root, 'etc/gridtide/gridtide.yaml'), 'utf8')).toBe('device: cellar\n');
    expect(readdirSync(join(root, 'usr/local/lib/gridtide/dist'))).toEqual(['main.js', 'new-chunk.js']);
  });

  it('changes from relays to MQTT only and back', () => {
    install();
    expect(install('--mqtt-only', '--volatile-journal').status).toBe(0);
    expect(tree()).toContain('etc/systemd/system/gridtide-mqtt.service');
    expect(tree()).toContain('etc/systemd/journald.conf.d/gridtide-volatile.conf');
    for (const gone of ['etc/systemd/system/gridtide.service', 'etc/udev/rules.d/60-gridtide-gpio.rules'])
      expect(tree()).not.toContain(gone);
    expect(readdirSync(join(root, 'usr/local/lib/gridtide/node_modules'))).toEqual([]);
    install('--mqtt-only');
    install();
    expect(tree()).not.toContain('etc/systemd/system/gridtide-mqtt.service');
  });

  it('leaves settings at --uninstall, nothing at --purge, and may be told twice', () => {
    install('--volatile-journal');
    writeFileSync(join(root, 'etc/gridtide/gridtide.yaml'), 'device: cellar\n');
    for (const _ of [1, 2]) {
      expect(install('--uninstall').status).toBe(0);
      expect(tree()).toEqual(['etc/gridtide/gridtide.yaml']);
    }
    for (const _ of [1, 2]) {
      expect(install('--uninstall', '--purge').status).toBe(0);
      expect(tree()).toEqual([]);
    }
  });

  //  mistake                                 exit  sentence
  const rows: readonly (readonly [string, readonly string[], number, string])[] = [
    ['an unknown option', ['--quick'], 2, '"--quick" is no option'],
    ['a purge alone', ['--purge'], 2, '--purge goes with --uninstall'],
    ['a root that is not there', ['--root', '/nonexistent'], 2, '--root wants a directory'],
  ];
  it.each(rows)('refuses %s and does nothing', (_, options, code, sentence) => {
    const { status, stderr } = install(...options);
    expect(stderr).toContain(sentence);
    expect(status).toBe(code);
    expect(tree()).toEqual([]);
  });

  it('wants a build', () => {
    rmSync(join(checkout, 'dist'), { recursive: true });
    const { status, stderr } = install();
    expect(stderr).toContain('npm ci && npm run build');
    expect(status).toBe(1);
    expect(tree()).toEqual([]);
  });
});

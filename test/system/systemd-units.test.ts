/** The shipped systemd files: how much the units expose, what they promise, and that they install and leave without a trace. */

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
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

//  unit                      exposure, in tenths
const units = [
  ['gridtide.service', 13],
  ['gridtide-mqtt.service', 12],
] as const;
describe.each(units)('%s', (name, most) => {
  it.skipIf(!hasAnalyze)(`exposes at most ${most} tenths of 10`, () => {
    const { status, stdout, stderr } = spawnSync(
      'systemd-analyze',
      ['security', '--offline=true', `--threshold=${most}`, '--no-pager', join(UNITS, name)],
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
      'User=gridtide',
      'StateDirectoryMode=0750',
      'UMask=0077',
      'LimitCORE=0',
      'LoadCredential=etc:/etc/gridtide',
      'CapabilityBoundingSet=',
    ])
      expect(text.split('\n')).toContain(line);
    expect(text).toMatch(/^WatchdogSec=\d+$/m);
    // Without --lite-mode V8 writes machine code, and the process dies under the other.
    expect(text).toMatch(/^ExecStart=\/usr\/bin\/env node --lite-mode /m);
    expect(text.split('\n')).toContain('MemoryDenyWriteExecute=yes');
  });
});

describe('gridtide-lines.service', () => {
  it.skipIf(!hasAnalyze)('exposes at most 5 tenths of 10', () => {
    const args = ['security', '--offline=true', '--threshold=5', '--no-pager', join(UNITS, 'gridtide-lines.service')];
    const { status, stdout } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
    expect(status, stdout.split('\n').slice(-3).join('\n')).toBe(0);
  });

  it('has GPIO chips alone of all devices, and starts at the first request for a line', () => {
    const lines = unitText('gridtide-lines.service').split('\n');
    for (const line of ['DevicePolicy=closed', 'DeviceAllow=char-gpiochip rw', 'RestrictAddressFamilies=none'])
      expect(lines).toContain(line);
    expect(unitText('gridtide-lines.socket')).toContain('\nListenStream=/run/gridtide-lines.sock\nSocketGroup=gpio\n');
    expect(unitText('gridtide.service')).toMatch(/^Wants=gridtide-lines.socket$/m);
  });
});

describe('gridtide-page.service', () => {
  it.skipIf(!hasAnalyze)('exposes at most 12 tenths of 10', () => {
    const threshold = '--threshold=12';
    const args = ['security', '--offline=true', threshold, '--no-pager', join(UNITS, 'gridtide-page.service')];
    expect(spawnSync('systemd-analyze', args, { encoding: 'utf8' }).status).toBe(0);
  });

  it('has a user of its own and none of the secrets of the agent', () => {
    const text = unitText('gridtide-page.service').replace(/^#.*$/gm, '');
    const credentials = text.split('\n').filter((line) => line.startsWith('LoadCredential='));
    expect(credentials).toEqual(['LoadCredential=page:/etc/gridtide/page']);
    for (const line of [
      'User=gridtide-page',
      'SupplementaryGroups=gridtide',
      'LimitCORE=0',
      'CapabilityBoundingSet=',
      'MemoryDenyWriteExecute=yes',
    ])
      expect(text.split('\n')).toContain(line);
    expect(text).not.toMatch(/^(StateDirectory|DeviceAllow)=/m);
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

describe('systemd/failsafe', () => {
  let gpio: string;
  beforeEach(() => {
    gpio = mkdtempSync(join(tmpdir(), 'gridtide-failsafe-'));
    mkdirSync(join(gpio, 'gpiochip512'));
    writeFileSync(join(gpio, 'gpiochip512', 'label'), 'pinctrl-bcm2711\n');
    writeFileSync(join(gpio, 'gpiochip512', 'base'), '512\n');
    for (const line of [17, 18]) {
      mkdirSync(join(gpio, `gpio${512 + line}`));
      writeFileSync(join(gpio, `gpio${512 + line}`, 'direction'), '');
    }
  });
  afterEach(() => rmSync(gpio, { recursive: true }));

  const directionOf = (line: number) => readFileSync(join(gpio, `gpio${512 + line}`, 'direction'), 'utf8').trim();
  //  what                                      the file                                              exit  17      18
  const rows: readonly (readonly [string, string, number, string, string])[] = [
    ['sets each line', '# safe levels\n17 high\n18 low\n', 0, 'high', 'low'],
    ['sets a last line without a line break', '17 high\n18 low', 0, 'high', 'low'],
    ['sets the only line without a line break', '18 high', 0, '', 'high'],
    ['goes on after a number over 2^63', '9223372036854775808 high\n18 low\n', 1, '', 'low'],
    ['goes on after a number of forty digits', `${'1'.repeat(40)} high\n18 low\n`, 1, '', 'low'],
    ['goes on after a level of another kind', '17 up\n18 low\n', 1, '', 'low'],
    ['goes on after a line that is not there', '99 high\n18 low\n', 1, '', 'low'],
  ];
  it.each(rows)('%s', (_, content, code, of17, of18) => {
    writeFileSync(join(gpio, 'failsafe'), content);
    const { status, stderr } = spawnSync('sh', [join(UNITS, 'failsafe'), join(gpio, 'failsafe'), gpio], {
      encoding: 'utf8',
    });
    expect([status, directionOf(17), directionOf(18)], stderr).toEqual([code, of17, of18]);
  });

  it('has nothing to do without a file, and fails on one that it cannot read', () => {
    const exitCode = (file: string) => spawnSync('sh', [join(UNITS, 'failsafe'), join(gpio, file), gpio]).status;
    mkdirSync(join(gpio, 'directory'));
    expect([exitCode('none'), exitCode('directory')]).toEqual([0, 1]);
  });
});

describe('systemd/guard-settings', () => {
  let base: string;
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'gridtide-settings-'));
  });
  afterEach(() => rmSync(base, { recursive: true }));

  const guard = (files: Readonly<Record<string, string>>, ...group: readonly string[]) => {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(join(base, file, '..'), { recursive: true });
      writeFileSync(join(base, file), text, { mode: 0o644 });
    }
    return spawnSync('sh', [join(UNITS, 'guard-settings'), base, ...group], { encoding: 'utf8' });
  };

  //  files in the settings                                                            exit
  const rows: readonly (readonly [readonly string[], number])[] = [
    [['username', 'password', 'mqtt_username', 'mqtt_password'], 0],
    [['username', 'password', 'mqtt/username', 'mqtt/password'], 0],
    [['mqtt/password', 'mqtt_password'], 1],
    [['a/b_c', 'a_b/c'], 1],
    [['a/b/c', 'a_b/c'], 1],
    [['my password', 'password'], 0],
  ];
  it.each(rows)('of %j ends with %i', (files, code) => {
    const { status, stderr } = guard(Object.fromEntries(files.map((file) => [file, ''])));
    expect([status, /two files that systemd hands over as/.test(stderr)]).toEqual([code, code === 1]);
  });

  it.skipIf(process.getuid?.() !== 0)('lets the group read configuration and certificates, and nobody the rest', () => {
    const files = {
      'gridtide.yaml': 'device: cellar\n',
      'ca.pem': '-----BEGIN CERTIFICATE-----\n',
      'both.pem': '-----BEGIN PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\n',
      password: 'canary-4711\n',
      'mqtt/my password': 'canary-4712\n',
      'prices.csv': 'start,price\n',
    };
    expect(guard(files, '65534').status).toBe(0);
    const rights = ['.', ...Object.keys(files)].map((file) => {
      const { mode, gid } = lstatSync(join(base, file));
      return [(mode & 0o7777).toString(8), gid === 65534];
    });
    expect(rights).toEqual([
      ['2750', true],
      ['640', true],
      ['640', true],
      ['600', expect.anything()],
      ['600', expect.anything()],
      ['600', expect.anything()],
      ['640', true],
    ]);
  });

  it('leaves alone what a link leads to, a file or a directory', () => {
    const others = mkdtempSync(join(tmpdir(), 'gridtide-others-'));
    try {
      writeFileSync(join(others, 'authority.crt'), '-----BEGIN CERTIFICATE-----\n');
      writeFileSync(join(others, 'hosts'), '');
      for (const file of readdirSync(others)) chmodSync(join(others, file), 0o644);
      symlinkSync(join(others, 'authority.crt'), join(base, 'ca.pem'));
      symlinkSync(others, join(base, 'others'));
      expect(guard({ 'own/password': '' }, `${process.getgid?.()}`).status).toBe(0);
      symlinkSync(others, join(base, 'own/others'));
      expect(guard({}, `${process.getgid?.()}`).status).toBe(0);
      const modes = readdirSync(others).map((file) => lstatSync(join(others, file)).mode & 0o777);
      expect(modes).toEqual([0o644, 0o644]);
    } finally {
      rmSync(others, { recursive: true });
    }
  });
});

const canMount = process.getuid?.() === 0 && spawnSync('unshare', ['-m', 'true']).status === 0;
if (!canMount) console.warn('\n  SKIPPED: an upgrade of the running system; it wants root\n');

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
    const packages = ['onoff', 'epoll', 'bindings', 'file-uri-to-path', 'lodash.debounce'];
    const modules = packages.map((name) => `node_modules/${name}`);
    for (const name of ['scripts/install', 'scripts/lay-onoff.mjs', 'systemd', 'package.json', ...modules])
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
    'etc/sysusers.d/gridtide.conf',
    'etc/udev/rules.d/60-gridtide-gpio.rules',
    'usr/local/bin/gridtide',
    'usr/local/lib/gridtide/dist/main.js',
    'usr/local/lib/gridtide/package.json',
    'usr/local/lib/gridtide/systemd/failsafe',
    'usr/local/lib/gridtide/systemd/gridtide.service',
    'usr/local/lib/gridtide/systemd/guard-settings',
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
    expect(lstatSync(join(root, 'etc/gridtide')).mode & 0o777).toBe(0o750);
    expect(lstatSync(join(root, 'etc/gridtide/page')).mode & 0o777).toBe(0o700);
  });

  it('installs the page when asked, and keeps it at later runs', () => {
    install('--page');
    expect(tree()).toContain('etc/systemd/system/gridtide-page.service');
    expect(install('--mqtt-only').status).toBe(0);
    expect(tree()).toContain('usr/local/lib/gridtide/systemd/page/gridtide-page.service');
    install('--uninstall', '--purge');
    expect(tree()).toEqual([]);
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
    for (const file of ['etc/systemd/system/gridtide.service', 'etc/udev/rules.d/60-gridtide-gpio.rules'])
      expect(tree()).not.toContain(file);
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

  it('fails when a package that onoff needs is not installed', () => {
    rmSync(join(checkout, 'node_modules', 'bindings'), { recursive: true, force: true });
    const { status, stderr } = install();
    const isThere = existsSync(join(checkout, 'node_modules', 'onoff'));
    expect([status, stderr]).toEqual(isThere ? [1, expect.stringContaining('epoll needs bindings')] : [0, '']);
  });

  it('leaves the command, and the times of files, to npm when it is a package of npm', () => {
    const installed = join(base, 'node_modules', 'gridtide');
    mkdirSync(join(base, 'node_modules'));
    renameSync(checkout, installed);
    checkout = installed;
    utimesSync(join(checkout, 'dist', 'main.js'), 1_000, 1_000);
    mkdirSync(join(root, 'usr/local/bin'), { recursive: true });
    symlinkSync('../lib/node_modules/gridtide/dist/main.js', join(root, 'usr/local/bin/gridtide'));
    expect(install().status).toBe(0);
    expect(tree()).toEqual(GPIO_FILES);
    expect(install('--uninstall', '--purge').status).toBe(0);
    expect(tree()).toEqual(['usr/local/bin/gridtide']);
    expect(install('--quick').stderr).toContain('gridtide install-service --help tells more');
  });

  it('refuses a build that is older than its sources, and does nothing', () => {
    mkdirSync(join(checkout, 'src'));
    writeFileSync(join(checkout, 'src', 'agent.ts'), '');
    utimesSync(join(checkout, 'dist', 'main.js'), 1_000, 1_000);
    const { status, stderr } = install();
    expect(stderr).toMatch(/the build is older than its sources \(\S+ has changed since\): npm ci && npm run build/);
    expect([status, tree()]).toEqual([1, []]);
  });

  it('comes back to the version before when an earlier upgrade was cut short', () => {
    install();
    cpSync(join(root, 'usr/local/lib/gridtide'), join(root, 'usr/local/lib/gridtide.old'), { recursive: true });
    writeFileSync(join(root, 'usr/local/lib/gridtide/dist/unproven.js'), '');
    rmSync(join(checkout, 'dist/main.js'));
    expect(install().status).toBe(1);
    writeFileSync(join(checkout, 'dist/main.js'), '', { mode: 0o755 });
    expect(install().status).toBe(0);
    expect(tree()).toEqual(GPIO_FILES);
  });

  /** On "the running system": its directories laid over with others of memory, and a systemctl that starts no program with `broken` in it. */
  const upgrade = (...versions: readonly string[]) => {
    const stubs = join(base, 'stubs');
    mkdirSync(stubs);
    const log = join(base, 'systemctl.log');
    const stub = (name: string, text: string) =>
      writeFileSync(join(stubs, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    stub('udevadm', '');
    stub(
      'systemctl',
      `echo "$*" >>'${log}'
case $1 in
  --version) echo 'systemd 252 (252.1)' ;;
  restart) ! grep -q broken /usr/local/lib/gridtide/dist/main.js ;;
esac`,
    );
    const lay = (path: string) =>
      `mkdir -p '${base}/over${path}/upper' '${base}/over${path}/work' && mount -t overlay overlay -o lowerdir=${path},upperdir='${base}/over${path}/upper',workdir='${base}/over${path}/work' ${path}`;
    const runs = versions.map(
      (text) =>
        `sleep 0.01; echo '${text}' >'${checkout}/dist/main.js'; bash '${checkout}/scripts/install' --mqtt-only; echo "exit $?"`,
    );
    const script = [
      `mkdir -p '${base}/over' && mount -t tmpfs tmpfs '${base}/over'`,
      lay('/usr/local/lib'),
      lay('/usr/local/bin'),
      lay('/etc'),
      `{ [ -e /usr/bin/node ] || [ -e /usr/local/bin/node ] || ln -s '${process.execPath}' /usr/local/bin/node; }`,
      'mkdir -p /etc/gridtide && echo "device: cellar" >/etc/gridtide/gridtide.yaml',
      `{ ${runs.join('\n')}\n}`,
      'echo "runs $(cat /usr/local/lib/gridtide/dist/main.js)"',
      'ls -d /usr/local/lib/gridtide*',
    ].join(' && ');
    const { stdout, stderr } = spawnSync('unshare', ['-m', 'bash', '-c', script], {
      encoding: 'utf8',
      env: { ...process.env, PATH: `${stubs}:${process.env.PATH}` },
    });
    return { stdout, stderr, log: existsSync(log) ? readFileSync(log, 'utf8') : '' };
  };

  //  versions                                 what is said last                                        runs
  const upgrades: readonly (readonly [readonly string[], RegExp, string])[] = [
    [['one'], /gridtide is installed/, 'one'],
    [['one', 'two'], /gridtide is installed/, 'two'],
    [['one', 'broken'], /the new version did not start, so the version before is installed again and runs/, 'one'],
    [['one', 'broken', 'two'], /gridtide is installed/, 'two'],
    [['broken'], /gridtide did not start: journalctl/, 'broken'],
  ];
  it.skipIf(!canMount)('of the versions %j the one that starts is kept', () => {
    for (const [versions, printed, version] of upgrades) {
      rmSync(join(base, 'stubs'), { recursive: true, force: true });
      const { stdout, stderr, log } = upgrade(...versions);
      expect(`${stdout}${stderr}`, log).toMatch(printed);
      expect(stdout).toContain(`runs ${version}\n/usr/local/lib/gridtide\n`);
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

  it('prints the whole of its head at --help', () => {
    const { stdout, status } = install('--help');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^Installs gridtide .*\n {2}--purge .*at the broker\n$/s);
  });

  it('wants a build', () => {
    rmSync(join(checkout, 'dist'), { recursive: true });
    const { status, stderr } = install();
    expect(stderr).toContain('npm ci && npm run build');
    expect(status).toBe(1);
    expect(tree()).toEqual([]);
  });

  it('asks the program whether this Node.js is new enough', () => {
    const sentence =
      'gridtide needs Node.js 20.19, 22.3 or newer, and this is 18.20.8: install a newer one (nodejs.org)';
    writeFileSync(join(checkout, 'dist', 'main.js'), `console.error(${JSON.stringify(sentence)}); process.exit(1);\n`);
    const { status, stderr } = install();
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^install: \S*node: gridtide needs Node\.js .*\n$/)]);
    expect(tree()).toEqual([]);
  });
});

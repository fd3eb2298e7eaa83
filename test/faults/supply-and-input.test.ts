/** Rows of the fault table about what is installed and what is read: dependencies, units, configurations, versions, names from outside. */

import { execFile } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createDocumentStore } from '../../src/agent/document-store.ts';
import { parseConfig } from '../../src/config/parse-config.ts';
import { createLogging } from '../../src/platform/pino-log.ts';
import { decodeForecast } from '../../src/service/api/decode-data.ts';
import { createMemoryDisk } from '../../src/simulation/memory-disk.ts';
import { TWO_REGIONS } from '../region/map-texts.ts';
import { importText } from '../region/region-setup.ts';

const root = join(import.meta.dirname, '..', '..');
const readText = (path: string) => readFileSync(join(root, path), 'utf8');

async function inDirectory<Result>(work: (directory: string) => Promise<Result>): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), 'gridtide-supply-'));
  try {
    return await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

it('row 60: who runs it is told what stands beside a program when the kernel stops', () => {
  expect(readText('SECURITY.md')).toMatch(/RuntimeWatchdogSec=\d+s/);
});

it('row 75: a configuration that is half written is refused with its line', () => {
  const text = 'device: cellar\nplace: {latitude: 38.5,\nservice:\n';
  const result = parseConfig(text);
  expect(result.ok).toBe(false);
  if (!result.ok) expect(result.mistakes.join('\n')).toMatch(/^line \d+: /);
});

it('row 76: a document of a later version is set aside, not believed and not the end', async () => {
  const disk = createMemoryDisk();
  const store = createDocumentStore(disk, () => {});
  await store.save('region', new TextEncoder().encode('{"checkedAt":1}'));
  const [name = ''] = await disk.list();
  const bytes = (await disk.read(name)) ?? new Uint8Array(0);
  await disk.replace(name, new Uint8Array([...new TextEncoder().encode('GT99'), ...bytes.slice(4)]));
  expect(await createDocumentStore(disk, () => {}).load('region')).toBeUndefined();
});

it.each(['gridtide.service', 'gridtide-mqtt.service'])(
  'row 78: past its memory limit %s ends as a whole, leaves safe lines and starts again',
  (unit) => {
    const lines = readText(`systemd/${unit}`).split('\n');
    expect(lines).toEqual(expect.arrayContaining(['OOMPolicy=stop', 'Restart=always']));
    expect(lines.some((line) => /^MemoryMax=\d+M$/.test(line))).toBe(true);
    expect(lines.some((line) => line.startsWith('ExecStopPost='))).toBe(unit === 'gridtide.service');
  },
);

describe('row 88: answers and maps made to harm', () => {
  const meta = {
    region: 'PSCO',
    signal_type: 'co2_moer',
    units: 'lbs_co2_per_mwh',
    data_point_period_seconds: 300,
    generated_at: '2026-03-01T12:00:00+00:00',
  };
  const point = { point_time: '2026-03-01T12:00:00+00:00', value: 500 };

  it.each([
    `{"__proto__":{"polluted":1},"data":[${JSON.stringify(point)}],"meta":${JSON.stringify(meta)}}`,
    `{"data":[{"__proto__":{"polluted":1},${JSON.stringify(point).slice(1)}],"meta":${JSON.stringify(meta)}}`,
    `{"data":[${JSON.stringify(point)}],"constructor":{"prototype":{"polluted":1}},"meta":${JSON.stringify(meta)}}`,
    `{"data":[${JSON.stringify(point)}],"${'k'.repeat(1_000_000)}":1,"meta":${JSON.stringify(meta)}}`,
  ])('a forecast keeps its points and nothing else, case %#', (text) => {
    const outcome = decodeForecast(JSON.parse(text), { region: 'PSCO', signalType: 'co2_moer' });
    expect(outcome.ok && outcome.value.points).toEqual([{ at: Date.parse('2026-03-01T12:00:00Z'), value: 500 }]);
    expect('polluted' in {}).toBe(false);
    expect(outcome.ok && 'polluted' in outcome.value).toBe(false);
  });

  it.each(['__proto__', 'constructor', 'toString'])('a region named %s is a name', async (name) => {
    const text = TWO_REGIONS.replaceAll('WEST', name);
    expect(await importText(text, { disk: createMemoryDisk() })).toMatchObject({ ok: true, info: { regions: 2 } });
    expect('polluted' in {}).toBe(false);
  });
});

describe('row 89: dependencies', () => {
  const { packages } = JSON.parse(readText('package-lock.json')) as {
    readonly packages: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  };
  const installed = Object.entries(packages).filter(([path]) => path !== '');

  it('every package stands in the lock with one version and the checksum of its content', () => {
    expect(installed.length).toBeGreaterThan(50);
    const loose = installed.filter(
      ([, { version, integrity, link }]) =>
        link !== true && (!/^\d+\.\d+\.\d+/.test(String(version)) || !/^sha512-/.test(String(integrity))),
    );
    expect(loose.map(([path]) => path)).toEqual([]);
  });

  it('the check installs what the lock says, and what runs a script at its installation is listed', () => {
    expect(readText('scripts/check')).toMatch(/npm ci\b/);
    const { allowScripts } = JSON.parse(readText('package.json')) as { allowScripts: Record<string, boolean> };
    const scripted = installed.filter(([, row]) => row.hasInstallScript === true && row.optional !== true);
    const names = scripted.map(([path]) => path.split('node_modules/').at(-1) ?? '');
    expect(names.filter((name) => allowScripts[name] !== true)).toEqual([]);
  });
});

it('row 90: without any package beside it, compiled ones among them, the program starts', () =>
  inDirectory(async (directory) => {
    await cp(join(root, 'dist'), join(directory, 'dist'), { recursive: true });
    const run = promisify(execFile);
    const main = join(directory, 'dist', 'main.js');
    const { stdout } = await run(process.execPath, [main, 'demo', '--hours', '1', '--json'], { cwd: directory });
    expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toHaveProperty('result');
  }));

it('row 93: names cannot write lines of their own into the log', () =>
  inDirectory(async (directory) => {
    const path = join(directory, 'log');
    const logging = await createLogging({ level: 'info', fd: openSync(path, 'w') });
    const evil = 'cellar\n{"level":"info","msg":"all is well"}\r\u001b[2J\u2028x';
    logging.log('warn', `load ${evil}`, { name: evil, err: new Error(evil) });
    logging.flush();
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    expect(lines).toHaveLength(1);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(lines[0]).not.toMatch(/[\u0000-\u001f\u007f]/);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'warn' });
  }));

it('row 94: who finds a weakness is told where to report it and when to expect an answer', () => {
  const text = readText('SECURITY.md');
  expect(text).toMatch(/## Reporting/);
  expect(text).toMatch(/within three working days/);
  expect(text).toMatch(/90 days/);
});

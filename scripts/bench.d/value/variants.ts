/** The rolling plan with one constant changed in the source, or of another commit: each built and run in a process of its own. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { BuildOptions, Plugin } from 'esbuild';
import type { BacktestResult } from '../../../src/simulation/backtest/run-backtest.ts';

const root = process.env.GRIDTIDE_ROOT ?? process.cwd();
const work = process.env.GRIDTIDE_WORK ?? root;
const { build } = createRequire(join(root, 'package.json'))('esbuild') as {
  build: (options: BuildOptions) => Promise<unknown>;
};

/** One constant of `src` with another value. */
export interface Variant {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const signal = 'signal/forecast-correction.ts';
const weight = (to: string) => ({
  file: 'control/planning/schedule-job.ts',
  from: 'UNCERTAINTY_WEIGHT = 0.1;',
  to: `UNCERTAINTY_WEIGHT = ${to};`,
});
const ridges = (to: string) => ({ file: signal, from: 'RIDGES = [300, 4_000]', to: `RIDGES = [${to}]` });
const fading = (to: string) => ({
  file: 'signal/daily-profile.ts',
  from: 'DAILY_FADING = 0.85',
  to: `DAILY_FADING = ${to}`,
});
const carried = (to: string) => ({ file: signal, from: 'CARRIED_SHARE = 0.3', to: `CARRIED_SHARE = ${to}` });
/** The constants on which the savings rest, each a step to either side. */
export const VARIANTS: readonly (Variant | undefined)[] = [
  undefined,
  weight('0.06'),
  weight('0.16'),
  ridges('100, 4_000'),
  ridges('900, 4_000'),
  ridges('300, 1_300'),
  ridges('300, 12_000'),
  fading('0.8'),
  fading('0.9'),
  carried('0.15'),
  carried('0.5'),
];

export interface VariantResult {
  readonly results: readonly BacktestResult[];
  readonly seconds: number;
}

function substitute(variant: Variant): Plugin {
  return {
    name: 'variant',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (!path.endsWith(`/src/${variant.file}`)) return undefined;
        const text = readFileSync(path, 'utf8');
        if (!text.includes(variant.from)) throw new Error(`${variant.file} holds no "${variant.from}" any more`);
        return { contents: text.replace(variant.from, variant.to), loader: 'ts' };
      });
    },
  };
}

async function runChild(entry: string, name: string, files: readonly string[], plugins: Plugin[]) {
  const outfile = join(work, 'bench', `${name}.mjs`);
  await build({
    ...{ entryPoints: [entry], outfile, plugins, bundle: true, format: 'esm', platform: 'node', target: 'node20.19' },
    ...{ external: ['onoff'], minifySyntax: true, logLevel: 'warning' },
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);",
    },
  });
  const text = execFileSync(process.execPath, [outfile, ...files], { encoding: 'utf8', maxBuffer: 1 << 26 });
  return JSON.parse(text) as VariantResult;
}

const CHILD = 'scripts/bench.d/value/replay.child.ts';

export const runVariant = (variant: Variant | undefined, number: number, files: readonly string[]) =>
  runChild(join(root, CHILD), `variant-${number}`, files, variant === undefined ? [] : [substitute(variant)]);

/** The program of another commit, with the present child. */
export function runCommit(commit: string, files: readonly string[]): Promise<VariantResult> {
  const before = join(work, 'before');
  mkdirSync(join(before, 'scripts/bench.d/value'), { recursive: true });
  const tree = execFileSync('git', ['-C', root, 'archive', commit, 'src'], { maxBuffer: 1 << 28 });
  execFileSync('tar', ['-x', '-C', before], { input: tree });
  execFileSync('cp', ['-r', join(root, 'scripts/bench.d/value'), join(before, 'scripts/bench.d')]);
  execFileSync('ln', ['-sfn', join(root, 'node_modules'), join(before, 'node_modules')]);
  return runChild(join(before, CHILD), 'before', files, []);
}

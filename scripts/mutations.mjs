/** Takes each guard of the control core out, one at a time, in a copy, and checks that a test notices. Exits 1 when one goes unnoticed. */

import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const CONTROL = 'src/control';

/** By file: what is taken out, its text, and what stands there instead. */
const mutations = {
  'guards.ts': [
    ['least running time', "if (until > uptime) return { guard: 'min-on', until };"],
    ['least pause', "if (pauseEnds > uptime) return { guard: 'min-off', until: pauseEnds };"],
    ['start budgets', "if (allowed > uptime) return { guard: 'start-budget', until: allowed };"],
    ['the start kept for the deadline', '&& load.maxStartsPerDay > 1 ? 1 : 0;', '&& load.maxStartsPerDay > 1 ? 0 : 0;'],
    ['start spread', "return spread > uptime ? { guard: 'spread', until: spread } : undefined;", 'return undefined;'],
    ['signal hold', "return until > context.now.uptime ? { guard: 'hold', until } : undefined;", 'return undefined;'],
    ['end of a block', "return context.now.uptime < release ? present : 'normal';", 'return present;'],
    [
      'blocks of a day',
      "return allowed > uptime ? { guard: 'block-limit', until: allowed } : undefined;",
      'return undefined;',
    ],
    ['safety before guards', 'if (wish.priority === 1) return { wish, level: wish.level };'],
    ['no stop without a pause left', 'priority > 6 && why !==', 'priority > 99 && why !=='],
  ],
  'starts.ts': [
    ['starts an hour', 'freeFrom(starts, load.maxStartsPerHour, HOUR)', '-Infinity'],
    ['starts a day', 'freeFrom(starts, load.maxStartsPerDay - kept, DAY)', '-Infinity'],
    ['interruptions of a job', 'load.maxInterruptions + 1 - (state.job?.starts ?? 0) - used', 'Infinity'],
  ],
  'ladder.ts': [
    ['safety trip', 'if (!tripped) return undefined;', 'if (tripped || !tripped) return undefined;'],
    [
      'an old index starts nothing',
      "if (!running && context.now.wall >= index.startsUntil) return speak(false, 'ageing', load.onBelow);",
    ],
    ['a flat grid starts nothing', "if (index.flat) return speak(running, 'flat');"],
    ['hysteresis', "speak(running, 'between', load.onBelow)", "speak(false, 'between', load.onBelow)"],
    [
      'untrusted clock',
      'if (context.now.trusted) return undefined;',
      'if (context.now.trusted || !context.now.trusted) return undefined;',
    ],
  ],
  'events.ts': [
    ['end of an override', 'draft.local.until <= uptime', 'draft.local.until <= 0'],
    ['longest override', 'Math.min(event.for, LONGEST_OVERRIDE)', 'event.for'],
    ['a boot is a switch', 'draft.runSince = now.uptime;\n'],
    [
      'a start under way at a power cut counts',
      'if (draft.pending !== undefined && isRunning(draft.pending.level)) started(draft, move(draft.pending.at));',
    ],
    [
      'a command under way at a restart counts',
      "if (state.fresh === 'same-boot') presume(draft, now.uptime);",
      "if (state.fresh === 'same-boot') draft.pending = undefined;",
    ],
  ],
  'jobs.ts': [
    [
      'deadline latch',
      'if (wall >= job.from && wall >= latest) state.job = { ...job, latched: true };',
      'if (wall > job.by) state.job = { ...job, latched: true };',
    ],
    ['margin of the latch', 'const MARGIN = 1.05;', 'const MARGIN = 0.9;'],
    [
      'a job that shares power begins in time for the others',
      'const end = context.ends.get(load.name) ?? job.by;',
      'const end = job.by;',
    ],
    ['nothing before a job is progress', 'trusted ? Math.min(passed, wall - job.from) : passed', 'passed'],
    ['progress by uptime', 'done: (job.done + within) as Duration', 'done: job.done'],
    ['nothing is counted twice', 'done: before?.done ?? (0 as Duration)', 'done: 0 as Duration'],
  ],
  'schedule.ts': [
    [
      'not before the job begins',
      'at < from || isTaken?.(at) === true ? Number.NaN',
      'isTaken?.(at) === true ? Number.NaN',
    ],
  ],
  'budget.ts': [
    [
      'a last run is not cut short for one that can wait',
      'isBound(context, states[index], load) || mayFinish(context, states, index)',
      'isBound(context, states[index], load)',
    ],
    ['power budget', 'if (budget === undefined) return settled;', 'return settled;'],
    [
      'one load stops before another starts',
      'const free = draws || drawn + load.power <= budget + ROUNDING;',
      'const free = true;',
    ],
  ],
  'step.ts': [
    ['whole milliseconds', 'Math.ceil(context.earliest)', 'context.earliest'],
    ['clock jumps plan anew', 'Math.abs(now.wall - last.wall - (now.uptime - last.uptime)) > JUMP', 'false'],
  ],
  'context.ts': [
    [
      'end of an index',
      'if (index === undefined || context.now.wall >= index.validUntil) return undefined;',
      'if (index === undefined) return undefined;',
    ],
    [
      'end of an outlook',
      'if (outlook === undefined || context.now.wall >= outlook.validUntil) return undefined;',
      'if (outlook === undefined) return undefined;',
    ],
  ],
  'switching.ts': [
    ['no command for the level a load has', 'if (presentLevel(draft) === level) return undefined;'],
    ['retry after a pause', 'if (draft.retryAt !== undefined && wish.priority !== 1) {', 'if (draft.retryAt === -1) {'],
    ['fault of an output', 'if (disagreements >= DISAGREEMENTS)', 'if (disagreements < 0)'],
  ],
  'planning.ts': [['a plan for each forecast', 'if (plan.generatedAt !== outlook.generatedAt) return true;']],
  'plan-table.ts': [
    ['part slots before the deadline', 'if (part <= room + ROUNDING) {', 'if (part <= 1) {'],
    ['pause in a plan', 'stop: t >= minOff ? at(t - minOff) : nothing,', 'stop: at(t - 1),'],
  ],
  'calendar.ts': [
    [
      'gap of the clock',
      'return endOfGap(timezone, Math.min(...candidates), Math.max(...candidates));',
      'return Math.min(...candidates) as Instant;',
    ],
    ['doubled hour', 'return Math.min(...real) as Instant;', 'return Math.max(...real) as Instant;'],
  ],
};

const work = await mkdtemp(join(tmpdir(), 'gridtide-mutations-'));
for (const name of ['src', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts'])
  await cp(join(root, name), join(work, name), { recursive: true });
await symlink(join(root, 'node_modules'), join(work, 'node_modules'));

/** Tables and days in seconds; what they let pass, the searches look at. */
const SEARCHES = ['test/control/invariants.test.ts', 'test/control/exhaustive.test.ts'];
const stages = [['test/control', 'test/days', ...SEARCHES.flatMap((file) => ['--exclude', file])], SEARCHES];

function passesStage(args) {
  const command = ['-n', '10', process.execPath, 'node_modules/vitest/vitest.mjs', 'run', '--bail=1', ...args];
  const env = { GRIDTIDE_SEED: '20260301', ...process.env, GRIDTIDE_RUNS: '150', GRIDTIDE_SHRINK: 'no' };
  const child = spawn('nice', command, { cwd: work, stdio: 'ignore', env });
  return new Promise((done) => child.on('exit', (code) => done(code === 0)));
}

async function passes() {
  for (const stage of stages) if (!(await passesStage(stage))) return false;
  return true;
}

/** The file with and without one guard; throws when the text to take out is not there exactly once. */
async function mutant(file, [name, text, instead = '']) {
  const path = join(work, CONTROL, file);
  const whole = await readFile(path, 'utf8');
  const parts = whole.split(text);
  if (parts.length !== 2) throw new Error(`${file} holds ${parts.length - 1} times: ${text}`);
  return { name, path, whole, without: parts.join(instead) };
}

const only = process.argv[2];
const unnoticed = [];
let chosen = [];
try {
  const rows = Object.entries(mutations).flatMap(([file, of]) => of.map((row) => mutant(file, row)));
  chosen = (await Promise.all(rows)).filter(({ name }) => only === undefined || name.includes(only));
  if (only === undefined && !(await passes())) throw new Error('the tests fail before anything is taken out');
  for (const { name, path, whole, without } of chosen) {
    await writeFile(path, without);
    const noticed = !(await passes());
    await writeFile(path, whole);
    console.log(`${noticed ? 'noticed  ' : 'UNNOTICED'} ${name}`);
    if (!noticed) unnoticed.push(name);
  }
} finally {
  await rm(work, { recursive: true, force: true });
}
if (unnoticed.length > 0) {
  console.log(`${unnoticed.length} of ${chosen.length} taken out and not noticed: ${unnoticed.join(', ')}`);
  process.exitCode = 1;
} else console.log(`each of the ${chosen.length} guards taken out makes a test fail`);

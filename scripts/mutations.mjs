/** Takes each guard of the control core out, one at a time, in a copy, and checks that a test notices. Exits 1 when one goes unnoticed. */

import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const CONTROL = 'src/control';

/** What is taken out, where, the text, and what stands there instead. */
const mutations = [
  [
    'least running time',
    'guards.ts',
    "return until > uptime ? { guard: 'min-on', until } : undefined;",
    'return undefined;',
  ],
  ['least pause', 'guards.ts', "if (pauseEnds > uptime) return { guard: 'min-off', until: pauseEnds };", ''],
  ['start budgets', 'guards.ts', "if (allowed > uptime) return { guard: 'start-budget', until: allowed };", ''],
  ['starts an hour', 'starts.ts', 'freeFrom(starts, load.maxStartsPerHour, HOUR)', '-Infinity'],
  ['starts a day', 'starts.ts', 'freeFrom(starts, load.maxStartsPerDay - kept, DAY)', '-Infinity'],
  [
    'the start kept for the deadline',
    'guards.ts',
    '&& load.maxStartsPerDay > 1 ? 1 : 0;',
    '&& load.maxStartsPerDay > 1 ? 0 : 0;',
  ],
  [
    'start spread',
    'guards.ts',
    "return spread > uptime ? { guard: 'spread', until: spread } : undefined;",
    'return undefined;',
  ],
  [
    'signal hold',
    'guards.ts',
    "return until > context.now.uptime ? { guard: 'hold', until } : undefined;",
    'return undefined;',
  ],
  ['end of a block', 'guards.ts', "return context.now.uptime < release ? present : 'normal';", 'return present;'],
  [
    'blocks of a day',
    'guards.ts',
    "return allowed > uptime ? { guard: 'block-limit', until: allowed } : undefined;",
    'return undefined;',
  ],
  ['safety before guards', 'guards.ts', 'if (wish.priority === 1) return { wish, level: wish.level };', ''],
  ['safety trip', 'ladder.ts', 'if (!tripped) return undefined;', 'if (tripped || !tripped) return undefined;'],
  ['end of an override', 'events.ts', 'draft.local.until <= uptime', 'draft.local.until <= 0'],
  ['longest override', 'events.ts', 'Math.min(event.for, LONGEST_OVERRIDE)', 'event.for'],
  [
    'deadline latch',
    'jobs.ts',
    'if (wall >= job.from && wall >= latest) state.job = { ...job, latched: true };',
    'if (wall > job.by) state.job = { ...job, latched: true };',
  ],
  ['margin of the latch', 'jobs.ts', 'const MARGIN = 1.05;', 'const MARGIN = 0.9;'],
  [
    'not before the job begins',
    'schedule.ts',
    'at < from || isTaken?.(at) === true ? Number.NaN',
    'isTaken?.(at) === true ? Number.NaN',
  ],
  [
    'a job that shares power begins in time for the others',
    'jobs.ts',
    'const end = context.ends.get(load.name) ?? job.by;',
    'const end = job.by;',
  ],
  ['nothing before a job is progress', 'jobs.ts', 'trusted ? Math.min(passed, wall - job.from) : passed', 'passed'],
  ['no stop without a pause left', 'guards.ts', 'priority > 6 && why !==', 'priority > 99 && why !=='],
  [
    'a last run is not cut short for one that can wait',
    'budget.ts',
    'isBound(context, states[index], load) || mayFinish(context, states, index)',
    'isBound(context, states[index], load)',
  ],
  ['whole milliseconds', 'step.ts', 'Math.ceil(context.earliest)', 'context.earliest'],
  ['progress by uptime', 'jobs.ts', 'done: (job.done + within) as Duration', 'done: job.done'],
  ['power budget', 'budget.ts', 'if (budget === undefined) return settled;', 'return settled;'],
  [
    'one load stops before another starts',
    'budget.ts',
    'const free = draws || drawn + load.power <= budget + ROUNDING;',
    'const free = true;',
  ],
  [
    'end of an index',
    'context.ts',
    'if (index === undefined || context.now.wall >= index.validUntil) return undefined;',
    'if (index === undefined) return undefined;',
  ],
  [
    'end of an outlook',
    'context.ts',
    'if (outlook === undefined || context.now.wall >= outlook.validUntil) return undefined;',
    'if (outlook === undefined) return undefined;',
  ],
  [
    'an old index starts nothing',
    'ladder.ts',
    "if (!running && context.now.wall >= index.startsUntil) return speak(false, 'ageing', load.onBelow);",
    '',
  ],
  ['a flat grid starts nothing', 'ladder.ts', "if (index.flat) return speak(running, 'flat');", ''],
  ['hysteresis', 'ladder.ts', "speak(running, 'between', load.onBelow)", "speak(false, 'between', load.onBelow)"],
  [
    'untrusted clock',
    'ladder.ts',
    'if (context.now.trusted) return undefined;',
    'if (context.now.trusted || !context.now.trusted) return undefined;',
  ],
  ['a boot is a switch', 'events.ts', 'draft.runSince = now.uptime;\n', ''],
  [
    'a start under way at a power cut counts',
    'events.ts',
    'if (draft.pending !== undefined && isRunning(draft.pending.level)) started(draft, move(draft.pending.at));',
    '',
  ],
  [
    'a command under way at a restart counts',
    'events.ts',
    "if (state.fresh === 'same-boot') presume(draft, now.uptime);",
    "if (state.fresh === 'same-boot') draft.pending = undefined;",
  ],
  ['clock jumps plan anew', 'step.ts', 'Math.abs(now.wall - last.wall - (now.uptime - last.uptime)) > JUMP', 'false'],
  ['nothing is counted twice', 'jobs.ts', 'done: before?.done ?? (0 as Duration)', 'done: 0 as Duration'],
  ['no command for the level a load has', 'switching.ts', 'if (presentLevel(draft) === level) return undefined;', ''],
  [
    'retry after a pause',
    'switching.ts',
    'if (draft.retryAt !== undefined && wish.priority !== 1) {',
    'if (draft.retryAt === -1) {',
  ],
  ['fault of an output', 'switching.ts', 'if (disagreements >= DISAGREEMENTS)', 'if (disagreements < 0)'],
  ['a plan for each forecast', 'planning.ts', 'plan.generatedAt !== outlook.generatedAt ||', ''],
  ['interruptions of a job', 'starts.ts', 'load.maxInterruptions + 1 - (state.job?.starts ?? 0) - used', 'Infinity'],
  ['part slots before the deadline', 'plan-table.ts', 'if (part <= room + ROUNDING) {', 'if (part <= 1) {'],
  ['pause in a plan', 'plan-table.ts', 'stop: t >= minOff ? at(t - minOff) : nothing,', 'stop: at(t - 1),'],
  [
    'gap of the clock',
    'calendar.ts',
    'return endOfGap(timezone, Math.min(...candidates), Math.max(...candidates));',
    'return Math.min(...candidates) as Instant;',
  ],
  ['doubled hour', 'calendar.ts', 'return Math.min(...real) as Instant;', 'return Math.max(...real) as Instant;'],
];

const work = await mkdtemp(join(tmpdir(), 'gridtide-mutations-'));
for (const name of ['src', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts'])
  await cp(join(root, name), join(work, name), { recursive: true });
await symlink(join(root, 'node_modules'), join(work, 'node_modules'));

/** Tables and days in seconds; what they let pass, the searches look at. */
const SEARCHES = ['test/control/invariants.test.ts', 'test/control/exhaustive.test.ts'];
const stages = [['test/control', 'test/days', ...SEARCHES.flatMap((file) => ['--exclude', file])], SEARCHES];

function passesStage(args) {
  const command = ['-n', '10', process.execPath, 'node_modules/vitest/vitest.mjs', 'run', '--bail=1', ...args];
  const env = { ...process.env, GRIDTIDE_RUNS: '150', GRIDTIDE_SHRINK: 'no' };
  const child = spawn('nice', command, { cwd: work, stdio: 'ignore', env });
  return new Promise((done) => child.on('exit', (code) => done(code === 0)));
}

async function passes() {
  for (const stage of stages) if (!(await passesStage(stage))) return false;
  return true;
}

const only = process.argv[2];
const unnoticed = [];
try {
  if (only === undefined && !(await passes())) throw new Error('the tests fail before anything is taken out');
  for (const [name, file, text, instead] of mutations) {
    if (only !== undefined && !name.includes(only)) continue;
    const path = join(work, CONTROL, file);
    const whole = await readFile(join(root, CONTROL, file), 'utf8');
    if (whole.split(text).length !== 2) throw new Error(`${file} holds ${whole.split(text).length - 1} times: ${text}`);
    await writeFile(
      path,
      whole.replace(text, () => instead),
    );
    const noticed = !(await passes());
    await writeFile(path, whole);
    console.log(`${noticed ? 'noticed  ' : 'UNNOTICED'} ${name}`);
    if (!noticed) unnoticed.push(name);
  }
} finally {
  await rm(work, { recursive: true, force: true });
}
if (unnoticed.length > 0) {
  console.log(`${unnoticed.length} of ${mutations.length} taken out and not noticed: ${unnoticed.join(', ')}`);
  process.exitCode = 1;
} else console.log('each guard taken out makes a test fail');

/** `gridtide demo`: simulates a day with everything embedded and prints its transcript. */

import { setTimeout as sleep } from 'node:timers/promises';
import { waitForAbort } from '../../domain/abortable-wait.ts';
import { milliseconds } from '../../domain/units.ts';
import type { DemoHouse } from '../../simulation/demo-day.ts';
import { type Arguments, type CommandSpec, JobError, type Terminal } from '../shared/command.ts';
import type { DemoPage } from './demo-page.ts';

export const spec = {
  name: 'demo',
  positionals: '',
  options: {
    hours: { value: 'N', range: { from: 1, to: 24 * 14 }, help: 'how many hours to simulate', default: '24' },
    speed: {
      value: 'X',
      range: { from: 1, to: 1e9 },
      help: 'speed of the printing at a terminal, as a multiple of real time',
      default: '1440',
    },
    seed: {
      value: 'N',
      range: { from: 0, to: 2 ** 31, whole: true },
      help: 'the same seed gives the same transcript',
      default: '1',
    },
    json: { help: 'one JSON document per line; the last is the result' },
    page: { help: 'show the house in a browser while the day passes, and stay until Ctrl-C' },
    listen: { value: 'HOST:PORT', help: 'where the page listens', default: '127.0.0.1:7080' },
  },
} satisfies CommandSpec;

type Row = keyof typeof spec.options;

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const hours = args.number('hours') ?? 24;
  const speed = args.number('speed') ?? 1440;
  const seed = args.number('seed') ?? 1;
  const json = args.flag('json');
  const [{ runDemo, DEMO_LOADS, DEMO_TIMEZONE }, { createNewsFilter, formatDemoEvent, formatStrip, formatSummary }] =
    await Promise.all([import('../../simulation/demo-day.ts'), import('../../simulation/transcript.ts')]);
  const width = Math.max(...DEMO_LOADS.map((load) => load.length));
  const isNews = createNewsFilter();
  const pageListener = args.flag('page') ? createPageHost(args.text('listen') ?? '', terminal) : undefined;
  const isPaced = (terminal.interactive && !json) || pageListener !== undefined;
  if (!json) terminal.out(formatIntroduction(seed));

  const { result, cells, from, published } = await runDemo({
    seed,
    hours,
    stop: terminal.stop,
    log: (level, message) => {
      if (level === 'error') terminal.err(`${message}\n`);
    },
    onEvent: (event) => {
      if (json) return terminal.out(`${JSON.stringify(event)}\n`);
      const line = isNews(event) ? formatDemoEvent(event, DEMO_TIMEZONE, width) : undefined;
      if (line !== undefined) terminal.out(`${line}\n`);
    },
    ...(isPaced ? { beforeJump: (a, b) => sleepUnlessStopped(milliseconds((b - a) / speed), terminal.stop) } : {}),
    ...pageListener?.hooks,
  }).finally(() => pageListener?.close());
  if (terminal.stop.aborted && pageListener?.isDayOver() !== true)
    throw new JobError('stopped before the end of the day; nothing keeps running');
  // Not in the transcript: whether a document that changes twice at one moment is sent twice depends on the broker's pace.
  terminal.err(
    `published ${published.messages} messages, ${(published.bytes / 1_048_576).toFixed(1)} MiB, to the broker\n`,
  );
  if (json) return 0;
  if (terminal.interactive)
    terminal.out(
      `\n${formatStrip(cells, { loads: DEMO_LOADS, from, timezone: DEMO_TIMEZONE, columns: terminal.columns, coloured: !terminal.env.NO_COLOR })}\n`,
    );
  terminal.out(`\n${formatSummary(result)}\n`);
  return 0;
}

const formatIntroduction = (seed: number) =>
  [
    `A day of a house in California, seed ${seed}: a car, a heat pump and a water heater.`,
    'The rate (lb/MWh) is the CO2 of one more kilowatt-hour now; the index ranks it among the rates of the next 24 hours,',
    '0 the cleanest and 100 the dirtiest, so the same rate has a lower index before dirtier hours and a higher one before cleaner hours.',
    '',
    '',
  ].join('\n');

/** The page lives from the start of the house until Ctrl-C. */
function createPageHost(address: string, { err, stop }: Terminal) {
  let demoPage: DemoPage | undefined;
  let isDayOver = false;
  return {
    hooks: {
      async onHouse(house: DemoHouse) {
        const { startDemoPage } = await import('./demo-page.ts');
        demoPage = await startDemoPage(house, address);
        err(`page: ${demoPage.url}\n`);
      },
      async beforeEnd() {
        if (stop.aborted) return;
        isDayOver = true;
        err(`the day is over; the page stays at ${demoPage?.url} until Ctrl-C, which prints the totals\n`);
        await waitForAbort(stop);
      },
    },
    isDayOver: () => isDayOver,
    close: () => demoPage?.page.close(),
  };
}

const sleepUnlessStopped = (length: number, stop: AbortSignal) =>
  length < 1 ? Promise.resolve() : sleep(length, undefined, { signal: stop }).then(undefined, () => {});

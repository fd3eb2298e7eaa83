/** Lines of every implementation keep one contract; the holder of the character device keeps lines and safe levels beyond its client. */

import { existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { GpioLine, GpioLines } from '../../src/domain/ports.ts';
import { milliseconds } from '../../src/domain/units.ts';
import {
  type CharacterDeviceLines,
  createCharacterDeviceLines,
  toLineFailure,
} from '../../src/platform/character-device-lines.ts';
import { HEADER_CHIPS } from '../../src/platform/gpio-chip.ts';
import { probeByProgram, startLineProgram } from '../../src/platform/line-program.ts';
import { createSimulatedLines } from '../../src/simulation/simulated-lines.ts';
import { createAwaitableList } from '../doubles/awaitable-list.ts';
import { buildFakeLineProgram, createFakeBoard, type FakeBoard } from './fake-line-program.ts';

const program = buildFakeLineProgram();
afterAll(() => program !== undefined && rmSync(dirname(program), { recursive: true }));

let board: FakeBoard;
const processes = new Set<number>();
const sockets: Socket[] = [];
const socketPath = () => join(board.directory, 'lines.sock');

/** A client that speaks by hand. */
interface Client {
  readonly process: number;
  ask(request: string): Promise<string>;
  /** As a process that is killed. */
  end(): Promise<void>;
  readonly closed: Promise<void>;
}

async function connect(): Promise<Client> {
  const socket = createConnection(socketPath());
  sockets.push(socket);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => {}); // it was closed with requests unread
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  const next = async () => (await lines.next().catch(() => ({ value: undefined }))).value ?? 'closed';
  const [, , process = ''] = (await next()).split(' ');
  processes.add(Number(process));
  return {
    process: Number(process),
    ask(request) {
      socket.write(`${request}\n`);
      return next();
    },
    end() {
      socket.destroy();
      return closed;
    },
    closed,
  };
}

/** What the program has done by now about a client that ended: it answers requests in the order of events. */
const settle = async () => (await connect()).ask('read 63');

/** Closed after the test: a client with open lines starts a program that was ended again. */
const openedLines: { close(): Promise<void> }[] = [];

function createClient(of = program): CharacterDeviceLines {
  const lines = createCharacterDeviceLines({
    program: of,
    serviceSocket: join(board.directory, 'none'),
    ownSocket: socketPath(),
  });
  const remember = <Opened extends object>(opened: Opened): Opened => {
    if ('close' in opened) openedLines.push(opened as Opened & GpioLine);
    return opened;
  };
  return {
    ...lines,
    open: async (line, options) => remember(await lines.open(line, options)),
    watch: async (line, options) => remember(await lines.watch(line, options)),
  };
}

async function createLines(): Promise<CharacterDeviceLines> {
  await startLineProgram(program ?? '', socketPath());
  await connect(); // names the process to end
  return createClient();
}

const expectLine = (opened: Awaited<ReturnType<GpioLines['open']>>): GpioLine => {
  if ('kind' in opened) throw new Error(opened.detail);
  return opened;
};

beforeEach(() => {
  if (program !== undefined) board = createFakeBoard(program);
});
afterEach(async () => {
  await Promise.all(openedLines.splice(0).map((one) => one.close()));
  for (const one of sockets.splice(0)) one.destroy();
  for (const one of processes) process.kill(one, 'SIGKILL');
  processes.clear();
  board?.remove();
});

interface Implementation {
  readonly name: string;
  create(): Promise<{ readonly lines: GpioLines; setInput(line: number, high: boolean): void }>;
}
const implementations: readonly Implementation[] = [
  {
    name: 'simulated',
    async create() {
      const lines = createSimulatedLines();
      return { lines, setInput: lines.setInput };
    },
  },
  ...(program === undefined
    ? []
    : [{ name: 'character device', create: async () => ({ lines: await createLines(), setInput: board.setInput }) }]),
];

describe.each(implementations)('$name lines', ({ create }) => {
  it('open at the first level, follow each write and read it back', async () => {
    const { lines } = await create();
    const line = expectLine(await lines.open(17, { initiallyHigh: true }));
    expect(await line.read()).toBe(true);
    for (const high of [false, true, true, false]) {
      expect(await line.write(high)).toBeUndefined();
      expect(await line.read()).toBe(high);
    }
  });

  it('keep the level of a line that is closed, for the next to open it', async () => {
    const { lines } = await create();
    const line = expectLine(await lines.open(17, { initiallyHigh: false }));
    await line.write(true);
    await line.close();
    expect(await expectLine(await lines.open(17, { initiallyHigh: false })).read()).toBe(true);
  });

  it('refuse a line that is open, and a write after the close', async () => {
    const { lines } = await create();
    const line = expectLine(await lines.open(17, { initiallyHigh: false }));
    expect(await lines.open(17, { initiallyHigh: false })).toMatchObject({ kind: 'busy' });
    await line.close();
    expect(await line.write(true)).toMatchObject({ kind: 'io' });
  });

  it('tell each change of an input, which rests at its pull', async () => {
    const { lines, setInput } = await create();
    const levels = createAwaitableList<boolean>();
    const options = { pull: 'up', debounce: milliseconds(20), onLevel: levels.add } as const;
    const input = await lines.watch(24, options);
    if ('kind' in input) throw new Error(input.detail);
    expect(await input.read()).toBe(true);
    setInput(24, false);
    setInput(24, true);
    await levels.whenCount(2);
    expect(levels.all).toEqual([false, true]);
    expect(await lines.watch(24, options)).toMatchObject({ kind: 'busy' });
    await input.close();
  });
});

describe.skipIf(program === undefined)('the holder of the lines', () => {
  it('sets level and direction in one step, and leaves a line alone that is driven already', async () => {
    await createLines();
    const first = await connect();
    expect(await first.ask('output 17 low')).toBe('ok low');
    expect(await first.ask('output 18 high')).toBe('ok high');
    expect(board.takeEvents()).toEqual(['17 0', '17 out', '18 1', '18 out']);
    expect(await first.ask('write 17 high')).toBe('ok high');
    await first.end();
    await settle();
    expect(await (await connect()).ask('output 17 low')).toBe('ok high');
    expect(board.takeEvents()).toEqual(['17 1']);
  });

  it('keeps a line that was an output before it started', async () => {
    board.setHolder(22, '');
    await createLines();
    expect(await (await connect()).ask('output 22 high')).toBe('ok low');
    expect(board.takeEvents()).toEqual([]);
  });

  it('sets the safe levels of a client that is gone, in their order, opened or not; of one that stops, none', async () => {
    await createLines();
    const killed = await connect();
    const stopped = await connect();
    await killed.ask('output 17 low');
    for (const request of ['safe 18 high', 'safe 17 high']) expect(await killed.ask(request)).toBe('ok');
    await stopped.ask('output 22 high');
    await stopped.ask('safe 22 low');
    expect(await stopped.ask('keep')).toBe('ok');
    board.takeEvents();
    await Promise.all([killed.end(), stopped.end()]);
    await settle();
    expect(board.takeEvents()).toEqual(['18 1', '18 out', '18 1', '17 1']);
    expect(board.level(22)).toBe('out 1');
  });

  it('sets them too when it is ended itself', async () => {
    await createLines();
    const client = await connect();
    await client.ask('output 17 low');
    await client.ask('safe 17 high');
    process.kill(client.process, 'SIGTERM');
    await client.closed;
    processes.delete(client.process);
    expect(board.level(17)).toBe('out 1');
  });

  it('ends with its last client when it keeps no line', async () => {
    await createLines();
    const [first] = sockets;
    const client = await connect();
    expect(await client.ask('input 24 up 0')).toBe('ok high');
    first?.destroy();
    await client.end();
    await expect.poll(() => existsSync(socketPath())).toBe(false);
    processes.clear();
  });

  //  request                    answer
  const rows: readonly (readonly [string, string])[] = [
    ['output 17 low', 'no EBUSY gridtide'],
    ['input 17 up 20000', 'no EBUSY gridtide'],
    ['read 17', 'no EBADF line 17 is not open'],
    ['write 20 high', 'no EBADF line 20 is not open'],
    ['output 7 low', 'no EBUSY spi0 CS1'],
    ['output 54 low', 'no EINVAL pinctrl-bcm2835 54'],
    ['output 64 low', 'no EINVAL the header 64'],
    ['output -1 low', 'no EBADMSG output -1 low'],
    ['output 20', 'no EBADMSG output 20'],
    ['output 20 medium', 'no EBADMSG output 20 medium'],
    ['', 'no EBADMSG '],
    ['no such request', 'no EBADMSG no such request'],
    ['9'.repeat(80), 'closed'],
  ];
  it.each(rows)('answers "%s" with "%s", and serves others on', async (request, answer) => {
    board.setHolder(7, 'spi0 CS1');
    await createLines();
    const other = await connect();
    await other.ask('output 17 high');
    expect(await (await connect()).ask(request)).toBe(answer);
    expect(await other.ask('read 17')).toBe('ok high');
  });

  it.each(HEADER_CHIPS)('finds the lines of %s by the label', async (label) => {
    board.setChips({ gpiochip1: `${label} 54` });
    expect(await probeByProgram(program ?? '', [17, 53, 54])).toEqual(['ok', 'ok', `no EINVAL ${label} 54`]);
  });

  //  chips                                                         answer, sentence
  const chips: readonly (readonly [Readonly<Record<string, string>>, string, RegExp])[] = [
    [{ gpiochip1: 'other 54' }, 'no ENODEV raspberrypi-exp-gpio, other', /found raspberrypi-exp-gpio, other; use/],
    [{ gpiochip2: 'pinctrl-rp1 54' }, 'no ENODEV pinctrl-', /wanted exactly one of .*, found pinctrl-/],
  ];
  it.each(chips)('with the chips %j it answers %s', async (added, answer, sentence) => {
    board.setChips(added);
    const [found = ''] = await probeByProgram(program ?? '', [17]);
    // In the order of the directory.
    expect(found.replace('other, raspberrypi-exp-gpio', 'raspberrypi-exp-gpio, other')).toMatch(answer);
    expect(toLineFailure(17, answer).detail).toMatch(sentence);
  });
});

describe.skipIf(program === undefined)('the client of the holder', () => {
  it('starts it when none runs, leaves it the lines, and finds it again', async () => {
    const before = createClient();
    await expectLine(await before.open(17, { initiallyHigh: false })).write(true);
    const { process: holder } = await connect();
    const after = createClient();
    expect(await after.open(17, { initiallyHigh: false })).toMatchObject({ kind: 'busy' });
    expect((await connect()).process).toBe(holder);
  });

  it('leaves safe levels with it, and takes them back at a stop', async () => {
    const { open, failsafe } = await createLines();
    expect(await failsafe.save([{ line: 17, high: true }])).toBe(true);
    const line = expectLine(await open(17, { initiallyHigh: false }));
    await failsafe.clear();
    await line.close();
    const [ours] = processes;
    process.kill(ours ?? 0, 'SIGTERM');
    await expect.poll(() => probeByProgram(program ?? '', [17])).toEqual(['ok']);
    expect(board.level(17)).toBe('out 0');
    processes.clear();
  });

  //  ended by              the level found, and told where it is another
  const endings = [
    ['SIGKILL', true],
    ['SIGTERM', false],
  ] as const;
  it.each(endings)(
    'starts it again after %s and tells a level that is not the one of before',
    async (signal, found) => {
      const { open, failsafe } = await createLines();
      await failsafe.save([{ line: 17, high: false }]);
      const levels = createAwaitableList<boolean>();
      const line = expectLine(await open(17, { initiallyHigh: true, onLevel: levels.add }));
      await line.write(true);
      const [ended = 0] = processes;
      process.kill(ended, signal);
      processes.clear();
      await expect.poll(() => line.read()).toBe(found);
      if (!found) await levels.whenCount(1);
      expect(levels.all).toEqual(found ? [] : [false]);
      const { process: again } = await connect();
      expect(again).not.toBe(ended);
    },
  );

  it('tries to start it until it succeeds', async () => {
    const [path, tried] = [join(board.directory, 'program'), join(board.directory, 'tried')];
    writeFileSync(path, `#!/bin/sh\n: > '${tried}'\nexit 1\n`, { mode: 0o755 });
    await createLines();
    const { open, failsafe } = createClient(path);
    await failsafe.save([{ line: 17, high: false }]);
    const levels = createAwaitableList<boolean>();
    expectLine(await open(17, { initiallyHigh: true, onLevel: levels.add }));
    const [ended = 0] = processes;
    process.kill(ended, 'SIGTERM');
    processes.clear();
    await expect.poll(() => existsSync(tried)).toBe(true);
    rmSync(path);
    symlinkSync(program ?? '', path);
    await levels.whenCount(1);
    expect(levels.all).toEqual([false]);
    await connect(); // names the process to end
  });

  it('says what to do where it cannot be started, and looks for it again at the next attempt', async () => {
    const { open } = createClient('/none');
    const tryToOpen = () => open(17, { initiallyHigh: false });
    expect(await tryToOpen()).toMatchObject({ kind: 'missing', detail: expect.stringMatching(/\/none.*ENOENT/) });
    await createLines();
    expectLine(await tryToOpen());
  });
});

/** GPIO lines through the character device: the program gridtide-lines holds them, also while no agent runs, and sets their safe levels when the agent is gone. */

import type {
  Failsafe,
  FailsafeLine,
  GpioFailure,
  GpioInput,
  GpioLine,
  GpioLines,
  InputOptions,
} from '../domain/ports.ts';
import {
  buildBusyFailure,
  buildForbiddenFailure,
  buildNoChipFailure,
  buildNoLineFailure,
  FORBIDDEN_CODES,
} from './gpio-chip.ts';
import { connectToLines, type LineConnection } from './line-connection.ts';
import { startLineProgram } from './line-program.ts';

/** Of the shipped socket unit. */
export const SERVICE_SOCKET = '/run/gridtide-lines.sock';
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

export interface HeldLinesParts {
  /** Undefined: it was not built. */
  readonly program: string | undefined;
  readonly serviceSocket: string;
  /** Where the program is started to listen when no service does. */
  readonly ownSocket: string;
}

export interface HeldLines extends GpioLines {
  readonly failsafe: Failsafe;
}

const formatLevel = (high: boolean) => (high ? 'high' : 'low');

/** The sentence for `no ERROR DETAIL`. */
export function toHeldFailure(line: number, answer: string): GpioFailure {
  const [, code = 'unknown', about = ''] = /^no (\w+) (.*)$/.exec(answer) ?? [];
  if (code === 'EBUSY') return buildBusyFailure(line, about);
  if (FORBIDDEN_CODES.includes(code)) return buildForbiddenFailure(about, code);
  if (code === 'ENODEV' && !about.startsWith('line ')) return buildNoChipFailure(about);
  const [, chip, lines] = /^(.*) (\d+)$/.exec(about) ?? [];
  if (code === 'EINVAL' && chip !== undefined && !about.startsWith('line '))
    return buildNoLineFailure(line, chip, Number(lines));
  return { kind: 'io', detail: `line ${line} does not answer (${code}, ${about}): check the wiring and the board` };
}

export const NO_PROGRAM_FAILURE: GpioFailure = {
  kind: 'missing',
  detail:
    'the program gridtide-lines was not built for this machine, so no line can be switched through the character device: apt install gcc libc6-dev, then npm run build; docs/relays.md says how without a checkout',
};

/** The service's program, else one that is started here and stays when this process ends. */
async function connectToHolder(
  { program, serviceSocket, ownSocket }: HeldLinesParts,
  handlers: Parameters<typeof connectToLines>[1],
): Promise<LineConnection | GpioFailure> {
  const served = await connectToLines(serviceSocket, handlers);
  if (typeof served !== 'string') return served;
  if (FORBIDDEN_CODES.includes(served)) return buildForbiddenFailure(serviceSocket, served);
  const running = await connectToLines(ownSocket, handlers);
  if (typeof running !== 'string') return running;
  if (program === undefined) return NO_PROGRAM_FAILURE;
  const cause = (await startLineProgram(program, ownSocket)) ?? (await connectToLines(ownSocket, handlers));
  if (typeof cause !== 'string') return cause;
  return {
    kind: 'missing',
    detail: `the program ${program} does not start (${cause}): run npm run build on this machine`,
  };
}

/** What is asked for again after the connection was lost. */
interface OpenLines {
  readonly outputs: Map<number, boolean>;
  readonly inputs: Map<number, InputOptions>;
  safeLines: readonly FailsafeLine[];
}

const formatOutput = (line: number, high: boolean) => `output ${line} ${formatLevel(high)}`;
const formatInput = (line: number, { pull, debounce }: InputOptions) =>
  `input ${line} ${pull} ${Math.round(debounce * 1000)}`;

/** False when one was refused. */
async function sendSafeLines({ request }: LineConnection, safeLines: readonly FailsafeLine[]): Promise<boolean> {
  const requests = ['keep', ...safeLines.map(({ line, high }) => `safe ${line} ${formatLevel(high)}`)];
  const answers = await Promise.all(requests.map(request));
  return answers.every((answer) => answer === 'ok');
}

/** The connection, opened when it is needed, and by itself while lines are open. */
function createHolderLink(parts: HeldLinesParts, open: OpenLines): () => Promise<LineConnection | GpioFailure> {
  const { outputs, inputs } = open;
  let connection: Promise<LineConnection | GpioFailure> | undefined;

  /** After a loss all is asked for again; what is refused then, its next request tells. */
  const openConnection = async (): Promise<LineConnection | GpioFailure> => {
    const opened = await connectToHolder(parts, {
      onEdge: (line, high) => inputs.get(line)?.onLevel(high),
      onLost() {
        connection = undefined;
        if (outputs.size + inputs.size > 0) reconnectAfter(FIRST_RETRY_MS);
      },
    });
    if ('kind' in opened) {
      connection = undefined;
      return opened;
    }
    await sendSafeLines(opened, open.safeLines);
    await Promise.all([
      ...[...outputs].map(([line, high]) => opened.request(formatOutput(line, high))),
      ...[...inputs].map(([line, options]) => opened.request(formatInput(line, options))),
    ]);
    return opened;
  };
  const connect = () => {
    connection ??= openConnection();
    return connection;
  };
  const reconnectAfter = (wait: number): void => {
    setTimeout(async () => {
      if ('kind' in (await connect())) reconnectAfter(Math.min(LAST_RETRY_MS, wait * 2));
    }, wait).unref();
  };
  return connect;
}

export function createHeldLines(parts: HeldLinesParts): HeldLines {
  const opened: OpenLines = { outputs: new Map(), inputs: new Map(), safeLines: [] };
  const { outputs, inputs } = opened;
  const connect = createHolderLink(parts, opened);

  /** The level of the answer, where it has one. */
  const ask = async (line: number, text: string): Promise<boolean | GpioFailure> => {
    const connection = await connect();
    if ('kind' in connection) return connection;
    const answer = await connection.request(text);
    return answer.startsWith('ok') ? answer === 'ok high' : toHeldFailure(line, answer);
  };
  const read = (line: number) => ask(line, `read ${line}`);
  const free = async (line: number, lines: Map<number, unknown>): Promise<void> => {
    if (lines.delete(line)) await ask(line, `free ${line}`);
  };
  const createLine = (line: number): GpioLine => ({
    async write(high) {
      outputs.set(line, high);
      const answer = await ask(line, `write ${line} ${formatLevel(high)}`);
      return typeof answer === 'boolean' ? undefined : answer;
    },
    read: () => read(line),
    close: () => free(line, outputs),
  });
  const createInput = (line: number): GpioInput => ({ read: () => read(line), close: () => free(line, inputs) });
  const saveSafeLines = async (lines: readonly FailsafeLine[]): Promise<boolean> => {
    opened.safeLines = lines;
    const connection = await connect();
    return !('kind' in connection) && (await sendSafeLines(connection, lines));
  };

  return {
    async open(line, { initiallyHigh }) {
      const found = await ask(line, formatOutput(line, initiallyHigh));
      if (typeof found !== 'boolean') return found;
      outputs.set(line, found);
      return createLine(line);
    },
    async watch(line, options) {
      const found = await ask(line, formatInput(line, options));
      if (typeof found !== 'boolean') return found;
      inputs.set(line, options);
      return createInput(line);
    },
    failsafe: { save: saveSafeLines, clear: async () => void (await saveSafeLines([])) },
  };
}

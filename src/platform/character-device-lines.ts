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
import { PROGRAM_CURE, startLineProgram } from './line-program.ts';

/** Of the shipped socket unit. */
export const SERVICE_SOCKET = '/run/gridtide-lines.sock';
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

export interface CharacterDeviceParts {
  /** Undefined: it was not built. */
  readonly program: string | undefined;
  readonly serviceSocket: string;
  /** Where the program is started to listen when no service does. */
  readonly ownSocket: string;
}

export interface CharacterDeviceLines extends GpioLines {
  readonly failsafe: Failsafe;
}

const formatLevel = (high: boolean) => (high ? 'high' : 'low');

/** The sentence for `no ERROR DETAIL`. */
export function toLineFailure(line: number, answer: string): GpioFailure {
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
  detail: `the program gridtide-lines was not built for this machine, so no line can be switched through the character device: ${PROGRAM_CURE}`,
};

/** The service's program, else one that is started here and stays when this process ends. */
async function connectToHolder(
  { program, serviceSocket, ownSocket }: CharacterDeviceParts,
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
interface OpenLine {
  formatRequest(): string;
  /** Known last. */
  high: boolean;
  readonly onLevel: (high: boolean) => void;
}
interface OpenLines {
  readonly lines: Map<number, OpenLine>;
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
function createHolderLink(parts: CharacterDeviceParts, open: OpenLines): () => Promise<LineConnection | GpioFailure> {
  const { lines } = open;
  let connection: Promise<LineConnection | GpioFailure> | undefined;

  const setLevel = (line: OpenLine | undefined, high: boolean): void => {
    if (line === undefined || line.high === high) return;
    line.high = high;
    line.onLevel(high);
  };
  /** What is refused, its next request tells. Nothing is switched back to the level of before: that is for the core to decide. */
  const reopenLine = async (line: OpenLine, { request }: LineConnection): Promise<void> => {
    const answer = await request(line.formatRequest());
    if (answer.startsWith('ok')) setLevel(line, answer === 'ok high');
  };
  /** After a loss all is asked for again. */
  const openConnection = async (): Promise<LineConnection | GpioFailure> => {
    const opened = await connectToHolder(parts, {
      onEdge: (line, high) => setLevel(lines.get(line), high),
      onLost() {
        connection = undefined;
        if (lines.size > 0) reconnectAfter(FIRST_RETRY_MS);
      },
    });
    if ('kind' in opened) {
      connection = undefined;
      return opened;
    }
    await sendSafeLines(opened, open.safeLines);
    await Promise.all([...lines.values()].map((line) => reopenLine(line, opened)));
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

export function createCharacterDeviceLines(parts: CharacterDeviceParts): CharacterDeviceLines {
  const opened: OpenLines = { lines: new Map(), safeLines: [] };
  const { lines } = opened;
  const connect = createHolderLink(parts, opened);

  /** The level of the answer, where it has one. */
  const ask = async (line: number, text: string): Promise<boolean | GpioFailure> => {
    const connection = await connect();
    if ('kind' in connection) return connection;
    const answer = await connection.request(text);
    return answer.startsWith('ok') ? answer === 'ok high' : toLineFailure(line, answer);
  };
  const read = (line: number) => ask(line, `read ${line}`);
  const free = async (line: number): Promise<void> => {
    if (lines.delete(line)) await ask(line, `free ${line}`);
  };
  const createInput = (line: number): GpioInput => ({ read: () => read(line), close: () => free(line) });
  const createLine = (line: number, output: OpenLine): GpioLine => ({
    ...createInput(line),
    async write(high) {
      const answer = await ask(line, `write ${line} ${formatLevel(high)}`);
      if (typeof answer !== 'boolean') return answer;
      output.high = high;
      return undefined;
    },
  });
  const saveSafeLines = async (safeLines: readonly FailsafeLine[]): Promise<boolean> => {
    opened.safeLines = safeLines;
    const connection = await connect();
    return !('kind' in connection) && (await sendSafeLines(connection, safeLines));
  };

  return {
    async open(line, { initiallyHigh, onLevel = () => {} }) {
      const found = await ask(line, formatOutput(line, initiallyHigh));
      if (typeof found !== 'boolean') return found;
      const getSafeLevel = () => opened.safeLines.find((safe) => safe.line === line)?.high ?? initiallyHigh;
      const output = { formatRequest: () => formatOutput(line, getSafeLevel()), high: found, onLevel };
      lines.set(line, output);
      return createLine(line, output);
    },
    async watch(line, options) {
      const formatRequest = () => formatInput(line, options);
      const found = await ask(line, formatRequest());
      if (typeof found !== 'boolean') return found;
      lines.set(line, { formatRequest, high: found, onLevel: options.onLevel });
      return createInput(line);
    },
    failsafe: { save: saveSafeLines, clear: async () => void (await saveSafeLines([])) },
  };
}

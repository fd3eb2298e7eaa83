/** One connection to the program gridtide-lines: requests and their answers in order, and the edges of inputs. */

import { createConnection } from 'node:net';
import { getLineErrorCode } from './gpio-chip.ts';

/** With the version of requests that both sides speak. */
const GREETING = /^gridtide-lines 1 /;

export interface LineConnectionHandlers {
  onEdge(line: number, high: boolean): void;
  /** The program has ended, or closed the connection. */
  onLost(): void;
}

export interface LineConnection {
  /** Its answer; `no ELOST …` when the connection is lost first. */
  request(text: string): Promise<string>;
}

/** The connection, or the code of the error. It keeps no process alive unless an answer is awaited. */
export function connectToLines(path: string, handlers: LineConnectionHandlers): Promise<LineConnection | string> {
  const socket = createConnection(path);
  const awaited: ((answer: string) => void)[] = [];
  let unread = '';
  let isLost = false;

  const request = (text: string): Promise<string> =>
    new Promise((resolve) => {
      if (isLost) return resolve(LOST_ANSWER);
      awaited.push(resolve);
      socket.ref();
      socket.write(`${text}\n`);
    });
  const receiveLine = (line: string): void => {
    const [, number, level] = /^edge (\d+) (high|low)$/.exec(line) ?? [];
    if (number !== undefined) handlers.onEdge(Number(number), level === 'high');
    else awaited.shift()?.(line);
    if (awaited.length === 0) socket.unref();
  };

  return new Promise((resolve) => {
    let isGreeted = false;
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      const lines = `${unread}${text}`.split('\n');
      unread = lines.pop() ?? '';
      for (const line of lines) {
        if (isGreeted) receiveLine(line);
        else if (!GREETING.test(line)) return void socket.destroy(new Error(`it answers "${line}"`));
        else {
          isGreeted = true;
          socket.unref();
          resolve({ request });
        }
      }
    });
    socket.on('error', (error) => resolve(getLineErrorCode(error) ?? error.message));
    socket.on('close', () => {
      isLost = true;
      resolve('ECONNRESET');
      for (const answer of awaited.splice(0)) answer(LOST_ANSWER);
      if (isGreeted) handlers.onLost();
    });
  });
}

const LOST_ANSWER = 'no ELOST the program gridtide-lines has ended';

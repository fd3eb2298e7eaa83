/** Speaks to systemd through its `systemd-notify` program, for Node has no such socket; silent where nobody listens. Never waits for it. */

import { type Duration, milliseconds, seconds } from '../units.ts';
import type { Host } from '../world.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** A word to the service manager that takes longer than this is given up. */
const DEADLINE = seconds(10);
const LONGEST_STATUS = 200;

/** Signs of life are wanted three times within the watchdog's patience. */
function watchdogOf({ WATCHDOG_USEC, WATCHDOG_PID }: Environment): Duration | undefined {
  const patience = Number(WATCHDOG_USEC);
  if (!(patience > 0) || (WATCHDOG_PID !== undefined && WATCHDOG_PID !== `${process.pid}`)) return undefined;
  return milliseconds(Math.floor(patience / 1_000 / 3));
}

/** At most one child at a time; what comes meanwhile goes with the next, the last word of each kind. */
function createNotifier(socket: string, env: Environment) {
  let pending = new Map<string, string>();
  let isBusy = false;

  const sendPending = () => {
    if (isBusy || pending.size === 0) return;
    const words = [...pending].map(([key, value]) => `${key}=${value}`);
    pending = new Map();
    isBusy = true;
    const child = process.getBuiltinModule('node:child_process').spawn('systemd-notify', ['--no-block', ...words], {
      env: { NOTIFY_SOCKET: socket, PATH: env.PATH },
      stdio: 'ignore',
      timeout: DEADLINE,
      killSignal: 'SIGKILL',
    });
    child.unref();
    let isOver = false;
    const next = () => {
      if (isOver) return;
      isOver = true;
      isBusy = false;
      sendPending();
    };
    child.once('error', next);
    child.once('exit', next);
  };
  return (key: string, value: string) => {
    pending.set(key, value);
    sendPending();
  };
}

export function createHost(env: Environment): Host {
  const socket = env.NOTIFY_SOCKET;
  if (!socket) return { ready() {}, status() {}, alive() {}, stopping() {} };
  const tell = createNotifier(socket, env);
  const watchdog = watchdogOf(env);
  return {
    ready: () => tell('READY', '1'),
    status: (text) => tell('STATUS', text.replace(/\p{Cc}+/gu, ' ').slice(0, LONGEST_STATUS)),
    alive: () => tell('WATCHDOG', '1'),
    stopping: () => tell('STOPPING', '1'),
    ...(watchdog === undefined ? {} : { watchdog }),
  };
}

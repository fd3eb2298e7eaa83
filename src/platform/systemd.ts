/** Notifies systemd through its `systemd-notify` program, because Node has no such socket; does nothing without `$NOTIFY_SOCKET`. */

import type { ServiceManager } from '../domain/ports.ts';
import { type Duration, milliseconds, seconds } from '../domain/units.ts';

type SystemdEnvironment = Readonly<Record<string, string | undefined>>;

/** A notification is given up after this. */
const NOTIFY_TIMEOUT = seconds(10);
const LONGEST_STATUS = 200;

/** Signs of life are sent three times within the watchdog's time. */
function parseWatchdog({ WATCHDOG_USEC, WATCHDOG_PID }: SystemdEnvironment): Duration | undefined {
  const timeoutMicroseconds = Number(WATCHDOG_USEC);
  if (!(timeoutMicroseconds > 0) || (WATCHDOG_PID !== undefined && WATCHDOG_PID !== `${process.pid}`)) return undefined;
  return milliseconds(Math.floor(timeoutMicroseconds / 1_000 / 3));
}

/** Signs of life that repeat READY: systemd would end an agent whose first notification it lost. */
const READY_REPEATS = 3;

/** At most one child at a time; what comes meanwhile goes with the next, the last value of each kind. */
function createNotifier(socket: string, env: SystemdEnvironment) {
  let pending = new Map<string, string>();
  let isBusy = false;

  const sendPending = () => {
    if (isBusy || pending.size === 0) return;
    const assignments = [...pending].map(([key, value]) => `${key}=${value}`);
    pending = new Map();
    isBusy = true;
    // Without --no-block: the child stays until systemd has found its unit; else the message may be lost.
    const child = process.getBuiltinModule('node:child_process').spawn('systemd-notify', assignments, {
      env: { NOTIFY_SOCKET: socket, PATH: env.PATH },
      stdio: 'ignore',
      timeout: NOTIFY_TIMEOUT,
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

export function createSystemdHost(env: SystemdEnvironment): ServiceManager {
  const socket = env.NOTIFY_SOCKET;
  if (!socket) return { notifyReady() {}, setStatus() {}, notifyAlive() {}, notifyStopping() {} };
  const notify = createNotifier(socket, env);
  const watchdog = parseWatchdog(env);
  let readyRepeats = 0;
  return {
    notifyReady() {
      readyRepeats = READY_REPEATS;
      notify('READY', '1');
    },
    setStatus: (text) => notify('STATUS', text.replace(/\p{Cc}+/gu, ' ').slice(0, LONGEST_STATUS)),
    notifyAlive() {
      notify('WATCHDOG', '1');
      if (readyRepeats > 0) notify('READY', '1');
      readyRepeats -= 1;
    },
    notifyStopping() {
      readyRepeats = 0;
      notify('STOPPING', '1');
    },
    ...(watchdog === undefined ? {} : { watchdogInterval: watchdog }),
  };
}

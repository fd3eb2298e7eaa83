/** Ends a child process of a test at once, and waits until it is gone. */

import type { ChildProcess } from 'node:child_process';

/** Does nothing where it has ended or never began. */
export async function killChild(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await exited;
}

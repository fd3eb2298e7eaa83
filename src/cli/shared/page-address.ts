/** Where the page listens. */

import { isLoopback } from '../../domain/loopback.ts';
import { errorMessage, JobError, UsageError } from './command.ts';

/** `127.0.0.1:7080`, `[::1]:7080`, `0.0.0.0:80`. Throws `UsageError`; beyond this machine only with a password. */
export function parseListenAddress(
  text: string,
  hasPassword: boolean,
): { readonly host: string; readonly port: number } {
  const parts = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):(\d{1,5})$/.exec(text);
  const port = Number(parts?.[2]);
  if (parts === null || !(port <= 65_535))
    throw new UsageError(`--listen ${text}: expected an address and a port, such as 127.0.0.1:7080`);
  const host = (parts[1] ?? '').replace(/^\[(.*)\]$/, '$1');
  if (!isLoopback(host) && !hasPassword)
    throw new UsageError(`--listen ${text}: beyond this machine the page needs a password; give --password-file FILE`);
  return { host, port };
}

interface Listener {
  listen(port: number, host: string): Promise<{ readonly port: number }>;
}

/** Starts to listen; the address for people. Throws `JobError` when the port is taken. */
export async function listenForPage(page: Listener, address: string, hasPassword: boolean): Promise<string> {
  const { host, port } = parseListenAddress(address, hasPassword);
  try {
    const bound = await page.listen(port, host);
    return `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}/`;
  } catch (error) {
    const isInUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    const cause = isInUse ? 'another program listens there' : errorMessage(error);
    throw new JobError(`the page cannot listen on ${address}: ${cause}; choose another address with --listen`);
  }
}

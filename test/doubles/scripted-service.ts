/** A loopback HTTP server that answers by a script and remembers what it was asked: for faults no real service makes on demand. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface ScriptedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  /** Of the asking side: the same for requests over one connection. */
  readonly port: number | undefined;
}

/** What to answer; a function takes the response into its own hands. */
export type ScriptedResponse =
  | {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Uint8Array;
    }
  | ((response: ServerResponse) => void);

export interface ScriptedService {
  readonly url: string;
  readonly requests: ScriptedRequest[];
  countRequests(path: string): number;
  close(): Promise<void>;
}

export const scriptedJson = (
  value: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): ScriptedResponse => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
});

export const scriptedHtml = (status: number): ScriptedResponse => ({
  status,
  headers: { 'content-type': 'text/html' },
  body: '<html><body>Please sign in</body></html>',
});

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

export async function startScriptedService(
  script: (asked: ScriptedRequest) => ScriptedResponse | Promise<ScriptedResponse>,
  tls?: { readonly key: string; readonly cert: string },
): Promise<ScriptedService> {
  const asked: ScriptedRequest[] = [];
  const listen = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', 'http://loopback');
    const one: ScriptedRequest = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers as Record<string, string | undefined>,
      body: await readBody(request),
      port: request.socket.remotePort,
    };
    asked.push(one);
    const answer = await script(one);
    if (typeof answer === 'function') return answer(response);
    response.writeHead(answer.status ?? 200, answer.headers ?? {});
    response.end(answer.body ?? '');
  };
  const server: Server = tls === undefined ? createServer(listen) : createTlsServer(tls, listen);
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    requests: asked,
    countRequests: (path) => asked.filter((one) => one.path === path).length,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

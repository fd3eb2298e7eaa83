/** Requests that no browser of the house sends: foreign hosts, paths out of the folder, bodies to read-only paths. */

import { type Agent, request } from 'node:http';

const PATHS = [
  '..',
  '%2e%2e',
  '%00',
  'loads/car/set',
  '__proto__',
  'a'.repeat(5_000),
  'metrics',
  'documents.json',
  'page.js',
];
const METHODS = ['GET', 'POST', 'PUT', 'HEAD'];

function sendHostileRequest(agent: Agent, port: number, i: number): Promise<void> {
  const method = METHODS[i % METHODS.length] ?? 'GET';
  const host = i % 2 === 0 ? `127.0.0.1:${port}` : 'evil.example';
  const origin = { origin: `http://127.0.0.1:${port}`, 'content-type': 'application/json' };
  return new Promise((resolve) => {
    const headers = { host, ...(method === 'POST' ? origin : {}) };
    const sent = request({ agent, port, host: '127.0.0.1', method, path: `/${PATHS[i % PATHS.length]}`, headers });
    sent.on('response', (answer) => void answer.resume().on('close', () => resolve()));
    sent.on('error', () => resolve());
    sent.end(method === 'POST' ? 'x'.repeat(i % 3_000) : undefined);
  });
}

const SENDERS = 20;

/** Twenty at a time; resolves when each has been answered or cut. */
export async function sendHostileRequests(agent: Agent, port: number, count: number): Promise<void> {
  const senders = Array.from({ length: SENDERS }, async (_, first) => {
    for (let i = first; i < count; i += SENDERS) await sendHostileRequest(agent, port, i);
  });
  await Promise.all(senders);
}

/** Run by the parser test: asks a server that answers with the given bytes, whole and byte by byte, and prints what undici made of each. */

import { createServer } from 'node:net';

const [, , undici = '', answers = '[]'] = process.argv;
const { Agent } = (await import(undici)).default as typeof import('undici');
const rows = JSON.parse(answers) as readonly string[];

const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.once('data', async (request) => {
    const [, row = 0, pieces] = /^GET \/(\d+)\/(\w+)/.exec(request.toString('latin1')) ?? [];
    const bytes = Buffer.from(rows[Number(row)] ?? '', 'latin1');
    const size = pieces === 'whole' ? bytes.length : 1;
    for (let at = 0; at < bytes.length && !socket.destroyed; at += size) {
      socket.write(bytes.subarray(at, at + size));
      await new Promise((resume) => setImmediate(resume));
    }
    socket.end();
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const address = server.address();
const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;

async function ask(path: string): Promise<unknown> {
  const agent = new Agent({ maxHeaderSize: 16_384, headersTimeout: 0, bodyTimeout: 0 });
  try {
    const { statusCode, headers, body } = await agent.request({ origin, path, method: 'GET' });
    return { statusCode, headers, body: await body.text() };
  } catch (error) {
    const { name, code, message } = error as NodeJS.ErrnoException;
    return { name, code, message: message.replaceAll(/\d{4,}/g, 'N') };
  } finally {
    await agent.destroy();
  }
}

const outcomes = [];
for (const row of rows.keys()) outcomes.push([await ask(`/${row}/whole`), await ask(`/${row}/bytes`)]);
console.log(JSON.stringify({ hasWebAssembly: Reflect.has(globalThis, 'WebAssembly'), outcomes }));
process.exit();

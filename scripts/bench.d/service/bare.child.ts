/** A server that does nothing but send the same bytes: what node:http alone costs. */

import { createServer } from 'node:http';

const body = Buffer.alloc(Number(process.argv[2]), 0x61);
const server = createServer((_, response) => {
  response.setHeader('content-type', 'application/json');
  response.setHeader('content-length', body.length);
  response.end(body);
});
server.listen(0, '127.0.0.1', () => {
  const at = server.address();
  process.stdout.write(`{"listening":"http://127.0.0.1:${typeof at === 'object' ? at?.port : 0}"}\n`);
});
process.once('SIGTERM', () => server.close(() => process.exit(0)) && server.closeAllConnections());

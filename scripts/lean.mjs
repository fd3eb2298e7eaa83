/** A plugin of the bundler that leaves out of large packages what is never called here: it would be read, kept and paid for in memory at every start. */

import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What large packages carry and this program never calls: WebSockets, proxies, browsers' timers, HTTP/2, fetch. */
const UNUSED = [
  { by: /\/mqtt\/build\//, path: /^(ws|socks|worker-timers)$/ },
  { by: /\/pino\/lib\//, path: /^thread-stream$/ },
  { by: /\/undici\/lib\//, path: /(client-h2|web\/fetch\/body)(\.js)?$/ },
];

/** The client and `request` of undici: its index loads everything else it has. */
const UNDICI = `
const Agent = require('undici/lib/dispatcher/agent.js');
const request = require('undici/lib/api/api-request.js');
module.exports = {
  Agent,
  request(address, { dispatcher, ...options }) {
    const { origin, pathname, search } = new URL(address);
    return request.call(dispatcher, { ...options, origin, path: pathname + search });
  },
};
`;

export const lean = {
  name: 'lean',
  setup(build) {
    build.onResolve({ filter: /./ }, ({ path, importer }) =>
      UNUSED.some((unused) => unused.by.test(importer) && unused.path.test(path))
        ? { path, namespace: 'unused' }
        : null,
    );
    build.onLoad({ filter: /./, namespace: 'unused' }, () => ({ contents: 'module.exports = {};' }));
    build.onResolve({ filter: /^undici$/ }, () => ({ path: 'undici', namespace: 'lean' }));
    build.onLoad({ filter: /./, namespace: 'lean' }, () => ({ contents: UNDICI, resolveDir: root }));
    // Packages that must run in browsers bring a copy of Node's own streams.
    build.onResolve({ filter: /^readable-stream$/ }, () => ({ path: 'node:stream', external: true }));
  },
};

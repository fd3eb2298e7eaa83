/** A plugin of the bundler that leaves out of large packages what is never called here: it would be read, kept and paid for in memory at every start. */

import { readFile } from 'node:fs/promises';

/** What large packages carry and this program never calls: WebSockets, proxies, browsers' timers, threads. */
const UNUSED = [
  { by: /\/mqtt\/build\//, path: /^(ws|socks|worker-timers)$/ },
  { by: /\/pino\//, path: /^(thread-stream|worker_threads|\.\/transport)$/ },
];

/** Node's TLS takes 2 MiB, and a broker at home often speaks without: loaded when the first connection asks for it. */
const EAGER_TLS = 'const tls_1 = require("tls");';
const LATE_TLS = 'const tls_1 = { connect: (options) => require("tls").connect(options) };';

export const lean = {
  name: 'lean',
  setup(build) {
    build.onResolve({ filter: /./ }, ({ path, importer }) =>
      UNUSED.some((unused) => unused.by.test(importer) && unused.path.test(path))
        ? { path, namespace: 'unused' }
        : null,
    );
    build.onLoad({ filter: /./, namespace: 'unused' }, () => ({ contents: 'module.exports = {};' }));
    build.onLoad({ filter: /\/mqtt\/build\/lib\/connect\/tls\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      if (!text.includes(EAGER_TLS)) throw new Error(`${path} loads node's tls in another way: see scripts/lean.mjs`);
      return { contents: text.replace(EAGER_TLS, LATE_TLS) };
    });
    // Packages that must run in browsers bring a copy of Node's own streams.
    build.onResolve({ filter: /^readable-stream$/ }, () => ({ path: 'node:stream', external: true }));
  },
};

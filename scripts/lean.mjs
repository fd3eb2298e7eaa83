/** A plugin of the bundler that leaves out of large packages what is never called here: it would be read, kept and paid for in memory at every start. */

/** What large packages carry and this program never calls: WebSockets, proxies, browsers' timers, threads. */
const UNUSED = [
  { by: /\/mqtt\/build\//, path: /^(ws|socks|worker-timers)$/ },
  { by: /\/pino\/lib\//, path: /^thread-stream$/ },
];

export const lean = {
  name: 'lean',
  setup(build) {
    build.onResolve({ filter: /./ }, ({ path, importer }) =>
      UNUSED.some((unused) => unused.by.test(importer) && unused.path.test(path))
        ? { path, namespace: 'unused' }
        : null,
    );
    build.onLoad({ filter: /./, namespace: 'unused' }, () => ({ contents: 'module.exports = {};' }));
    // Packages that must run in browsers bring a copy of Node's own streams.
    build.onResolve({ filter: /^readable-stream$/ }, () => ({ path: 'node:stream', external: true }));
  },
};

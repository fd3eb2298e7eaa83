/** A plugin of the bundler that leaves out of large packages what is never called here: it would be read, kept and paid for in memory at every start. */

import { access, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { translateParser } from './javascript-parser.mjs';

const require = createRequire(import.meta.url);

/** A class, because pino asks of its options whether they are an instance of sonic-boom. */
const NOTHING = 'module.exports = class {};';
const ASSERT = "module.exports = (ok, text = 'a state that cannot be') => { if (!ok) throw new Error(String(text)); };";

/**
 * What large packages carry and this program never calls: WebSockets, proxies, browsers' timers, threads, a file writer, traces, aliases
 * of topics, the name of the machine, an HTTP server. Parts of Node itself among them cost the more, as `--lite-mode` compiles each at
 * every start: `assert` 6 ms, `http` 10, `performance` (of the cache of aliases) 6, `dns` and `os` 3.
 */
const UNUSED = [
  { by: /\/mqtt\/build\//, path: /^(ws|\.\/socks|worker-timers)$/, contents: NOTHING },
  { by: /\/mqtt\/build\//, path: /^lru-cache$/, contents: 'exports.LRUCache = class {};' },
  {
    by: /\/(mqtt\/build|mqtt-packet)\//,
    path: /^debug$/,
    contents: 'module.exports = () => () => {};',
  },
  { by: /\/pino\//, path: /^(thread-stream|worker_threads|sonic-boom|\.(\/lib)?\/transport)$/, contents: NOTHING },
  { by: /\/pino\//, path: /^node:os$/, contents: "exports.hostname = () => '';" },
  { by: /\/undici\//, path: /^node:http$/, contents: 'exports.IncomingMessage = class {};' },
  { by: /\/undici\//, path: /^node:assert$/, contents: ASSERT },
];

/** Node's TLS takes 2 MiB, and a broker at home often speaks without: loaded when the first connection asks for it. */
const EAGER_TLS = 'const tls_1 = require("tls");';
const LATE_TLS = 'const tls_1 = { connect: (options) => require("tls").connect(options) };';

/** Of undici one client and one way to ask is called: no HTTP/2, no fetch, no caches, no proxies, no mocks. */
const UNDICI_USED = [
  "const Agent = require('./lib/dispatcher/agent.js');",
  "const Dispatcher = require('./lib/dispatcher/dispatcher.js');",
  "Dispatcher.prototype.request = require('./lib/api/api-request.js');",
  'module.exports = { Agent };',
];
/** Relative to the package. Without the faster parser undici takes the plain one, which is the same in half the memory. */
const UNDICI_UNUSED = ['lib/dispatcher/client-h2.js', 'lib/web/fetch/body.js', 'lib/llhttp/llhttp_simd-wasm.js'];

/** Where V8 has no WebAssembly (`--lite-mode`, `--jitless`), the same parser as JavaScript takes its place. */
const PARSERS = [
  ['if (!mod) {\n    // We could', "if (!mod && typeof WebAssembly !== 'undefined') {\n    // We could"],
  [
    'return new WebAssembly.Instance(mod, {',
    "return (mod ? (imports) => new WebAssembly.Instance(mod, imports) : require('gridtide:javascript-parser'))({",
  ],
];

function chooseParser(build) {
  build.onLoad({ filter: /\/undici\/lib\/dispatcher\/client-h1\.js$/ }, async ({ path }) => {
    const text = await readFile(path, 'utf8');
    const missing = PARSERS.find(([from]) => text.split(from).length !== 2);
    if (missing !== undefined) throw new Error(`${path} has not one "${missing[0]}": see scripts/lean.mjs`);
    return { contents: PARSERS.reduce((rest, [from, to]) => rest.replace(from, to), text) };
  });
  build.onResolve({ filter: /^gridtide:javascript-parser$/ }, ({ path, resolveDir }) => ({
    path,
    namespace: 'translated',
    pluginData: join(resolveDir, '../llhttp/llhttp-wasm.js'),
  }));
  build.onLoad({ filter: /./, namespace: 'translated' }, async ({ pluginData }) => ({
    contents: await translateParser(require(pluginData)),
  }));
}

function leaveOutOfUndici(build) {
  build.onLoad({ filter: /\/undici\/index\.js$/ }, async ({ path }) => {
    // A part that has moved would be bundled again without a word.
    await Promise.all(UNDICI_UNUSED.map((part) => access(join(dirname(path), part))));
    return { contents: UNDICI_USED.join('\n'), resolveDir: dirname(path) };
  });
  const isUnused = new RegExp(`/undici/(?:${UNDICI_UNUSED.join('|').replaceAll('.', '\\.')})$`);
  build.onLoad({ filter: isUnused }, ({ path }) => ({
    contents: path.includes('/llhttp/') ? 'throw new Error("left out of the program");' : 'module.exports = {};',
  }));
}

export const lean = {
  name: 'lean',
  setup(build) {
    leaveOutOfUndici(build);
    chooseParser(build);
    build.onResolve({ filter: /./ }, ({ path, importer }) => {
      const unused = UNUSED.find((one) => one.by.test(importer) && one.path.test(path));
      return unused && { path, namespace: 'unused', pluginData: unused.contents };
    });
    build.onLoad({ filter: /./, namespace: 'unused' }, ({ pluginData }) => ({ contents: pluginData }));
    build.onLoad({ filter: /\/mqtt\/build\/lib\/connect\/tls\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      if (!text.includes(EAGER_TLS)) throw new Error(`${path} loads node's tls in another way: see scripts/lean.mjs`);
      return { contents: text.replace(EAGER_TLS, LATE_TLS) };
    });
    // Packages that must run in browsers bring a copy of Node's own streams.
    build.onResolve({ filter: /^readable-stream$/ }, () => ({ path: 'node:stream', external: true }));
  },
};

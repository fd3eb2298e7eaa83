/**
 * Writes the documents of a Debian package into its directory, from the program itself: manual page, shell completion, licences and the
 * list of what is inside. Usage: write-documents.mjs ROOT NODE_PACKAGE NODE_VERSION NODE_INTEGRITY
 */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { buildComponent } from '../sbom.mjs';

const [root, nodeName, nodeVersion, nodeIntegrity] = process.argv.slice(2);
const PROGRAM = join(root, 'usr/lib/gridtide');
const DOCUMENTS = 'usr/share/doc/gridtide';
const { version } = JSON.parse(readFileSync(join(PROGRAM, 'package.json'), 'utf8'));
const epoch = new Date(Number(process.env.SOURCE_DATE_EPOCH) * 1000);

const run = (...words) =>
  execFileSync(process.execPath, [join(PROGRAM, 'dist/main.js'), ...words], { encoding: 'utf8' });

function write(path, content) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}
/** Without the time and the system in the header. */
const compress = (text) => {
  const packed = gzipSync(text, { level: 9 });
  packed[9] = 255;
  return packed;
};

const escapeRoff = (text) => text.replace(/\\/g, '\\e').replace(/-/g, '\\-').replace(/^[.']/gm, '\\&$&');

/** The help texts of all commands, as they are. */
function formatManual() {
  const overview = run('--help');
  const commands = [...overview.matchAll(/^ {2}([a-z0-9-]+) {2,}(.+)$/gm)];
  const sections = commands.flatMap(([, name]) => [
    `.SS ${name}`,
    '.nf',
    escapeRoff(run(name, '--help').trimEnd()),
    '.fi',
  ]);
  return [
    `.TH GRIDTIDE 1 "${epoch.toISOString().slice(0, 10)}" "gridtide ${version}"`,
    '.SH NAME',
    'gridtide \\- runs EV chargers and heat pumps when the grid is clean',
    '.SH SYNOPSIS',
    '.B gridtide',
    '.I command',
    '[options]',
    '.SH COMMANDS',
    ...commands.flatMap(([, name, summary]) => ['.TP', `.B ${name}`, escapeRoff(summary)]),
    '.SH DETAILS',
    ...sections,
    '.SH FILES',
    ...['/etc/gridtide/gridtide.yaml', 'the configuration of the installed agent'].flatMap((text, i) => [
      ...(i === 0 ? ['.TP'] : []),
      escapeRoff(text),
    ]),
    ...['.TP', '/var/lib/gridtide', 'its saved state, readable by the group gridtide', ''],
  ].join('\n');
}

/** The packages beside the bundle: what is in node_modules, and Node itself. */
function listBesideBundle() {
  const modules = join(PROGRAM, 'node_modules');
  const names = existsSync(modules) ? readdirSync(modules).sort() : [];
  const packages = names.map((name) => JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8')));
  return [...packages, { name: nodeName, version: nodeVersion, license: 'MIT', integrity: nodeIntegrity }];
}

function writeSbomOfPackage() {
  const bundle = JSON.parse(readFileSync(join(PROGRAM, 'dist/sbom.cdx.json'), 'utf8'));
  const metadata = { timestamp: epoch.toISOString(), ...bundle.metadata };
  const components = [...bundle.components, ...listBesideBundle().map(buildComponent)];
  write(`${DOCUMENTS}/sbom.cdx.json`, `${JSON.stringify({ ...bundle, metadata, components }, null, 1)}\n`);
}

const COPYRIGHT = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: gridtide

Files: *
Copyright: the contributors of gridtide
License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.
Comment: the packages inside usr/lib/gridtide/dist have the licences of THIRD_PARTY_NOTICES.txt.gz beside this file.

Files: usr/lib/gridtide/bin/node
Copyright: the contributors of Node.js
License: MIT and others
 The text is in node-LICENSE.gz beside this file.
`;

write('usr/share/man/man1/gridtide.1.gz', compress(formatManual()));
write('usr/share/bash-completion/completions/gridtide', run('completion', 'bash'));
write('usr/share/zsh/vendor-completions/_gridtide', run('completion', 'zsh'));
write('usr/share/fish/vendor_completions.d/gridtide.fish', run('completion', 'fish'));
write(`${DOCUMENTS}/copyright`, COPYRIGHT);
write(`${DOCUMENTS}/changelog.gz`, compress(readFileSync('CHANGELOG.md')));
write(`${DOCUMENTS}/THIRD_PARTY_NOTICES.txt.gz`, compress(readFileSync(join(PROGRAM, 'dist/THIRD_PARTY_NOTICES.txt'))));
write(`${DOCUMENTS}/examples/mosquitto.acl`, readFileSync('systemd/mosquitto.acl'));
write(`${DOCUMENTS}/examples/journald-volatile.conf`, readFileSync('systemd/journald-volatile.conf'));
writeSbomOfPackage();

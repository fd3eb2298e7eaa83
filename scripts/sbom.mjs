/** Lists what the build contains as a CycloneDX document: each package with version, licence and the checksum of the lock file. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** An integrity of the lock file as CycloneDX writes it. */
function toHashes(integrity = '') {
  if (!integrity.startsWith('sha512-')) return {};
  const content = Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex');
  return { hashes: [{ alg: 'SHA-512', content }] };
}

export function buildComponent({ name, version, license, integrity, type = 'library' }) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  // A licence of several names is an expression.
  const licence = /[ ()]/.test(license) ? { expression: license } : { license: { id: license } };
  return { type, 'bom-ref': purl, name, version, purl, licenses: [licence], ...toHashes(integrity) };
}

/** `packages` with their directories under `root`; their checksums are those of the lock file. */
export async function writeSbom(file, root, packages) {
  const { name, version, license } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')).packages;
  const components = packages.map(({ directory, ...found }) =>
    buildComponent({ ...found, integrity: lock[directory]?.integrity }),
  );
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: buildComponent({ name, version, license, type: 'application' }) },
    components,
  };
  await writeFile(file, `${JSON.stringify(document, null, 1)}\n`);
}

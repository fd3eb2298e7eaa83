/** Reads a certificate authority to be trusted beside the usual ones; judges none. */

import { readFile } from 'node:fs/promises';

export const holdsCertificate = (text: string) => text.includes('-----BEGIN CERTIFICATE-----');

/** Undefined where the file cannot be read or holds no certificate: TLS would take any text in silence, and trust nobody more. */
export async function readCaFile(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return holdsCertificate(text) ? text : undefined;
}

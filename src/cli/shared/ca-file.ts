/** Reads the file of a certificate authority that is trusted beside the system's. */

import { readFile } from '../../platform/files.ts';

export const holdsCertificate = (text: string) => text.includes('-----BEGIN CERTIFICATE-----');

/** Undefined where the file cannot be read or holds no certificate: TLS would accept any text and trust nothing more. */
export async function readCaFile(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return holdsCertificate(text) ? text : undefined;
}

/** A certificate for loopback, signed by itself, made when asked for: tests carry no key. */

import { generateKeyPairSync, sign } from 'node:crypto';

function encodeDer(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  const { length } = body;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}

const sequence = (...contents: readonly Uint8Array[]) => encodeDer(0x30, ...contents);
/** An object identifier, given as its encoded bytes. */
const encodeOid = (hex: string) => encodeDer(0x06, Buffer.from(hex, 'hex'));
const encodeText = (tag: number, words: string) => encodeDer(tag, Buffer.from(words, 'ascii'));

const ECDSA_WITH_SHA256 = encodeOid('2a8648ce3d040302');
const COMMON_NAME = encodeOid('550403');
const SUBJECT_ALT_NAME = encodeOid('551d11');
const BASIC_CONSTRAINTS = encodeOid('551d13');
const TRUE = encodeDer(0x01, Buffer.from([0xff]));

const formatPem = (label: string, bytes: Buffer) =>
  `-----BEGIN ${label}-----\n${bytes.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END ${label}-----\n`;

export interface Certificate {
  /** PEM; stands for its own authority too. */
  readonly cert: string;
  readonly key: string;
}

export interface CertificateOptions {
  /** As `YYMMDDHHMMSSZ`, of this century. */
  readonly from?: string;
  readonly until?: string;
  /** Another name than that of loopback. */
  readonly host?: string;
}

/** For `localhost` and 127.0.0.1 unless another name is given. */
export function createCertificate({
  from = '200101000000Z',
  until = '490101000000Z',
  host,
}: CertificateOptions = {}): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(encodeDer(0x31, sequence(COMMON_NAME, encodeText(0x0c, 'localhost'))));
  const names =
    host === undefined
      ? sequence(encodeText(0x82, 'localhost'), encodeDer(0x87, Buffer.from([127, 0, 0, 1])))
      : sequence(encodeText(0x82, host));
  const extensions = sequence(
    sequence(BASIC_CONSTRAINTS, TRUE, encodeDer(0x04, sequence(TRUE))),
    sequence(SUBJECT_ALT_NAME, encodeDer(0x04, names)),
  );
  const content = sequence(
    encodeDer(0xa0, encodeDer(0x02, Buffer.from([2]))),
    encodeDer(0x02, Buffer.from([1])),
    sequence(ECDSA_WITH_SHA256),
    name,
    sequence(encodeText(0x17, from), encodeText(0x17, until)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    encodeDer(0xa3, extensions),
  );
  const signature = sign('sha256', content, privateKey);
  const whole = sequence(content, sequence(ECDSA_WITH_SHA256), encodeDer(0x03, Buffer.from([0]), signature));
  return {
    cert: formatPem('CERTIFICATE', whole),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

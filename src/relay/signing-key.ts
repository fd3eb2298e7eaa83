/** The Ed25519 keys of a relay: the private one as PEM text, the public one as it stands in the configuration of agents. */

import type { KeyObject } from 'node:crypto';

export const SIGNATURE_BYTES = 64;

/** By this door nothing of it is loaded before the first use. */
const loadCrypto = () => process.getBuiltinModule('node:crypto');

export function createSigningKey(): string {
  const { privateKey } = loadCrypto().generateKeyPairSync('ed25519');
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Undefined when the text is no Ed25519 key. */
export function parseSigningKey(pem: string): KeyObject | undefined {
  try {
    const key = loadCrypto().createPrivateKey(pem);
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    return undefined;
  }
}

/** 43 characters of base64url. */
export const formatPublicKey = (signingKey: KeyObject): string =>
  loadCrypto().createPublicKey(signingKey).export({ format: 'jwk' }).x ?? '';

export const parsePublicKey = (text: string): KeyObject =>
  loadCrypto().createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: text }, format: 'jwk' });

export const signBytes = (bytes: Uint8Array, key: KeyObject): Uint8Array => loadCrypto().sign(null, bytes, key);

export const isSignedBy = (bytes: Uint8Array, signature: Uint8Array, keys: readonly KeyObject[]): boolean =>
  keys.some((key) => loadCrypto().verify(null, bytes, key, signature));

/** The types of the addresses of service, broker and devices; they never quote text that may be a password. */

import { isLoopback } from '../domain/loopback.ts';
import { quoteValue, type RawValue, type ReportMistake, type ValueType } from './value-type.ts';

const MAX_URL_LENGTH = 2048;

interface UrlRule {
  readonly expects: string;
  /** Where credentials belong. */
  readonly credentialFiles?: string;
  readonly protocols: readonly string[];
  /** The mistake of a well-formed address, or undefined. */
  readonly findMistake: (url: URL) => string | undefined;
  readonly normalize: (url: URL, written: string) => string;
}

function parseUrl(raw: RawValue): URL | undefined {
  if (typeof raw !== 'string' || raw.length > MAX_URL_LENGTH || /\s/.test(raw)) return undefined;
  try {
    return new URL(raw);
  } catch {
    return undefined;
  }
}

const createUrlType = ({
  expects,
  credentialFiles = 'usernameFile and passwordFile',
  protocols,
  findMistake,
  normalize,
}: UrlRule): ValueType<string> => ({
  expects,
  schema: { type: 'string', pattern: `^(${protocols.join('|')})://[^\\s@/]+(/\\S*)?$`, maxLength: MAX_URL_LENGTH },
  read: (raw: RawValue, report: ReportMistake) => {
    const url = parseUrl(raw);
    if (url !== undefined && (url.username !== '' || url.password !== '' || /:\/\/[^/]*@/.test(String(raw)))) {
      report(`contains credentials; remove them and give ${credentialFiles}`);
      return undefined;
    }
    const isExpectedUrl = url !== undefined && url.hostname !== '' && protocols.includes(url.protocol.slice(0, -1));
    if (!isExpectedUrl || !String(raw).includes('://')) {
      const mayHoldSecret = typeof raw === 'string' && raw.includes('@');
      report(`${mayHoldSecret ? 'the text' : quoteValue(raw)} is not ${expects}`);
      return undefined;
    }
    const mistake = findMistake(url);
    if (mistake !== undefined) report(`${quoteValue(raw)} ${mistake}`);
    return mistake === undefined ? normalize(url, String(raw)) : undefined;
  },
});

/** Specification 1: HTTPS; plain HTTP stays inside the machine. */
export const serviceUrlType = createUrlType({
  expects: 'an address such as https://signal.example',
  protocols: ['https', 'http'],
  findMistake: (url) => {
    if (url.protocol === 'http:' && !isLoopback(url.hostname))
      return 'would send the password in clear; write https:// (http:// is for loopback only)';
    if (/\/v\d+\/?$/.test(url.pathname)) return 'ends in a version of the interface; write the base address only';
    return url.search === '' && url.hash === '' ? undefined : 'has a query or a fragment; write the base address only';
  },
  normalize: (url) => url.href.replace(/\/+$/, ''),
});

export const brokerUrlType = createUrlType({
  expects: 'an address such as mqtt://localhost:1883 (mqtt or mqtts)',
  protocols: ['mqtt', 'mqtts'],
  findMistake: (url) => (url.hash === '' ? undefined : 'has a fragment; remove it'),
  normalize: (_, written) => written,
});

/** Of one request to a device; whether plain HTTP is allowed is a question of its output. */
export const deviceUrlType = createUrlType({
  expects: 'an address such as http://192.168.1.20/relay/0?turn=on',
  credentialFiles: 'tokenFile',
  protocols: ['https', 'http'],
  findMistake: (url) => (url.hash === '' ? undefined : 'has a fragment; remove it'),
  normalize: (url) => url.href,
});

export const pageUrlType = createUrlType({
  expects: 'an address such as http://cellar.local:7080',
  credentialFiles: 'the password in the browser',
  protocols: ['https', 'http'],
  findMistake: () => undefined,
  normalize: (url) => url.href,
});

export const homeAssistantUrlType = createUrlType({
  expects: 'an address such as http://homeassistant.local:8123',
  credentialFiles: 'tokenFile',
  protocols: ['https', 'http'],
  findMistake: (url) =>
    url.search === '' && url.hash === '' && !/\/api\/?$/.test(url.pathname)
      ? undefined
      : 'is more than the base address; write it without /api, query and fragment',
  normalize: (url) => url.href.replace(/\/+$/, ''),
});

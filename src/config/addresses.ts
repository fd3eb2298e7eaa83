/** Checks the addresses of the service and of the broker. Never quotes what may be a password, never connects. */

import { type Kind, type Raw, type Report, shown } from './kind.ts';

const LOOPBACK = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
export const isLoopback = (url: URL) => LOOPBACK.test(url.hostname);
const LONGEST = 2048;

interface Rule {
  readonly expects: string;
  readonly protocols: readonly string[];
  /** The mistake of an address that is well formed, or undefined. */
  readonly refuse: (url: URL) => string | undefined;
  readonly text: (url: URL, written: string) => string;
}

function parsed(raw: Raw): URL | undefined {
  if (typeof raw !== 'string' || raw.length > LONGEST || /\s/.test(raw)) return undefined;
  try {
    return new URL(raw);
  } catch {
    return undefined;
  }
}

const address = ({ expects, protocols, refuse, text }: Rule): Kind<string> => ({
  expects,
  schema: { type: 'string', pattern: `^(${protocols.join('|')})://[^\\s@/]+(/\\S*)?$`, maxLength: LONGEST },
  read: (raw: Raw, report: Report) => {
    const url = parsed(raw);
    if (url !== undefined && (url.username !== '' || url.password !== '' || /:\/\/[^/]*@/.test(String(raw)))) {
      report('holds credentials; take them out and give usernameFile and passwordFile');
      return undefined;
    }
    const known = url !== undefined && url.hostname !== '' && protocols.includes(url.protocol.slice(0, -1));
    if (!known || !String(raw).includes('://')) {
      const hidden = typeof raw === 'string' && raw.includes('@');
      report(`${hidden ? 'the text' : shown(raw)} is not ${expects}`);
      return undefined;
    }
    const refused = refuse(url);
    if (refused !== undefined) report(`${shown(raw)} ${refused}`);
    return refused === undefined ? text(url, String(raw)) : undefined;
  },
});

/** Specification 1: HTTPS; plain HTTP stays inside the machine. */
export const serviceUrl = address({
  expects: 'an address such as https://signal.example',
  protocols: ['https', 'http'],
  refuse: (url) => {
    if (url.protocol === 'http:' && !isLoopback(url))
      return 'would send the password in clear; write https:// (http:// is for loopback only)';
    if (/\/v\d+\/?$/.test(url.pathname)) return 'ends in a version of the interface; write the base address only';
    return url.search === '' && url.hash === '' ? undefined : 'has a query or a fragment; write the base address only';
  },
  text: (url) => url.href.replace(/\/+$/, ''),
});

export const brokerUrl = address({
  expects: 'an address such as mqtt://localhost:1883 (mqtt or mqtts)',
  protocols: ['mqtt', 'mqtts'],
  refuse: (url) => (url.hash === '' ? undefined : 'has a fragment; take it off'),
  text: (_, written) => written,
});

/** Explains the end of a broker link to the owner, and decides how to reconnect. */

import type { BrokerNames } from '../domain/ports.ts';

/** What was seen of one link when it ended. */
export interface DisconnectReason {
  /** `host:port`, for people. */
  readonly address: string;
  readonly clientId: string;
  /** The broker had accepted the link. */
  readonly wasOnline: boolean;
  /** Network error name, or the number of an MQTT refusal. */
  readonly code?: string | number;
  /** Reason of a version 5 DISCONNECT from the broker. */
  readonly reasonCode?: number;
  readonly message?: string;
  /** Links in a row that ended soon after they were accepted, this one included. */
  readonly shortLinks: number;
  readonly names: BrokerNames;
}

/** Of the options in a configuration. */
export const CONFIGURED_NAMES = {
  url: 'mqtt.url',
  login: ['mqtt.usernameFile', 'mqtt.passwordFile'],
  ca: 'mqtt.ca',
  ownCertificate: ['mqtt.certificate', 'mqtt.key'],
} as const satisfies Omit<BrokerNames, 'program'>;

/** What a link that cannot be made means for the program. */
const buildConsequence = ({ program }: BrokerNames, until = '') => (program === 'agent' ? `: MQTT is off${until}` : '');
const buildReconnect = ({ program }: BrokerNames) => (program === undefined ? '' : `; the ${program} reconnects`);

export interface ReconnectAdvice {
  readonly cause: string;
  /** Only a change of credentials, certificates or names helps. */
  readonly refused: boolean;
  /** The next attempt uses the other version of the protocol; `certain` when the broker demanded it. */
  readonly otherVersion: 'no' | 'maybe' | 'certain';
}

// Numbers of MQTT 3.1.1 section 3.2.2.3 (1 to 5) and of MQTT 5 section 2.4 (128 up).
const VERSION_REFUSED = [1, 132];
const CREDENTIALS_REFUSED = [4, 5, 134, 135, 138];
const CLIENT_ID_REFUSED = [2, 133];
const TAKEN_OVER = 142;
/** Short links in a row after which another holder of the client id is the likeliest cause. */
const SUSPICIOUS_SHORT_LINKS = 3;

const TLS_ERRORS = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO|ERR_OSSL|EPROTO/;
/** What is wrong with a certificate, and its cure. */
const CERTIFICATE_CURES: readonly (readonly [RegExp, string, (names: BrokerNames) => string])[] = [
  [/ALTNAME_INVALID/, 'shows a certificate made for another name', ({ url }) => `write that name in ${url}`],
  [
    /HAS_EXPIRED|NOT_YET_VALID/,
    "shows a certificate that is not valid at this machine's time",
    () => 'renew it, or set the clock',
  ],
  [
    /SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)/,
    'is not trusted',
    ({ ca }) => `give the certificate of the authority that signed its own as ${ca}`,
  ],
  [TLS_ERRORS, 'was not trusted or did not trust this side', ({ ca }) => `check ${ca}, the certificates and the clock`],
];

const buildAdvice = (cause: string, more: Partial<ReconnectAdvice> = {}): ReconnectAdvice => ({
  cause,
  refused: false,
  otherVersion: 'no',
  ...more,
});

export function adviseReconnect(ending: DisconnectReason): ReconnectAdvice {
  return ending.wasOnline ? adviseAfterOnline(ending) : adviseBeforeOnline(ending);
}

/** The ids of other programs have an end of their own, which no name of a configuration gives twice. */
const adviseTakenOver = ({ clientId, names }: DisconnectReason) =>
  buildAdvice(
    `another client with the id "${clientId}" took over the link to the broker${names.program === 'agent' ? ': two agents use one device name; stop one, or give each its own "device"' : ''}`,
    { refused: true },
  );

function adviseAfterOnline(ending: DisconnectReason): ReconnectAdvice {
  const { address, reasonCode, message, shortLinks, names } = ending;
  if (reasonCode === TAKEN_OVER) return adviseTakenOver(ending);
  if (names.program === 'agent' && reasonCode === undefined && shortLinks >= SUSPICIOUS_SHORT_LINKS)
    return adviseTakenOver(ending);
  const detail = reasonCode === undefined ? message : `reason ${reasonCode}`;
  return buildAdvice(
    `the link to the broker at ${address} was lost${detail === undefined ? '' : ` (${detail})`}${buildReconnect(names)}`,
  );
}

function adviseBeforeOnline(ending: DisconnectReason): ReconnectAdvice {
  const { address, code, message, names } = ending;
  if (typeof code === 'number') return adviseRefused(ending, code);
  if (code === undefined)
    return buildAdvice(
      `the broker at ${address} closed the link before accepting it${message === undefined ? '' : ` (${message})`}${buildReconnect(names)}`,
      { otherVersion: 'maybe' },
    );
  const off = buildConsequence(names);
  const certificate = CERTIFICATE_CURES.find(([codes]) => codes.test(code));
  if (certificate !== undefined) {
    const [, wrong, buildCure] = certificate;
    return buildAdvice(`the broker at ${address} ${wrong} (${code})${off}; ${buildCure(names)}`, { refused: true });
  }
  if (code === 'ECONNRESET')
    return buildAdvice(
      `the broker at ${address} closed the connection immediately (${code})${off}; check the port in ${names.url}, and that it is mqtts:// where the broker uses TLS and mqtt:// where not`,
    );
  return buildAdvice(
    `no broker answers at ${address} (${code})${buildConsequence(names, ' until one does')}; start the broker or correct ${names.url}`,
  );
}

/** By the number with which the broker refused the link. */
function adviseRefused({ address, clientId, names }: DisconnectReason, code: number): ReconnectAdvice {
  const isAgent = names.program === 'agent';
  if (VERSION_REFUSED.includes(code))
    return buildAdvice(`the broker at ${address} speaks another version of MQTT`, { otherVersion: 'certain' });
  if (CREDENTIALS_REFUSED.includes(code))
    return buildAdvice(
      `the broker at ${address} refused the user name or password (${code})${buildConsequence(names)}; give or correct ${names.login.join(' and ')}${isAgent ? ', and restart an installed agent' : ''}`,
      { refused: true },
    );
  if (CLIENT_ID_REFUSED.includes(code))
    return buildAdvice(
      `the broker at ${address} refused the client id "${clientId}"${isAgent ? ': choose another "device"' : ''}`,
      { refused: true },
    );
  return buildAdvice(`the broker at ${address} refused the link (${code})${buildReconnect(names)}`);
}

export function describeUnreadableFile(names: BrokerNames): string {
  const files = [...names.login, names.ca, ...(names.ownCertificate ?? [])];
  return `a file for the broker cannot be read${buildConsequence(names)}; check ${files.slice(0, -1).join(', ')} and ${files.at(-1)}`;
}

export const describeUnusableOptions = (names: BrokerNames, cause: string): string =>
  `${names.url} or the certificates cannot be used (${cause})${buildConsequence(names)}; correct them`;

/** What the end of a broker link means: the sentence for the owner and how to try again. Pure; opens no link. */

/** All that was seen of one link when it ended. */
export interface Ending {
  /** `host:port`, for people. */
  readonly at: string;
  readonly clientId: string;
  /** The broker had accepted the link. */
  readonly wasOnline: boolean;
  /** Network error name, or the number of an MQTT refusal. */
  readonly code?: string | number;
  /** Reason of a version 5 DISCONNECT from the broker. */
  readonly farewell?: number;
  readonly message?: string;
  /** Links in a row that ended soon after they were accepted, this one included. */
  readonly short: number;
}

export interface Verdict {
  readonly cause: string;
  /** Trying again without a change is in vain. */
  readonly refused: boolean;
  /** The next attempt speaks the other version of the protocol; `certain` when the broker said so. */
  readonly otherVersion: 'no' | 'maybe' | 'certain';
}

// Numbers of MQTT 3.1.1 section 3.2.2.3 (1 to 5) and of MQTT 5 section 2.4 (128 up).
const VERSION = [1, 132];
const CREDENTIALS = [4, 5, 134, 135, 138];
const IDENTIFIER = [2, 133];
const TAKEN_OVER = 142;
/** Short links in a row after which another holder of the client id is the likeliest cause. */
const SUSPICIOUS = 3;

const TLS = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO|ERR_OSSL|EPROTO/;
/** What is wrong with a certificate, and its cure. */
const CERTIFICATES: readonly (readonly [RegExp, string, string])[] = [
  [/ALTNAME_INVALID/, 'shows a certificate made for another name', 'write that name in mqtt.url'],
  [
    /HAS_EXPIRED|NOT_YET_VALID/,
    "shows a certificate that is not valid at this device's time",
    'renew it, or set the clock',
  ],
  [
    /SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)/,
    'is not trusted',
    'give the certificate of the authority that signed its own as mqtt.ca',
  ],
  [TLS, 'was not trusted or did not trust this side', 'check mqtt.ca, the certificates and the clock'],
];

const verdict = (cause: string, more: Partial<Verdict> = {}): Verdict => ({
  cause,
  refused: false,
  otherVersion: 'no',
  ...more,
});

/** Nothing here is thrown; an unknown ending is simply tried again. */
export function verdictOf(ending: Ending): Verdict {
  return ending.wasOnline ? afterOnline(ending) : beforeOnline(ending);
}

const takenOver = ({ clientId }: Ending) =>
  verdict(
    `another client with the id "${clientId}" took over the link to the broker: two agents carry one device name; stop one, or give each its own "device"`,
    { refused: true },
  );

function afterOnline(ending: Ending): Verdict {
  const { at, farewell, message, short } = ending;
  if (farewell === TAKEN_OVER) return takenOver(ending);
  if (farewell === undefined && short >= SUSPICIOUS) return takenOver(ending);
  const said = farewell === undefined ? message : `reason ${farewell}`;
  return verdict(
    `the link to the broker at ${at} was lost${said === undefined ? '' : ` (${said})`}; it is tried again`,
  );
}

function beforeOnline({ at, clientId, code, message }: Ending): Verdict {
  if (typeof code === 'number') {
    if (VERSION.includes(code))
      return verdict(`the broker at ${at} speaks another version of MQTT`, { otherVersion: 'certain' });
    if (CREDENTIALS.includes(code))
      return verdict(
        `the broker at ${at} refused the user name or password (${code}): nothing is told or taken over MQTT; give or correct mqtt.usernameFile and mqtt.passwordFile`,
        { refused: true },
      );
    if (IDENTIFIER.includes(code))
      return verdict(`the broker at ${at} refused the client id "${clientId}": choose another "device"`, {
        refused: true,
      });
    return verdict(`the broker at ${at} refused the link (${code}); it is tried again`);
  }
  if (code === undefined)
    return verdict(
      `the broker at ${at} closed the link before accepting it${message === undefined ? '' : ` (${message})`}; it is tried again`,
      {
        otherVersion: 'maybe',
      },
    );
  const certificate = CERTIFICATES.find(([codes]) => codes.test(code));
  if (certificate !== undefined) {
    const [, wrong, cure] = certificate;
    return verdict(`the broker at ${at} ${wrong} (${code}): nothing is told or taken over MQTT; ${cure}`, {
      refused: true,
    });
  }
  if (code === 'ECONNRESET')
    return verdict(
      `the broker at ${at} hung up at the first word (${code}): MQTT is missing until it listens; check the port in mqtt.url, and that it is mqtts:// where TLS is spoken and mqtt:// where not`,
    );
  return verdict(
    `no broker answers at ${at} (${code}): MQTT is missing until it does; start the broker or correct mqtt.url`,
  );
}

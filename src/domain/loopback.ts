/** Recognises hosts that are this machine, which alone may use commands without a login and accelerated time, and addresses of the internet. */

/** `host` as `URL.hostname` gives it, or an address as it is written in an option. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host === '[::1]' || /^127(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}$/.test(host);

/** Of private networks, of a link and of providers' inner networks (RFC 1918, 3927, 4193, 6598). */
const PRIVATE_ADDRESS =
  /^(?:10\.|127\.|192\.168\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|\[f[cd]|\[fe[89ab]|\[::1\])/;

/** `[::ffff:c0a8:5]` is 192.168.0.5. */
const toPlainAddress = (host: string): string =>
  host.replace(/^\[::ffff:([\da-f]{1,4}):([\da-f]{1,4})\]$/, (_, ...words: string[]) =>
    [words[0], words[1]]
      .flatMap((word = '') => [Number.parseInt(word, 16) >> 8, Number.parseInt(word, 16) & 255])
      .join('.'),
  );

/** An address in digits outside all private networks; what a name stands for is not known here. */
export const isPublicAddress = (host: string): boolean =>
  /^(?:\[|\d+\.\d+\.\d+\.\d+$)/.test(host) && !PRIVATE_ADDRESS.test(toPlainAddress(host));

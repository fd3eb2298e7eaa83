/** Recognises hosts that are this machine: only they may use plain HTTP, commands without a login and accelerated time. */

/** `host` as `URL.hostname` gives it, or an address as it is written in an option. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host === '[::1]' || /^127(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}$/.test(host);

/** Says a failure in one sentence for people: what happened, what it means, what to do. Decides nothing. */

import type { Duration } from '../domain/units.ts';
import type { Failure, UnreachableReason } from './failure.ts';

function formatWait(wait: Duration): string {
  const seconds = Math.max(1, Math.ceil(wait / 1_000));
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3_600)} h`;
}

const REMEDIES: Readonly<Record<UnreachableReason, string>> = {
  'no-connection': 'check the network and the address of the service',
  deadline: 'the link or the service is slow; try again, or ask for less',
  'too-large': 'ask for less at once',
  'cut-short': 'the link broke; try again',
  tls: "its certificate is not accepted; check this machine's clock, the address and the authority to be trusted (service.ca, --ca)",
  'no-tls': 'check its port, and https:// in its address',
  redirect: 'give the address it leads to, if you trust it',
  'captive-portal': 'sign in to the network, or check the address of the service',
};

/** What opens a gate (specification 1.4, 1.5): the preview region is one for data of a region alone. */
function suggestEntitlement(path: string | undefined): string {
  switch (path) {
    case '/v3/forecast':
    case '/v3/forecast/historical':
    case '/v3/historical':
      return 'a subscription does; region CAISO_NORTH may be had without';
    case '/v3/maps':
      return 'an analyst or pro subscription does; the region of one place may be asked without';
    case '/api/v1/marginal/':
      return 'a pro account does';
    default:
      return 'another plan may';
  }
}

/** One sentence without a full stop, ready for `gridtide NAME: …`, the log and the health message. */
export function failureText(failure: Failure): string {
  switch (failure.kind) {
    case 'unreachable':
      return `the service was not reached (${failure.cause}); ${REMEDIES[failure.reason]}`;
    case 'unauthorised': {
      const wait =
        failure.retryAfter === undefined ? '' : ` (the next login is tried in ${formatWait(failure.retryAfter)})`;
      return `the service does not accept the credentials (${failure.cause}); check user name and password${wait}`;
    }
    case 'no-credentials':
      return 'no user name and password are known, so nothing was asked; give both, in files or by the environment';
    case 'gated':
      return `the account's plan does not include this (${failure.message}); ${suggestEntitlement(failure.path)}`;
    case 'throttled':
      return `too many requests; nothing is asked for ${formatWait(failure.retryAfter)}, then try again`;
    case 'refused':
      return `the service refused the request (${failure.status}: ${failure.message}); correct what was asked`;
    case 'invalid':
      return `${failure.field} ${failure.message}; nothing was sent`;
    case 'outside-coverage':
      return 'no region of the service covers this place; check latitude and longitude and their signs';
    case 'unwell':
      return `the service has trouble of its own (${failure.status}: ${failure.message}); try again in some minutes`;
    case 'nonsense':
      return `the service's answer cannot be used: ${failure.where} is ${failure.received}, expected ${failure.expected}; nothing of it was kept`;
    case 'forbidden':
      return `this may not be asked: ${failure.cause}`;
    case 'stopped':
      return 'stopped before the answer came';
  }
}

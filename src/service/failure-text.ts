/** Describes a failure in one sentence: what failed, its cause, its fix. */

import { formatWait } from '../domain/duration-text.ts';
import type { Failure, UnreachableReason } from './failure.ts';

const CURES: Readonly<Record<UnreachableReason, string>> = {
  'no-connection': 'check the network and the address of the service',
  deadline: 'the connection or the service is slow; try again, or request less data',
  'too-large': 'request a shorter range, or check the address of the service',
  'cut-short': 'the connection broke; try again',
  'certificate-date': "check this machine's clock; if it is right, the service must renew its certificate",
  'certificate-name': 'use the host name of the certificate in the address of the service',
  'certificate-authority': 'name the file of the authority that signed it (service.ca, --ca), if you trust it',
  tls: 'check the address of the service and the authority to trust (service.ca, --ca)',
  'no-tls': 'check the port, and https:// in the address',
  redirect: 'configure the new address, if you trust it',
  'captive-portal': 'sign in to the network, or check the address of the service',
};

/** The least plan that includes a path (specification 1.4, 1.5). */
export function findIncludingPlan(path: string | undefined): string {
  switch (path) {
    case '/v3/forecast':
    case '/v3/forecast/historical':
    case '/v3/historical':
      return 'a subscription';
    case '/v3/maps':
      return 'an analyst or pro subscription';
    case '/api/v1/marginal/':
      return 'a pro account';
    default:
      return 'another plan';
  }
}

/** What can be had without another plan: the data of the preview region, and the region of one place instead of the map. */
function suggestWithoutPlan(path: string | undefined): string {
  if (path === '/v3/maps') return '; the region of a single place needs none';
  return findIncludingPlan(path) === 'a subscription' ? '; region CAISO_NORTH needs none' : '';
}

/** One sentence without a full stop, ready for the error of a command, the log and the health message. */
export function failureText(failure: Failure): string {
  switch (failure.kind) {
    case 'unreachable':
      return `the service could not be reached: ${failure.cause}; ${CURES[failure.reason]}`;
    case 'unauthorised': {
      const wait = failure.retryAfter === undefined ? '' : ` (next login in ${formatWait(failure.retryAfter)})`;
      if (failure.rejected === 'fresh-token')
        return `the service rejects a token that it has just issued (${failure.cause}); the account may be locked, or the service at fault: ask the service${wait}`;
      return `the service rejected the credentials (${failure.cause}); check user name and password, and restart an installed agent after a change${wait}`;
    }
    case 'no-credentials':
      return 'no user name and password are configured or readable, so nothing was sent; give both: in the files that the configuration names, or to a command as $GRIDTIDE_USERNAME and $GRIDTIDE_PASSWORD; gridtide account register makes a new account';
    case 'not-entitled':
      return `the account's plan does not include this (${failure.message}); ${findIncludingPlan(failure.path)} does${suggestWithoutPlan(failure.path)}`;
    case 'throttled':
      return `too many requests: the next is sent in ${formatWait(failure.retryAfter)}; try again then`;
    case 'rejected':
      return `the service rejected the request (${failure.status}: ${failure.message}); correct the request`;
    case 'invalid':
      return `${failure.field} ${failure.message}; nothing was sent`;
    case 'outside-coverage':
      return 'no region of the service covers this place; check latitude and longitude and their signs';
    case 'server-error':
      return `the service returned a server error (${failure.status}: ${failure.message}); try again in some minutes`;
    case 'invalid-response':
      return `the service returned an invalid response: ${failure.where} is ${failure.received}, expected ${failure.expected}; the response was discarded`;
    case 'forbidden':
      return `this request is not allowed: ${failure.cause}`;
    case 'no-relayed-signal':
      return failure.cause;
    case 'stopped':
      return 'stopped before the service answered';
  }
}

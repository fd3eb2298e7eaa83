/** A failure of the service as the rest of a sentence for people. Never shows a secret: failures hold none. */

import type { Failure } from '../service/failure.ts';
import { inMinutes } from '../units.ts';

/** What happened, to stand after "no forecast: ". */
export function why(failure: Failure): string {
  switch (failure.kind) {
    case 'unreachable':
      return `the service cannot be reached (${failure.cause})`;
    case 'unauthorised':
      return `the service refused the credentials (${failure.cause}); check the user name and password files`;
    case 'gated':
      return `the account's plan does not include it (${failure.message})`;
    case 'throttled':
      return `the service asks to wait ${Math.max(1, Math.round(inMinutes(failure.retryAfter)))} min (429)`;
    case 'refused':
      return `the service refused the request (${failure.status}: ${failure.message})`;
    case 'invalid':
      return `${failure.field} is not valid: ${failure.message}`;
    case 'outside-coverage':
      return 'the place lies outside the covered regions (Coordinates not found); check latitude and longitude';
    case 'unwell':
      return `the service is not well (${failure.status})`;
    case 'nonsense':
      return `the answer breaks the specification (${failure.where}: ${failure.received}, expected ${failure.expected})`;
    case 'forbidden':
      return failure.cause;
    case 'stopped':
      return 'stopped';
  }
}

/** The kinds of failure of a call to the service: one for each way in which a caller must react. */

import type { Duration } from '../domain/units.ts';

/** Why no usable response arrived; after `deadline` and `too-large` a shorter range may work. */
export type UnreachableReason =
  | 'no-connection'
  | 'deadline'
  | 'too-large'
  | 'cut-short'
  | 'certificate-date'
  | 'certificate-name'
  | 'certificate-authority'
  | 'tls'
  | 'no-tls'
  | 'redirect'
  | 'captive-portal';

type FailureKind =
  /** No connection, a deadline, a cut or oversized body, a page that is not the service's: try again later. */
  | { readonly kind: 'unreachable'; readonly reason: UnreachableReason; readonly cause: string }
  /**
   * The service rejected the credentials, or a token it had just issued for them, or the next login has to wait: only new
   * credentials or time help. Calling again early sends no request.
   */
  | {
      readonly kind: 'unauthorised';
      readonly cause: string;
      readonly rejected?: 'fresh-token';
      readonly retryAfter?: Duration;
    }
  /** The configuration has no user name or no password: nothing was sent. */
  | { readonly kind: 'no-credentials' }
  /** A JSON 403: the plan does not include this. Never a reason to log in. `path` is the endpoint's. */
  | { readonly kind: 'not-entitled'; readonly message: string; readonly path?: string }
  /** 429, or our own rate limit is used up; nothing is sent before `retryAfter` has passed. */
  | { readonly kind: 'throttled'; readonly retryAfter: Duration }
  /** 400, 404, 422: the request is wrong and stays wrong. */
  | { readonly kind: 'rejected'; readonly status: number; readonly message: string }
  /** Breaks a rule of the specification and was not sent. `field` is the parameter's name there. */
  | { readonly kind: 'invalid'; readonly field: string; readonly message: string }
  /** Point outside coverage (specification 2.4). */
  | { readonly kind: 'outside-coverage' }
  /** 5xx. */
  | { readonly kind: 'server-error'; readonly status: number; readonly message: string; readonly retryAfter?: Duration }
  /** An answer that breaks the specification: `where` in the body, what was `expected`, what was `received`. */
  | { readonly kind: 'invalid-response'; readonly where: string; readonly expected: string; readonly received: string }
  /** The configuration requires something forbidden, such as plain HTTP off loopback. */
  | { readonly kind: 'forbidden'; readonly cause: string }
  /** A relay is asked in place of an account, and has no valid signal; `cause` is for people. `isAbsent`: none was ever published. */
  | { readonly kind: 'no-relayed-signal'; readonly cause: string; readonly isAbsent?: boolean }
  /** The caller ended it. */
  | { readonly kind: 'stopped' };

/** `requestId` is the service's name of the request, for those who ask its operator. */
export type Failure = FailureKind & { readonly requestId?: string };

export type Outcome<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly failure: Failure };

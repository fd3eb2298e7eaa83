/** What every path is given: the request, and the parts of the service that it may use. */

import type { Account } from '../accounts/account-store.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { AttemptLimits } from '../accounts/attempt-limits.ts';
import type { PlanName } from '../accounts/plans.ts';
import type { RollingWindows } from '../accounts/rolling-window.ts';
import type { Tokens } from '../accounts/tokens.ts';
import type { Catalogue } from '../world/catalogue.ts';
import type { Profile } from './profile.ts';
import type { ReadyAnswers } from './ready-answers.ts';
import type { ApiResponse } from './response.ts';

export interface ApiRequest {
  readonly method: string;
  /** Without the query, and outside v1 without a slash at its end. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
  /** The service's clock at arrival, milliseconds since 1970. */
  readonly now: number;
  /** Of the client. */
  readonly address: string;
  /** Scheme, host and port of the service for the links of v1: its own address, never the `Host` of a client. */
  readonly origin: string;
  /** In place of the account's own, while a fault changes it. */
  readonly plan?: PlanName;
}

export interface ServiceParts {
  readonly seed: number;
  readonly catalogue: Catalogue;
  /** Each border of the map is made of 2 to this power pieces. */
  readonly mapDetail: number;
  readonly accounts: Accounts;
  readonly tokens: Tokens;
  readonly requestLimits: RollingWindows;
  readonly attemptLimits: AttemptLimits;
  readonly anonymousLimits: RollingWindows;
  readonly newPlan: PlanName;
  readonly profile: Profile;
  readonly counts: Counts;
  readonly readyAnswers: ReadyAnswers;
}

/** What has been served since the start. */
export interface Counts {
  requests: number;
  logins: number;
  refusedLogins: number;
  /** By status code. */
  statuses: Record<string, number>;
  /** By path. */
  paths: Record<string, number>;
}

/** `account` is the holder of the bearer token. */
export type AuthorizedRoute = (
  service: ServiceParts,
  request: ApiRequest,
  account: Account,
) => ApiResponse | Promise<ApiResponse>;
export type PublicRoute = (service: ServiceParts, request: ApiRequest) => ApiResponse | Promise<ApiResponse>;

/** What every path is given: the call, and the parts of the service it may use. Types only. */

import type { Account } from '../accounts/account-store.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { PlanName } from '../accounts/plans.ts';
import type { RollingWindows } from '../accounts/rolling-window.ts';
import type { Tokens } from '../accounts/tokens.ts';
import type { Catalogue } from '../world/catalogue.ts';
import type { Profile } from './profile.ts';
import type { ApiResponse } from './response.ts';

export interface ApiRequest {
  readonly method: string;
  /** Without the query, and without a slash at its end outside the earlier interface. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
  /** The service's clock at arrival, milliseconds since 1970. */
  readonly now: number;
  /** Of the caller. */
  readonly address: string;
  /** Scheme and host the caller used, for links. */
  readonly origin: string;
  /** In place of the account's own, while a fault changes it. */
  readonly plan?: PlanName;
}

export interface ServiceParts {
  readonly seed: number;
  readonly catalogue: Catalogue;
  readonly accounts: Accounts;
  readonly tokens: Tokens;
  readonly requestLimits: RollingWindows;
  readonly loginLimits: RollingWindows;
  readonly anonymousLimits: RollingWindows;
  readonly newPlan: PlanName;
  readonly profile: Profile;
  readonly counts: Counts;
  /** Forecasts of one issue, ready to be sent again. */
  readonly forecastCache: { issued: number; readonly byKey: Map<string, ReadyForecast> };
}

/** An answer's bytes, plain and zipped. */
export interface ReadyForecast {
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
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

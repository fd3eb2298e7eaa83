/** What every path is given: the call, and the parts of the service it may use. Types only. */

import type { Account, Accounts } from './accounts.ts';
import type { Answer, AuthErrors } from './answer.ts';
import type { Catalogue } from './catalogue.ts';
import type { PlanName } from './plans.ts';
import type { Tokens } from './tokens.ts';
import type { Windows } from './window.ts';

export interface Call {
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

export interface Service {
  readonly seed: number;
  readonly catalogue: Catalogue;
  readonly accounts: Accounts;
  readonly tokens: Tokens;
  readonly requests: Windows;
  readonly logins: Windows;
  readonly anonymous: Windows;
  readonly authErrors: AuthErrors;
  readonly newPlan: PlanName;
  /** Also what real clients ask beyond the specification. */
  readonly extras: boolean;
  readonly counts: Counts;
  /** Forecasts of one issue, ready to be sent again. */
  readonly newest: { issued: number; readonly made: Map<string, ReadyForecast> };
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
export type AccountPath = (service: Service, call: Call, account: Account) => Answer | Promise<Answer>;
export type OpenPath = (service: Service, call: Call) => Answer | Promise<Answer>;

/** The input of each action of `gridtide signal`. */

import type { ForecastQuery } from '../../service/api/query-types.ts';
import type { Arguments, Terminal } from '../shared/command.ts';
import type { localContextOptions } from '../shared/local-context.ts';
import type { ServiceAccess } from '../shared/service-access.ts';
import type { ServiceRow } from '../shared/service-options.ts';

export type SignalRow =
  | 'region'
  | 'latitude'
  | 'longitude'
  | 'model'
  | 'horizon-hours'
  | 'start'
  | 'end'
  | 'include-imputed-marker'
  | 'updated-since'
  | 'chunk'
  | 'in-flight'
  | 'forecast'
  | 'at'
  | 'json'
  | 'csv'
  | keyof typeof localContextOptions
  | ServiceRow;

export interface SignalContext {
  readonly args: Arguments<SignalRow>;
  readonly terminal: Terminal;
  readonly access: ServiceAccess;
  readonly query: ForecastQuery;
}

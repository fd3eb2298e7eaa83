/** Reads a command from the broker: refuses whatever is not well formed, fresh and known; never carries one out. */

import type { Level } from '../config/config.ts';
import type { Duration, Instant } from '../units.ts';

export type RemoteCommand =
  | { readonly kind: 'override'; readonly level: Level; readonly for: Duration }
  | { readonly kind: 'arm'; readonly need?: Duration; readonly by?: Instant }
  | { readonly kind: 'clear' };

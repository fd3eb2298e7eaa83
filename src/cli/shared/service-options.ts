/** The rows of the flags that say which service and whose account. Apart from their use, which loads the HTTP client. */

import type { OptionRow } from './command.ts';

export type ServiceRow = 'config' | 'url' | 'username' | 'username-file' | 'password-file' | 'ca';

/** To be spread into the options of each command that asks the service. */
export const serviceOptions: Readonly<Record<ServiceRow, OptionRow>> = {
  config: { value: 'FILE', help: 'configuration that tells service, account, place and state directory' },
  url: { value: 'URL', help: 'address of the service ($GRIDTIDE_URL)' },
  username: { value: 'NAME', help: 'the user name, instead of its file' },
  'username-file': { value: 'FILE', help: 'holds the user name ($GRIDTIDE_USERNAME)' },
  'password-file': { value: 'FILE', help: 'holds the password ($GRIDTIDE_PASSWORD)' },
  ca: { value: 'FILE', help: 'certificate authority to trust beside the usual ones, PEM' },
};

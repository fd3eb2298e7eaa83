/** The flags that name the service and the account. A file of its own, so that `--help` loads no HTTP client. */

import type { OptionRow } from './command.ts';

export type ServiceRow = 'config' | 'url' | 'username' | 'username-file' | 'password-file' | 'ca';

/** To be spread into the options of each command that sends requests to the service. */
export const serviceOptions: Readonly<Record<ServiceRow, OptionRow>> = {
  config: { value: 'FILE', help: 'configuration with service, account, place and state directory' },
  url: { value: 'URL', help: 'address of the service ($GRIDTIDE_URL)' },
  username: { value: 'NAME', help: 'the user name, instead of its file' },
  'username-file': { value: 'FILE', help: 'file with the user name ($GRIDTIDE_USERNAME)' },
  'password-file': { value: 'FILE', help: 'file with the password ($GRIDTIDE_PASSWORD)' },
  ca: { value: 'FILE', help: "certificate authority to trust beside the system's, PEM" },
};

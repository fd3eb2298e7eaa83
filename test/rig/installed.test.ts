/** The suites that share one boot of the emulated machine under systemd, with the program installed. */

import './service-starts.ts';
import './service.ts';

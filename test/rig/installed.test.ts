/** The suites that share one boot of the emulated machine under systemd, with the program installed; `scripts/check` leaves them to the nightly. */

import './service-starts.ts';
import './service.ts';

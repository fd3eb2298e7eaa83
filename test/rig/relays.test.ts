/** The suites that share one boot of the emulated machine without systemd. */

import './gpio-lines.ts';
import './failsafe-program.ts';
import './check-and-test.ts';
import './character-device.ts';

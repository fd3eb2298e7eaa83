/** The unit's fail-safe program on a real kernel, without systemd: what it does to lines as a killed agent may leave them. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { formatFailsafe } from '../../src/platform/failsafe-file.ts';
import { describeInMachine, formatSteps } from './emulated-machine.ts';

const HEADER = 520;
const SAFE = [
  { line: 17, high: true },
  { line: 18, high: true },
  { line: 22, high: false },
  { line: 23, high: false },
];

/** Lines 17 and 22 driven the other way, 18 the other way and inverted, 23 not taken by anybody and pulled up. */
const START = `
chip expander raspberrypi-exp-gpio ${HEADER - 512} >/dev/null
outside=$(chip header pinctrl-bcm2835 54)
read_wires() {
  wires=
  for line in 17 18 22 23; do wires=$wires$(cat "$outside/sim_gpio$line/value"); done
}
for pair in 17:low 18:low 22:high; do
  echo $((${HEADER} + \${pair%:*})) >/sys/class/gpio/export
  echo "\${pair#*:}" >"/sys/class/gpio/gpio$((${HEADER} + \${pair%:*}))/direction"
done
echo 1 >/sys/class/gpio/gpio${HEADER + 18}/active_low
echo pull-up >"$outside/sim_gpio23/pull"
read_wires
before=$wires
echo 'begin failsafe program' >/sys/kernel/tracing/trace_marker
sh failsafe failsafe-levels
status=$?
echo 'end failsafe program' >/sys/kernel/tracing/trace_marker
read_wires
for line in 17 18 22 23; do echo $((${HEADER} + line)) >/sys/class/gpio/unexport; done
printf '{"part":"failsafe program","before":"%s","status":%d,"wires":"%s"}\\n' "$before" $status "$wires"
cat /sys/kernel/tracing/trace`;

const prepare = () => ({
  start: START,
  files: {
    failsafe: readFileSync(join(import.meta.dirname, '..', '..', 'systemd', 'failsafe'), 'utf8'),
    'failsafe-levels': formatFailsafe(SAFE),
  },
});

describeInMachine('the fail-safe program on a real kernel', ['failsafe-program', prepare], (run) => {
  it('sets each line in one step: driven the other way, inverted, or not taken yet', () => {
    expect(run.part('failsafe program')).toMatchObject({ before: '0011', status: 0, wires: '1100' });
    expect(formatSteps(run.eventsOf('failsafe program'), HEADER)).toEqual([
      '17 1',
      '17 out',
      '18 1',
      '18 out',
      '22 0',
      '22 out',
      '23 0',
      '23 out',
    ]);
  });
});

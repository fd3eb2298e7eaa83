#!/bin/sh
# In the machine with systemd: the installed service starts, is killed, hangs, and is stopped; each time the wires are read.
alias sleep=busybox\ sleep
outside=$(chip header pinctrl-bcm2835 54)
udevadm settle

# Read without a process of its own: this is asked often while the agent starts.
read_wires() {
  wires=
  for line in 17 18 22 23; do read -r value <"$outside/sim_gpio$line/value"; wires=$wires$value; done
}
mark() { echo "$*" >/sys/kernel/tracing/trace_marker; }
property() { systemctl show gridtide -P "$1"; }
part() { read_wires; printf '{"part":"%s","wires":"%s","state":"%s","restarts":"%s","boot":"%s","failsafe":"%s"}\n' "$1" "$wires" \
  "$(property SubState)" "$(property NRestarts)" "$(cat /run/gridtide/boot)" "$(grep -v '^#' /run/gridtide/failsafe 2>/dev/null | tr '\n' ,)"; }

# Waits up to $1 seconds for the rest to hold.
await() {
  tries=$(($1 * 2)); shift
  while ! "$@" && [ $tries -gt 0 ]; do sleep 0.5; tries=$((tries - 1)); done
  [ $tries -gt 0 ] || { echo "not reached: $*"; journalctl -b --no-pager -u gridtide | tail -40; exit 1; }
}
are() { read_wires; [ $wires = "$1" ]; }
is_running() { [ "$(property SubState)" = running ]; }
is_not_running() { [ "$(property SubState)" != running ]; }

# Every line to the level that is not safe, as a running agent might have it.
against() {
  for pair in 17:0 18:0 22:1 23:1; do echo "${pair#*:}" >"/sys/class/gpio/gpio$((512 + ${pair%:*}))/value"; done
  are 0011 || { echo "the lines could not be set: $wires"; exit 1; }
}
SAFE=1100

read_wires; before=$wires
systemctl start gridtide || { journalctl -b --no-pager -u gridtide | tail -40; exit 1; }
part started
printf '{"part":"rights","before":"%s","user":"%s","credentials":"%s","group":"%s","settings":"%s","state":"%s"}\n' "$before" \
  "$(busybox stat -c %U /proc/"$(property MainPID)")" "$(ls "/run/credentials/gridtide.service" | tr '\n' ,)" \
  "$(busybox stat -c '%g %a' /sys/class/gpio/gpio529/value)" "$(busybox stat -c '%u %G %a' /etc/gridtide)" \
  "$(busybox stat -c '%U %G %a' /var/lib/gridtide)"

against
mark begin killed
mark kill
kill -9 "$(property MainPID)"
await 10 are $SAFE
mark end killed
await 60 is_running
part killed

against
mark begin stuck
kill -STOP "$(property MainPID)"
await 60 are $SAFE
mark end stuck
await 60 is_running
part stuck
printf '{"part":"watchdog","said":"%s"}\n' "$(journalctl -b --no-pager -u gridtide -o cat | grep -c 'Watchdog timeout')"

mark begin stopped
systemctl stop gridtide
mark end stopped
part stopped

# The same without /sys/class/gpio: each load at a level that is not safe until a signal comes, and one held over a stop.
for line in 17 18 22 23; do echo $((512 + line)) >/sys/class/gpio/unexport; done
mount -t tmpfs none /sys/class/gpio
sed -i 's/initialLevel: on, output/initialLevel: off, output/
  s/water: {/&initialLevel: on, onStop: hold, /
  s/heating: {/&initialLevel: recommend, /' /etc/gridtide/gridtide.yaml
mark begin character-device started
systemctl start gridtide || { journalctl -b --no-pager -u gridtide | tail -40; exit 1; }
await 60 are 0000
mark end character-device started
part character-device-started
mark begin character-device restarted
systemctl restart gridtide
mark end character-device restarted
part character-device-restarted
mark begin character-device killed
mark character-device kill
kill -9 "$(property MainPID)"
await 10 are $SAFE
mark end character-device killed
part character-device-killed
systemctl stop gridtide
printf '{"part":"holder","memory":"%s","rss":"%s"}\n' "$(systemctl show gridtide-lines -P MemoryCurrent)" \
  "$(sed -n 's/^VmRSS:[^0-9]*//p' "/proc/$(systemctl show gridtide-lines -P MainPID)/status")"
journalctl -b --no-pager -u gridtide-lines -o cat | sed 's/^/journal: /'
umount /sys/class/gpio

echo 'device: [' >/etc/gridtide/gridtide.yaml
systemctl start gridtide
await 60 is_not_running
sleep 4
printf '{"part":"mistaken","state":"%s","code":"%s","restarts":"%s"}\n' "$(property SubState)" "$(property ExecMainStatus)" "$(property NRestarts)"
journalctl -b --no-pager -u gridtide -o cat | sed 's/^/journal: /'
cat /sys/kernel/tracing/trace

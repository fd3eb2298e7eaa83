#!/bin/sh
# In the machine with systemd: what the installed service sends to whom, and how many of its starts under load are confirmed.
alias sleep=busybox\ sleep
chip header pinctrl-bcm2835 54 >/dev/null
udevadm settle

node /opt/listener.mjs &
listener=$!
systemctl start gridtide || { journalctl -b --no-pager -u gridtide | tail -40; exit 1; }
tries=1200
while [ "$(cut -d' ' -f1 /run/received 2>/dev/null | sort -u | wc -l)" -lt 2 ] && [ $tries -gt 0 ]; do sleep 0.1; tries=$((tries - 1)); done
printf '{"part":"credentials","service":"%s","broker":"%s"}\n' "$(grep -m1 '^service ' /run/received)" "$(grep -m1 '^broker ' /run/received)"
systemctl stop gridtide
kill $listener

# Two files that systemd hands over under one name.
echo x >/etc/gridtide/mqtt_username
systemctl start gridtide && echo 'it started with two files of one name'
printf '{"part":"ambiguous","journal":"%s"}\n' "$(journalctl -b --no-pager -u gridtide -o cat | grep -m1 -o 'two files that systemd hands over as [a-z_]*')"
systemctl stop gridtide
rm /etc/gridtide/mqtt_username

loops=
for _ in 1 2 3 4; do
  (while :; do :; done) &
  loops="$loops $!"
done
# Hundredths of a second since the boot.
read_uptime() { read -r up _ </proc/uptime && echo "${up%.*}${up#*.}"; }
started=0 n=0 slowest=0
while [ $n -lt STARTS ]; do
  n=$((n + 1))
  begun=$(read_uptime)
  systemctl start gridtide && started=$((started + 1))
  took=$(($(read_uptime) - begun))
  [ $took -le $slowest ] || slowest=$took
  echo "start $n: $started confirmed, $took hundredths of a second"
  systemctl stop gridtide
done
kill $loops
printf '{"part":"starts","of":"%s","started":"%s","slowest":"%s.%02d"}\n' $n $started $((slowest / 100)) $((slowest % 100))

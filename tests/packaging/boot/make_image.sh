#!/usr/bin/env bash
# Makes a Debian to boot, for the tests beside this file.
#
#   make_image.sh FOLDER MIRROR [vm|old]     as root; MIRROR is a Debian archive, as in apt's sources
#
# FOLDER gets root/, for a container; with "vm" also root.ext4, vmlinuz and initrd.img, for qemu. With
# "old" the root is Debian 11's, for a container: systemd 247.
# What is there is left as it is. Nothing of laird is in it: the tests install the package.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd) mirror=$2 kind=${3:-container} suite=bookworm
root=$folder/root log=$folder/make.log
# There is no way out of what boots: libraries that the package asks for are here before.
packages=systemd,systemd-sysv,dbus,adduser,procps,iproute2,openssl,man-db,python3
packages+=,mosquitto,mosquitto-clients
if [ "$kind" = old ]; then suite=bullseye
else packages+=,libpaho-mqtt1.3,libpaho-mqttpp3-1,libspdlog1.10,libsqlite3-0,libssl3; fi
quietly() { "$@" >> "$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }; }

if ! [ -e "$root/etc/boot-complete" ]; then
  rm -rf "$root" "$log"
  quietly debootstrap --variant=minbase --include="$packages" "$suite" "$root" "$mirror"
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
  # The broker is the tests' to start; the rest nobody needs, and an emulated processor is slow.
  rm -f "$root/etc/systemd/system/multi-user.target.wants/mosquitto.service"
  for unit in e2scrub_reap.service systemd-logind.service getty@tty1.service apt-daily.timer \
      serial-getty@ttyS0.service apt-daily-upgrade.timer man-db.timer dpkg-db-backup.timer \
      e2scrub_all.timer fstrim.timer; do
    ln -sf /dev/null "$root/etc/systemd/system/$unit"
  done
  ln -sf /lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"
  printf 'board\n' > "$root/etc/hostname"
  printf '127.0.0.1 localhost board broker.local\n' > "$root/etc/hosts"
  mkdir -p "$root/var/log/journal"
  : > "$root/etc/machine-id"
  touch "$root/etc/boot-complete"
fi
[ "$kind" = vm ] && ! [ -e "$folder/root.ext4" ] || exit 0

quietly chroot "$root" apt-get update
quietly chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -y \
  --no-install-recommends initramfs-tools linux-image-cloud-amd64
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
install -D -m 0755 "$here/command_port.py" "$root/usr/local/libexec/boot-command-port"
printf 'virtio_console\n' > "$root/etc/modules-load.d/boot-command-port.conf"
cat > "$root/etc/systemd/system/boot-command-port.service" <<'UNIT'
[Unit]
Description=Runs what the test on the other side of the port asks for
DefaultDependencies=no
After=systemd-udev-trigger.service systemd-modules-load.service
Before=shutdown.target
Conflicts=shutdown.target
# The port is there a little later than we may be.
StartLimitIntervalSec=0
ConditionVirtualization=!container

[Service]
ExecStart=/usr/local/libexec/boot-command-port
Restart=always
RestartSec=1
OOMScoreAdjust=-1000

[Install]
WantedBy=sysinit.target
UNIT
ln -sf /etc/systemd/system/boot-command-port.service \
  "$root/etc/systemd/system/sysinit.target.wants/boot-command-port.service"
cp "$root"/boot/vmlinuz-* "$folder/vmlinuz"
cp "$root"/boot/initrd.img-* "$folder/initrd.img"
truncate -s 3G "$folder/root.ext4.new"
mkfs.ext4 -q -F -d "$root" "$folder/root.ext4.new"
mv "$folder/root.ext4.new" "$folder/root.ext4"

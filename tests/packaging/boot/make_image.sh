#!/usr/bin/env bash
# Makes a Debian that boots, for test_boot.py: FOLDER gets root.ext4, vmlinuz and initrd.img.
#
#   make_image.sh FOLDER MIRROR     as root; MIRROR is a Debian archive, as apt's sources name it
#
# Nothing of laird is in it: the package is installed by the tests, into a machine that runs.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$1 mirror=$2 suite=bookworm
packages=(systemd systemd-sysv systemd-container dbus adduser procps iproute2 openssl man-db
  mosquitto mosquitto-clients python3 initramfs-tools linux-image-cloud-amd64)
mkdir -p "$folder"
root=$folder/root
rm -rf "$root"
trap 'rm -rf "$root"' EXIT
list=$(IFS=,; echo "${packages[*]}")
debootstrap --variant=minbase --include="$list" "$suite" "$root" "$mirror" \
  > "$folder/debootstrap.log" 2>&1 || { tail -20 "$folder/debootstrap.log" >&2; exit 1; }

# The machine has no way out: what the package needs from the archive is here before it boots. The
# libraries' names are those of packaging/build_deb.sh's dpkg-shlibdeps.
chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
  libpaho-mqtt1.3 libpaho-mqttpp3-1 libspdlog1.10 libsqlite3-0 libssl3 >> "$folder/debootstrap.log"
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root/etc/apt/sources.list"

install -D -m 0755 "$here/door.py" "$root/usr/local/libexec/boot-door"
cat > "$root/etc/systemd/system/boot-door.service" <<'UNIT'
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
ExecStart=/usr/local/libexec/boot-door
StandardError=journal+console
Restart=always
RestartSec=1
# What is asked for is no part of what is measured.
Delegate=yes
OOMScoreAdjust=-1000

[Install]
WantedBy=sysinit.target
UNIT
ln -sf /etc/systemd/system/boot-door.service \
  "$root/etc/systemd/system/sysinit.target.wants/boot-door.service"
# The broker is the tests' to start.
rm -f "$root/etc/systemd/system/multi-user.target.wants/mosquitto.service"
# An emulated processor is slow: what nobody needs is not started.
for unit in e2scrub_reap.service systemd-logind.service getty@tty1.service serial-getty@ttyS0.service \
    apt-daily.timer apt-daily-upgrade.timer man-db.timer dpkg-db-backup.timer e2scrub_all.timer \
    fstrim.timer; do
  ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
ln -sf /lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"
printf 'virtio_console\n' > "$root/etc/modules-load.d/boot-door.conf"
printf 'board\n' > "$root/etc/hostname"
printf '127.0.0.1 localhost board broker.local\n' > "$root/etc/hosts"
mkdir -p "$root/var/log/journal"
: > "$root/etc/machine-id"
cp "$root"/boot/vmlinuz-* "$folder/vmlinuz"
cp "$root"/boot/initrd.img-* "$folder/initrd.img"

truncate -s 3G "$folder/root.ext4.new"
mkfs.ext4 -q -F -d "$root" "$folder/root.ext4.new"
mv "$folder/root.ext4.new" "$folder/root.ext4"
chmod 0644 "$folder"/root.ext4 "$folder"/vmlinuz "$folder"/initrd.img

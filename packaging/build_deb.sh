#!/usr/bin/env bash
# Makes laird_<version>_<arch>.deb from a finished build.
#
#   packaging/build_deb.sh BUILD_DIR OUT_DIR [SYSTEM_ROOT]
#
# SYSTEM_ROOT is the folder that an arm64 build was linked against (cross_toolchains/sysroot.sh). lairctl
# prints its own man page and completions; with a SYSTEM_ROOT it does so under emulation.
#
# The same sources give the same bytes: every file carries the time of the last commit, or the one in
# SOURCE_DATE_EPOCH.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "$1" && pwd)
mkdir -p "$2"; out=$(cd "$2" && pwd)
sysroot=${3:+$(cd "$3" && pwd)}
die() { printf 'build_deb: %s\n' "$*" >&2; exit 1; }

version=$(sed -n 's/^project(laird VERSION \([0-9.]*\).*/\1/p' "$top/CMakeLists.txt")
[ -n "$version" ] || die "no version in CMakeLists.txt"
case $(LC_ALL=C readelf -h "$build/bin/laird-train" | sed -n 's/^ *Machine: *//p') in
  *X86-64*) arch=amd64 strip=strip run=() ;;
  *AArch64*) arch=arm64 strip=aarch64-linux-gnu-strip run=(qemu-aarch64 -L "$sysroot")
    [ -n "$sysroot" ] || die "an arm64 package needs the SYSTEM_ROOT that it was linked against" ;;
  *) die "$build/bin/laird-train is for a machine this script has no name for" ;;
esac
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$top" log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

root=$out/laird_${version}_$arch
rm -rf "$root" "$root.deb"
umask 022
bin() {
  install -D -m 0755 "$build/bin/$1" "$root/$2/$1"
  "$strip" --strip-unneeded --remove-section=.comment --remove-section=.note "$root/$2/$1"
}
programs=(laird lairctl laird-train laird-promote)
if [ "$arch" = arm64 ]; then
  # One file is both; a board has little room.
  programs=(laird-train laird-promote)
  bin laird-board usr/bin
  mv "$root/usr/bin/laird-board" "$root/usr/bin/laird"
  ln -s laird "$root/usr/bin/lairctl"
fi
for program in "${programs[@]}"; do bin "$program" usr/bin; done
bin laird-priv usr/libexec/laird
bin laird-cell usr/libexec/laird
# For a board's GPU: opened only where a batch pays. Without a clang that makes PTX it was not built.
if [ -f "$build/lib/liblaird_cuda.so" ]; then
  install -D -m 0644 "$build/lib/liblaird_cuda.so" "$root/usr/lib/laird/liblaird_cuda.so"
  "$strip" --strip-unneeded --remove-section=.comment --remove-section=.note "$root/usr/lib/laird/liblaird_cuda.so"
elif [ "$arch" = arm64 ]; then
  die "no liblaird_cuda.so in $build/lib: install the package clang and build again"
fi

# The packages that hold the shared libraries of a build for this machine.
shared_libraries() {
  local work found
  work=$(mktemp -d)
  mkdir -p "$work/debian"
  printf 'Source: laird\n\nPackage: laird\nArchitecture: any\n' > "$work/debian/control"
  (cd "$work" && dpkg-shlibdeps -O "$root"/usr/bin/* "$root"/usr/libexec/laird/* > found 2> messages) ||
    { cat "$work/messages" >&2; die "dpkg-shlibdeps failed: is dpkg-dev installed?"; }
  found=$(sed -n 's/^shlibs:Depends=//p' "$work/found")
  rm -rf "$work"
  [ -n "$found" ] || die "dpkg-shlibdeps found no libraries"
  printf '%s\n' "$found"
}

put() { install -D -m 0644 "$top/$1" "$root/$2"; }
units=usr/lib/systemd/system
for unit in laird.service laird.slice laird-priv.socket laird-priv@.service laird-cell.socket \
    laird-cell@.service laird-join.service laird-join-install.path laird-join-install.service \
    laird-upgrade.path laird-upgrade.service laird-upgrade-back.service; do
  put "packaging/$unit" "$units/$unit"
done
put packaging/laird.sysusers usr/lib/sysusers.d/laird.conf
put packaging/laird.tmpfiles usr/lib/tmpfiles.d/laird.conf

man=$root/usr/share/man
mkdir -p "$man"/man1 "$man"/man5 "$man"/man8
"${run[@]}" "$root/usr/bin/lairctl" completion man > "$man/man1/lairctl.1"
"$top/packaging/man/reference.py" "${run[@]}" "$root/usr/bin/laird" > "$man/man5/laird.json.5"
put packaging/man/laird.8 usr/share/man/man8/laird.8
put packaging/man/laird-train.1 usr/share/man/man1/laird-train.1
put packaging/man/laird-promote.1 usr/share/man/man1/laird-promote.1
gzip -9n "$man"/man*/*

completions=$root/usr/share/bash-completion/completions
mkdir -p "$completions" "$root/usr/share/zsh/vendor-completions" \
  "$root/usr/share/fish/vendor_completions.d"
"${run[@]}" "$root/usr/bin/lairctl" completion bash > "$completions/lairctl"
"${run[@]}" "$root/usr/bin/lairctl" completion zsh > "$root/usr/share/zsh/vendor-completions/_lairctl"
"${run[@]}" "$root/usr/bin/lairctl" completion fish > "$root/usr/share/fish/vendor_completions.d/lairctl.fish"

# For programs that check messages, for people who write a board of their own, for dashboards.
share=usr/share/laird
for file in "$top"/docs/schema/*.json; do put "docs/schema/${file##*/}" "$share/schema/${file##*/}"; done
for file in "$top"/board_configs/*.json; do put "board_configs/${file##*/}" "$share/boards/${file##*/}"; done
put packaging/grafana/laird.json "$share/grafana/laird.json"

doc=usr/share/doc/laird
put packaging/laird.example.json "$doc/examples/laird.json"
put packaging/debian/copyright "$doc/copyright"
put packaging/debian/lintian-overrides usr/share/lintian/overrides/laird
maintainer="${DEBFULLNAME:-The laird authors} <${DEBEMAIL:-laird@localhost}>"
date=$(LC_ALL=C date -R -u -d "@$SOURCE_DATE_EPOCH")
printf 'laird (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md of the sources.\n\n -- %s  %s\n' \
  "$version" "$maintainer" "$date" | gzip -9n > "$root/$doc/changelog.gz"

# The arm64 programs share nothing but glibc with the board, and not a newer one than the oldest board has.
if [ "$arch" = arm64 ]; then
  "$top/packaging/check_programs.py" "$root"
  "$top/packaging/components.py" "$sysroot" "$root/$doc"
  cat "$top/packaging/debian/lintian-overrides.static" >> "$root/usr/share/lintian/overrides/laird"
  depends="libc6 (>= 2.27)"
else
  depends=$(shared_libraries)
fi
# As dpkg counts it: whole KiB of each file, one for each folder. du would tell of this disk's blocks.
size=$(find "$root" -type f -printf '%s\n' -o -printf '1\n' | awk '{ sum += int(($1 + 1023) / 1024) } END { print sum }')
install -d -m 0755 "$root/DEBIAN"
sed -e "s/@VERSION@/$version/; s/@ARCH@/$arch/; s/@SIZE@/$size/" \
    -e "s/@DEPENDS@/$depends, adduser/; s/@MAINTAINER@/$maintainer/" "$top/packaging/debian/control.in" > "$root/DEBIAN/control"
for script in postinst prerm postrm; do
  install -m 0755 "$top/packaging/debian/$script" "$root/DEBIAN/$script"
done
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) > "$root/DEBIAN/md5sums"
find "$root" -exec touch --no-dereference -d "@$SOURCE_DATE_EPOCH" {} +
# xz by name: Ubuntu's dpkg writes zstd unless told. One thread: several would give other bytes.
dpkg-deb -Zxz --threads-max=1 --root-owner-group --build "$root" "$root.deb" >/dev/null
rm -rf "$root"
printf '%s\n' "$root.deb"

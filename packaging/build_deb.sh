#!/usr/bin/env bash
# Makes laird_<version>_<arch>.deb from a finished build.
#
#   packaging/build_deb.sh BUILD_DIR OUT_DIR [HOST_BUILD_DIR]
#
# HOST_BUILD_DIR holds programs that run here, when BUILD_DIR was made for another architecture: man
# pages and completions are printed by lairctl itself.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "$1" && pwd)
mkdir -p "$2"; out=$(cd "$2" && pwd)
host=$(cd "${3:-$1}" && pwd)
die() { printf 'build_deb: %s\n' "$*" >&2; exit 1; }

version=$(sed -n 's/^project(laird VERSION \([0-9.]*\).*/\1/p' "$top/CMakeLists.txt")
[ -n "$version" ] || die "no version in CMakeLists.txt"
case $(LC_ALL=C readelf -h "$build/bin/laird" | sed -n 's/^ *Machine: *//p') in
  *X86-64*) arch=amd64 strip=strip ;;
  *AArch64*) arch=arm64 strip=$(command -v aarch64-linux-gnu-strip || echo strip) ;;
  *) die "$build/bin/laird is for a machine this script has no name for" ;;
esac

root=$out/laird_${version}_$arch
rm -rf "$root" "$root.deb"
umask 022
bin() {
  install -D -m 0755 "$build/bin/$1" "$root/$2/$1"
  "$strip" --strip-unneeded --remove-section=.comment --remove-section=.note "$root/$2/$1"
}
for program in laird lairctl laird-train laird-promote; do bin "$program" usr/bin; done
bin laird-priv usr/libexec/laird
bin laird-cell usr/libexec/laird

put() { install -D -m 0644 "$top/$1" "$root/$2"; }
units=usr/lib/systemd/system
for unit in laird.service laird.slice laird-priv.socket laird-priv@.service laird-cell.socket \
    laird-cell@.service; do
  put "packaging/$unit" "$units/$unit"
done
put packaging/laird.sysusers usr/lib/sysusers.d/laird.conf
put packaging/laird.tmpfiles usr/lib/tmpfiles.d/laird.conf

man=$root/usr/share/man
mkdir -p "$man"/man1 "$man"/man5 "$man"/man8
"$host/bin/lairctl" completion man > "$man/man1/lairctl.1"
"$top/packaging/man/reference.py" "$host/bin/laird" > "$man/man5/laird.json.5"
put packaging/man/laird.8 usr/share/man/man8/laird.8
put packaging/man/laird-train.1 usr/share/man/man1/laird-train.1
put packaging/man/laird-promote.1 usr/share/man/man1/laird-promote.1
gzip -9n "$man"/man*/*

completions=$root/usr/share/bash-completion/completions
mkdir -p "$completions" "$root/usr/share/zsh/vendor-completions" \
  "$root/usr/share/fish/vendor_completions.d"
"$host/bin/lairctl" completion bash > "$completions/lairctl"
"$host/bin/lairctl" completion zsh > "$root/usr/share/zsh/vendor-completions/_lairctl"
"$host/bin/lairctl" completion fish > "$root/usr/share/fish/vendor_completions.d/lairctl.fish"

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
date=$(git -C "$top" log -1 --format=%cD 2>/dev/null || LC_ALL=C date -R)
printf 'laird (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md of the sources.\n\n -- %s  %s\n' \
  "$version" "$maintainer" "$date" | gzip -9n > "$root/$doc/changelog.gz"

# What the programs are linked with, as package names and least versions. For another architecture
# its libraries are not installed here; their names are the same.
depends=
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
mkdir -p "$work/debian"; printf 'Source: laird\n\nPackage: laird\nArchitecture: any\n' > "$work/debian/control"
if command -v dpkg-shlibdeps >/dev/null; then
  depends=$(cd "$work" && dpkg-shlibdeps -O "$host/bin/laird" "$host/bin/lairctl" \
    "$host/bin/laird-train" "$host/bin/laird-promote" \
    "$host/bin/laird-priv" "$host/bin/laird-cell" 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
fi
[ -n "$depends" ] || die "dpkg-shlibdeps found no libraries: install dpkg-dev"
size=$(du -sk "$root" | cut -f1)
install -d -m 0755 "$root/DEBIAN"
sed -e "s/@VERSION@/$version/; s/@ARCH@/$arch/; s/@SIZE@/$size/" \
    -e "s/@DEPENDS@/$depends, adduser/; s/@MAINTAINER@/$maintainer/" "$top/packaging/debian/control.in" > "$root/DEBIAN/control"
for script in postinst prerm postrm; do
  install -m 0755 "$top/packaging/debian/$script" "$root/DEBIAN/$script"
done
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) > "$root/DEBIAN/md5sums"
dpkg-deb --root-owner-group --build "$root" "$root.deb" >/dev/null
rm -rf "$root"
printf '%s\n' "$root.deb"

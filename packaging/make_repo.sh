#!/usr/bin/env bash
# Puts packages into a signed apt repository with channels.
#
#   packaging/make_repo.sh REPO CHANNEL KEY DEB...
#
# REPO is a folder that any web server can serve as it is; it is made when it is not there. CHANNEL is stable,
# testing or another plain name; boards name one in their sources. KEY is a key of this machine's gpg. A package
# that is there already under its name must be the same one: a version never changes. The index is signed last and
# moved into place, so a run that is cut short leaves the repository as it was.
set -euo pipefail
die() { printf 'make_repo: %s\n' "$*" >&2; exit 1; }
[ $# -ge 4 ] || die "usage: make_repo.sh REPO CHANNEL KEY DEB..."
repo=$1 channel=$2 key=$3; shift 3
case $channel in ''|*[!a-z0-9-]*) die "a channel is a name of a-z, 0-9 and -" ;; esac
gpg --batch --list-secret-keys "$key" >/dev/null 2>&1 || die "gpg has no secret key '$key'"
umask 022
mkdir -p "$repo/pool/$channel" "$repo/dists"
repo=$(cd "$repo" && pwd)

for deb in "$@"; do
  name=$(dpkg-deb -f "$deb" Package) || die "$deb is no Debian package"
  [ "$name" = laird ] || die "$deb is a package of $name, not of laird"
  place=$repo/pool/$channel/laird_$(dpkg-deb -f "$deb" Version)_$(dpkg-deb -f "$deb" Architecture).deb
  if [ -e "$place" ]; then
    cmp -s "$deb" "$place" || die "$place is there with other bytes: raise the version"
  else
    cp "$deb" "$place.new" && mv "$place.new" "$place"
  fi
done

# In a folder beside it: Release must not list itself, and nobody sees a half-made index.
new=$repo/dists/.$channel.new
rm -rf "$new"
cd "$repo"
for arch in amd64 arm64; do
  at=$new/main/binary-$arch
  mkdir -p "$at"
  apt-ftparchive --arch "$arch" packages "pool/$channel" > "$at/Packages"
  gzip -9nk "$at/Packages"
done
o=APT::FTPArchive::Release
apt-ftparchive -o "$o::Origin=laird" -o "$o::Label=laird" -o "$o::Suite=$channel" -o "$o::Codename=$channel" \
  -o "$o::Architectures=amd64 arm64" -o "$o::Components=main" release "$new" > "$repo/dists/.$channel.release"
mv "$repo/dists/.$channel.release" "$new/Release"
gpg --batch --yes --local-user "$key" --clearsign --output "$new/InRelease" "$new/Release"
gpg --batch --yes --local-user "$key" --armor --detach-sign --output "$new/Release.gpg" "$new/Release"
gpg --batch --yes --output "$repo/laird.gpg" --export "$key"

rm -rf "$repo/dists/.$channel.old"
if [ -d "$repo/dists/$channel" ]; then mv "$repo/dists/$channel" "$repo/dists/.$channel.old"; fi
mv "$new" "$repo/dists/$channel"
rm -rf "$repo/dists/.$channel.old"
printf '%s\n' "$repo/dists/$channel/InRelease"

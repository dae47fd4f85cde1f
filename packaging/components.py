#!/usr/bin/python3
"""Writes which foreign components the programs contain, in which version, under which licence.

    components.py SYSTEM_ROOT FOLDER     FOLDER/components.tsv, and each licence in FOLDER/licences

SYSTEM_ROOT is what cross_toolchains/sysroot.sh made. A static library is updated by a new release of this
package alone, so whoever watches for security notices needs the exact versions."""

import glob
import os
import shutil
import subprocess
import sys

# Component, Debian's package of it, licence, source package.
FROM_SYSTEM_ROOT = (
    ("OpenSSL", "libssl-dev", "Apache-2.0", "openssl"),
    ("SQLite", "libsqlite3-dev", "public domain", "sqlite3"),
    ("Eclipse Paho C", "libpaho-mqtt-dev", "EPL-2.0", "paho.mqtt.c"),
    ("Eclipse Paho C++", "libpaho-mqttpp-dev", "EPL-2.0", "paho.mqtt.cpp"),
    ("zlib", "zlib1g-dev", "Zlib", "zlib"),
    ("spdlog", "libspdlog-dev", "MIT", "spdlog"),
    ("fmt", "libfmt-dev", "MIT", "fmtlib"),
    ("CLI11", "libcli11-dev", "BSD-3-Clause", "cli11"),
    ("tl::expected", "libexpected-dev", "CC0-1.0", "tl-expected"),
    ("JSON for Modern C++", "nlohmann-json3-dev", "MIT", "nlohmann-json3"),
    ("Eigen", "libeigen3-dev", "MPL-2.0", "eigen3"),
    ("glibc start-up code", "libc6-dev", "LGPL-2.1-or-later with its linking exception", "glibc"),
)
COMPILER = ("libstdc++ and libgcc", "gcc-12-aarch64-linux-gnu-base",
            "GPL-3.0-or-later with the GCC Runtime Library Exception", "gcc-12-cross")


def said(*args):
    return subprocess.run(args, check=True, capture_output=True, text=True).stdout.strip()


def version_in_root(root, package):
    """The version of the package's file that the system root was unpacked from."""
    files = glob.glob(os.path.join(root, "debs", package + "_*.deb"))
    files += glob.glob(os.path.join(root, "..", "pinned", package + "_*.deb"))
    if len(files) != 1:
        sys.exit("components: %d files of %s, expected one" % (len(files), package))
    return said("dpkg-deb", "-f", files[0], "Version")


def rows(root):
    """(component, version, licence, source package, its copyright file)."""
    for component, package, licence, source in FROM_SYSTEM_ROOT:
        yield (component, version_in_root(root, package), licence, source,
               os.path.join(root, "usr/share/doc", package, "copyright"))
    component, package, licence, source = COMPILER
    yield (component, said("dpkg-query", "-W", "-f", "${Version}", package), licence, source,
           os.path.join("/usr/share/doc", package, "copyright"))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    root, folder = sys.argv[1:]
    os.makedirs(os.path.join(folder, "licences"), exist_ok=True)
    with open(os.path.join(folder, "components.tsv"), "w", encoding="utf-8") as table:
        table.write("component\tversion\tlicence\tDebian source package\n")
        for component, version, licence, source, text in rows(root):
            table.write("\t".join((component, version, licence, source)) + "\n")
            shutil.copyfile(text, os.path.join(folder, "licences", source + ".copyright"))


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Refuses programs that an older board could not start.

    check_programs.py FOLDER     exit 1 and one line for each finding

Looks at every ELF file below FOLDER, links aside. None may import a symbol of a glibc newer than JetPack
4's, nor need a shared library besides glibc's own: no JetPack has the others in the same version."""

import os
import re
import subprocess
import sys

GLIBC_MAX = (2, 27)
NEEDED = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
          "ld-linux-aarch64.so.1"}


def elf_files(folder):
    """The regular files below a folder that begin like an ELF file, in order of their names."""
    found = []
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    found.append(path)
    return sorted(found)


def readelf(option, path):
    return subprocess.run(["readelf", option, path], check=True, capture_output=True, text=True,
                          env=dict(os.environ, LC_ALL="C")).stdout


def versioned_imports(path):
    """(symbol, version) of each import that names a version: readelf writes log@GLIBC_2.29 (5)."""
    return re.findall(r"\bUND\s+([^\s@]+)@{1,2}(\S+)", readelf("-Ws", path))


def required_versions(path):
    """The versions that the loader looks for before it starts the program."""
    needs = readelf("-WV", path).partition("Version needs section")[2]
    return re.findall(r"\bName: (\S+)\s+Flags:", needs)


def too_new(version):
    """Whether a symbol version is one that JetPack 4's glibc does not have."""
    if version == "GLIBC_PRIVATE":
        return True
    match = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", version)
    return match is None or (int(match[1]), int(match[2])) > GLIBC_MAX


def needed_libraries(path):
    return re.findall(r"\(NEEDED\)\s+Shared library: \[(.*?)\]", readelf("-Wd", path))


def findings(path, shown):
    imports = sorted(set(versioned_imports(path)))
    for version in sorted(set(required_versions(path)) - {v for _, v in imports}):
        if too_new(version):
            yield "%s: requires %s; the newest allowed is GLIBC_%d.%d" % (
                (shown, version) + GLIBC_MAX)
    for symbol, version in imports:
        if too_new(version):
            yield "%s: imports %s@%s; the newest allowed is GLIBC_%d.%d" % (
                (shown, symbol, version) + GLIBC_MAX)
    for library in needed_libraries(path):
        if library not in NEEDED:
            yield "%s: needs %s, which is not part of glibc" % (shown, library)


def newest(path):
    """The newest version of glibc that a program imports from, as numbers; (0, 0) if none."""
    found = [re.fullmatch(r"GLIBC_(\d+)\.(\d+).*", v) for _, v in versioned_imports(path)]
    return max(((int(m[1]), int(m[2])) for m in found if m), default=(0, 0))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    paths = elf_files(sys.argv[1])
    if not paths:
        sys.exit("check_programs: no program below " + sys.argv[1])
    bad = [line for path in paths for line in findings(path, os.path.relpath(path, sys.argv[1]))]
    for line in bad:
        print("check_programs: " + line, file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

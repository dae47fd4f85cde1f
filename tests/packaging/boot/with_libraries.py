#!/usr/bin/env python3
"""Makes of a package for this system one that an older system can install, for the tests of the units there.

    with_libraries.py PACKAGE.deb OUT.deb

The programs get this system's C library and all else that they link, in a folder of their own. What is
tested so is how an older systemd takes the units, not whether the programs fit an older glibc: the arm64
package is built for that. Needs patchelf and dpkg-deb."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = "/usr/lib/laird-tests"


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def is_program(path):
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def libraries(program):
    """Paths of everything the program loads, the loader among them."""
    return set(re.findall(r"(/\S+) \(0x", run("ldd", program)))


def write_sums(root):
    """The list by which dpkg --verify knows the package's files, of what `root` holds now."""
    with open(os.path.join(root, "DEBIAN/md5sums"), "w", encoding="utf-8") as out:
        subprocess.run("find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum", shell=True, cwd=root, check=True,
                       stdout=out)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    package, out = sys.argv[1:]
    work = tempfile.mkdtemp(prefix="laird-package-")
    try:
        root = os.path.join(work, "root")
        run("dpkg-deb", "-R", package, root)
        own = root + FOLDER
        os.makedirs(own)
        programs = [os.path.join(folder, file) for folder, _, files in os.walk(os.path.join(root, "usr"))
                    for file in files if is_program(os.path.join(folder, file))]
        for path in sorted(set().union(*map(libraries, programs))):
            shutil.copy(os.path.realpath(path), os.path.join(own, os.path.basename(path)))
        loader = next(file for file in os.listdir(own) if file.startswith("ld-linux"))
        for program in programs:
            if program.endswith(".so"):
                continue
            # Not RUNPATH: what the libraries themselves need is found by it too.
            run("patchelf", "--set-interpreter", os.path.join(FOLDER, loader), "--force-rpath",
                "--set-rpath", FOLDER, program)
        control = os.path.join(root, "DEBIAN/control")
        with open(control, encoding="utf-8") as file:
            text = file.read()
        with open(control, "w", encoding="utf-8") as file:
            file.write(re.sub(r"^Depends: .*$", "Depends: adduser", text, flags=re.M))
        # The programs were changed, and the libraries are new.
        write_sums(root)
        # gzip: dpkg of any age reads it, and nobody waits for it.
        run("dpkg-deb", "-Zgzip", "--root-owner-group", "--build", root, out)
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()

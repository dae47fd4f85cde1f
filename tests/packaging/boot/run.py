#!/usr/bin/env python3
"""Boots what make_image.sh made, installs the package there, and runs the tests beside this file.

    run.py IMAGE_FOLDER PACKAGE.deb [vm]     as root

In containers, with this machine's kernel; with "vm" in qemu, with Debian's: slow where it must be
emulated, but with control groups of its own, a /sys of its own, and a plug to pull.
"""

import os
import sys
import unittest


def main():
    if len(sys.argv) not in (3, 4) or (len(sys.argv) == 4 and sys.argv[3] != "vm"):
        sys.exit(__doc__)
    os.environ["LAIRD_BOOT_IMAGE"] = os.path.abspath(sys.argv[1])
    os.environ["LAIRD_DEB"] = os.path.abspath(sys.argv[2])
    os.environ["LAIRD_BOOT"] = "machine" if len(sys.argv) == 4 else "container"
    if os.getuid() != 0:
        sys.exit("run.py: needs root: a container is mounted and booted")
    names = ["test_cell", "test_one_board"] + ([] if len(sys.argv) == 4 else ["test_fleet"])
    tests = unittest.defaultTestLoader.loadTestsFromNames(names)
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    failed = len(result.failures) + len(result.errors)
    passed = result.testsRun - failed - len(result.skipped)
    print("%d passed, %d failed, %d skipped" % (passed, failed, len(result.skipped)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

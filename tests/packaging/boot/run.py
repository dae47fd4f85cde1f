#!/usr/bin/env python3
"""Boots what make_image.sh made, installs the package there, and runs the tests beside this file.

    run.py IMAGE_FOLDER PACKAGE.deb [vm|old]     as root

In containers, with this machine's kernel; with "vm" in qemu, with Debian's: slow where it must be
emulated, but with control groups of its own, a /sys of its own, and a plug to pull. With "old" in
containers of Debian 11, whose systemd is 247: what the units do there.
"""

import os
import sys
import unittest


def main():
    kind = sys.argv[3] if len(sys.argv) == 4 else "container"
    if len(sys.argv) not in (3, 4) or kind not in ("container", "vm", "old"):
        sys.exit(__doc__)
    os.environ["LAIRD_BOOT_IMAGE"] = os.path.abspath(sys.argv[1])
    os.environ["LAIRD_DEB"] = os.path.abspath(sys.argv[2])
    os.environ["LAIRD_BOOT"] = {"vm": "machine"}.get(kind, kind)
    if os.getuid() != 0:
        sys.exit("run.py: needs root: a container is mounted and booted")
    names = ["test_cell", "test_one_board"] + ([] if kind == "vm" else ["test_provision_ssh"])
    names += {"container": ["test_fleet"], "old": ["test_old_groups"]}.get(kind, [])
    tests = unittest.defaultTestLoader.loadTestsFromNames(names)
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    failed = len(result.failures) + len(result.errors)
    passed = result.testsRun - failed - len(result.skipped)
    print("%d passed, %d failed, %d skipped" % (passed, failed, len(result.skipped)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

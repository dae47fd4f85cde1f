"""A folder of programs of another architecture that start each other as on a board.

Without an entry in the kernel's binfmt_misc, which is the whole machine's affair, nothing but the emulator
can start them. So each has a script of its name that starts the emulator, and the program itself stands
beside it: laird looks for its helpers beside /proc/self/exe and finds their scripts there."""

import os
import shlex
import shutil

# As the boards' package has them: laird and lairctl are one file.
FILES = {"laird": "laird-board", "lairctl": "laird-board", "laird-train": "laird-train",
         "laird-promote": "laird-promote", "laird-cell": "laird-cell"}


def make(folder, built, root):
    """Fills `folder` with the programs of the build in `built`, run against the system root `root`."""
    os.makedirs(folder)
    for name, file in FILES.items():
        program = os.path.join(folder, name + ".arm64")
        shutil.copy2(os.path.join(built, file), program)
        script = os.path.join(folder, name)
        with open(script, "w", encoding="utf-8") as out:
            out.write("#!/bin/sh\nexec qemu-aarch64 -0 %s -L %s %s \"$@\"\n" % tuple(
                shlex.quote(word) for word in (name, root, program)))
        os.chmod(script, 0o755)
    return folder

"""Where the tests boot: a container unless LAIRD_BOOT says machine, or old: one of an older Debian. And how their steps run."""

import base64
import contextlib
import os
import shlex
import sys
import unittest

from container import Container
from machine import Machine

IMAGE = os.environ.get("LAIRD_BOOT_IMAGE", "build/deps/boot")
DEB = os.environ.get("LAIRD_DEB", "")
KIND = os.environ.get("LAIRD_BOOT", "container")


def put(board, path, text, mode="0644", owner="root:root"):
    """Writes a file in the board."""
    board.run("umask 077; cat > {0} && chmod {1} {0} && chown {2} {0}".format(
        shlex.quote(path), mode, owner), stdin=text, code=0)


def put_package(board):
    with open(DEB, "rb") as file:
        board.run("base64 -d > /srv/laird.deb", stdin=base64.b64encode(file.read()).decode(),
                  wait_s=120, code=0)


def boot(**more):
    if KIND == "machine":
        return Machine(IMAGE)
    # Whatever the machine around it has, version 2 is what boards have from JetPack 6 on. For version 1,
    # which those before have, there is test_old_groups.
    return Container(os.path.join(IMAGE, "root"),
                     environment={"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}, **more)


class Stepwise(unittest.TestCase):
    """Tests that are steps: each finds the board as the one before left it."""
    failed = False

    @classmethod
    def setUpClass(cls):
        cls.board = boot(arguments=["--private-network"]) if KIND != "machine" else boot()
        cls.addClassCleanup(cls.board.close)
        put_package(cls.board)

    def setUp(self):
        if type(self).failed:
            self.skipTest("an earlier step failed")

    def run(self, result=None):
        before = len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > before:
            type(self).failed = True
            with contextlib.suppress(TimeoutError, LookupError):
                print(self.board.run("journalctl -u laird -n 40 --no-pager"), file=sys.stderr)

    @staticmethod
    def report(text):
        """For whoever reads the run: what was seen."""
        print("\n    " + text.replace("\n", "\n    "), file=sys.stderr, flush=True)

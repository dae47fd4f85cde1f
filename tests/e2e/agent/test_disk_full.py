"""A full disk, on a small tmpfs: the agent says so, accepts nothing new, keeps what it has, goes on
when there is room again, and its journal replays."""

import errno
import os
import subprocess
import tempfile
import time
import unittest

import harness
from harness import Board, synthetic_task


class DiskFull(unittest.TestCase):
    def setUp(self):
        harness.require_root()
        self.disk = tempfile.mkdtemp(prefix="laird-e2e-disk-", dir="/tmp")
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "laird-e2e", self.disk],
                                 capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            os.rmdir(self.disk)
            self.skipTest("cannot mount a tmpfs: " + mounted.stderr.strip())
        self.addCleanup(self.unmount)
        self.board = Board("full", state_dir=os.path.join(self.disk, "state"))
        self.board.state = os.path.join(self.disk, "state")
        self.board.socket = os.path.join(self.board.state, "laird.sock")
        self.addCleanup(self.board.__exit__)

    def unmount(self):
        subprocess.run(["umount", "-l", self.disk], check=False)
        os.rmdir(self.disk)

    def fill(self, leave=0):
        """Takes all of the disk but so many bytes."""
        fd = os.open(os.path.join(self.disk, "filler"), os.O_WRONLY | os.O_CREAT)
        while True:
            room = os.statvfs(self.disk)
            size = room.f_bavail * room.f_bsize - leave
            if size <= 0:
                break
            try:
                os.posix_fallocate(fd, os.fstat(fd).st_size, size)
            except OSError as error:  # the agent wrote in between: look again
                if error.errno != errno.ENOSPC:
                    raise
        os.close(fd)

    def free(self):
        os.unlink(os.path.join(self.disk, "filler"))

    def blocked(self):
        return self.board.ask({"op": "status"})["journal_blocked"]

    def keep_full_until_blocked(self):
        def pressed():
            try:
                self.fill()  # SQLite's own checkpoints give a page back now and then
            except OSError:
                pass
            return self.blocked()
        self.board.wait_for(pressed, 20, "a full disk is not noticed")

    def test_it_holds_out_and_goes_on(self):
        board = self.board
        board.config["tasks"] = [synthetic_task("long", epochs=0),
                                 synthetic_task("other", epochs=0, trainer="mlp")]
        board.config["timing"]["attempts_max"] = 20
        board.start()
        accepted = {"long", "other"}
        for turn, leave in enumerate((0, 5000, 30000, 100000)):
            before = board.tasks()["long"]["samples"]
            board.wait_for(lambda: board.tasks()["long"]["samples"] > before, 20, "no progress")
            self.fill(leave)
            self.keep_full_until_blocked()
            self.assertIn("journal cannot be written", board.log_text())
            refused = board.submit(synthetic_task(f"refused-{turn}"))
            self.assertEqual((refused["ok"], refused["code"]), (False, "full"), refused)
            self.assertIn("free some disk space", refused["error"])
            code, _, err = board.ctl("cancel", "long")
            self.assertEqual(code, 4, err)
            time.sleep(1.2)  # a retry that fails again
            self.assertTrue(self.blocked())
            self.assertEqual(board.log_text().count("journal cannot be written"), turn + 1,
                             "it fills its log with the same line")
            self.assertEqual(set(board.tasks()), accepted, "something was lost")
            self.free()
            board.wait_for(lambda: not self.blocked(), 10, "it does not go on")
            name = f"after-{turn}"
            board.accept(synthetic_task(name, epochs=2))
            accepted.add(name)
        self.assertIn("writing again", board.log_text())
        board.wait_ended(*(name for name in accepted if name.startswith("after")), timeout=40)
        rows = board.tasks()
        self.assertEqual({rows[name]["state"] for name in accepted if name.startswith("after")},
                         {"exhausted"})
        self.assertLess(board.rss_kb(), 16000)
        self.assertEqual(board.terminate(), 0)
        self.assertFalse(board.trainer_pids())
        code, text = board.replay()
        self.assertEqual((code, "identical" in text), (0, True), text)
        board.start()
        self.assertEqual(set(board.tasks()), accepted)

    def test_a_request_that_meets_the_full_disk_is_answered(self):
        board = self.board.start()
        self.fill()
        answer = board.submit(synthetic_task("first"), timeout=5)
        for i in range(200):  # what is left in the log's last page
            if not answer["ok"]:
                break
            answer = board.submit(synthetic_task(f"more-{i}", params={"x": "y" * 8000}), timeout=5)
        self.assertEqual((answer["ok"], answer["code"]), (False, "full"), answer)

    def test_stop_kill_and_start_on_a_full_disk(self):
        board = self.board
        board.config["tasks"] = [synthetic_task("long", epochs=0)]
        board.start()
        board.wait_for(lambda: board.tasks()["long"]["samples"] > 0, 20, "no progress")
        self.fill()
        self.keep_full_until_blocked()
        board.kill()
        self.fill()
        board.start(wait=False)  # it may refuse to start or wait for room, but it says why
        board.wait_for(lambda: board.log_text().count("disk is full") == 2
                       or board.process.poll() is not None, 10, "says nothing")
        if board.process.poll() is None:
            asked = time.monotonic()
            board.terminate()
            self.assertLess(time.monotonic() - asked, 5)
        self.assertRegex(board.log_text(), "disk|full")
        self.free()
        board.start()
        self.assertIn("long", board.tasks())
        before = board.tasks()["long"]["samples"]
        board.wait_for(lambda: board.tasks()["long"]["samples"] > before, 20, "no progress")
        self.assertEqual(board.terminate(), 0)
        code, text = board.replay()
        self.assertEqual((code, "identical" in text), (0, True), text)


if __name__ == "__main__":
    harness.main()

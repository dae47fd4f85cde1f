"""A disk that fails in the middle of life: writes and syncs that the kernel refuses (EIO, ENOSPC),
once or for a while. Nothing accepted is lost, nothing refused is there, no event is written twice,
and the agent says what happened."""

import contextlib
import errno
import glob
import json
import os
import random
import shutil
import sqlite3
import unittest

import harness
from harness import Board, read_line, synthetic_task

SHIM = os.path.join(os.path.abspath(harness.BIN), "libfailing_disk.so")
FOREVER = -1


class DiskFails(unittest.TestCase):
    def setUp(self):
        self.assertTrue(os.path.exists(SHIM), "build the target failing_disk")
        self.board = Board("failing")
        self.addCleanup(self.board.__exit__)
        self.rules = os.path.join(self.board.root, "rules")
        self.board.env = {"LD_PRELOAD": SHIM, "FAILING_DISK": self.board.journal_folder,
                          "FAILING_DISK_RULES": self.rules}

    def faults(self, *rules):
        """The next COUNT calls of a kind fail: ("sync", errno.EIO, 1); none without rules."""
        with open(self.rules + ".new", "w", encoding="utf-8") as out:
            out.writelines(f"{call} {error} {count}\n" for call, error, count in rules)
        os.rename(self.rules + ".new", self.rules)

    def hits(self):
        with contextlib.suppress(FileNotFoundError):
            return os.path.getsize(self.rules + ".hits")
        return 0

    def blocked(self):
        return self.board.ask({"op": "status"})["journal_blocked"]

    def assert_whole(self, accepted):
        """A clean end, an identical replay, and exactly the tasks that were accepted."""
        board = self.board
        self.assertEqual(0, board.terminate())
        code, text = board.replay()
        self.assertEqual((0, True), (code, "identical" in text), text)
        board.start()
        self.assertEqual(accepted, set(board.tasks()))
        self.assertEqual(0, board.terminate())

    def test_a_promise_waits_until_the_disk_confirms_it(self):
        board = self.board
        board.start()
        board.accept(synthetic_task("before", epochs=0))
        self.faults(("sync", errno.EIO, FOREVER))
        with board.connect(timeout=30) as client:
            request = {"op": "submit", "task": synthetic_task("unsure", epochs=0)}
            client.sendall(json.dumps(request).encode() + b"\n")
            board.wait_for(self.blocked, 20, "a failing sync is not noticed")
            self.assertIn("the disk did not confirm a write", board.log_text())
            refused = board.submit(synthetic_task("after"))
            self.assertEqual((False, "full"), (refused["ok"], refused["code"]))
            self.assertNotIn("unsure", board.tasks())
            hits = self.hits()
            board.wait_for(lambda: self.hits() > hits + 1, 20, "it does not try again")
            self.faults()
            answer = json.loads(read_line(client))
            self.assertTrue(answer["ok"], answer)
        board.wait_for(lambda: not self.blocked(), 20, "it does not go on")
        self.assertEqual(1, board.log_text().count("journal cannot be written"))
        # A kernel that failed a sync once may have dropped the pages and confirm the next: what was
        # accepted must be in the database file itself, without its log.
        copy = os.path.join(board.root, "copy")
        os.mkdir(copy)
        for path in glob.glob(os.path.join(board.journal_folder, "*.db")):
            shutil.copy(path, copy)
        code, text = board.replay(copy)
        self.assertEqual(0, code, text)
        self.assertIn("unsure", self.text_of(copy))
        self.assert_whole({"before", "unsure"})

    def text_of(self, folder):
        """Every name in the submissions of the database files."""
        out = b""
        for path in glob.glob(os.path.join(folder, "*.db")):
            uri = f"file:{path}?immutable=1"
            with contextlib.closing(sqlite3.connect(uri, uri=True)) as db:
                for (body,) in db.execute("SELECT body FROM event"):
                    out += body
        return out.decode("latin-1")

    def test_an_outcome_is_acted_on_only_when_the_disk_confirms_it(self):
        board = self.board
        board.start()
        board.accept(synthetic_task("late", epochs=0, deadline="4s"))
        board.wait_for(lambda: board.tasks()["late"]["samples"] > 0, 4, "no progress")
        self.faults(("sync", errno.EIO, FOREVER))  # from here on only the deadline asks for a sync
        board.wait_for(self.blocked, 20, "the outcome was not synced")
        self.assertTrue(board.trainer_pids("late"), "its trainer was sent away before that")
        hits = self.hits()
        board.wait_for(lambda: self.hits() > hits + 1, 20, "it does not try again")
        self.assertTrue(board.trainer_pids("late"), "its trainer was sent away before that")
        self.faults()
        board.wait_for(lambda: not board.trainer_pids("late"), 20, "its trainer goes on")
        self.assertEqual("missed", board.task_state("late"))
        self.assert_whole({"late"})

    def test_writes_that_fail_for_a_while(self):
        board = self.board
        board.config["tasks"] = [synthetic_task("long", epochs=0)]
        board.start()
        for turn, error in enumerate((errno.ENOSPC, errno.EIO)):
            before = board.tasks()["long"]["samples"]
            board.wait_for(lambda: board.tasks()["long"]["samples"] > before, 20, "no progress")
            self.faults(("write", error, FOREVER))
            board.wait_for(self.blocked, 20, "a failing write is not noticed")
            refused = board.submit(synthetic_task(f"refused-{turn}"))
            self.assertFalse(refused["ok"], refused)
            self.faults()
            board.wait_for(lambda: not self.blocked(), 20, "it does not go on")
        self.assert_whole({"long"})

    def test_a_kill_while_the_disk_fails(self):
        board = self.board
        board.start()
        board.accept(synthetic_task("kept", epochs=0))
        for rule in (("write", errno.ENOSPC), ("sync", errno.EIO)):
            self.faults((*rule, FOREVER))
            with contextlib.suppress(OSError):
                board.submit(synthetic_task("unsure-" + rule[0], epochs=0), timeout=1)
            board.wait_for(self.blocked, 20, "it is not noticed")
            board.kill()
            self.faults()
            board.start()
            self.assertIn("kept", board.tasks())
        # What was never answered may be there or not; a write that failed left nothing.
        self.assertNotIn("unsure-write", board.tasks())
        self.assert_whole(set(board.tasks()))

    def test_faults_at_any_moment(self):
        seed = random.randrange(1 << 30)
        print(f"seed {seed}")
        rng = random.Random(seed)
        board = self.board
        board.config["timing"]["attempts_max"] = 1000
        board.start()
        accepted, refused = set(), set()
        for i in range(40):
            rules = [(rng.choice(("write", "sync")), rng.choice((errno.EIO, errno.ENOSPC)),
                      rng.choice((1, 1, 2, 5))) for _ in range(rng.choice((0, 1, 2)))]
            self.faults(*rules)
            if rng.random() < 0.8:
                board.wait_for(lambda: not self.blocked(), 30, f"it does not go on (seed {seed})")
            name = f"task-{i}"
            # Long enough for the retries that use the faults up: one a second.
            answer = board.submit(synthetic_task(name, epochs=rng.choice((0, 1))), timeout=60)
            (accepted if answer["ok"] else refused).add(name)
            if rng.random() < 0.1:
                board.kill()
                self.faults()
                board.start()
        self.faults()
        board.wait_for(lambda: not self.blocked(), 30, f"it does not go on (seed {seed})")
        print(f"{len(accepted)} accepted, {len(refused)} refused, {self.hits()} faults")
        self.assertEqual(accepted, set(board.tasks()), f"seed {seed}")
        self.assertGreater(self.hits(), 10)
        self.assert_whole(accepted)


if __name__ == "__main__":
    harness.main()

"""A journal cut at every 97th byte opens or says that nothing is readable, replays to the cut and
tells the loss; an agent started on it goes on. A kill in the middle of SQLite's own checkpoint is
no damage at all."""

import contextlib
import glob
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

import harness
from harness import LAIRCTL, Board, synthetic_task

STEP = int(os.environ.get("LAIRD_E2E_CUT_STEP", "97"))
NOTHING = "nothing that can be read"


def record(board, enough, end):
    """Runs the board until its journal is large enough, then ends it in the given way."""
    board.config["tasks"] = [synthetic_task("one", epochs=0),
                             synthetic_task("two", epochs=0, trainer="mlp"),
                             synthetic_task("quick", target=100.0)]
    board.start()
    (path,) = glob.glob(os.path.join(board.journal_folder, "journal-*.db"))
    board.wait_for(lambda: enough(path), 30, "the journal does not grow")
    end()
    return path


def events_in(path):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return db.execute("SELECT count(*) FROM event").fetchone()[0]


def size(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


class Cut(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="laird-e2e-cut-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.copy = os.path.join(self.folder, "journal-000001-20270101.db")

    def replay(self, limit=20):
        done = subprocess.run([LAIRCTL, "replay", self.copy], capture_output=True, text=True,
                              timeout=limit, stdin=subprocess.DEVNULL, check=False)
        return done.returncode, done.stdout + done.stderr

    def place(self, main, wal=None):
        for tail in ("", "-wal", "-shm"):
            if os.path.exists(self.copy + tail):
                os.unlink(self.copy + tail)
        for data, tail in ((main, ""), (wal, "-wal")):
            if data is not None:
                with open(self.copy + tail, "wb") as out:
                    out.write(data)

    def read_all(self, path):
        with open(path, "rb") as file:
            return file.read()

    def events(self, where):
        """How many events were replayed; None when the reader said that nothing is readable."""
        code, text = self.replay()
        if NOTHING in text:
            self.assertEqual(code, 1, f"{where}: {text}")
            return None, text
        only_the_log = "ends inside a write" in text
        expected = 5 if "damaged: " in text and not only_the_log else 0
        self.assertEqual(code, expected, f"{where}: {text}")
        found = re.search(r"identical: (\d+) events", text)
        self.assertIsNotNone(found, f"{where}: {text}")
        return int(found.group(1)), text

    def test_the_file_of_a_clean_stop(self):
        with Board("cut-clean") as board:
            path = record(board, lambda p: events_in(p) > 300,
                          lambda: self.assertEqual(board.terminate(), 0))
            self.assertFalse(os.path.exists(path + "-wal"))
            whole = self.read_all(path)
        self.place(whole)
        total, text = self.events("whole")
        self.assertNotIn("damaged", text)
        self.assertGreater(total, 300)
        print(f"{len(whole)} bytes, {total} events", flush=True)
        best = 0
        for n in range(STEP, len(whole), STEP):
            self.place(whole[:n])
            count, text = self.events(f"cut at {n} of {len(whole)}")
            if count is None:
                continue
            self.assertLessEqual(count, total)
            self.assertIn("damaged", text, f"cut at {n}: the loss is not told")
            best = max(best, count)
        self.assertGreater(best, total // 2, "a small cut costs most of the journal")

    def killed(self, name, enough=lambda p: size(p + "-wal") > 100_000):
        with Board(name) as board:
            path = record(board, enough, board.kill)
            return self.read_all(path), self.read_all(path + "-wal")

    def test_the_write_ahead_log_of_a_killed_agent(self):
        main, wal = self.killed("cut-wal")
        self.place(main, wal)
        total, text = self.events("whole")
        self.assertNotIn("damaged", text)
        self.assertGreater(total, 10)
        page = int.from_bytes(main[16:18], "big")  # in the header of every SQLite file
        last = 0
        for n in range(STEP, len(wal), STEP):
            self.place(main, wal[:n])
            count, text = self.events(f"log cut at {n} of {len(wal)}")
            self.assertGreaterEqual(count or 0, last, f"log cut at {n}: less than with a shorter one")
            last = count or 0
            # SQLite wrote whole frames of a header and a page behind the log's own header.
            if count is not None and (n - 32) % (24 + page) != 0:
                self.assertIn("write-ahead log", text, f"log cut at {n}: the loss is not told")
        self.assertLessEqual(last, total)

    def test_a_log_older_than_its_file(self):
        """The file has had a checkpoint, then the log lost its end: what is left of the log would
        hide newer pages of the file. Nothing wrong may come of the mixture."""
        main, wal = self.killed("cut-mixed", lambda p: size(p) > 5 * 4096)
        self.place(main, wal)
        total, text = self.events("whole")
        self.assertNotIn("damaged", text)
        for n in range(STEP, len(wal), 31 * STEP):
            self.place(main, wal[:n])
            count, _ = self.events(f"log cut at {n} of {len(wal)}")
            self.assertLessEqual(count or 0, total)

    def test_the_file_under_a_log_that_is_whole(self):
        main, wal = self.killed("cut-main")
        self.place(main, wal)
        total, _ = self.events("whole")
        for n in range(STEP, len(main), STEP):
            self.place(main[:n], wal)
            count, _ = self.events(f"cut at {n} of {len(main)}")
            self.assertLessEqual(count or 0, total)

    def test_a_kill_inside_a_checkpoint_of_sqlite(self):
        main, wal = self.killed("cut-ckpt")
        self.place(main, wal)
        total, _ = self.events("whole")
        self.place(main, wal)
        db = sqlite3.connect(self.copy)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        db.close()
        after = self.read_all(self.copy)
        self.assertGreater(len(after), len(main) + 4096)
        # Pages go from the log into the file in ascending order, the first with the new length.
        for n in range(4096, len(after), 4096):
            self.place(after[:n] + main[n:], wal)
            count, text = self.events(f"{n} bytes checkpointed")
            self.assertEqual(count, total, f"{n} of {len(after)} bytes checkpointed: {text}")
            self.assertNotIn("damaged", text)

    def test_a_log_that_may_not_be_read(self):
        """Somebody who may read the files but not write beside them is told what is missing."""
        harness.require_root()
        main, wal = self.killed("cut-perm")
        self.place(main, wal)
        os.chmod(self.folder, 0o755)
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                               LAIRCTL, "replay", self.copy], capture_output=True, text=True,
                              timeout=20, check=False)
        text = done.stdout + done.stderr
        self.assertTrue(NOTHING in text or "write-ahead log" in text, text)


class AgentOnCutJournal(unittest.TestCase):
    def test_it_comes_up_says_what_was_lost_and_goes_on(self):
        with Board("cut-agent") as board:
            path = record(board, lambda p: events_in(p) > 100,
                          lambda: self.assertEqual(board.terminate(), 0))
            with open(path, "rb") as file:
                whole = file.read()
            saved = os.path.join(board.root, "saved")
            shutil.copytree(board.state, saved)
            for part in (0.0, 0.01, 0.2, 0.5, 0.8, 0.99):
                with self.subTest(part=part):
                    self.one(board, saved, os.path.basename(path), whole[:int(len(whole) * part)])

    def one(self, board, saved, name, content):
        shutil.rmtree(board.state)
        shutil.copytree(saved, board.state)
        open(board.log_path, "w", encoding="utf-8").close()
        path = os.path.join(board.journal_folder, name)
        with open(path, "wb") as out:
            out.write(content)
        board.start()
        log = board.log_text()
        self.assertRegex(log, "cut|damaged|nothing that can be read")
        self.assertTrue(os.path.exists(path + ".damaged"), os.listdir(board.journal_folder))
        self.assertEqual(size(path + ".damaged"), len(content), "the damaged file was changed")
        board.wait_ended("quick", timeout=20)
        for name in ("one", "two"):
            board.wait_for(lambda: board.task_state(name) == "running", 20, "does not go on")
            board.wait_for(lambda: board.tasks()[name]["loss"] is not None, 20, "does not go on")
            self.assertTrue(board.ask({"op": "cancel", "task": name})["ok"])
        board.wait_ended("one", "two", timeout=20)
        self.assertEqual(board.terminate(), 0)
        code, text = board.replay()
        self.assertEqual((code, "identical" in text), (0, True), text)
        # The next start finds nothing to complain about.
        open(board.log_path, "w", encoding="utf-8").close()
        board.start()
        self.assertNotIn("warning", board.log_text())
        self.assertEqual(board.terminate(), 0)


if __name__ == "__main__":
    harness.main()

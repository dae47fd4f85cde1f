"""Start, stop, restart, bad configs, memory: the agent's ordinary life."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
import unittest

import harness
from harness import LAIRD, Board, is_alive, synthetic_task


class Stopping(unittest.TestCase):
    def test_sigterm_checkpoints_and_the_next_start_goes_on_there(self):
        with Board("stop") as board:
            # Only the stop itself checkpoints.
            board.config["timing"]["checkpoint_every"] = "1h"
            board.config["tasks"] = [synthetic_task("a", epochs=0),
                                     synthetic_task("b", epochs=0, trainer="mlp")]
            board.start()
            board.wait_for(lambda: min(row["samples"] for row in board.tasks().values()) > 2000,
                           30, "no progress")
            before = {name: row["samples"] for name, row in board.tasks().items()}
            self.assertEqual(board.terminate(), 0)
            self.assertFalse(board.trainer_pids(), "trainers outlive the agent")
            self.assertFalse(os.path.exists(board.socket), "the socket is left")
            stopped_at = self.last_checkpoints(board)
            for key, name in ((1, "a"), (2, "b")):
                self.assertGreaterEqual(stopped_at[key], before[name], name)
            board.start()
            rows = board.tasks()
            self.assertEqual({key: rows[name]["samples"] >= stopped_at[key]
                              for key, name in ((1, "a"), (2, "b"))}, {1: True, 2: True})
            board.wait_for(lambda: all(board.tasks()[name]["samples"] > stopped_at[key]
                                       for key, name in ((1, "a"), (2, "b"))), 30, "not resumed")
            for row in harness.read_journal(board.journal_folder):
                if row.kind == "trainer-ready" and row.fields["attempt"] > 1:
                    self.assertEqual(row.fields["samples"], stopped_at[row.fields["task"]])
            self.assertEqual(board.terminate(), 0)
            code, text = board.replay()
            self.assertEqual(code, 0, text)
            self.assertNotIn("unverified", text)

    def last_checkpoints(self, board):
        return {row.fields["task"]: row.fields["samples"]
                for row in harness.read_journal(board.journal_folder)
                if row.kind == "trainer-checkpointed"}

    def test_a_second_sigterm_does_not_wait(self):
        with Board("twice") as board:
            board.config["trainers"]["deaf"] = board.script("deaf", """
import os, socket, time
s = socket.socket(fileno=int(os.environ["LAIRD_FD"]))
s.sendall(b'{"type":"ready","v":1,"samples":0}\\n')
while True: time.sleep(1)
""")
            board.config["timing"]["stop_grace"] = "10m"
            board.config["tasks"] = [synthetic_task("deaf", trainer="deaf")]
            board.start()
            board.wait_for(lambda: board.task_state("deaf") in ("ready", "running"), 10, "not up")
            board.process.send_signal(signal.SIGTERM)
            board.wait_for(lambda: "a second signal" in board.log_text(), 10, "says nothing")
            time.sleep(0.3)
            self.assertIsNone(board.process.poll(), "it did not wait for its trainer")
            asked = time.monotonic()
            board.process.send_signal(signal.SIGTERM)
            board.process.wait(timeout=10)
            self.assertLess(time.monotonic() - asked, 5)
            board.wait_for(lambda: not board.trainer_pids(), 5, "the trainer lives on")
            board.start()  # and it is not lost
            self.assertIn("deaf", board.tasks())

    def test_a_restart_does_not_rerun_what_is_finished(self):
        with Board("again") as board:
            board.config["tasks"] = [synthetic_task("one", epochs=3),
                                     synthetic_task("two", target=100.0)]
            board.start("--until-done", wait=False)
            self.assertEqual(board.process.wait(timeout=40), 0, board.log_tail())
            for _ in range(2):
                board.start("--until-done", wait=False)
                self.assertEqual(board.process.wait(timeout=40), 0, board.log_tail())
            self.assertIn("task one: known already: exhausted", board.log_text())
            self.assertIn("task two: known already: succeeded", board.log_text())
            starts = harness.commands_of(harness.read_journal(board.journal_folder),
                                         "start-trainer")
            self.assertEqual(len(starts), 2, starts)
            self.assertEqual(board.replay()[0], 0)

    def test_stop_at_once_after_start(self):
        with Board("brief") as board:
            board.config["tasks"] = [synthetic_task(f"t{i}") for i in range(6)]
            for pause in (0.0, 0.02, 0.05, 0.1):
                board.start()
                time.sleep(pause)
                self.assertEqual(board.terminate(), 0)
                self.assertFalse(board.trainer_pids())
            self.assertEqual(board.replay()[0], 0)


class Configs(unittest.TestCase):
    BROKEN = """{
  // every line but this one has something wrong
  "node": "has spaces",
  "stat_dir": "/tmp/x",
  "slice": "5 parsecs",
  "policy": "fairest",
  "board": {"memory": "-1GB", "lanes": []},
  "timing": {"attempts_max": 0, "hang_timeout": 5},
  "trainers": {"t": {"exec": ["relative/path"]}, "u": {"exec": ["/does/not/exist"]}},
  "tasks": [
    {"name": "a", "trainer": "nobody", "deadline": "tomorrow", "target_loss": "low",
     "memory": "1GB"},
    {"name": "a", "trainer": "t", "deadline": "1h", "target_loss": 1, "memory": "1GB"}
  ]
}
"""
    PROBLEMS = [
        (3, "/node"), (4, "/stat_dir"), (5, "/slice"), (6, "/policy"), (7, "/board/memory"),
        (7, "/board/lanes"), (8, "/timing/attempts_max"), (8, "/timing/hang_timeout"),
        (9, "/trainers/t/exec/0"), (9, "/trainers/u/exec/0"), (11, "/tasks/0/target_loss"),
        (11, "/tasks/0/trainer"), (11, "/tasks/0/deadline"), (13, "/tasks/1/name"),
    ]

    def run_laird(self, *args):
        done = subprocess.run([LAIRD, *args], capture_output=True, text=True, timeout=20,
                              stdin=subprocess.DEVNULL, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_check_and_run_tell_every_problem_at_once(self):
        with Board("broken") as board:
            path = os.path.join(board.root, "broken.json")
            with open(path, "w", encoding="utf-8") as out:
                out.write(self.BROKEN)
            for command in (("check", path), ("run", "--config", path)):
                code, text = self.run_laird(*command)
                self.assertEqual(code, 2, text)
                found = sorted((int(line), where) for line, where in re.findall(
                    re.escape(path) + r":(\d+): (/[^:\s]*)", text))
                self.assertEqual(found, sorted(self.PROBLEMS), text)
                self.assertIn(f"{len(self.PROBLEMS)} problems", text)
                self.assertIn('"state_dir"', text.replace("'", '"'))  # the nearest known key
            self.assertFalse(os.path.exists("/tmp/x/journal"))

    def test_files_that_are_no_config(self):
        with Board("nofile") as board:
            for text in ("", "{", "[1]", "7", "null", "{}", '{"colour": "red"}', "\xff", "[" * 9999):
                path = os.path.join(board.root, "file.json")
                with open(path, "wb") as out:
                    out.write(text.encode("latin-1"))
                code, said = self.run_laird("check", path)
                self.assertEqual(code, 2, f"{text[:20]!r}: {said}")
                self.assertIn(path, said)
            self.assertEqual(self.run_laird("check", board.root + "/absent")[0], 2)
            self.assertEqual(self.run_laird("run", "--config", board.root + "/absent")[0], 2)
            self.assertEqual(self.run_laird("run")[0], 2)
            self.assertEqual(self.run_laird("--version")[0], 0)

    def test_a_task_file_and_a_config_pass(self):
        with Board("fine") as board:
            board.write_config()
            self.assertEqual(self.run_laird("check", board.config_path)[0], 0)
            path = os.path.join(board.root, "task.json")
            with open(path, "w", encoding="utf-8") as out:
                json.dump(synthetic_task("fine"), out)
            self.assertEqual(self.run_laird("check", path)[0], 0)

    def test_a_state_folder_that_cannot_be_written(self):
        with Board("nowhere") as board:
            board.config["state_dir"] = "/proc/laird"
            board.start(wait=False)
            self.assertEqual(board.process.wait(timeout=10), 1)
            self.assertIn("/proc/laird", board.log_text())
            self.assertIn("state_dir", board.log_text())


class Memory(unittest.TestCase):
    def test_a_task_larger_than_the_board_is_refused(self):
        with Board("small") as board:
            board.config["board"]["memory"] = "100MB"
            board.start()
            answer = board.submit(synthetic_task("large", memory="101MB"))
            self.assertEqual((answer["ok"], answer["code"]), (False, "refused"))
            self.assertIn("it needs 101 MB of memory, this board has 100 MB", answer["error"])
            self.assertEqual(board.tasks(), {})

    def test_more_than_fit_take_turns_in_memory(self):
        sizes = {"a": 40, "b": 40, "c": 40, "d": 90, "e": 20, "f": 60}
        with Board("turns") as board:
            board.config["board"]["memory"] = "100MB"
            board.config["slice"] = "0.02s"
            board.config["tasks"] = [
                synthetic_task(name, memory=f"{size}MB", epochs=150, rows=5000)
                for name, size in sizes.items()]
            board.start()
            largest = 0
            until = time.monotonic() + 60
            while time.monotonic() < until:
                rows = board.tasks()
                resident = self.resident(board)
                total = sum(sizes[name] for name in resident)
                largest = max(largest, total)
                self.assertLessEqual(total, 100, resident)
                if all(row["state"] == "exhausted" for row in rows.values()):
                    break
                time.sleep(0.02)
            self.assertEqual({name: row["state"] for name, row in rows.items()},
                             {name: "exhausted" for name in sizes})
            self.assertEqual(board.terminate(), 0)
            self.assertGreater(largest, 60, "memory was left unused")
            self.check_turns(board, sizes)
            self.assertEqual(board.replay()[0], 0)

    def resident(self, board):
        """Tasks whose trainers were alive at one and the same instant."""
        found = {}
        for pid in board.trainer_pids():
            with contextlib.suppress(OSError):
                found[pid] = os.path.basename(os.readlink(f"/proc/{pid}/cwd"))
        return {name for pid, name in found.items() if is_alive(pid)}

    def check_turns(self, board, sizes):
        """Everybody began before the first one ended, so some were evicted and came back."""
        names = {key: name for key, name in enumerate(sizes, start=1)}
        used, attempts, first_end = {}, {}, None
        begun = set()
        has_process = {"starting", "ready", "running", "pausing", "evicting", "holding",
                       "finishing"}
        rows = harness.read_journal(board.journal_folder)
        for _, kind, command in harness.commands_of(rows, "start-trainer", "run-trainer",
                                                    "task-changed"):
            name = names[command["task"]]
            if kind == "start-trainer":
                attempts[name] = command["attempt"]
            elif kind == "run-trainer":
                if first_end is None:
                    begun.add(name)
            else:
                used[name] = sizes[name] if command["state"] in has_process else 0
                self.assertLessEqual(sum(used.values()), 100, used)
                if command["state"] == "ended" and first_end is None:
                    first_end = name
        self.assertEqual(begun, set(sizes), f"somebody waited until {first_end} had ended")
        self.assertGreater(max(attempts.values()), 1)


if __name__ == "__main__":
    harness.main()

"""Recurring tasks on a real agent: a run a window and inside it, over kill -9; missed windows told;
a run that begins with the model of the run before; lairctl's hand on all of it."""

import json
import os
import time
import unittest

from harness import Board, commands_of, main, read_journal, synthetic_task

# A zone a day east of UTC: the same clock time, on the next day.
NEXT_DAY = "NXT-24"


def clock(at):
    return time.strftime("%H:%M:%S", time.gmtime(at))


def window(begin, end):
    return f"{clock(begin)}-{clock(end)} daily"


def nightly(every, **more):
    task = synthetic_task("night", every=every, trainer="mlp", memory="50MB", **more)
    task["params"]["hidden"] = [6]
    del task["deadline"]
    return task


class Recurring(unittest.TestCase):
    def board(self):
        board = Board("recurring")
        self.addCleanup(board.__exit__)
        board.env["TZ"] = "UTC0"
        return board

    def ctl(self, board, *args):
        code, out, err = board.ctl(*args)
        self.assertEqual(0, code, out + err)
        return out + err

    def recurs(self, board):
        out = self.ctl(board, "get", "tasks", "-o", "json")
        rows = {row["name"]: row for row in json.loads(out)}
        return rows["night"]["recurs"]

    def wait_run(self, board, name, timeout=60):
        board.wait_for(lambda: name in board.tasks(), timeout, f"no run {name}")

    def test_one_run_a_window_and_inside_it_over_kill_9(self):
        board = self.board().start()
        begin = int(time.time()) + 4
        end = begin + 12
        answer = board.accept(nightly(window(begin, end), epochs=1_000_000))
        self.assertIn("its first run begins", answer["text"])
        code, out, err = board.ctl("why", "night")
        self.assertNotEqual(0, code)
        self.assertIn("has had no run yet", out + err)
        self.assertEqual(self.recurs(board)["runs"], 0)
        out = self.ctl(board, "get", "tasks")
        self.assertRegex(out, r"night +cpu +scheduled .* run in ")
        self.wait_run(board, "night-1")
        board.wait_for(lambda: board.tasks()["night-1"]["samples"] > 0, 30, "no progress")
        board.kill()
        board.start()
        rows = board.wait_ended("night-1", timeout=60)
        self.assertEqual(rows["night-1"]["state"], "missed", rows["night-1"])
        self.assertEqual(rows["night-1"]["run_of"], "night")
        told = self.recurs(board)
        self.assertEqual((told["runs"], told["missed"]), (1, 0), told)
        self.assertEqual(told["last_run"], "night-1")
        self.assertIn("run of        night\n", self.ctl(board, "describe", "task", "night-1"))
        self.assertIn("every         " + window(begin, end),
                      self.ctl(board, "describe", "task", "night"))
        # Of a recurring task `why` tells of the newest run.
        why = self.ctl(board, "why", "night-1")
        self.assertIn("missed", why)
        self.assertEqual(why, self.ctl(board, "why", "night"))
        board.terminate()
        rows = read_journal(board.journal_folder)
        self.assertEqual(0, board.replay()[0])
        # Agent time and wall time are one while nobody sets a clock.
        granted = [row.at for row, _, _ in commands_of(rows, "run-trainer", "start-trainer")]
        self.assertTrue(granted)
        self.assertGreaterEqual(min(granted), (begin - 1) * 10**9)
        self.assertLess(max(granted), (end + 1) * 10**9)

    def test_a_window_that_passes_while_the_agent_is_down_is_told(self):
        board = self.board().start()
        begin = int(time.time()) + 3
        board.accept(nightly(window(begin, begin + 2)))
        board.kill()
        time.sleep(max(0.0, begin + 3 - time.time()))
        board.start()
        told = self.recurs(board)
        self.assertEqual((told["runs"], told["missed"]), (0, 1), told)
        self.assertEqual(told["last_missed"]["begin_ms"], begin * 1000)
        self.assertIn("the agent was not running", self.ctl(board, "get", "tasks", "-o", "wide"))
        self.assertIn("schedule: night: missed a window", board.log_text())

    def test_a_run_begins_with_the_model_of_the_run_before(self):
        board = self.board().start()
        now = int(time.time())
        task = nightly(window(now - 60, now + 600), warm_start=True, epochs=40, target=0.12)
        board.accept(task)
        rows = board.wait_ended("night-1")
        self.assertEqual(rows["night-1"]["state"], "succeeded", rows["night-1"])
        board.wait_for(lambda: not board.trainer_pids(), 20, "its trainer does not leave")
        board.kill()
        board.env["TZ"] = NEXT_DAY
        board.start()
        self.wait_run(board, "night-2")
        rows = board.wait_ended("night-2")
        self.assertEqual(rows["night-2"]["state"], "succeeded", rows["night-2"])
        self.assertLess(rows["night-2"]["samples"], rows["night-1"]["samples"] / 2)
        log = self.ctl(board, "logs", "night", "--all")
        self.assertLess(log.index("night-1 begins"), log.index("night-2 begins"))
        self.assertIn("begins with the model of the run before", log)
        self.assertEqual(log, self.ctl(board, "logs", "night-2", "--all"))
        self.assertTrue(os.path.exists(board.task_folder("night") + "/warm/checkpoint.bin"))
        self.assertFalse(os.path.exists(board.task_folder("night-2")))
        # What stands in the folder is the newest run's; it is fetched by either name.
        board.wait_for(lambda: os.path.exists(board.task_folder("night") + "/checkpoint.bin"), 20,
                       "no checkpoint of the newest run")
        into = os.path.join(board.root, "pulled")
        self.ctl(board, "pull", "night-2", into)
        self.assertTrue(os.path.exists(os.path.join(into, "checkpoint.bin")))

    def test_lairctl_pauses_edits_cancels_and_removes_it(self):
        board = self.board().start()
        now = int(time.time())
        later = window(now + 3600, now + 7200)
        board.accept(nightly(later, epochs=1_000_000))
        self.assertIn("paused", self.ctl(board, "pause", "night"))
        self.assertEqual(board.task_state("night"), "paused")
        rows = json.loads(self.ctl(board, "get", "tasks", "-o", "json"))
        self.assertEqual([None], [row["deadline_in_s"] for row in rows if row["name"] == "night"])
        self.assertIn("resumed", self.ctl(board, "resume", "night"))
        code, out, err = board.ctl("edit", "night", "--deadline", "+2h")
        self.assertNotEqual(0, code)
        self.assertIn("give a duration, like 2h", out + err)
        self.ctl(board, "edit", "night", "--every", window(now - 60, now + 600))
        self.wait_run(board, "night-1")
        self.assertIn("every " + window(now - 60, now + 600), self.ctl(board, "explain", "night"))
        code, out, err = board.ctl("edit", "night", "--every", "now and then")
        self.assertEqual(2, code)
        self.assertIn("22:00-06:00 daily", out + err)
        self.assertEqual(board.submit(nightly(later, epochs=1_000_000))["text"], "known already: scheduled")
        self.assertIn("night-1", self.ctl(board, "cancel", "night", "--yes"))
        rows = board.wait_ended("night-1")
        self.assertEqual(rows["night-1"]["state"], "cancelled")
        self.assertIn("removed", self.ctl(board, "rm", "night"))
        self.assertNotIn("night", board.tasks())

    def test_a_file_with_mistakes_is_refused_with_the_remedy(self):
        board = self.board().start()
        for change, words in (({"every": "at night"}, "22:00-06:00 daily"),
                              ({"warm_start": True, "every": None}, "give \"every\" too"),
                              ({"every": "22:00-06:00", "fleet": True}, "cannot recur")):
            task = nightly("22:00-06:00 daily")
            task.update(change)
            if task["every"] is None:
                del task["every"]
                task["deadline"] = "1h"
            answer = board.submit(task)
            self.assertFalse(answer["ok"], answer)
            self.assertIn(words, answer["error"])
        task = nightly("22:00-06:00 daily")
        del task["every"]
        self.assertIn("deadline: missing", board.submit(task)["error"])


if __name__ == "__main__":
    main()

"""lairctl as an operator uses it, against real agents and a real broker."""

import json
import subprocess
import time
import unittest

from boards import OperatedFleet, task
from harness import LAIRCTL


class Views(OperatedFleet):

    def test_status_and_nodes_agree_on_all_boards(self):
        text = self.lairctl("status").out
        self.assertRegex(text, r"fleet lab: (ok|warning): 3 of 3 boards live")
        rows = self.lairctl("get", "nodes", "-o", "json").json()
        self.assertEqual([r["node"] for r in rows], ["n-1", "n-2", "n-3"])
        for row in rows:
            self.assertEqual(row["state"], "ready")
            self.assertLess(row["report_age_s"], 10)
            self.assertIn("softmax", row["info"]["trainers"])
        wide = self.lairctl("get", "nodes", "-o", "wide").out.splitlines()
        self.assertEqual(len(wide), 4)
        self.assertIn("MODEL", wide[0])
        one = self.lairctl("get", "nodes", "--node", "n-2").out.splitlines()
        self.assertEqual(len(one), 2)
        self.assertIn("memory        2.00 GB", self.lairctl("describe", "node", "n-2").out)

    def test_what_is_not_there_exits_with_3(self):
        self.assertIn("n-1, n-2, n-3", self.lairctl("describe", "node", "n-9", code=3).err)
        self.lairctl("describe", "task", "nobody", code=3)
        self.lairctl("cancel", "nobody", code=3)
        self.lairctl("pause", "nobody", "--node", "n-1", code=3)
        self.lairctl("drain", "n-9", code=3)

    def test_wrong_usage_exits_with_2_and_says_nothing_on_stdout(self):
        for args in ([], ["get"], ["submit"], ["cap", "set", "60"], ["drain"],
                     ["get", "tasks", "-o", "yaml"], ["get", "nodes", "--timeout", "10"],
                     ["get", "nodes", "--local", "--node", "n-1"]):
            done = self.lairctl(*args, code=2)
            self.assertEqual(done.out, "", args)
            self.assertNotEqual(done.err, "", args)

    def test_a_task_is_seen_paused_resumed_explained_and_cancelled_wherever_it_is(self):
        self.submit(task("life", epochs=100000), "--node", "n-2")
        self.wait_for_task("life", "running")
        self.assertIn("life", self.lairctl("describe", "task", "life").out)
        self.assertNotEqual(self.lairctl("explain", "life").out.strip(), "")
        self.assertEqual(self.lairctl("pause", "life").out, "n-2: paused\n")
        self.assertEqual(self.lairctl("pause", "life").out, "n-2: paused already\n")
        self.assertEqual(self.lairctl("resume", "life").out, "n-2: resumed\n")
        self.assertEqual(self.lairctl("cancel", "life").out, "n-2: cancelled\n")
        self.wait_for_task("life", "cancelled")

    def test_a_bad_task_is_told_with_all_its_problems_and_reaches_no_board(self):
        done = self.submit({"name": "bad", "trainer": "softmax", "deadlin": "1h"}, "--node", "n-1",
                           code=2)
        self.assertIn("deadline", done.err)
        self.assertIn("target_loss", done.err)
        self.assertEqual(self.submit(task("x", trainer="nope"), "--node", "n-1", code=4).out, "")

    def test_events_come_as_they_happen(self):
        listener = subprocess.Popen(
            [LAIRCTL, "logs", "-o", "json", "-n", "1", "--kind", "task", "--node", "n-3"],
            stdout=subprocess.PIPE, env=self.environment())
        time.sleep(1)
        self.submit(task("seen", target=100), "--node", "n-3")
        out, _ = listener.communicate(timeout=15)
        event = json.loads(out)
        self.assertEqual((event["node"], event["kind"], event["task"]), ("n-3", "task", "seen"))

    def test_watching_prints_rows_as_they_change_and_ends_with_its_reader(self):
        watcher = subprocess.Popen([LAIRCTL, "get", "tasks", "-w", "-o", "json"],
                                   stdout=subprocess.PIPE, env=self.environment())
        self.addCleanup(watcher.kill)
        time.sleep(0.5)
        self.submit(task("watched", target=100), "--node", "n-1")
        deadline = time.monotonic() + 15
        states = []
        while time.monotonic() < deadline and "succeeded" not in states:
            row = json.loads(watcher.stdout.readline())
            if row["name"] == "watched":
                states.append(row["state"])
        self.assertIn("succeeded", states)
        watcher.stdout.close()
        self.submit(task("watched-2", target=100), "--node", "n-1")
        watcher.wait(15)

    def test_drain_of_one_and_of_all(self):
        self.assertIn("draining", self.lairctl("drain", "n-1").out)
        self.assertEqual(self.lairctl("drain", "n-1").out, "n-1: draining already\n")
        self.submit(task("late"), "--node", "n-1", code=4)
        done = self.lairctl("undrain", "--all", "--yes")
        self.assertEqual(len(done.out.splitlines()), 3)
        self.assertIn("answered 3 of 3", done.err)
        rows = self.lairctl("drain", "n-1", "n-2", "-o", "json").json()
        self.assertTrue(all(r["ok"] for r in rows) and len(rows) == 2)
        self.lairctl("undrain", "n-1", "n-2")

    def test_the_local_socket_is_used_when_told_to(self):
        socket = self.agents["n-1"].socket
        self.assertIn("n-1, policy", self.lairctl("status", "--socket", socket).out)
        self.assertIn("n-1, policy", self.lairctl("status", env={"LAIRD_SOCKET": socket}).out)
        self.lairctl("get", "tasks", "--local", "--timeout", "1s", code=124,
                     env={"LAIRD_SOCKET": "/tmp/no-such.sock"})


if __name__ == "__main__":
    unittest.main(verbosity=2)

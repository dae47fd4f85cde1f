"""lairctl as an operator uses it, against real agents and a real broker."""

import json
import os
import signal
import subprocess
import time
import unittest

from boards import OperatedFleet, task
from harness import LAIRCTL, wait_until


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


class Plans(OperatedFleet):

    def budget(self):
        return self.lairctl("fleet", "status", "-o", "json").json()["budget_w"]

    def test_1_the_first_plan_is_made_of_what_the_boards_say(self):
        shown = self.lairctl("fleet", "init", "--dry-run", "--budget", "50W").json()
        self.assertEqual(sorted(shown["members"]), ["n-1", "n-2", "n-3"])
        self.assertEqual((shown["rev"], shown["budget"]["power_w"]), (1, 50.0))
        done = self.lairctl("fleet", "init", "--budget", "50W")
        self.assertEqual(done.out, "plan 1: power 50.0 W; in force on 3 of 3\n")
        self.assertEqual(self.budget(), 50.0)
        self.assertIn("revision 1", self.lairctl("fleet", "init", code=4).err)

    def test_2_the_budget_is_set_for_a_time_and_for_good(self):
        self.assertIn("in force on 3 of 3", self.lairctl("cap", "set", "40W", "--for", "1h").out)
        self.assertEqual(self.budget(), 40.0)
        self.assertIn("then 50.0 W", self.lairctl("cap", "get").out)
        self.assertIn("in force on 3 of 3", self.lairctl("cap", "clear").out)
        self.assertEqual(self.budget(), 50.0)
        self.assertIn("no cap for a time", self.lairctl("cap", "clear").out)
        self.assertIn("in force on 3 of 3", self.lairctl("cap", "set", "30W").out)
        done = self.lairctl("fleet", "status")
        self.assertIn("budget     30.0 W", done.out)
        self.assertIn("ok: 3 of 3 boards live", done.out)
        # Every board would refuse it, and the broker would tell it to each that comes.
        self.assertIn("below the floors", self.lairctl("cap", "set", "5W", code=2).err)
        self.assertEqual(self.budget(), 30.0)

    def test_3_one_board_has_a_cap_of_its_own(self):
        self.lairctl("cap", "set", "9W", "--node", "n-2")
        local = self.lairctl("cap", "get", "--socket", self.agents["n-2"].socket).out
        self.assertIn("cap 9.0 W by operator", local)
        self.lairctl("cap", "clear", "--node", "n-2")
        local = self.lairctl("cap", "get", "--socket", self.agents["n-2"].socket).out
        self.assertNotIn("operator", local)

    def test_4_a_board_that_is_away_makes_it_partial(self):
        self.agents["n-3"].signal(signal.SIGTERM)
        self.agents["n-3"].process.wait(15)
        done = self.lairctl("cap", "set", "33W", code=5)
        self.assertIn("in force on 2 of 3; n-3 is offline", done.out)
        status = self.lairctl("fleet", "status", code=5)
        self.assertIn("n-3 is offline", status.out)
        done = self.lairctl("drain", "--all", code=5)
        self.assertIn("answered 2 of 3", done.err)
        self.assertIn("n-3: no answer", done.err)
        self.lairctl("undrain", "--all", code=5)
        self.agents["n-3"].start()
        self.assertTrue(wait_until(lambda: self.run_lairctl("fleet", "status").code == 0, 20,
                                   every=0.5), self.run_lairctl("fleet", "status"))
        self.assertEqual(self.budget(), 33.0)

    def test_5_without_a_broker_it_says_so_within_the_timeout(self):
        start = time.monotonic()
        done = self.lairctl("get", "nodes", "--broker", "mqtts://localhost:1", "--timeout", "2s",
                            code=124)
        self.assertLess(time.monotonic() - start, 5)
        self.assertIn("no broker answers", done.err)

    def test_6_a_key_that_others_may_read_is_refused(self):
        key = os.path.join(self.credentials, "signing.key")
        os.chmod(key, 0o644)
        self.addCleanup(os.chmod, key, 0o600)
        done = self.run_lairctl("cap", "set", "33W")
        self.assertNotEqual(done.code, 0)
        self.assertIn("signing.key", done.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""The fleet's budget by lairctl: init, cap, status; boards that are away."""

import os
import signal
import time
import unittest

from boards import OperatedFleet
from harness import wait_until


class Budgets(OperatedFleet):

    def budget(self):
        return self.lairctl("fleet", "status", "-o", "json").json()["budget_w"]

    def test_1_the_first_plan_is_made_of_what_the_boards_say(self):
        shown = self.lairctl("fleet", "init", "--dry-run", "--budget", "50W").json()
        self.assertEqual(sorted(shown["members"]), ["n-1", "n-2", "n-3"])
        self.assertEqual((shown["rev"], shown["budget"]["power_w"]), (1, 50.0))
        done = self.lairctl("fleet", "init", "--budget", "50W")
        self.assertEqual(done.out, "budget 1: power 50.0 W; in force on 3 of 3\n")
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

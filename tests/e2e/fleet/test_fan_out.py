"""What a broker delivers to each board, by the broker's own log: a board that has no co-training task hears
nothing of the others' states, also when the broker comes back and everybody speaks at once."""

import collections
import re
import unittest

from boards import OperatedFleet
from harness import wait_until

# A board's client id is its name and 16 digits.
SENT = re.compile(r"Sending PUBLISH to (\S+)-[0-9a-f]{16} \(.*'laird/v1/lab/node/([^/']+)/(status|cotrain)'")


class FanOut(OperatedFleet):

    boards = ("n-1", "n-2", "n-3", "n-4")
    nodes = boards

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Every packet in the log, from now on.
        with open(cls.broker.folder + "/mosquitto.conf", "a", encoding="utf-8") as config:
            config.write("\nlog_type all\nlog_dest stderr\n")
        cls.restart_broker()

    @classmethod
    def restart_broker(cls):
        cls.broker.kill()
        cls.broker.start()
        cls.wait_for_boards()

    def heard_of_others(self):
        """By board: whose status and co-training tasks the broker has sent it, of other boards."""
        out = collections.defaultdict(set)
        for to, of, kind in SENT.findall(self.broker.log()):
            if to in self.boards and to != of:
                out[to].add((of, kind))
        return out

    def all_spoke(self):
        """Everybody said who they are, since the broker's start, and was heard by itself."""
        told = {to for to, of, kind in SENT.findall(self.broker.log())
                if to == of and kind == "status"}
        return told == set(self.boards)

    def test_only_boards_with_a_fleet_task_hear_of_others_and_only_so_long(self):
        self.assertTrue(wait_until(self.all_spoke, 20, 0.2))
        self.assertEqual(self.heard_of_others(), {})

        self.submit({"name": "shared", "trainer": "softmax", "deadline": "5m", "target_loss": -1,
                     "memory": "20MB", "fleet": True,
                     "params": {"data": {"format": "synthetic", "rows": 100, "features": 4},
                                "fleet": {"rounds": 1000000}}}, "--node", "n-1,n-2")
        both = [("n-1", "n-2"), ("n-2", "n-1")]

        def know_each_other():
            heard = self.heard_of_others()
            return all((other, kind) in heard[me] for me, other in both
                       for kind in ("status", "cotrain"))
        self.assertTrue(wait_until(know_each_other, 30, 0.3), self.heard_of_others())
        self.assertTrue(wait_until(lambda: [t["fleet"] for t in self.tasks(name="shared")] ==
                                   2 * [{"boards": 2}], 20, 0.3), self.tasks(name="shared"))

        # A broker without memory: who has the task asks again, nobody else does.
        self.restart_broker()
        self.assertTrue(wait_until(know_each_other, 30, 0.3), self.heard_of_others())
        self.assertTrue(wait_until(self.all_spoke, 20, 0.2))
        self.assertEqual(set(self.heard_of_others()), {"n-1", "n-2"})

        self.lairctl("cancel", "shared", "--all", "--yes")
        self.assertTrue(wait_until(lambda: self.broker.log().count(
            "Received UNSUBSCRIBE from n-1-") >= 2, 20, 0.2))
        self.restart_broker()
        self.assertTrue(wait_until(self.all_spoke, 20, 0.2))
        self.assertEqual(self.heard_of_others(), {})


if __name__ == "__main__":
    unittest.main(verbosity=2)

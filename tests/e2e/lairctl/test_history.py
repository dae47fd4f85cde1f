"""lairctl get tasks --ended: what became of the tasks that are over, asked over MQTT and at a
board's own socket, also after the agents started anew."""

import csv
import io
import json
import unittest

from boards import OperatedFleet, task


class History(OperatedFleet):
    boards = nodes = ("n-1", "n-2")

    def test_boards_tell_of_what_is_over_in_every_form(self):
        self.submit(task("easy", target=100), "--node", "n-1")
        self.submit(task("endless", target=1e-9, epochs=2), "--node", "n-2")
        self.wait_for_task("easy", "succeeded")
        self.wait_for_task("endless", "exhausted")

        rows = {r["name"]: r for r in json.loads(self.lairctl("get", "tasks", "--ended", "-o", "json").out)}
        self.assertEqual({"easy": "succeeded", "endless": "exhausted"},
                         {name: row["state"] for name, row in rows.items()})
        self.assertEqual("n-1", rows["easy"]["node"])
        self.assertGreater(rows["easy"]["margin_s"], 0)
        self.assertLessEqual(rows["easy"]["loss"], rows["easy"]["target_loss"])
        self.assertTrue(rows["endless"]["why"].startswith("exhausted"), rows["endless"])

        table = self.lairctl("get", "tasks", "--ended", "--since", "1h").out
        self.assertRegex(table, r"(?m)^easy +n-1 +succeeded ")
        wide = self.lairctl("get", "tasks", "--ended", "-o", "wide", "--node", "n-2").out
        self.assertIn("TRAINER", wide)
        self.assertNotIn("easy", wide)

        told = self.lairctl("get", "tasks", "--ended", "-o", "csv").out
        read = list(csv.DictReader(io.StringIO(told)))
        self.assertEqual({"easy", "endless"}, {r["name"] for r in read})

        # The board's own socket says the same, without a board beside each task, also to a new agent.
        local = ("get", "tasks", "--ended", "-o", "json", "--socket", self.agents["n-1"].socket)
        before = json.loads(self.lairctl(*local).out)
        self.assertEqual(["easy"], [row["name"] for row in before])
        self.agents["n-1"].kill()
        self.agents["n-1"].start()
        self.wait_for_boards()
        self.assertEqual(before, json.loads(self.lairctl(*local).out))

        none = self.lairctl("get", "tasks", "--ended", "--since", "1ms", "-o", "json").out
        self.assertEqual([], json.loads(none))

    def test_what_makes_no_sense_is_refused(self):
        self.assertIn("--ended", self.lairctl("get", "tasks", "--since", "1h", code=2).err)
        self.assertIn("-w", self.lairctl("get", "tasks", "--ended", "-w", code=2).err)
        self.assertIn("--since", self.lairctl("get", "tasks", "--ended", "--since", "5", code=2).err)


if __name__ == "__main__":
    unittest.main(verbosity=2)

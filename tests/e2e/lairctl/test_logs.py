"""What a trainer printed and how it ended, without going to its board: over the network and over the
board's own socket."""

import os
import subprocess
import unittest

from boards import OperatedFleet, task
from harness import LAIRCTL, wait_until

CHATTY = r"""#!/usr/bin/python3 -ISBu
import sys, time
for n in range(6000):
    print("line", n)
print("\x1b]0;mine\x07 caf\xe9 \u202edab".encode("latin-1", "replace").decode("latin-1"))
print("and now", flush=True)
for n in range(10000):
    print("step", n, flush=True)
    time.sleep(0.2)
"""
BROKEN = "#!/usr/bin/python3 -ISBu\nimport no_such_module\n"


class Logs(OperatedFleet):
    boards = ("n-1", "n-2")
    nodes = ("n-1", "n-2")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        board = cls.agents["n-2"]
        board.kill()
        for name, source in (("chatty", CHATTY), ("broken", BROKEN)):
            path = os.path.join(board.root, name + ".py")
            with open(path, "w", encoding="utf-8") as out:
                out.write(source)
            os.chmod(path, 0o755)
            board.config["trainers"][name] = {"exec": [path]}
        board.config["timing"] = {"start_timeout": "600s", "attempts_max": 2, "backoff_min": "0.1s",
                                  "backoff_max": "0.2s"}
        board.start()
        cls.wait_for_boards()

    def chatty(self):
        if not self.tasks(name="talks"):
            self.submit(task("talks", trainer="chatty", deadline="1h"), "--node", "n-2")
        self.assertTrue(wait_until(
            lambda: "step 1\n" in self.run_lairctl("logs", "talks", "--node", "n-2").out, 30, 0.3))

    def test_the_end_of_what_a_trainer_printed_and_all_of_it(self):
        self.chatty()
        end = self.lairctl("logs", "talks")
        self.assertRegex(end.out, r"\Aline \d+\n")
        self.assertIn("\nand now\nstep 0\n", end.out)
        self.assertNotIn("\x1b", end.out)
        self.assertIn("--all shows all of it", end.err)
        whole = self.lairctl("logs", "talks", "--all").out
        self.assertTrue(whole.startswith("line 0\nline 1\n"))
        self.assertEqual([n for n in range(6000) if "\nline %d\n" % n not in "\n" + whole], [])

    def test_it_can_be_followed(self):
        self.chatty()
        run = subprocess.run([LAIRCTL, "logs", "talks", "-f", "--for", "4s"], capture_output=True,
                             timeout=60, check=False, env=self.environment())
        steps = [int(line[5:]) for line in run.stdout.decode().splitlines()
                 if line.startswith("step ")]
        self.assertEqual(run.returncode, 0, run)
        self.assertEqual(steps, list(range(len(steps))))
        self.assertGreater(len(steps), 8)

    def test_it_is_there_on_the_board_itself(self):
        self.chatty()
        out = self.lairctl("logs", "talks", "--socket", self.agents["n-2"].socket).out
        self.assertIn("\nand now\n", out)

    def test_a_broken_trainer_says_why_in_the_list_of_tasks(self):
        self.submit(task("breaks", trainer="broken", deadline="1h"), "--node", "n-2")
        self.wait_for_task("breaks", "failed")
        (row,) = self.tasks(name="breaks")
        self.assertIn("exited by itself with code 1; it had printed: ModuleNotFoundError: No module "
                      "named 'no_such_module'", row["reason"])
        self.assertIn("ModuleNotFoundError", self.lairctl("get", "tasks", "-o", "wide").out)
        self.assertIn("Traceback", self.lairctl("logs", "breaks").out)

    def test_what_is_not_there_is_said(self):
        self.lairctl("logs", "nobody", code=3)
        refused = self.lairctl("logs", "nobody", "--node", "n-1", code=3)
        self.assertIn("no trainer of a task 'nobody' has printed anything here", refused.err)
        self.lairctl("logs", "../laird", "--node", "n-2", code=3)


if __name__ == "__main__":
    unittest.main(verbosity=2)

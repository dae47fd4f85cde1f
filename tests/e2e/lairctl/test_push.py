"""Files and models onto the boards, through a real broker: pushed in pieces that survive any
interruption, promoted by each board, and rolled out to one board first."""

import hashlib
import json
import os
import random
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../models"))

from boards import BIN, LAIRCTL, OperatedFleet

os.environ.setdefault("LAIRD_BIN", os.path.abspath(BIN))
import exported  # noqa: E402

FAKE = os.path.join(HERE, "../models/fake_trtexec.py")
PROMOTE = os.path.abspath(os.path.join(BIN, "laird-promote"))
QUOTA = "8MB"
INTERRUPTIONS = 8


class Push(OperatedFleet):
    boards = nodes = ("n-1", "n-2", "n-3")
    kinds = {"n-1": "orin-nano-8gb", "n-2": "orin-nano-8gb", "n-3": "xavier-nx-8gb"}

    @classmethod
    def configure(cls, board):
        board.pushed = os.path.join(board.root, "pushed")
        board.mode = os.path.join(board.root, "mode")
        board.config["push"] = {"folder": board.pushed, "quota": QUOTA}
        board.config["board"]["name"] = cls.kinds[board.node]
        board.config["power"] = {"source": "modelled"}
        board.config["trainers"]["laird-promote"] = {
            "exec": [PROMOTE, "task", "--trtexec", FAKE, "--plugin", "/no/such.so"],
            "env": {"FAKE_TRTEXEC_MODE": "ok", "PATH": "/usr/bin:/bin"}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = os.path.join(cls.root, "model")
        exported.train(cls.model, "mlp", exported.params(hidden=[6]))
        exported.export(cls.model, "--rows", "300")

    def mode_of(self, node, mode):
        """What the board's trtexec does from its next start on."""
        board = self.agents[node]
        board.kill()
        board.config["trainers"]["laird-promote"]["env"]["FAKE_TRTEXEC_MODE"] = mode
        board.start()
        self.wait_for_boards()

    def file(self, name, content):
        path = os.path.join(self.root, name)
        with open(path, "wb") as out:
            out.write(content)
        return path

    def on_board(self, node, *names):
        with open(os.path.join(self.agents[node].pushed, *names), "rb") as file:
            return file.read()

    def rows(self, model):
        return {row["node"]: row for row in self.lairctl("models", "-o", "json").json()
                if row["model"] == model}

    def test_a_file_goes_to_boards_by_name_by_kind_and_to_all(self):
        path = self.file("rows.csv", b"1,2,3\n" * 10_000)
        self.assertIn("which boards", self.lairctl("push", path, code=2).err)
        done = self.lairctl("push", path, "--kind", "orin-nano-8gb")
        self.assertEqual(done.out, "n-1: rows.csv  60000 bytes\nn-2: rows.csv  60000 bytes\n")
        self.assertIn("pushed to 2 of 2", done.err)
        self.assertFalse(os.path.exists(os.path.join(self.agents["n-3"].pushed, "rows.csv")))
        self.lairctl("push", path, "--all")
        for node in self.boards:
            self.assertEqual(self.on_board(node, "rows.csv"), b"1,2,3\n" * 10_000)
        wrong = self.lairctl("push", path, "--kind", "orin-nano", code=3)
        self.assertIn("there are orin-nano-8gb, xavier-nx-8gb", wrong.err)
        self.lairctl("push", path, "--kind", "orin-nano-8gb", "--all", code=2)
        self.lairctl("push", os.path.join(self.root, "none"), "--all", code=3)

    def test_what_was_interrupted_goes_on_and_arrives_whole(self):
        content = random.Random(4).randbytes(6_000_000)
        path = self.file("big.bin", content)
        folder = os.path.join(self.agents["n-1"].pushed, ".coming")
        chance = random.Random(5)
        for _ in range(INTERRUPTIONS):
            push = subprocess.Popen([LAIRCTL, "push", path, "--node", "n-1"], env=self.environment(),
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0.05, 0.35))
            push.kill()
            push.wait()
        have = max(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)
                   if not name.endswith(".is"))
        self.assertGreater(have, 0)
        self.assertFalse(os.path.exists(os.path.join(self.agents["n-1"].pushed, "big.bin")))
        done = self.lairctl("push", path, "--node", "n-1")
        self.assertIn("big.bin: going on at ", done.err)
        self.assertEqual(hashlib.sha256(self.on_board("n-1", "big.bin")).digest(),
                         hashlib.sha256(content).digest())
        full = self.lairctl("push", self.file("more.bin", content), "--node", "n-1", code=4)
        self.assertIn("push.quota", full.err)
        os.remove(os.path.join(self.agents["n-1"].pushed, "big.bin"))

    def test_an_operator_without_the_verb_pushes_nothing(self):
        board = self.agents["n-3"]
        board.kill()
        board.config["fleet"]["operators"][0]["may"] = ["get", "pull"]
        board.start()
        try:
            self.wait_for_boards()
            self.lairctl("push", self.file("no", b"no"), "--node", "n-3", code=4)
        finally:
            board.kill()
            board.config["fleet"]["operators"][0].pop("may")
            board.start()
            self.wait_for_boards()

    def test_a_model_is_pushed_to_a_kind_and_promoted_there(self):
        self.lairctl("push", self.model, "--model", "faces", "--kind", "orin-nano-8gb")
        done = self.lairctl("models", "promote", "faces", "--kind", "orin-nano-8gb", timeout_s=120)
        self.assertRegex(done.out, r"n-1: version 000001, fp16, p99 \d+ us\n"
                                   r"n-2: version 000001, fp16, p99 \d+ us\n")
        rows = self.rows("faces")
        self.assertEqual(set(rows), {"n-1", "n-2"})
        # A model that was never pushed there, and one that a training of the same name would lose.
        none = self.lairctl("models", "promote", "faces", "--node", "n-3", code=4, timeout_s=120)
        self.assertIn("no model 'faces' was pushed to this board", none.err)

    def test_a_rollout_goes_to_one_board_first_and_then_to_the_others(self):
        self.lairctl("push", self.model, "--model", "eyes", "--all")
        begun = time.monotonic()
        done = self.lairctl("models", "roll-out", "eyes", "--all", "--canary", "n-2", "--after",
                            "4s", timeout_s=180)
        self.assertGreater(time.monotonic() - begun, 4)
        self.assertEqual([line.split(":")[0] for line in done.out.splitlines()],
                         ["n-2", "n-1", "n-3"])
        self.assertIn("n-2 has it first; the others follow after 4s", done.err)
        self.assertEqual(set(self.rows("eyes")), {"n-1", "n-2", "n-3"})
        promoted = {node: row["promoted_ms"] for node, row in self.rows("eyes").items()}
        self.assertGreater(min(promoted["n-1"], promoted["n-3"]), promoted["n-2"] + 4000)
        again = self.lairctl("models", "roll-out", "eyes", "--all", "--canary", "n-2", "--after",
                             "1s", timeout_s=180)
        self.assertIn("n-1: has it already\nn-3: has it already\n", again.out)

    def test_a_canary_that_disagrees_keeps_the_others_as_they_are(self):
        self.lairctl("push", self.model, "--model", "ears", "--all")
        self.mode_of("n-1", "flipped")
        try:
            done = self.lairctl("models", "roll-out", "ears", "--all", "--after", "1s", code=4,
                                timeout_s=120)
            self.assertIn("n-1: no engine was good enough", done.err)
            self.assertIn("not touched: n-2, n-3", done.err)
            self.assertEqual(set(self.rows("ears")), {"n-1"})
        finally:
            self.mode_of("n-1", "ok")

    def test_a_canary_that_is_rolled_back_meanwhile_ends_the_rollout(self):
        self.lairctl("push", self.model, "--model", "nose", "--all")
        self.lairctl("models", "promote", "nose", "--node", "n-1", timeout_s=120)
        rollout = subprocess.Popen([LAIRCTL, "models", "roll-out", "nose", "--all", "--after", "60s"],
                                   env=self.environment(), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(rollout.kill)
        self.assertRegex(rollout.stdout.readline(), "n-1: version 000002")
        self.lairctl("models", "rollback", "nose", "--node", "n-1")
        out, err = rollout.communicate(timeout=60)
        self.assertEqual(rollout.returncode, 4, out + err)
        self.assertIn("n-1: version 000002 is not current any more", err)
        self.assertEqual(set(self.rows("nose")), {"n-1"})


if __name__ == "__main__":
    unittest.main(verbosity=2)

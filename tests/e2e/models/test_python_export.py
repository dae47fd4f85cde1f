"""trainer.export of laird_trainer.py: its files are read by laird-promote."""

import os
import sys
import tempfile
import unittest

import exported

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "trainers"))
from trainer_peer import Peer  # noqa: E402

PROMOTE = os.path.join(exported.BIN, "laird-promote")
# Two classes by the sign of one feature; the "model" is a file that nobody runs here.
SCRIPT = """
import os, sys
sys.path.insert(0, os.environ["LAIRD_PYTHON_MODULE"])
import laird_trainer
def export(path):
    if trainer.params.get("broken"):
        raise OSError("no room")
    with open(path, "wb") as file:
        file.write(b"a model")
    return {"features": 1, "outputs": 2, "rows": ([[1.0], [-1.0], [2.0]], [1, 0, 0],
                                                 [[-1.0, 1.0], [1.0, -1.0], [-2.0, 2.0]])}
with laird_trainer.connect(export=None if "--none" in sys.argv else export) as trainer:
    for batch in trainer.batches([[1, 2, 3, 4]] * 5, epochs=2):
        trainer.report(loss=0.5)
    if trainer.standalone:
        trainer.export(sys.argv[1])
"""


class PythonExport(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="laird-python-export-")
        self.folder = temporary.name
        self.addCleanup(temporary.cleanup)

    def path(self, name):
        return os.path.join(self.folder, name)

    def check(self):
        about = exported.about(self.folder)
        self.assertEqual((about["held_out"]["rows"], about["held_out"]["from"]), (3, "held-out"))
        self.assertAlmostEqual(about["held_out"]["accuracy"], 2 / 3)
        rows = exported.Rows(self.path("m.rows"))
        self.assertEqual((rows.inputs, rows.labels), ((1, -1, 2), (1, 0, 0)))
        done = exported.said(PROMOTE, "build", self.path("m.onnx"), "--out", self.path("out"),
                             "--backend", "none")
        self.assertEqual(done.returncode, 0, done)
        with open(self.path("out/current/m.onnx"), "rb") as file:
            self.assertEqual(file.read(), b"a model")
        self.assertEqual([n for n in os.listdir(self.folder) if n.endswith(".new")], [])
        return about

    def test_a_script_exports_when_its_work_is_done(self):
        done = exported.said(sys.executable, "-c", SCRIPT, self.path("m.onnx"))
        self.assertEqual(done.returncode, 0, done)
        about = self.check()
        self.assertEqual((about["samples"], about["training_loss"]), (40, 0.5))

    def test_the_agent_may_ask_for_the_model(self):
        with Peer([sys.executable, "-c", SCRIPT]) as peer:
            peer.ready(self.folder, {"rate": 0.1})
            peer.send({"type": "run", "until": 4})
            peer.until("progress")
            peer.send({"type": "export", "path": self.path("m.onnx")})
            answer = peer.until("exported")[-1]
            self.assertEqual((answer["samples"], answer["bytes"]), (4, 7))
            about = self.check()
            self.assertEqual((about["task"], about["params"]), ("t-1", {"rate": 0.1}))
            peer.send({"type": "export", "path": "m.onnx"})
            self.assertIn("absolute path", peer.until("exported")[-1]["problem"])
            peer.stop()

    def test_an_export_that_fails_is_told_and_leaves_nothing(self):
        for argv, params, what in ((["--none"], {}, "exports no model"),
                                   ([], {"broken": True}, "OSError: no room")):
            with Peer([sys.executable, "-c", SCRIPT] + argv) as peer:
                peer.ready(self.folder, params)
                peer.send({"type": "export", "path": self.path("x.onnx")})
                self.assertIn(what, peer.until("exported")[-1]["problem"])
                peer.send({"type": "run", "until": 4})
                peer.until("progress")
                peer.stop()
        self.assertFalse([n for n in os.listdir(self.folder) if n.startswith(("x", "model"))])

    def test_facts_that_do_not_fit_are_told(self):
        code = SCRIPT.replace('"features": 1', '"features": 2')
        done = exported.said(sys.executable, "-c", code, self.path("m.onnx"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("do not fit 2 features", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

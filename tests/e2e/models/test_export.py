"""laird-train export: the files it writes, from checkpoints and over the protocol."""

import hashlib
import os
import subprocess
import sys
import tempfile
import unittest

import exported
import onnx_graph

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "trainers"))
from trainer_peer import Peer  # noqa: E402


class Folder(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="laird-export-")
        self.folder = self.temporary.name
        self.addCleanup(self.temporary.cleanup)

    def path(self, name):
        return os.path.join(self.folder, name)


class Export(Folder):
    def test_every_kind_answers_as_the_model_did(self):
        for kind in exported.KINDS:
            folder = self.path(kind)
            exported.train(folder, kind, exported.params())
            exported.export(folder, "--rows", "200")
            about = exported.about(folder)
            rows = exported.Rows(os.path.join(folder, about["held_out"]["file"]))
            self.assertEqual((about["held_out"]["from"], rows.rows), ("held-out", 200))
            right = 0
            graph = onnx_graph.read(os.path.join(folder, "model.onnx"))
            half = onnx_graph.read(os.path.join(folder, "model.fp16.onnx"))
            self.assertEqual((graph.opset, graph.ir, half.opset, half.ir), (13, 7, 13, 7))
            for row in range(rows.rows):
                mine = rows.answer(row)
                for got, most in ((graph, 1e-4), (half, 2e-2)):
                    answer = got.run(rows.input(row))["logits"]
                    for a, b in zip(answer, mine):
                        self.assertLess(abs(a - b), most, kind)
                right += mine.index(max(mine)) == rows.labels[row]
            self.assertEqual(about["held_out"]["accuracy"], right / rows.rows)
            for part in ("onnx", "onnx_fp16", "held_out"):
                with open(os.path.join(folder, about[part]["file"]), "rb") as file:
                    data = file.read()
                self.assertEqual(about[part]["sha256"], hashlib.sha256(data).hexdigest())
                self.assertEqual(about[part]["bytes"], len(data))

    def test_numbers_to_predict_come_out_in_their_unit(self):
        csv = self.path("t.csv")
        with open(csv, "w") as file:
            file.write("a,b,y\n")
            for i in range(400):
                file.write("%d,%d,%d\n" % (i % 20, i % 7, 5000 + 30 * (i % 20) - 11 * (i % 7)))
        exported.train(self.path("n"), "linear", {
            "data": {"format": "csv", "path": csv}, "target": "label", "epochs": 60,
            "held_out": 0.2, "learning_rate": 0.01})
        exported.export(self.path("n"))
        about = exported.about(self.path("n"))
        self.assertEqual(about["output"]["decision"], "number")
        value = onnx_graph.read(os.path.join(self.path("n"), "model.onnx")).run([10, 3])["value"][0]
        self.assertLess(abs(value - (5000 + 300 - 33)), 5)

    def test_the_same_checkpoint_gives_the_same_bytes(self):
        exported.train(self.path("a"), "mlp", exported.params())
        first = exported.export(self.path("a"))
        with open(first, "rb") as file:
            before = file.read()
        exported.export(self.path("a"))
        with open(first, "rb") as file:
            self.assertEqual(file.read(), before)

    def test_other_rows_are_evaluated_as_the_model_was_trained(self):
        """evaluate and export agree on the same rows, whatever their own mean is."""
        csv = [self.path("train.csv"), self.path("test.csv")]
        for path, first in zip(csv, (-200, 40)):
            with open(path, "w") as file:
                file.write("a,y\n")
                for i in range(first, 200):
                    file.write("%d,%d\n" % (i, i >= 0))
        values = {"data": {"format": "csv", "path": csv[0], "class_count": 2}, "epochs": 20,
                  "learning_rate": 0.05}
        exported.train(self.path("m"), "softmax", values)
        values["data"]["path"] = csv[1]
        test = exported.write_params(self.folder, values)
        done = exported.said(exported.TRAIN, "evaluate", "softmax", test, "--dir", self.path("m"))
        self.assertIn("accuracy=1.00000", done.stdout, done)
        self.assertEqual(done.stderr, "")
        exported.export(self.path("m"), "--data", test)
        about = exported.about(self.path("m"))
        self.assertEqual((about["held_out"]["from"], about["held_out"]["accuracy"]), ("given", 1))
        self.assertIn("loss=%.4g" % about["held_out"]["loss"], done.stdout)

    def test_wrong_words_are_told(self):
        exported.train(self.path("a"), "svm", exported.params())
        for argv, what in (
                ([self.path("none"), "-o", self.path("m.onnx")], "cannot open"),
                ([self.path("a"), "-o", self.path("m.txt")], "NAME.onnx"),
                ([self.path("a"), "-o", "/no/such/place/m.onnx"], "/no/such/place"),
                ([self.path("a/params.json"), "-o", self.path("m.onnx")], "is not a checkpoint"),
                ([self.path("a"), "--kind", "svm"], "--kind and --params go together")):
            done = exported.said(exported.TRAIN, "export", *argv)
            self.assertNotEqual(done.returncode, 0, argv)
            self.assertIn(what, done.stderr)

    def test_rows_that_are_gone_are_told_and_the_model_goes_without(self):
        csv = self.path("t.csv")
        with open(csv, "w") as file:
            file.write("a,y\n" + "".join("%d,%d\n" % (i, i % 2) for i in range(50)))
        exported.train(self.path("a"), "svm", {"data": {"format": "csv", "path": csv}, "epochs": 1})
        os.unlink(csv)
        done = exported.said(exported.TRAIN, "export", self.path("a"), "-o", self.path("m.onnx"))
        self.assertEqual(done.returncode, 0)
        self.assertIn("no rows to check the model with", done.stderr)
        self.assertIsNone(exported.about(self.folder)["held_out"])

    def test_check_estimates_the_memory_a_training_takes(self):
        values = {"data": {"format": "synthetic", "rows": 2000, "features": 2000, "classes": 10},
                  "hidden": [1000], "epochs": 1}
        path = exported.write_params(self.folder, values)
        done = exported.said(exported.TRAIN, "check", "mlp", path)
        self.assertEqual(done.returncode, 0, done)
        told = int(done.stdout.split("memory_mb=")[1])
        taken = most_memory([exported.TRAIN, "mlp", "--params", path, "--samples", "256",
                             "--dir", self.folder])
        print("check told %d MB, the training took %.1f MB" % (told, taken))
        self.assertLess(taken, 1.1 * told)
        self.assertLess(told, 1.5 * taken)

    def test_fifty_million_weights_are_exported_in_little_memory(self):
        values = {"data": {"format": "synthetic", "rows": 64, "features": 6000, "classes": 10},
                  "hidden": [8192], "epochs": 1}
        path = exported.write_params(self.folder, values)
        done = exported.said(exported.TRAIN, "mlp", "--params", path, "--samples", "1",
                             "--dir", self.folder)
        self.assertEqual(done.returncode, 0, done)
        taken = most_memory([exported.TRAIN, "export", self.folder, "-o", self.path("m.onnx")])
        about = exported.about(self.folder)
        print("%d weights, %d bytes of ONNX, export took %.1f MB"
              % (about["weights"], about["onnx"]["bytes"], taken))
        self.assertGreater(about["weights"], 49_000_000)
        self.assertLess(taken, 64)


class Protocol(Folder):
    def test_a_running_trainer_hands_its_model_over(self):
        with Peer([exported.TRAIN, "mlp"]) as peer:
            peer.ready(self.folder, exported.params(epochs=0))
            peer.send({"type": "run", "until": 2000})
            while peer.until("progress")[-1]["samples"] < 2000:
                pass
            # A place that cannot be written is told, and the trainer lives on.
            peer.send({"type": "export", "path": "/no/such/place/m.onnx"})
            self.assertIn("/no/such/place", peer.until("exported")[-1]["problem"])
            peer.send({"type": "export", "path": self.path("m.onnx")})
            answer = peer.until("exported")[-1]
            self.assertEqual((answer["samples"], answer["path"]), (2000, self.path("m.onnx")))
            with open(self.path("m.onnx"), "rb") as file:
                model = file.read()
            self.assertEqual(answer["sha256"], hashlib.sha256(model).hexdigest())
            about = exported.about(self.folder)
            self.assertEqual((about["task"], about["samples"]), ("t-1", 2000))
            peer.stop()
        # The command finds the same model in the checkpoint.
        exported.export(self.folder)
        with open(self.path("model.onnx"), "rb") as file:
            self.assertEqual(file.read(), model)


def most_memory(argv):
    """MB that the program had at most."""
    script = ("import resource, subprocess, sys\n"
              "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n")
    out = subprocess.run([sys.executable, "-c", script] + argv, check=True, capture_output=True,
                         text=True)
    return int(out.stdout) * 1024 / 1e6


if __name__ == "__main__":
    unittest.main(verbosity=2)

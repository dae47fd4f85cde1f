"""laird-train over a real socket: the life cycle of every kind, and what only it promises."""

import array
import gzip
import json
import os
import socket
import struct
import subprocess
import tempfile
import threading
import unittest

from life_cycle import LifeCycle

PROGRAM = os.path.join(os.environ["LAIRD_BIN"], "laird-train")
DATA = {"format": "synthetic", "rows": 640, "features": 12, "classes": 3}
FASHION = "/usr/share/datasets/fashion-mnist/"


class Softmax(LifeCycle, unittest.TestCase):
    argv = [PROGRAM, "softmax"]
    params = {"data": DATA, "epochs": 0, "batch": 32}
    short = {"data": DATA, "epochs": 3, "batch": 32}
    short_samples = 3 * 640
    grid = 64
    newest = "checkpoint.bin"
    before = "checkpoint.before.bin"

    def error_of(self, params, kind="softmax"):
        with self.peer() as peer:
            peer.start(self.folder, params)
            message = peer.receive()
            self.assertEqual(message["type"], "error")
            self.assertEqual(peer.wait(), 1)
            return message["message"]

    def test_a_limit_inside_a_batch_is_kept_to_the_sample(self):
        with self.peer() as peer:
            self.ready(peer, report_every=1 << 40)
            for limit in (1, 2, 33, 63, 64, 65, 641, 1000):
                self.assertEqual(self.run_until(peer, limit)["samples"], limit)

    def test_without_epochs_it_trains_until_it_is_told_to_stop(self):
        with self.peer() as peer:
            self.assertIsNone(self.ready(peer, {"data": DATA})["planned_samples"])
            self.assertEqual(self.run_until(peer, 12 * 640)["samples"], 12 * 640)
            peer.stop()
            self.assertNotIn("done", [line["type"] for line in peer.lines])

    def test_bad_params_are_all_named(self):
        message = self.error_of({"data": {"format": "synthetic", "row": 5}, "batch": 0,
                                 "learning_rate": "fast"})
        for part in ("/data/row: unknown key", 'did you mean "rows"', "/batch: the value 0",
                     "/learning_rate: expected a number"):
            self.assertIn(part, message)

    def test_missing_data_names_the_file(self):
        path = self.path("no-such-file")
        message = self.error_of({"data": {"format": "idx", "images": path, "labels": path}})
        self.assertIn(path, message)
        self.assertIn("cannot open", message)

    def test_broken_data_names_the_place(self):
        path = self.path("t.csv")
        with open(path, "w") as file:
            file.write("a,b,y\n1,2,x\n3,oops,z\n")
        message = self.error_of({"data": {"format": "csv", "path": path}})
        self.assertIn(path + ":3: column 1 holds no number", message)

    def test_divergence_is_an_error_not_a_report(self):
        params = {"data": DATA, "epochs": 0, "learning_rate": 100, "l2": 10, "momentum": 0.99}
        with self.peer() as peer:
            self.ready(peer, params)
            peer.send({"type": "run", "until": 1 << 50})
            while True:
                message = peer.receive()
                if message["type"] == "error":
                    break
                self.assertIsInstance(message["loss"], float)
            self.assertIn("diverged", message["message"])
            self.assertEqual(peer.wait(), 1)

    def test_a_checkpoint_of_another_model_is_not_used(self):
        with self.peer() as peer:
            self.ready(peer)
            self.run_until(peer, self.grid)
            peer.stop()
        with self.peer() as peer:
            other = {"data": dict(DATA, features=7), "epochs": 0}
            self.assertEqual(self.ready(peer, other)["samples"], 0)
            self.assertIn("is of another run", peer.errors())

    def test_gzip_idx_files_are_read(self):
        rows = 100
        images = struct.pack(">IIII", 0x803, rows, 2, 2) + bytes(i % 251 for i in range(4 * rows))
        labels = struct.pack(">II", 0x801, rows) + bytes(i % 2 for i in range(rows))
        for name, content in (("i.gz", images), ("l.gz", labels)):
            with gzip.open(self.path(name), "wb") as file:
                file.write(content)
        data = {"format": "idx", "images": self.path("i.gz"), "labels": self.path("l.gz")}
        with self.peer() as peer:
            self.assertEqual(self.ready(peer, {"data": data, "epochs": 2})["planned_samples"], 200)
            peer.send({"type": "run", "until": 1 << 50})
            self.assertEqual(peer.until("done")[-1]["samples"], 200)


    def in_a_group_of_one(self, peer, **fleet):
        self.ready(peer, {"data": DATA, "batch": 64, "fleet": {"rounds": 5, "quorum": 1, **fleet}})
        peer.send({"type": "peers", "me": "n-1", "life": 1, "peers": []})
        peer.send({"type": "run", "until": 1 << 40})

    def test_on_stop_the_checkpoint_comes_before_what_stays_for_other_boards(self):
        with self.peer() as peer:
            self.in_a_group_of_one(peer)
            peer.until("done", timeout=30.0)
            # Who writes into it waits until somebody reads.
            slow = self.path("model-for-peers.bin.new")
            os.mkfifo(slow)
            peer.send({"type": "stop"})
            with open(slow, "rb") as file:
                self.assertTrue(file.read(64))
                self.assertTrue(os.path.exists(self.path(self.newest)))
                self.assertIn(b"n-1", file.read())
            peer.until("checkpointed")
            self.assertEqual(peer.wait(), 0)

    def test_noise_is_accounted_for_on_the_disk_before_anything_is_told(self):
        with self.peer() as peer:
            self.in_a_group_of_one(peer, noise=2, row_clip=1)
            told = [line for line in peer.until("done", timeout=30.0) if line["type"] == "group"][-1]
            # Five rounds of 1/8 and a ninth of it.
            self.assertIn("told of its rows: epsilon 6.35 at delta 1e-05", told["note"])
            peer.kill()
        with open(self.path("privacy-spent.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file), {"zcdp": 16 * (1 / 8 + 1 / 72)})
        with open(self.path("privacy-spent.json"), "w", encoding="utf-8") as file:
            file.write("{")
        message = self.error_of({"data": DATA, "fleet": {"rounds": 5, "noise": 2, "row_clip": 1}})
        self.assertIn("privacy-spent.json", message)


class Linear(LifeCycle, unittest.TestCase):
    argv = [PROGRAM, "linear"]
    params = Softmax.params
    short = Softmax.short
    short_samples = Softmax.short_samples
    grid = 64
    newest = "checkpoint.bin"
    before = "checkpoint.before.bin"


class Svm(Linear):
    argv = [PROGRAM, "svm"]


class Mlp(Linear):
    argv = [PROGRAM, "mlp"]
    params = dict(Softmax.params, hidden=[24, 12])
    short = dict(Softmax.short, hidden=[24, 12])


@unittest.skipUnless(os.path.exists(FASHION), "the package dataset-fashion-mnist is not installed")
class FashionMnist(unittest.TestCase):
    params = {"data": {"format": "idx", "images": FASHION + "train-images-idx3-ubyte.gz",
                       "labels": FASHION + "train-labels-idx1-ubyte.gz"},
              "limit_rows": 6000, "epochs": 2}

    def test_every_kind_learns_on_real_images(self):
        from trainer_peer import Peer
        import tempfile
        for kind, bound in (("linear", 0.055), ("svm", 0.7), ("softmax", 0.9), ("mlp", 0.7)):
            with tempfile.TemporaryDirectory() as folder, Peer([PROGRAM, kind]) as peer:
                ready = peer.ready(folder, self.params, report_every=2000)
                self.assertEqual(ready["planned_samples"], 12000)
                peer.send({"type": "run", "until": 12000})
                done = peer.until("done")[-1]
                self.assertLess(done["loss"], bound, kind)
                peer.stop()


class ByHand(unittest.TestCase):
    """Without an agent, for people."""

    def run_program(self, *arguments):
        environment = dict(os.environ)
        environment.pop("LAIRD_FD", None)
        run = subprocess.run([PROGRAM] + list(arguments), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, timeout=60, env=environment)
        return run.returncode, run.stdout.decode(), run.stderr.decode()

    def params_file(self, text):
        import tempfile
        file = tempfile.NamedTemporaryFile("w", suffix=".json")
        file.write(text)
        file.flush()
        self.addCleanup(file.close)
        return file.name

    def test_help_and_version(self):
        code, out, _ = self.run_program("--help")
        self.assertEqual(code, 0)
        self.assertIn("Example", out)
        code, out, _ = self.run_program("--version")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"^\d+\.\d+\.\d+\n$")

    def test_trains_and_prints(self):
        path = self.params_file('{"data": {"format": "synthetic"}, "epochs": 1} // a comment')
        code, out, _ = self.run_program("softmax", "--params", path, "--report", "5000")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"samples=10000 loss=[0-9.e-]+ ")
        self.assertIn("done samples=10000", out)

    def test_without_epochs_it_makes_ten_unless_it_is_told_how_long(self):
        path = self.params_file('{"data": {"format": "synthetic", "rows": 1000}}')
        for more, end in (((), 10000), (("--samples", "12000"), 12000)):
            code, out, _ = self.run_program("softmax", "--params", path, "--report", "1000", *more)
            self.assertEqual(code, 0)
            self.assertIn("samples=%d " % end, out)
            self.assertNotIn("samples=%d " % (end + 1000), out)
            self.assertEqual("done" in out, not more)

    def test_wrong_usage_is_2_and_wrong_params_are_1(self):
        self.assertEqual(self.run_program()[0], 2)
        self.assertEqual(self.run_program("softmacks")[0], 2)
        self.assertEqual(self.run_program("softmax")[0], 2)
        self.assertEqual(self.run_program("softmax", "--params", "/no/such/file")[0], 1)

    def test_check_lists_every_problem(self):
        path = self.params_file('{"data": {"format": "csv"},\n"hiden": [3],\n"batch": -1}')
        code, _, err = self.run_program("check", "mlp", path)
        self.assertEqual(code, 1)
        self.assertIn(path + ":2: /hiden: unknown key", err)
        self.assertIn(path + ":3: /batch", err)
        good = self.params_file('{"data": {"format": "synthetic"}}')
        self.assertEqual(self.run_program("check", "mlp", good)[0], 0)
        self.assertEqual(self.run_program("check", "mlq", good)[0], 2)

    def test_check_leaves_data_of_the_tasks_folder_to_the_start(self):
        there = self.params_file('{"data": {"format": "csv", "path": "rows-of-the-board.csv", "label": "y"}}')
        code, out, err = self.run_program("check", "softmax", there)
        self.assertEqual(code, 0, err)
        self.assertIn("looked for in the task's folder when the task starts", out)
        nowhere = self.params_file('{"data": {"format": "csv", "path": "/no/rows.csv", "label": "y"}}')
        self.assertEqual(self.run_program("check", "softmax", nowhere)[0], 1)


class Average(unittest.TestCase):
    """laird-train average between an agent and a trainer, which are both this test."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.helper = subprocess.Popen(
            [PROGRAM, "average"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno()], env={"LAIRD_FD": str(theirs.fileno())})
        theirs.close()
        ours.settimeout(30)
        self.addCleanup(self.helper.communicate)
        self.addCleanup(self.helper.kill)
        watchdog = threading.Timer(60, self.helper.kill)  # a read waits as long as it takes
        watchdog.start()
        self.addCleanup(watchdog.cancel)
        self.socket, self.agent = ours, ours.makefile("rb")
        self.addCleanup(ours.close)
        self.addCleanup(self.agent.close)

    def say(self, message, raw=b""):
        self.helper.stdin.write(json.dumps(message).encode() + b"\n" + raw)
        self.helper.stdin.flush()

    def tell(self, message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def close_the_pipe(self):
        self.helper.stdin.close()
        self.helper.stdin = None

    def heard_by(self, stream, kind):
        while True:
            line = stream.readline()
            self.assertTrue(line, kind)
            message = json.loads(line)
            if message["type"] == kind:
                return message
            self.assertNotEqual(message["type"], "error", message)

    def begin(self):
        self.say({"type": "start", "v": 1, "task": "t", "dir": self.folder, "report_every": 10, "seed": 1,
                  "threads": 1, "params": {"fleet": {"rounds": 5, "quorum": 1}}})
        self.say({"type": "ready", "v": 1, "samples": 0, "loss": None, "resumed": False,
                  "planned_samples": None})
        self.heard_by(self.agent, "ready")
        self.tell({"type": "peers", "me": "n-1", "life": 1, "peers": []})
        self.tell({"type": "run", "until": 100})
        self.heard_by(self.helper.stdout, "run")

    def average(self, weights, **more):
        raw = array.array("f", weights).tobytes()
        self.say({"type": "average", "rows": 0, "loss": None, "judged": None, "bytes": len(raw), **more}, raw)

    def test_the_trainer_hears_of_a_stop_and_its_answer_passes_while_the_disk_stands_still(self):
        self.begin()
        self.average([1.0] * 10)
        answer = self.heard_by(self.helper.stdout, "averaged")
        self.assertEqual(self.helper.stdout.read(answer["bytes"]), array.array("f", [1.0] * 10).tobytes())
        # Who writes into it waits until somebody reads.
        path = os.path.join(self.folder, "model-for-peers.bin")
        os.mkfifo(path + ".new")
        self.tell({"type": "stop"})
        self.heard_by(self.helper.stdout, "stop")
        self.say({"type": "checkpointed", "samples": 0, "loss": None})
        self.heard_by(self.agent, "checkpointed")
        self.close_the_pipe()
        with self.assertRaises(subprocess.TimeoutExpired):
            self.helper.wait(0.5)
        with open(path + ".new", "rb") as file:
            self.assertIn(b"n-1", file.read())
        self.assertEqual(self.helper.wait(20), 0)

    def test_what_stays_for_others_is_there_when_it_has_ended(self):
        self.begin()
        self.average([1.0] * 10)
        answer = self.heard_by(self.helper.stdout, "averaged")
        self.helper.stdout.read(answer["bytes"])
        self.tell({"type": "stop"})
        self.heard_by(self.helper.stdout, "stop")
        self.close_the_pipe()
        self.assertEqual(self.helper.wait(20), 0)
        with open(os.path.join(self.folder, "model-for-peers.bin"), "rb") as file:
            self.assertIn(b"n-1", file.read())

    def test_rows_that_no_board_can_have_are_an_error_with_a_reason(self):
        for rows in (1e13, -1, "many"):
            self.setUp()
            self.begin()
            self.average([1.0], rows=rows)
            line = json.loads(self.agent.readline())
            self.assertEqual(line["type"], "error")
            self.assertIn('"rows" must be', line["message"])
            self.assertEqual(self.helper.wait(20), 1)


if __name__ == "__main__":
    unittest.main()

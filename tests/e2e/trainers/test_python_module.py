"""laird_trainer.py over a real socket, and without one."""

import ast
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from life_cycle import LifeCycle
from trainer_peer import Peer

HERE = os.path.dirname(os.path.abspath(__file__))
MODULE = os.environ["LAIRD_PYTHON_MODULE"]
FASHION = "/usr/share/datasets/fashion-mnist/"


class CountingTrainer(LifeCycle, unittest.TestCase):
    argv = [sys.executable, os.path.join(HERE, "counting_trainer.py")]
    env = {"LAIRD_PYTHON_MODULE": MODULE}
    params = {"epochs": 1000000}
    short = {"epochs": 3}
    short_samples = 150
    grid = 20
    newest = "checkpoint.json"
    before = "checkpoint.before.json"
    report_every = 30

    def result(self, folder):
        with open(os.path.join(folder, self.newest)) as file:
            index = json.load(file)
        with open(os.path.join(folder, index.pop("state"))) as file:
            return index, file.read()

    def state_of(self, name):
        with open(self.path(name)) as file:
            return json.load(file)["state"]

    def test_a_damaged_state_file_falls_back_too(self):
        with self.peer() as peer:
            self.ready(peer)
            for n in (1, 2):
                self.run_until(peer, n * self.grid)
                peer.send({"type": "checkpoint"})
                peer.until("checkpointed")
            peer.kill()
        with open(self.path(self.state_of(self.newest)), "r+b") as file:
            file.write(b"9")
        with self.peer() as peer:
            self.assertEqual(self.ready(peer)["samples"], self.grid)
            self.assertIn("has changed since it was written", peer.errors())

    def test_old_state_files_are_removed(self):
        with self.peer() as peer:
            self.ready(peer)
            for n in range(1, 8):
                self.run_until(peer, n * self.grid)
                peer.send({"type": "checkpoint"})
                peer.until("checkpointed")
            peer.stop()
        self.assertEqual(len([n for n in os.listdir(self.folder) if n.startswith("state.")]), 2)

    def test_an_exception_in_the_loop_is_told_to_the_agent(self):
        with self.peer() as peer:
            self.ready(peer, {"fail_at": 40})
            peer.send({"type": "run", "until": 1 << 50})
            while True:
                message = peer.receive()
                if message["type"] == "error":
                    break
            self.assertEqual(message["message"], "RuntimeError: the disk with the data is on fire")
            self.assertEqual(peer.wait(), 1)
            self.assertIn("Traceback", peer.errors())

    def test_a_loss_that_is_no_number_is_an_error(self):
        with self.peer() as peer:
            self.ready(peer, {"nan_at": 40})
            peer.send({"type": "run", "until": 1 << 50})
            while True:
                message = peer.receive()
                if message["type"] == "error":
                    break
            self.assertIn("the loss is nan after 40 samples", message["message"])
            self.assertEqual(peer.wait(), 1)

    def test_without_save_it_says_that_a_restart_begins_afresh(self):
        with self.peer() as peer:
            self.ready(peer, {"forget": True})
            self.run_until(peer, self.grid)
            peer.stop()
            self.assertIn("a restart will begin afresh", peer.errors())

    def test_a_limit_inside_a_batch_is_passed_by_less_than_a_batch(self):
        with self.peer() as peer:
            self.ready(peer, report_every=1 << 40)
            for limit, reached in ((1, 10), (10, 10), (11, 20), (95, 100)):
                self.assertEqual(self.run_until(peer, limit)["samples"], reached)


class Script(unittest.TestCase):
    """Scripts run as they are, without an agent."""

    def run_script(self, code, **more):
        path = os.pathsep.join([MODULE] + os.environ.get("PYTHONPATH", "").split(os.pathsep))
        environment = dict(os.environ, PYTHONPATH=path.rstrip(os.pathsep))
        environment.pop("LAIRD_FD", None)
        run = subprocess.run([sys.executable, "-c", code], env=environment, timeout=60,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        return run.returncode, run.stdout.decode(), run.stderr.decode()


class Alone(Script):
    LOOP = """
import laird_trainer
with laird_trainer.connect(params={"a": 1}, report_every=4) as trainer:
    assert trainer.standalone and trainer.params == {"a": 1}
    for batch in trainer.batches([[1, 2], [3, 4], [15]], epochs=2):
        trainer.report(samples=len(batch), loss=sum(batch))
print("after", trainer.samples)
"""

    def test_a_plain_loop_prints_mean_losses_and_goes_on_after_it(self):
        code, out, err = self.run_script(self.LOOP)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.splitlines(), ["samples=4 loss=5", "samples=9 loss=7",
                                            "samples=10 loss=15", "after 10"])

    def test_it_resumes_from_its_folder_where_it_was_in_the_epoch(self):
        loop = """
import sys, laird_trainer
seen = []
def save(path): open(path, "w").write("x")
with laird_trainer.connect(save=save, load=open, planned_samples=int(sys.argv[2]),
                           folder=sys.argv[1]) as trainer:
    for batch in trainer.batches(lambda epoch: [[epoch, 1], [epoch, 2], [epoch, 3]]):
        seen.append(batch)
        trainer.report(samples=2, loss=1.0)
print(seen)
"""
        with tempfile.TemporaryDirectory() as folder:
            outputs = []
            for planned in ("4", "10"):
                run = subprocess.run([sys.executable, "-c", loop, folder, planned],
                                     env=dict(os.environ, PYTHONPATH=MODULE), timeout=60,
                                     stdout=subprocess.PIPE)
                self.assertEqual(run.returncode, 0)
                outputs.append(run.stdout.decode().splitlines()[-1])
            self.assertEqual(outputs, ["[[0, 1], [0, 2]]", "[[0, 3], [1, 1], [1, 2]]"])

    def test_mistakes_in_a_loop_have_clear_errors(self):
        for line, why in (("trainer.report(samples=0, loss=1.0)", "number of samples"),
                          ("trainer.report(samples=1, loss=float('inf'))", "diverged"),
                          ("list(trainer.batches(iter([]), epochs=1))", "gave no batch"),
                          ("trainer.resume(); trainer.resume()", "called once")):
            code, _, err = self.run_script(
                "import laird_trainer\nwith laird_trainer.connect() as trainer:\n    " + line)
            self.assertEqual(code, 1)
            self.assertIn(why, err)


class Rows(Script):
    """How many samples a report counts, without an agent: the sum at the end of the loop."""

    TENSOR = """
import laird_trainer
class Tensor(object):
    def __init__(self, *shape):
        self.shape = shape
    def __len__(self):
        return self.shape[0]
"""

    def count(self, batch, report="loss=1.0"):
        """(samples counted in two epochs of three such batches, what was said on stderr)"""
        code, out, err = self.run_script(self.TENSOR + """
with laird_trainer.connect(report_every=1) as trainer:
    for batch in trainer.batches([%s] * 3, epochs=2):
        trainer.report(%s)
print("counted", trainer.samples)
""" % (batch, report))
        self.assertEqual(code, 0, err)
        return int(out.split()[-1]), err

    def test_rows_are_counted_however_a_batch_is_nested(self):
        for batch, rows in (
                ("[Tensor(32, 784), Tensor(32)]", 32),     # a DataLoader over a TensorDataset
                ("(Tensor(32, 784), Tensor(32))", 32),
                ("Tensor(32, 3, 64, 64)", 32),
                ("{'image': Tensor(16, 9), 'label': Tensor(16)}", 16),
                ("[[Tensor(8, 2), Tensor(8, 3)], Tensor(8)]", 8),
                ("[Tensor(5, 2), ('a', 'b', 'c', 'd', 'e')]", 5),
                ("[1, 2, 3]", 3),                          # a list of indices
                ("[[0.5] * 784] * 20", 20),                # a list of rows
                ("([[1, 2, 3]] * 5, [0, 1, 0, 1, 0])", 5),  # columns as lists
                ("[(Tensor(3, 64, 64), 7)] * 4", 4),       # rows that nobody put together
                ("[Tensor(784)] * 32", 32),
                ("range(7)", 7)):
            self.assertEqual(self.count(batch), (6 * rows, ""), batch)

    def test_what_does_not_say_counts_as_one_and_a_warning_names_the_remedy_once(self):
        for batch in ("[Tensor(32, 4), Tensor(31)]", "[('a',) * 9, ('b',) * 9]", "object()",
                      "{'image': Tensor(3, 64, 64), 'label': 5}", "Tensor()"):
            counted, err = self.count(batch)
            self.assertEqual(counted, 6, batch)
            self.assertEqual(len(err.splitlines()), 1, err)
            self.assertIn("give report(samples=..., loss=...)", err)

    def test_samples_that_contradict_the_batch_are_taken_and_warned_of_once(self):
        batch = "[Tensor(32, 784), Tensor(32)]"
        counted, err = self.count(batch, "samples=len(batch), loss=1.0")
        self.assertEqual(counted, 12)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertIn("report(samples=2), but the last batch has 32 rows: leave samples= out", err)

    def test_samples_that_agree_or_cannot_be_checked_are_taken_in_silence(self):
        for batch, samples, counted in (("[Tensor(32, 784), Tensor(32)]", "32", 192),
                                        ("object()", "7", 42)):
            self.assertEqual(self.count(batch, "samples=%s, loss=1.0" % samples), (counted, ""))

    def test_a_report_after_several_batches_counts_them_all(self):
        for report in ("loss=1.0", "samples=96, loss=1.0", "samples=32, loss=1.0"):
            code, out, err = self.run_script(self.TENSOR + """
with laird_trainer.connect(report_every=1) as trainer:
    for n, batch in enumerate(trainer.batches([Tensor(32, 4)] * 3, epochs=2)):
        if n %% 3 == 2:
            trainer.report(%s)
print(trainer.samples)
""" % report)
            self.assertEqual((code, err), (0, ""))
            self.assertEqual(out.split()[-1], "64" if "32" in report else "192")

    def test_a_report_without_a_batch_or_a_loss_is_an_error(self):
        for line, why in (("trainer.report(loss=1.0)", "give report(samples=..., loss=...)"),
                          ("trainer.report(samples=3)", "needs a loss")):
            code, _, err = self.run_script(
                "import laird_trainer\nwith laird_trainer.connect() as trainer:\n    " + line)
            self.assertEqual(code, 1)
            self.assertIn(why, err)


class Averaging(unittest.TestCase):
    """What average() exchanges of a model; the rounds are in tests/e2e/fleet/test_averaging.py."""

    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, MODULE)
        cls.addClassCleanup(sys.path.remove, MODULE)
        import laird_average
        cls.module = laird_average

    def moved(self, tensors, by, personal=()):
        """The tensors after each exchanged number has grown by `by`; and how many there are."""
        values = self.module.array.array("f")
        slots = self.module.slots_of(tensors, personal)
        for slot in slots:
            slot.read_into(values)
        fresh = self.module.array.array("f", [v + by for v in values])
        at = 0
        for slot in slots:
            at = slot.write_from(fresh, at)
        return tensors, len(values)

    def test_lists_are_changed_in_place_as_deep_as_they_are(self):
        inner = [[1.0, 2.0], [3.0, 4.0]]
        model = {"weights": inner, "bias": 0.5}
        self.assertEqual(self.moved(model, 1), ({"weights": [[2.0, 3.0], [4.0, 5.0]], "bias": 1.5}, 5))
        self.assertIs(model["weights"], inner)
        self.assertEqual(self.moved([1.0, 2.0], 1), ([2.0, 3.0], 2))
        self.assertEqual(self.moved([[1.0], [2.0, 3.0]], 1), ([[2.0], [3.0, 4.0]], 3))

    def test_personal_layers_counters_and_statistics_of_batches_stay(self):
        model = {"body.weight": [1.0], "head.weight": [1.0], "header": [1.0], "steps": 3,
                 "norm.running_mean": [1.0], "norm.num_batches_tracked": 7}
        self.assertEqual(self.moved(model, 1, ["head"]), (
            {"body.weight": [2.0], "head.weight": [1.0], "header": [2.0], "steps": 3,
             "norm.running_mean": [1.0], "norm.num_batches_tracked": 7}, 2))
        self.assertEqual(self.moved([[1.0], [1.0]], 1, [1])[0], [[2.0], [1.0]])

    def test_the_order_of_a_dict_does_not_matter(self):
        values = [self.module.array.array("f"), self.module.array.array("f")]
        for out, model in zip(values, ({"b": [2.0], "a": [1.0]}, {"a": [1.0], "b": [2.0]})):
            for slot in self.module.slots_of(model, ()):
                slot.read_into(out)
        self.assertEqual(values[0], values[1])

    def test_whole_numbers_stay_also_in_lists(self):
        model = {"order": [3, 1, 2], "seen": [[1, 2], [3]], "flag": True, "none": [],
                 "mixed": [0, 0.5], "deep": [[0], [1.5]]}
        self.assertEqual(self.moved(model, 1), (
            {"order": [3, 1, 2], "seen": [[1, 2], [3]], "flag": True, "none": [],
             "mixed": [1.0, 1.5], "deep": [[1.0], [2.5]]}, 4))
        self.assertEqual(self.moved([3, 1, 2], 1), ([3, 1, 2], 0))

    HELPER = ("import os, sys\nos.read(0, 1)\n"  # `start`, and then the end of what it is told
              "while os.read(0, 65536):\n    pass\n"
              "open(os.path.join(sys.path[0], 'ended'), 'w').close()\n")

    def with_helper(self, folder, script):
        """The script's process, begun as a co-training task whose helper only waits for its end."""
        helper = os.path.join(folder, "helper")
        with open(helper, "w") as out:
            out.write("#!%s\n%s" % (sys.executable, self.HELPER))
        os.chmod(helper, 0o700)
        script = ("import sys, os, time; sys.path.insert(0, %r)\nimport laird_trainer\n"
                  "with laird_trainer.connect() as trainer:\n" % MODULE) + script
        peer = Peer([sys.executable, "-c", script], {"LAIRD_TRAIN": helper})
        peer.start(folder, {"fleet": {}})
        return peer

    def test_a_forked_worker_does_not_keep_the_helper_waiting(self):
        with tempfile.TemporaryDirectory() as folder:
            # As a data loader's worker whose maker is killed.
            with self.with_helper(folder, "    pid = os.fork()\n"
                                          "    if pid == 0:\n        time.sleep(60)\n"
                                          "    open('%s/worker', 'w').write(str(pid))\n"
                                          "    os._exit(0)\n" % folder) as peer:
                self.assertEqual(peer.wait(), 0)
                with open(os.path.join(folder, "worker")) as file:
                    worker = int(file.read())
                try:
                    until = time.monotonic() + 20
                    while not os.path.exists(os.path.join(folder, "ended")):
                        self.assertLess(time.monotonic(), until)
                        time.sleep(0.05)
                finally:
                    os.kill(worker, signal.SIGKILL)

    def test_rows_that_the_other_boards_would_not_take_are_an_error(self):
        for rows in ("0", "-1", "1e13", "float('nan')"):
            with tempfile.TemporaryDirectory() as folder:
                with self.with_helper(folder, "    try:\n        trainer.average([1.0], rows=%s)\n"
                                              "    except ValueError as error:\n"
                                              "        print(error, flush=True)\n"
                                              "    os._exit(0)\n" % rows) as peer:
                    self.assertEqual(peer.wait(), 0)
                    self.assertIn(b"say how much this board counts", peer.process.stdout.read())

    def test_without_laird_train_the_error_says_what_to_do(self):
        script = ("import sys; sys.path.insert(0, %r)\nimport laird_trainer\n"
                  "with laird_trainer.connect() as trainer:\n    pass\n" % MODULE)
        with tempfile.TemporaryDirectory() as folder:
            with Peer([sys.executable, "-c", script], {"LAIRD_TRAIN": "/nowhere/laird-train"}) as peer:
                peer.start(folder, {"fleet": {}})
                message = peer.receive()
                self.assertEqual(message["type"], "error")
                self.assertIn("/nowhere/laird-train cannot be started", message["message"])
                self.assertIn("LAIRD_TRAIN in the trainer's env", message["message"])

    def test_standing_alone_it_changes_nothing(self):
        script = ("import sys; sys.path.insert(0, %r)\nimport laird_trainer\nmodel = [[1.0]]\n"
                  "with laird_trainer.connect() as trainer:\n    trainer.average(model)\n"
                  "print(model)\n" % MODULE)
        run = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, timeout=30)
        self.assertEqual(run.stdout, b"[[1.0]]\n")

    def test_arrays_of_numpy_keep_their_shape_and_kind(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("no numpy")
        model = {"w": numpy.ones((2, 3)), "half": numpy.ones(2, "f2"), "n": numpy.ones(2, "i4"),
                 "scalar": numpy.float32(1)}
        found, count = self.moved(model, 1)
        self.assertEqual(count, 9)
        self.assertEqual((found["w"].dtype, found["w"].tolist()), (numpy.float64, [[2.0] * 3] * 2))
        self.assertEqual((found["half"].dtype, found["half"].tolist()), (numpy.float16, [2.0, 2.0]))
        self.assertEqual((found["n"].tolist(), float(found["scalar"])), ([1, 1], 2.0))


class OneFile(unittest.TestCase):
    def test_it_is_python_3_6_and_needs_only_the_standard_library(self):
        library = {"array", "hashlib", "json", "math", "os", "select", "shutil", "socket", "stat",
                   "subprocess", "sys", "time"}
        # The others are needed by scripts that export their model or have it averaged, and imported
        # only then.
        for name, more in (("laird_trainer.py", {"laird_model", "laird_average"}),
                           ("laird_model.py", set()), ("laird_average.py", {"laird_trainer"})):
            with open(os.path.join(MODULE, name)) as file:
                tree = ast.parse(file.read(), feature_version=(3, 6))
            imported = set()
            for node in ast.walk(tree):
                if isinstance(node, ast.Import):
                    imported.update(name.name for name in node.names)
                self.assertNotIsInstance(node, ast.ImportFrom)
            self.assertLessEqual(imported, library | more)
            first = {alias.name for node in tree.body if isinstance(node, ast.Import)
                     for alias in node.names}
            self.assertFalse({"laird_model", "laird_average"} & first)


class Examples(unittest.TestCase):
    def test_lines_only_prints_the_documented_lines(self):
        run = subprocess.run([sys.executable, os.path.join(MODULE, "examples", "lines_only.py")],
                             stdout=subprocess.PIPE, timeout=60)
        self.assertEqual(run.returncode, 0)
        lines = run.stdout.decode().splitlines()
        self.assertEqual(len(lines), 100)
        for line in lines:
            self.assertRegex(line, r"^laird: samples=\d+ loss=[0-9.e+-]+$")

    @unittest.skipUnless(os.path.exists(FASHION), "dataset-fashion-mnist is not installed")
    def test_fashion_mnist_learns_under_an_agent_and_resumes(self):
        argv = [sys.executable, os.path.join(MODULE, "examples", "fashion_mnist.py")]
        params = {"rows": 320, "epochs": 2, "batch": 32}
        with tempfile.TemporaryDirectory() as folder:
            with Peer(argv) as peer:
                ready = peer.ready(folder, params, report_every=64)
                self.assertEqual(ready["planned_samples"], 640)
                peer.send({"type": "run", "until": 320})
                first = peer.until("progress", timeout=60)[-1]
                while first["samples"] < 320:
                    last = first = peer.until("progress")[-1]
                peer.stop()
            with Peer(argv) as peer:
                ready = peer.ready(folder, params, report_every=64)
                self.assertEqual((ready["samples"], ready["resumed"]), (320, True))
                peer.send({"type": "run", "until": 640})
                done = peer.until("done", timeout=60)[-1]
                self.assertEqual(done["samples"], 640)
                self.assertLess(done["loss"], 2.0)
                self.assertLess(done["loss"], last["loss"])
                peer.stop()

    @unittest.skipUnless(os.path.exists(FASHION), "dataset-fashion-mnist is not installed")
    def test_fashion_mnist_refuses_an_unknown_parameter(self):
        argv = [sys.executable, os.path.join(MODULE, "examples", "fashion_mnist.py")]
        with tempfile.TemporaryDirectory() as folder, Peer(argv) as peer:
            peer.start(folder, {"epoch": 3})
            message = peer.receive()
            self.assertEqual(message["type"], "error")
            self.assertIn("unknown parameter epoch", message["message"])


if __name__ == "__main__":
    unittest.main()

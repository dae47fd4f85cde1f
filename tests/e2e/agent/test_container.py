"""Trainers that are images: a real podman, an image made on the spot, no network."""

import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

import container_image
import harness
from harness import Board, is_alive

TRAINER = r"""
import json, os, socket, sys, time
sys.path.insert(0, "/opt")
import laird_trainer

def tried(what):
    try:
        what()
        return "can"
    except OSError as error:
        return error.strerror or str(error)

def write(path):
    with open(path, "w") as out:
        out.write("x")

def look(trainer):
    with open("/proc/self/status") as status:
        rows = dict(line.split(":", 1) for line in status)
    with open("/proc/net/dev") as devices:
        networks = [line.split(":")[0].strip() for line in devices.read().splitlines()[2:]]
    with open("/proc/self/cgroup") as groups:
        groups = groups.read()
    params = trainer.params
    said = {
        "uid": os.getuid(), "capabilities": rows["CapBnd"].strip(), "networks": networks,
        "no_new_privileges": rows["NoNewPrivs"].strip(), "seccomp": rows["Seccomp"].strip(),
        "groups": groups, "processes": sum(name.isdigit() for name in os.listdir("/proc")),
        "write root": tried(lambda: write("/x")), "write data": tried(lambda: write(params["data"] + "/x")),
        "write tmp": tried(lambda: write("/tmp/x")), "folder": os.getcwd(),
        "data": os.listdir(params["data"]), "sees": [p for p in params["secrets"] if os.path.exists(p)],
        "fd": os.environ.get("LAIRD_FD"), "image": os.environ.get("OF_BOARD"),
    }
    with open("said.json", "w") as out:
        json.dump(said, out)

with laird_trainer.connect(save=lambda path: write(path), load=lambda path: None) as trainer:
    look(trainer)
    print("a line for the log", flush=True)
    held = []
    for _ in trainer.batches([[0] * 10] * 100):
        if trainer.params.get("eat"):
            held.append(bytearray(os.urandom(1 << 20)) * 8)
        time.sleep(0.01)
        trainer.report(samples=10, loss=max(0.05, 10.0 / (1 + trainer.samples)))
"""


class Containers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="laird-container-", dir="/tmp")
        os.chmod(cls.folder, 0o755)
        why_not = container_image.why_not(cls.folder)
        if why_not:
            shutil.rmtree(cls.folder, ignore_errors=True)
            raise unittest.SkipTest(why_not)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def board(self, **more):
        board = Board("box", **more)
        board.data = os.path.join(board.root, "data")
        os.mkdir(board.data)
        with open(os.path.join(board.data, "rows.csv"), "w", encoding="utf-8") as out:
            out.write("1\n")
        board.containers = os.path.join(board.root, "containers")
        os.chmod(board.root, 0o755)
        board.config["trainers"]["boxed"] = {
            "image": container_image.IMAGE, "exec": ["python3", "-c", TRAINER],
            "engine": container_image.engine(os.path.join(self.folder, "store")),
            "env": {"OF_BOARD": "yes"}}
        board.config["data_roots"] = [board.data]
        board.config["cell"] = {"containers": board.containers, "user": "nobody", "disk": "50MB"}
        board.config["timing"].update({"start_timeout": "60s", "attempts_max": 2})
        return board

    def task(self, board, name="boxed", **more):
        task = {"name": name, "trainer": "boxed", "deadline": "10m", "target_loss": 0.06,
                "memory": "300MB", "report_every": 10,
                "params": {"data": board.data, "secrets": [board.state + "/journal", board.socket,
                                                           board.config_path, "/etc/shadow",
                                                           "/root", "/usr/bin/podman"]}}
        task["params"].update(more.pop("params", {}))
        task.update(more)
        return task

    def wait_running(self, board, name="boxed"):
        return board.wait_for(lambda: board.tasks()[name].get("samples", 0) > 0 and
                              self.processes_of(board, name), 90, f"{name} does not learn")

    def processes_of(self, board, name="boxed"):
        """Everything in the task's control group: podman, what it leaves in charge, the trainer."""
        out = set()
        for path in glob.glob(f"/sys/fs/cgroup/**/laird-{board.config['node']}-*/{name}/cgroup.procs",
                              recursive=True):
            with open(path, encoding="ascii") as procs:
                out.update(int(pid) for pid in procs.read().split())
        return out

    def nothing_left(self, board, pids):
        board.wait_for(lambda: not any(is_alive(pid) for pid in pids), 20,
                       "something of the container lives on")
        with open("/proc/mounts", encoding="utf-8") as mounts:
            self.assertNotIn(board.root, mounts.read())

    def places(self, board):
        return glob.glob(board.containers + "/*/*/")

    def end_of(self, board, name="boxed", timeout=90):
        board.wait_for(lambda: board.task_state(name) in harness.TERMINAL, timeout,
                       f"{name} does not end")
        return board.tasks()[name]

    def test_learns_to_its_end_and_sees_its_own_alone(self):
        with self.board() as board:
            board.start()
            board.accept(self.task(board))
            row = self.end_of(board)
            self.assertEqual("succeeded", row["state"], row)
            with open(os.path.join(board.task_folder("boxed"), "said.json"), encoding="utf-8") as file:
                said = json.load(file)
            self.assertEqual(65534, said["uid"])
            self.assertEqual("0" * 16, said["capabilities"])
            self.assertEqual("1", said["no_new_privileges"])
            self.assertEqual("2", said["seccomp"])
            self.assertEqual(["lo"], said["networks"])
            self.assertEqual(1, said["processes"])
            self.assertEqual([], said["sees"])
            self.assertEqual("Read-only file system", said["write root"])
            self.assertEqual("Read-only file system", said["write data"])
            self.assertEqual("can", said["write tmp"])
            self.assertEqual(["rows.csv"], said["data"])
            self.assertEqual(board.task_folder("boxed"), said["folder"])
            self.assertIsNone(said["fd"])
            self.assertEqual("yes", said["image"])
            self.assertRegex(said["groups"], f"/laird-{board.config['node']}-[^/]*/boxed")
            with open(os.path.join(board.state, "logs/boxed.log"), encoding="utf-8") as log:
                self.assertIn("a line for the log", log.read())
            board.wait_for(lambda: not self.places(board), 20, "the container's folder stays")

    def test_is_frozen_and_ended_by_its_control_group(self):
        with self.board() as board:
            board.start()
            board.accept(self.task(board, target_loss=-1.0))
            pids = self.wait_running(board)
            freezers = glob.glob(f"/sys/fs/cgroup/**/laird-{board.config['node']}-*/boxed/freezer.state",
                                 recursive=True)
            if not freezers:
                self.skipTest("the test freezes groups of version 1")
            with open(freezers[0], "w", encoding="ascii") as state:
                state.write("FROZEN")
            board.wait_for(lambda: all(self.state_of(pid) == "D" for pid in pids), 10,
                           "not all of the container is frozen")
            before = board.tasks()["boxed"]["samples"]
            with open(freezers[0], "w", encoding="ascii") as state:
                state.write("THAWED")
            board.wait_for(lambda: board.tasks()["boxed"]["samples"] > before + 100, 60,
                           "it does not go on")
            self.assertEqual(0, board.ctl("cancel", "boxed", "--yes")[0])
            self.assertEqual("cancelled", self.end_of(board)["state"])
            self.nothing_left(board, pids)

    @staticmethod
    def state_of(pid):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0]

    def test_all_of_it_together_has_the_tasks_memory_and_no_more(self):
        with self.board() as board:
            board.config["timing"]["attempts_max"] = 1
            board.start()
            board.accept(self.task(board, target_loss=-1.0, memory="200MB", params={"eat": True}))
            peaks = []

            def ended():
                for path in glob.glob("/sys/fs/cgroup/memory/**/laird-" + board.config["node"] +
                                      "-*/boxed/memory.max_usage_in_bytes", recursive=True):
                    with open(path, encoding="ascii") as peak:
                        peaks.append(int(peak.read()))
                return board.task_state("boxed") in harness.TERMINAL
            board.wait_for(ended, 200, "it does not end")
            if not peaks:
                self.skipTest("the test reads groups of version 1")
            # A kernel may let it crawl at its limit instead of ending it; then the agent does.
            self.assertEqual("failed", board.task_state("boxed"))
            self.assertGreater(max(peaks), 150e6)
            self.assertLessEqual(max(peaks), 200e6)

    def test_an_agent_that_is_killed_leaves_nothing_and_goes_on(self):
        with self.board() as board:
            board.start()
            board.accept(self.task(board, target_loss=-1.0))
            pids = self.wait_running(board)
            names = {self.name_of(pid) for pid in pids}
            self.assertLessEqual({"podman", "conmon", "python3"}, names)
            board.wait_for(lambda: self.samples(board) > 0, 60, "no checkpoint")
            board.kill()
            self.nothing_left(board, pids)
            before = self.samples(board)
            board.start()
            board.wait_for(lambda: board.tasks()["boxed"].get("samples", 0) > before, 90,
                           "it does not go on from its checkpoint")

    def test_one_that_was_frozen_ends_with_its_agent_too(self):
        with self.board() as board:
            board.start()
            board.accept(self.task(board, target_loss=-1.0))
            pids = self.wait_running(board)
            freezers = glob.glob("/sys/fs/cgroup/**/laird-" + board.config["node"] +
                                 "-*/boxed/freezer.state", recursive=True)
            if not freezers:
                self.skipTest("the test freezes groups of version 1")
            with open(freezers[0], "w", encoding="ascii") as state:
                state.write("FROZEN")
            board.wait_for(lambda: all(self.state_of(pid) == "D" for pid in pids), 10,
                           "not all of the container is frozen")
            board.kill()
            self.nothing_left(board, pids)

    def test_what_an_earlier_life_left_is_cleaned(self):
        with self.board() as board:
            board.start()
            board.accept(self.task(board, target_loss=-1.0))
            pids = self.wait_running(board)
            cells = [pid for pid in self.children_of(board.process.pid)
                     if self.name_of(pid) == "laird-cell"]
            self.assertTrue(cells)
            # All at once: nobody is left who could clean up.
            for pid in [*cells, board.process.pid]:
                os.kill(pid, signal.SIGKILL)
            board.kill()
            self.nothing_left(board, pids)
            self.assertEqual(1, len(self.places(board)))
            board.config["trainers"].pop("boxed")
            board.start()
            board.wait_for(lambda: not self.places(board), 30, "the container's folder stays")

    def test_an_image_that_is_not_there_is_said(self):
        with self.board() as board:
            board.config["trainers"]["boxed"]["image"] = "localhost/other:2"
            board.start()
            board.accept(self.task(board))
            row = self.end_of(board)
            self.assertEqual("failed", row["state"])
            self.assertIn("the image localhost/other:2 is not on this board", row["reason"])

    def test_images_come_from_the_boards_own_file_alone(self):
        with self.board() as board:
            board.start()
            answer = board.submit(dict(self.task(board), image="docker.io/evil"))
            self.assertFalse(answer["ok"])
            self.assertIn("image", answer["error"])
            board.config["trainers"]["boxed"]["image"] = "--privileged"
            board.write_config()
            code, out, err = self.check(board)
            self.assertEqual(2, code, out + err)
            self.assertIn("is no name of an image", out + err)

    @staticmethod
    def check(board):
        done = subprocess.run([harness.LAIRD, "check", board.config_path],
                              capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    @staticmethod
    def name_of(pid):
        with open(f"/proc/{pid}/comm", encoding="utf-8") as name:
            return name.read().strip()

    @staticmethod
    def children_of(pid):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            return [int(child) for child in children.read().split()]

    @staticmethod
    def samples(board):
        path = os.path.join(board.task_folder("boxed"), "checkpoint.json")
        if not os.path.exists(path):
            return 0
        with open(path, encoding="utf-8") as index:
            return json.load(index)["samples"]


if __name__ == "__main__":
    unittest.main(verbosity=2)

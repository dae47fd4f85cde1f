"""What a trainer must not do to its agent, its neighbours and its board, tried by a real one, in each
surrounding that this machine can give: as root with a user for trainers, as root without, as a plain
user with namespaces, and as one without. `lairctl doctor` says what is not refused; exactly that is
not.

Under systemd, with root's laird-cell: tests/packaging/boot/test_cell.py."""

import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import harness
from harness import Board, is_alive, synthetic_task

TRAINER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trainer_that_tries.py")
NOBODY = 65534
PROCESSES = 40

# The words of `lairctl doctor`, by the attempt of the trainer.
ATTEMPTS = {
    "key": "read the board's key",
    "journal": "read or write the journal",
    "settings": "write the board's settings",
    "other": "write another task's folder",
    "ptrace": "trace the agent",
    "memory": "read the agent's memory",
    "socket": "use the control socket",
    "cap": "change the power cap",
    "group": "leave its control group",
    "kill": "kill the agent",
    "fork": "fork without end",
}
OUTLIVE_TASK = "live on after its task has ended"
OUTLIVE_AGENT = "live on after its agent has ended"
FILL_DISK = "fill the disk"


class CellBoard(Board):
    """A board whose trainers try things."""

    def __init__(self, user=None, **more):
        root = tempfile.mkdtemp(prefix="laird-cell-", dir="/tmp")
        super().__init__("cell", folder=root, user=user, **more)
        os.chmod(root, 0o755)
        shutil.copy(TRAINER, self.root)
        os.chmod(os.path.join(self.root, "trainer_that_tries.py"), 0o755)
        self.key = os.path.join(self.root, "node.key")
        cert = os.path.join(self.root, "node.crt")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "2",
                        "-subj", "/CN=" + self.config["node"], "-keyout", self.key, "-out", cert],
                       check=True, capture_output=True)
        os.chmod(self.key, 0o600)
        self.config["trainers"] = {
            "tries": {"exec": [os.path.join(self.root, "trainer_that_tries.py")]}}
        cell = {"processes": PROCESSES, "disk": "8MB", "tmp": "2MB"}
        cell.update(self.config.get("cell", {}))
        self.config["cell"] = cell
        # A section that names the key, so that the agent knows of it; nobody answers there.
        self.config["fleet"] = {
            "name": "lab", "brokers": ["mqtt://127.0.0.1:1"], "insecure_lab": True,
            "members": {self.config["node"]: {"power": "1W"}},
            "tls": {"ca": cert, "cert": cert, "key": self.key}}
        self.config["timing"].update({"attempts_max": 2, "start_timeout": "60s"})
        self.config["board"]["lanes"] = [{"name": f"cpu{i}", "kind": "cpu"} for i in range(4)]
        os.makedirs(self.state, exist_ok=True)
        self.hand_over()

    def hand_over(self):
        if self.user is None:
            return
        for path in (self.root, self.state, self.key):
            os.chown(path, self.user, self.user)

    def __exit__(self, *_):
        super().__exit__()
        shutil.rmtree(self.root, ignore_errors=True)

    def attempt(self, what, name=None, **more):
        params = {
            "try": what, "agent": self.process.pid, "most": 4 * PROCESSES, "megabytes": 40,
            "keys": [self.key, f"/proc/{self.process.pid}/root{self.key}"],
            "journal": glob.glob(self.journal_folder + "/*.db")[0],
            "settings": [self.state + "/settings/fleet.json", self.state + "/x", self.config_path],
            "others": [self.task_folder("neighbour") + "/x", os.path.dirname(self.journal_folder) +
                       "/tasks/x"],
            "sockets": [self.socket],
            "groups": self.groups_to_enter(),
        }
        params.update(more)
        name = name or what
        self.accept(synthetic_task(name, trainer="tries", params=params, report_every=10,
                                   deadline="1h", memory="400MB"))
        return name

    def groups_to_enter(self):
        """Control groups of this board first, then the others from the top down: a machine may have
        more of them than a task's parameters hold."""
        found = glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True)
        own = f"laird-{self.config['node']}-"
        found.sort(key=lambda path: (own not in path, path.count("/"), path))
        return found[:60]

    def said(self, name):
        path = os.path.join(self.task_folder(name), "said")

        def look():
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    return file.read()
            return ""
        return self.wait_for(look, 60, f"{name} does not say what came of it")

    def open_by_doctor(self):
        """The attempts that `lairctl doctor` says would work here."""
        _, out, _ = self.ctl("doctor", "--local")
        line = next(line for line in out.splitlines() if "trainers" in line)
        status = self.ask({"op": "status"})["cell"]
        for attempt in status["open"]:
            self.assert_in(attempt, line)
        return set(status["open"]), set(status["guards"])

    @staticmethod
    def assert_in(part, whole):
        assert part in whole, f"{part!r} is not in {whole!r}"


class Surroundings(unittest.TestCase):

    def board(self, **more):
        board = CellBoard(**more)
        self.addCleanup(board.__exit__)
        return board

    def check(self, board, least_guards, open_here=frozenset()):
        board.start()
        open_now, guards = board.open_by_doctor()
        self.assertLessEqual(set(least_guards), guards)
        self.assertEqual(open_now, set(open_here))
        board.attempt("journal", name="neighbour")  # a folder to write into
        board.said("neighbour")
        for what, words in ATTEMPTS.items():
            with self.subTest(attempt=what):
                board.attempt(what)
                said = board.said(what)
                self.assertEqual(said.startswith("refused"), words not in open_now, said)
                self.assertIsNone(board.process.poll(), "the agent is gone: " + said)
                self.assertEqual(board.ctl("cancel", what)[0], 0)
        with self.subTest(attempt="disk"):
            board.attempt("disk")
            row = board.wait_ended("disk", timeout=60)["disk"]
            self.assertEqual(row["state"], "failed", row)
            self.assertIn("its folder holds", row["reason"])
            self.assertIn("cell.disk allows 8 MB", row["reason"])
            self.assertFalse(glob.glob("/tmp/fill*") + glob.glob("/var/tmp/fill*"))
        self.check_outliving(board, open_now)

    def check_outliving(self, board, open_now):
        with self.subTest(attempt="outlive the task"):
            board.attempt("outlive", name="after-cancel")
            board.said("after-cancel")
            pids = board.trainer_pids("after-cancel")
            self.assertGreaterEqual(len(pids), 4)
            self.assertEqual(board.ctl("cancel", "after-cancel")[0], 0)
            board.wait_ended("after-cancel")
            board.wait_for(lambda: not board.trainer_pids("after-cancel"), 10, "they live on")
            self.assertEqual(any(map(is_alive, pids)), OUTLIVE_TASK in open_now)
        with self.subTest(attempt="outlive the agent"):
            board.attempt("outlive", name="after-kill")
            board.said("after-kill")
            pids = board.trainer_pids("after-kill")
            self.assertGreaterEqual(len(pids), 4)
            board.kill()
            board.wait_for(lambda: not any(map(is_alive, pids)), 10, "they live on")
            self.assertNotIn(OUTLIVE_AGENT, open_now)

    def test_as_root_with_a_user_for_trainers(self):
        harness.require_root()
        board = self.board(cell={"user": "nobody"})
        self.check(board, {"user", "processes", "files", "network", "process-limit"})
        folder = os.stat(board.task_folder("key"))
        # The trainer's; the agent, here root, looks into it as the group, to take a model from it.
        self.assertEqual((folder.st_uid, folder.st_gid), (NOBODY, os.getgid()))
        self.assertEqual(folder.st_mode & 0o7777, 0o750)

    def test_as_root_without_one(self):
        harness.require_root()
        board = self.board(cell={"user": "no-such-user"})
        self.check(board, {"processes", "files", "network", "process-limit"})

    def test_as_a_plain_user_with_namespaces(self):
        harness.require_root()  # to become somebody else
        board = self.board(user=NOBODY)
        board.start()
        if "files" not in board.ask({"op": "status"})["cell"]["guards"]:
            self.skipTest("this kernel gives plain users no namespaces")
        board.kill()
        self.check(board, {"processes", "files", "network", "process-limit"})

    def test_as_a_plain_user_without_namespaces(self):
        harness.require_root()
        board = self.board(user=NOBODY, cell={"namespaces": False})
        board.start()
        if "landlock-signals" not in board.ask({"op": "status"})["cell"]["guards"]:
            self.skipTest("this kernel's Landlock does not hold signals")
        board.kill()
        self.check(board, {"landlock", "landlock-signals", "no-sockets", "process-limit"})

    def test_what_is_not_held_is_said(self):
        harness.require_root()
        # Root has no bound on its processes but by a control group.
        board = self.board(cell={"user": "no-such-user"}, cgroups=False)
        board.start()
        open_now, _ = board.open_by_doctor()
        self.assertEqual(open_now, {"fork without end"})
        board.attempt("fork")
        self.assertIn("DONE made", board.said("fork"))
        self.assertIn("a trainer here could: fork without end", board.log_text())

    def test_a_trainer_has_the_network_only_if_the_boards_file_says_so(self):
        harness.require_root()
        board = self.board()
        source = """
import json, os, socket, sys
channel = socket.socket(fileno=int(os.environ["LAIRD_FD"]))
lines = channel.makefile()
lines.readline()
with open("/proc/net/dev") as file:
    open("said", "w").write(" ".join(sorted(l.split(":")[0].strip() for l in file if ":" in l)))
channel.sendall(b'{"type":"ready","v":1,"samples":0}\\n')
for line in lines:
    pass
"""
        board.config["trainers"]["apart"] = board.script("apart", source)
        board.config["trainers"]["open"] = dict(board.config["trainers"]["apart"], network=True)
        board.start()
        for name in ("apart", "open"):
            board.accept(synthetic_task(name, trainer=name))
        with open("/proc/net/dev", encoding="ascii") as file:
            here = " ".join(sorted(line.split(":")[0].strip() for line in file if ":" in line))
        self.assertEqual(board.said("apart"), "lo")
        self.assertEqual(board.said("open"), here)


class Poison(unittest.TestCase):

    def test_a_task_that_takes_its_agent_along_fails_after_three_tries(self):
        # The trainer cannot kill the agent, so the test does it for it, as soon as it has started.
        with CellBoard() as board:
            board.config["timing"]["attempts_max"] = 100
            board.config["tasks"] = [synthetic_task(
                "poison", trainer="tries", report_every=10, params={"try": "outlive"})]
            for _ in range(3):
                board.start()
                board.wait_for(lambda: board.trainer_pids("poison"), 20, "it was not started")
                board.process.send_signal(signal.SIGKILL)
                board.kill()
            board.start()
            row = board.wait_ended("poison", timeout=20)["poison"]
            self.assertEqual(row["state"], "failed", row)
            self.assertIn("the agent ended 3 times in a row", row["reason"])
            self.assertEqual(board.terminate(), 0)
            code, out = board.replay()
            self.assertEqual(code, 0, out)

    def test_settings_that_somebody_wrote_into_the_state_folder_are_refused(self):
        with CellBoard() as board:
            os.makedirs(board.state + "/settings")
            path = board.state + "/settings/fleet.json"
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"s": "laird.overlay/1.0", "rev": 5, "by": "op", "id": "x", "settings": {
                    "trainers": {"shell": {"exec": ["/bin/sh"]}}, "policy": "laira"}}, file)
            board.start()
            self.assertEqual(board.ask({"op": "status"})["policy"], "round-robin")
            answer = board.submit(synthetic_task("x", trainer="shell"))
            self.assertIn("not on this board's allow-list", answer["error"])
            self.assertTrue(os.path.exists(path + ".refused"))
            self.assertIn("the remote settings are refused, another than the agent wrote them",
                          board.log_text())


if __name__ == "__main__":
    harness.main()

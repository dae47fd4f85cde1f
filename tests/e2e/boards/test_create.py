"""A fleet from nothing to `fleet status` ok by the commands that lairctl itself names, and what `fleet create`
refuses, completes and leaves alone."""

import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from machines import BIN, Machines

from harness import MOSQUITTO, free_port, listening, wait_until

LAIRCTL = os.path.join(BIN, "lairctl")
BOARDS = ["--board", "n-1=orin-nano-8gb", "--board", "n-2=orin-nx-16gb"]
COMMANDS_MAX = 10


def snapshot(folder):
    """Every file below it: its bytes and its mode."""
    out = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                out[os.path.relpath(path, folder)] = (file.read(), os.stat(path).st_mode)
    return out


class Files(unittest.TestCase):
    """What it makes without a broker."""

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="laird-create-")
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.port = str(free_port())

    def argv(self, *more):
        return [LAIRCTL, "fleet", "create", "lab", *more]

    def environment(self):
        return {"HOME": self.home, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}

    def create(self, *more, code=0):
        done = subprocess.run(self.argv(*more), cwd=self.home, env=self.environment(), capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def usual(self):
        return ["--host", "localhost", "--port", self.port, "--operator", "op-alice", "--budget", "45W", *BOARDS]

    def read(self, *path):
        with open(os.path.join(self.home, *path), encoding="utf-8") as file:
            return file.read()

    def test_makes_all_files_with_floors_by_the_modules(self):
        said = self.create(*self.usual())
        self.assertIn("sudo lairctl broker install mosquitto", said)
        for node, floor in (("n-1", "6W"), ("n-2", "6W")):
            made = json.loads(self.read("enroll", node, "laird.json"))
            self.assertEqual(made["fleet"]["members"][node], {"power": floor})
            self.assertEqual(made["fleet"]["brokers"], ["mqtts://localhost:" + self.port])
            self.assertEqual(os.stat(os.path.join(self.home, "enroll", node, "tls", "node.key")).st_mode & 0o777, 0o600)
        access = json.loads(self.read(".config", "laird", "lairctl.json"))
        self.assertEqual(access["credentials"], os.path.join(self.home, "pki/operators/op-alice"))
        self.assertIn("user op-alice", self.read("mosquitto", "acl"))

    def test_a_fleet_whose_boards_join_later_has_no_boards_in_its_plan(self):
        self.create("--host", "localhost", "--port", self.port, "--budget", "45W")
        self.assertEqual(json.loads(self.read("pki", "fleet.json"))["boards"], {})
        self.assertFalse(os.path.exists(os.path.join(self.home, "enroll")))

    def test_a_second_run_changes_no_byte_and_needs_no_flag(self):
        self.create(*self.usual())
        before = snapshot(self.home)
        self.assertNotIn("made:", self.create(*self.usual()))
        self.assertNotIn("made:", self.create())
        self.assertEqual(snapshot(self.home), before)

    def test_a_dry_run_makes_nothing(self):
        said = self.create("--dry-run", *self.usual())
        self.assertIn("would make: the authority of lab", said)
        self.assertEqual(os.listdir(self.home), [])

    def test_a_floor_below_what_the_module_draws_idle_is_refused_with_the_number(self):
        said = self.create("--floor", "4W", *self.usual(), code=4)
        self.assertIn("draws 4300mW idle", said)
        self.assertEqual(os.listdir(self.home), [])
        self.assertIn("which module is n-1", self.create("--host", "a", "--board", "n-1", code=2))
        self.assertIn("orin-nano", self.create("--host", "a", "--board", "n-1=orin-nan-8gb", code=3))

    def test_floors_above_the_budget_are_refused(self):
        said = self.create("--host", "localhost", "--budget", "11W", *BOARDS, code=4)
        self.assertIn("add up to 12W, more than the budget of 11W", said)

    def test_another_plan_than_the_one_begun_with_is_refused(self):
        self.create(*self.usual())
        before = snapshot(self.home)
        for other, why in ((["--budget", "50W"], "--budget differs"), (["--host", "elsewhere"], "--host differs"),
                           (["--board", "n-3=tx2"], "--board or --floor differs")):
            self.assertIn(why, self.create(*other, code=4))
        self.assertEqual(snapshot(self.home), before)

    def test_the_config_of_another_fleet_is_left_alone(self):
        os.makedirs(os.path.join(self.home, ".config/laird"))
        path = os.path.join(self.home, ".config/laird/lairctl.json")
        with open(path, "w", encoding="utf-8") as out:
            out.write('{"fleet": "other", "brokers": ["mqtts://a:8883"]}')
        self.assertIn("another fleet", self.create(*self.usual(), code=4))
        self.assertEqual(list(snapshot(self.home)), [".config/laird/lairctl.json"])
        self.create("--config", os.path.join(self.home, "lab.json"), *self.usual())
        self.assertIn('"lab"', self.read("lab.json"))

    def test_the_next_run_completes_what_a_killed_one_began(self):
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        for _ in range(20):
            run = subprocess.Popen(self.argv(*self.usual()), cwd=self.home, env=self.environment(),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0, 0.06))
            run.send_signal(signal.SIGKILL)
            run.wait()
        self.create(*self.usual())
        index = json.loads(self.read("pki", "index.json"))
        good = [entry["name"] for entry in index["issued"] if entry["revoked_at_s"] is None]
        self.assertEqual(sorted(good), ["broker", "n-1", "n-2", "op-alice"], "seed %d" % seed)
        for node in ("n-1", "n-2"):
            self.assertEqual(self.read("enroll", node, "tls", "node.crt"), self.read("pki", "nodes", node, "node.crt"))
        before = snapshot(self.home)
        self.create()
        self.assertEqual(snapshot(self.home), before, "seed %d" % seed)


@unittest.skipUnless(os.getuid() == 0, "not root: machines of a test are mount namespaces")
class FromNothing(unittest.TestCase):

    def setUp(self):
        folder = tempfile.mkdtemp(prefix="laird-machines-")
        try:
            self.machines = Machines(folder, ("desk", "b-1", "b-2"))
        except OSError as why:
            shutil.rmtree(folder, ignore_errors=True)
            self.skipTest(str(why))
        self.addCleanup(self.machines.close)
        self.typed = 0

    def log_of(self, board):
        with open(os.path.join(self.machines.home(board), "agent.log"), encoding="utf-8") as log:
            return log.read()[-1500:]

    def type(self, command, code=0):
        self.typed += 1
        done = self.machines.run("desk", command)
        self.assertEqual(done.returncode, code, "%s\n%s%s" % (command, done.stdout, done.stderr))
        return done.stdout + done.stderr

    def test_two_boards_and_a_broker_are_a_fleet_after_at_most_ten_commands(self):
        port = free_port()
        said = self.type("lairctl fleet create lab --host localhost --port %d --budget 45W %s" % (port, " ".join(BOARDS)))
        self.assertIn("sudo lairctl broker install mosquitto", said)
        said = self.type("sudo lairctl broker install mosquitto")
        self.assertIn("mosquitto -c /etc/mosquitto/laird/mosquitto.conf", said)
        self.assertIn("has these files already", self.machines.run("desk", "lairctl broker install mosquitto").stdout)
        self.typed += 1  # where systemd runs, `broker install` has started it
        self.machines.start("desk", MOSQUITTO, "-c", "/etc/mosquitto/laird/mosquitto.conf", log="mosquitto.log")
        self.assertTrue(wait_until(lambda: listening(port), 20))
        said = self.type("lairctl fleet create lab")
        self.assertIn("lairctl fleet push n-1=USER@ADDRESS n-2=USER@ADDRESS", said)
        self.type("lairctl fleet push n-1=op@b-1 n-2=op@b-2")
        self.type("lairctl fleet push n-2=op@b-2")  # again: it harms nothing

        def verdict():
            done = self.machines.run("desk", "lairctl fleet status -o json")
            return json.loads(done.stdout) if done.stdout.startswith("{") else {}

        def well():
            now = verdict()
            return now.get("ok") and now["live"] == 2 and now["budget_w"] == 45 and now["enforced_w"] >= 12
        self.assertTrue(wait_until(well, 120, every=1), "%s %s" % (verdict(), [self.log_of("b-1"), self.log_of("b-2")]))
        said = self.type("lairctl fleet status")
        self.assertIn("45.0 W", said)
        self.assertLessEqual(self.typed, COMMANDS_MAX)
        for board in ("b-1", "b-2"):
            done = self.machines.run(board, "stat -c '%G %a' /etc/laird/tls/node.key; cat /etc/laird/laird.json")
            self.assertTrue(done.stdout.startswith("laird 640\n"), done.stdout)
        self.assertFalse(os.path.exists("/etc/mosquitto/laird"))

    def test_a_push_that_fails_names_the_board_and_leaves_the_others(self):
        self.type("lairctl fleet create lab --host localhost --port %d %s" % (free_port(), " ".join(BOARDS)))
        said = self.type("lairctl fleet push n-1=op@nobody n-2=op@b-2", code=5)
        self.assertIn("n-1: ssh -- op@nobody", said)
        self.assertIn("1 of 2 boards", said)
        self.assertIn("no files of n-3", self.type("lairctl fleet push n-3=op@b-2", code=3))
        for hostile in ("n-1=-oProxyCommand=x", "n-1='a b'", "n-1='a;id'", "../n-1=a", "n-1"):
            self.type("lairctl fleet push -- %s" % hostile, code=2)


if __name__ == "__main__":
    unittest.main(verbosity=2)

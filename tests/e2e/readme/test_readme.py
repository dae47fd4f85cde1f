"""Everything that README.md tells a newcomer to type or to write is done here as it stands there.

The word after a block's language says what is done with it:

  run         every line is run, in a home folder of the test's own, and must succeed
  file=PATH   the block is written to PATH
  board=NODE  the block is laid over that board's laird.json, and its agent is started anew
  form        lines that change a machine or take the whole suite; see Forms for what is checked of them

A block with none of these is an error."""

import fnmatch
import getpass
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from blocks import blocks_of  # noqa: E402

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
BIN = os.path.abspath(os.environ.get("LAIRD_BIN", os.path.join(SOURCE, "build/release/bin")))
MOSQUITTO = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
BOARDS = ("n-1", "n-2", "n-3")
WAIT_S = 60
# What a board publishes is up to a second behind; a person does not type faster either.
BETWEEN_COMMANDS_S = 1.5


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as text:
        return text.read()


README = blocks_of(read(SOURCE, "README.md"))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Newcomer:
    """A home folder, and a root folder in the place of this machine's. Nothing outlives it."""

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="laird-readme-")
        self.port = free_port()
        self.processes = {}
        # All that differs from what README.md says, because broker and boards are on this machine. What was
        # substituted once is not substituted again.
        self.substitutes = (
            (r"--host broker\.local", "--host localhost --port %d" % self.port),
            (r"(?<!/root)/(etc|srv|var/lib)/", self.home + r"/root/\1/"),
        )
        self.environment = {"HOME": self.home, "PATH": BIN + ":/usr/sbin:/usr/bin:/sbin:/bin",
                            "LC_ALL": "C.UTF-8"}

    def close(self):
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)
        shutil.rmtree(self.home, ignore_errors=True)

    def here(self, text):
        for said, meant in self.substitutes:
            text = re.sub(said, meant, text)
        return text

    def path(self, said):
        return os.path.join(self.home, self.here(said.replace("~", self.home)))

    def write(self, said, text):
        path = self.path(said)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(self.here(text))
        return path

    def run(self, command, timeout=120):
        """(exit code, what it said)"""
        done = subprocess.run(["sh", "-c", self.here(command)], cwd=self.home, timeout=timeout,
                              env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
        return done.returncode, done.stdout or done.stderr

    def start(self, name, *command):
        with open(os.path.join(self.home, name + ".log"), "ab") as log:
            self.processes[name] = subprocess.Popen(
                command, cwd=self.home, env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log)

    def log(self, name):
        return read(self.home, name + ".log")[-3000:]

    # What `broker install` does on the broker's machine, and `fleet push` on the boards.

    def start_broker(self):
        at = self.path("/etc/mosquitto/laird")
        shutil.copytree(os.path.join(self.home, "mosquitto"), at)
        os.makedirs(self.path("/var/lib/mosquitto"))
        conf = self.here(read(at, "mosquitto.conf"))
        conf = re.sub(r"(?m)^(listener \d+)$", r"\1 127.0.0.1", conf)
        with open(os.path.join(at, "mosquitto.conf"), "w", encoding="utf-8") as out:
            out.write("user %s\n%s" % (getpass.getuser(), conf))
        self.start("mosquitto", MOSQUITTO, "-c", os.path.join(at, "mosquitto.conf"))

    def start_board(self, node, more=None):
        """With the files that `enroll` made, each board in folders of its own."""
        if node in self.processes:
            self.processes[node].terminate()
            self.processes[node].wait(30)
        folder = os.path.join(self.home, "enroll", node)
        config = read(folder, "laird.json").replace("/etc/laird/tls", folder + "/tls")
        config = config.replace('"/var/lib/laird"', json.dumps(self.path("/var/lib/laird-" + node)))
        path = os.path.join(folder, "here.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump({**json.loads(self.here(config)), **(more or {})}, out)
        self.start(node, "laird", "run", "--config", path, "--view", "none")


class Story(unittest.TestCase):
    """README.md from its first block to its last."""

    def setUp(self):
        self.newcomer = Newcomer()
        self.addCleanup(self.newcomer.close)

    def wait_for(self, what, condition):
        end = time.monotonic() + WAIT_S
        while not condition():
            if time.monotonic() > end:
                logs = [name + ":\n" + self.newcomer.log(name) for name in self.newcomer.processes]
                self.fail("%s\n%s" % (what, "\n".join(logs)))
            time.sleep(0.5)

    def must_run(self, command, place):
        code, said = self.newcomer.run(command)
        self.assertEqual(code, 0, "%s: %s\n%s" % (place, command, said))
        return said

    def boards_ready(self):
        """All there, agreed on their shares, and nobody in the middle of a start."""
        code, said = self.newcomer.run("lairctl get nodes -o json")
        rows = json.loads(said) if code == 0 else []
        return len(rows) == len(BOARDS) and all(
            row["state"] == "ready" and row["report"] and not row["report"]["fenced"] for row in rows)

    def ends(self, where=""):
        code, said = self.newcomer.run("lairctl get tasks -o json" + where)
        return {row["name"]: row["state"] for row in json.loads(said)} if code == 0 else {}

    def run_block(self, block):
        for command in block.commands():
            self.must_run(command, block.place)
            if command.startswith("lairctl fleet create lab --host"):
                self.newcomer.start_broker()
                for node in BOARDS:
                    self.newcomer.start_board(node)
                self.wait_for("not every board joined", self.boards_ready)
            time.sleep(BETWEEN_COMMANDS_S)

    def test_a_fleet_from_nothing_to_a_trainer_of_ones_own(self):
        submitted = []
        shutil.copy(os.path.join(SOURCE, "trainers/python/laird_trainer.py"),
                    self.newcomer.write("/srv/laird/laird_trainer.py", ""))
        for block in README:
            kind, _, name = block.what.partition("=")
            if kind == "file":
                self.newcomer.write(name, block.text)
            elif kind == "board":
                self.newcomer.start_board(name, json.loads(self.newcomer.here(block.text)))
                time.sleep(2 * BETWEEN_COMMANDS_S)
                self.wait_for(name + " did not come back", self.boards_ready)
            elif kind == "run":
                self.run_block(block)
                for command in block.commands():
                    found = re.match(r"lairctl submit -f (\S+)", command)
                    if found:
                        submitted.append(json.loads(read(self.newcomer.home, found[1]))["name"])
        self.assertEqual(len(submitted), 2)
        for name in submitted:
            self.wait_for(name + " did not succeed",
                          lambda name=name: self.ends().get(name) == "succeeded")
        # Its batches said how many rows they have.
        log = read(self.newcomer.path("/var/lib/laird-n-1"), "logs/first-fit.log")
        self.assertNotIn("warning", log)

    def test_a_board_alone_takes_the_same_task(self):
        files = {block.what: block for block in README}
        config = self.newcomer.write("/etc/laird/laird.json",
                                     files["file=/etc/laird/laird.json"].text)
        self.must_run("laird check " + config, "/etc/laird/laird.json")
        state = os.path.join(self.newcomer.home, "alone")
        self.newcomer.start("alone", "laird", "run", "--config", config, "--state-dir", state,
                            "--view", "none")
        at = " --socket %s/laird.sock" % state
        self.wait_for("the agent did not come up",
                      lambda: self.newcomer.run("lairctl get tasks" + at)[0] == 0)
        self.newcomer.write("task.json", files["file=task.json"].text)
        self.must_run("lairctl submit -f task.json" + at, "task.json")
        self.wait_for("night-softmax did not succeed",
                      lambda: self.ends(at).get("night-softmax") == "succeeded")


class Forms(unittest.TestCase):
    """Lines that are not run: ./dev installs packages and runs this very suite; scp, ssh, sudo and fleet push change
    other machines (tests/packaging/boot and tests/e2e/boards/test_create.py do that). What they name has to be there."""

    def setUp(self):
        version = re.search(r"project\(laird VERSION ([0-9.]+)", read(SOURCE, "CMakeLists.txt"))[1]
        self.package = "laird_%s_arm64.deb" % version

    def test_every_block_says_what_is_done_with_it(self):
        self.assertGreater(len(README), 10)
        for block in README:
            self.assertRegex(block.what, r"^(run|form|file=\S+|board=\S+)$", block.place)

    def test_a_files_name_stands_in_the_text_too(self):
        text = re.sub(r"(?ms)^```.*?^```$", "", read(SOURCE, "README.md"))
        for block in README:
            if block.what.startswith("file="):
                name = block.what[5:]
                self.assertTrue("`%s`" % name in text or "`%s`" % os.path.basename(name) in text, name)

    def test_lines_that_are_not_run_name_what_is_there(self):
        seen = 0
        for block in README:
            for command in block.commands() if block.what == "form" else ():
                self.check(command.split(), block.place)
                seen += 1
        self.assertGreater(seen, 5)

    def check(self, words, place):
        if words[0] == "./dev":
            self.check_dev(words[1:], place)
        elif words[0] == "scp":
            folder, name = os.path.split(words[1])
            self.assertTrue(fnmatch.fnmatch(self.package, name), place)
            self.assertEqual((folder, words[2:]), ("build/package", ["BOARD:"]), place)
        elif words[:5] == ["ssh", "BOARD", "sudo", "apt", "install"]:
            self.assertTrue(fnmatch.fnmatch("./" + self.package, words[5]), place)
        elif words[:5] == ["ssh", "BOARD", "sudo", "systemctl", "enable"]:
            unit = read(SOURCE, "packaging", words[-1] + ".service")
            self.assertIn("[Install]", unit, place)
        elif words[:4] == ["sudo", "lairctl", "broker", "install"]:
            made = [c for block in README for c in block.commands() if c.startswith("lairctl fleet create")]
            self.assertTrue(made and words[4] == "mosquitto", place)
        elif words[:3] == ["lairctl", "fleet", "push"]:
            self.assertEqual([word.split("=")[0] for word in words[3:]], list(BOARDS), place)
        elif words[:5] == ["ssh", "BOARD", "sudo", "laird", "check"]:
            self.assertIn("file=" + words[5], [block.what for block in README], place)
        else:
            self.fail("%s: nobody knows how to check %s" % (place, " ".join(words)))

    def check_dev(self, words, place):
        dev = read(SOURCE, "dev")
        self.assertRegex(dev, r"(?m)^cmd_%s\(\)" % words[0], place)
        self.assertRegex(dev, r"(?m)^  %s " % words[0], "./dev help leaves %s out" % words[0])
        for word in words[1:]:
            said = dev + read(SOURCE, "examples/fleet/demo.py")
            self.assertRegex(said, r'["\s]%s\b' % re.escape(word), place)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Boards of one image that ask for their place: each has a folder of its own in the place of its disk, the serial
number of a made-up board, and what systemd would do with its units."""

import contextlib
import json
import os
import shutil
import subprocess

from boards import LAIRD

# The programs of a board stand still only while they wait, and a test has many of them.
JOIN_FILES = ("ca.crt", "join.crt", "join.key", "join.json")


class Joiner:

    def __init__(self, root, name, image, serial, compatible="nvidia,p3767-0003"):
        self.name = name
        self.root = os.path.join(root, name)
        self.etc = os.path.join(self.root, "etc/laird")
        self.state = os.path.join(self.root, "var/lib/laird/join")
        self.log_path = os.path.join(self.root, "log")
        self.process = None
        self.agent = None
        os.makedirs(self.etc)
        os.makedirs(os.path.dirname(self.state))
        shutil.copytree(image, os.path.join(self.etc, "join"))
        tree = os.path.join(self.root, "machine/sys/firmware/devicetree/base")
        os.makedirs(tree)
        for file, text in (("serial-number", serial + "\0"), ("compatible", compatible + "\0nvidia,tegra234\0"),
                           ("model", "A Jetson of this test\0")):
            with open(os.path.join(tree, file), "w", encoding="utf-8") as out:
                out.write(text)

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def argv(self, *more):
        return [LAIRD, "join", "--image", self.etc + "/join", "--state", self.state, "--etc", self.etc, "--group",
                "root", "--root", self.path("machine"), *more]

    def installed(self):
        return os.path.exists(self.etc + "/laird.json")

    def step(self):
        """What systemd does next with laird-join.service and laird-join-install.path."""
        if self.process is not None and self.process.poll() is not None:
            self.process = None
        if self.process is not None or (self.installed() and not os.path.exists(self.state + "/answer.json")):
            return
        more = ["--install"] if os.path.exists(self.state + "/answer.json") else []
        if not more and self.installed():
            return
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.argv(*more), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def cut(self):
        """The power."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)
            self.process = None

    def done(self):
        return self.installed() and not os.path.exists(self.state + "/answer.json") and (
            self.process is None or self.process.poll() is not None)

    def config(self):
        with open(self.etc + "/laird.json", encoding="utf-8") as file:
            return json.load(file)

    def log(self):
        with contextlib.suppress(FileNotFoundError), open(self.log_path, encoding="utf-8") as file:
            return file.read()
        return ""

    def start_agent(self, **more):
        """laird.service, with the paths of this test."""
        text = json.dumps(self.config()).replace("/etc/laird/tls", self.etc + "/tls")
        made = json.loads(text)
        made.update(state_dir=self.path("state"), **more)
        path = self.path("here.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(made, out)
        with open(self.path("agent.log"), "ab") as log:
            self.agent = subprocess.Popen([LAIRD, "run", "--config", path, "--view", "none"],
                                          stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def close(self):
        self.cut()
        if self.agent is not None:
            self.agent.kill()
            self.agent.wait(10)

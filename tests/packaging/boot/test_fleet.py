"""docs/operations.md, "Found a fleet", step by step: an operator's machine, three boards."""

import base64
import io
import json
import os
import re
import subprocess
import tarfile
import tempfile
import unittest

from place import DEB, Stepwise, boot, put, put_package
from with_libraries import write_sums

# Not n-1: tests outside tidy up after boards of that name, control groups in here included.
BOARDS = ("b-1", "b-2", "b-3")
LAIRCTL = {"fleet": "lab", "brokers": ["mqtts://broker.local:8883"],
           "credentials": "../../pki/operators/op-alice"}
TASK = {"name": "t-1", "trainer": "softmax", "deadline": "30m", "target_loss": 0.05,
        "memory": "40MB",
        "params": {"data": {"format": "synthetic", "rows": 4000, "features": 16}, "epochs": 0}}


def raised(version, by):
    """A later version that is written as long as this one: its digits as one number, and more."""
    digits = re.sub(r"[^0-9]", "", version)
    later = iter(str(int(digits) + by).zfill(len(digits)))
    return re.sub(r"[0-9]", lambda _: next(later), version)


VERSION = subprocess.run(["dpkg-deb", "-f", DEB, "Version"], check=True, capture_output=True, text=True).stdout.strip()
# A program says the newer one's in the place of its own.
NEWER, BROKEN = raised(VERSION, 1), raised(VERSION, 2)


def another_version(folder, version, change):
    """The package under test as another version: `change` makes its laird of the one that is there."""
    root = os.path.join(folder, version)
    subprocess.run(["dpkg-deb", "-R", DEB, root], check=True)
    program = root + "/usr/bin/laird"
    with open(program, "rb") as file:
        content = file.read()
    with open(program, "wb") as file:
        file.write(change(content))
    control = root + "/DEBIAN/control"
    with open(control, encoding="utf-8") as file:
        text = file.read()
    with open(control, "w", encoding="utf-8") as file:
        file.write(text.replace("Version: %s\n" % VERSION, "Version: %s\n" % version))
    write_sums(root)
    subprocess.run(["dpkg-deb", "-Zgzip", "--root-owner-group", "--build", root,
                    "%s/laird_%s_amd64.deb" % (folder, version)], check=True, stdout=subprocess.DEVNULL)


def repository():
    """A folder that apt takes packages from, with all three versions, as a tar in base64."""
    with tempfile.TemporaryDirectory(prefix="laird-repo-") as folder:
        named = (VERSION + "\0").encode()
        another_version(folder, VERSION, lambda program: program)
        another_version(folder, NEWER, lambda program: program.replace(named, (NEWER + "\0").encode()))
        another_version(folder, BROKEN, lambda program: b"#!/bin/sh\nexit 3\n")
        index = subprocess.run(["apt-ftparchive", "packages", "."], cwd=folder, check=True, capture_output=True)
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for version in (VERSION, NEWER, BROKEN):
                name = "laird_%s_amd64.deb" % version
                tar.add(os.path.join(folder, name), name)
            info = tarfile.TarInfo("Packages")
            info.size = len(index.stdout)
            tar.addfile(info, io.BytesIO(index.stdout))
        return base64.b64encode(out.getvalue()).decode()


class Fleet(Stepwise):

    @classmethod
    def setUpClass(cls):
        cls.board = cls.operator = boot(arguments=["--private-network", "--hostname=operator"])
        cls.addClassCleanup(cls.operator.close)
        cls.boards = {}
        for name in BOARDS:
            # One loopback for all of them: there is no other network.
            cls.boards[name] = boot(arguments=["--hostname=" + name, "--network-namespace-path=" +
                                               cls.operator.network()])
            cls.addClassCleanup(cls.boards[name].close)
        for board in (cls.operator, *cls.boards.values()):
            put_package(board)
            board.run("dpkg -i /srv/laird.deb", wait_s=300, code=0)
        cls.operator.run("useradd -m -d /srv/alice -s /bin/bash alice", code=0)

    def alice(self, line, code=0):
        return self.operator.run("su - alice -c '%s'" % line, wait_s=150, code=code)

    def test_01_the_operator_makes_every_file_of_the_fleet(self):
        self.alice("lairctl pki init --fleet lab --host broker.local")
        self.alice("lairctl pki issue operator op-alice")
        self.alice("mkdir -p ~/.config/laird")
        put(self.operator, "/srv/alice/.config/laird/lairctl.json", json.dumps(LAIRCTL))
        said = self.alice("lairctl enroll b-1 b-2 b-3 --offline --budget 60W --floor 5W")
        # As printed, but for ssh: who has sudo is root here.
        type(self).commands = [line[len("ssh BOARD '"):-1] for line in said.splitlines()
                               if line.startswith("ssh ")]
        self.assertEqual(len(self.commands), 3)
        self.alice("lairctl broker config --pki pki --out mosquitto --at /etc/mosquitto/laird")

    def test_02_the_printed_commands_start_the_boards_and_they_wait_for_the_broker(self):
        for (name, board), command in zip(self.boards.items(), self.commands):
            files = self.operator.run("tar -C /srv/alice/enroll -c %s | base64 -w0" % name, code=0)
            board.run("useradd -m -d /srv/user user && cd /srv/user && base64 -d | tar -x && "
                      "mv {0} laird-{0} && chown -R user: .".format(name), stdin=str(files), code=0)
            # What says sudo has root's rights; the rest is an ordinary user's.
            for step in command.split(" && "):
                if step.startswith("sudo "):
                    board.run("cd /srv/user && " + step[len("sudo "):], code=0)
                else:
                    board.run("su - user -c '%s'" % step, code=0)
            self.assertEqual(board.run("systemctl is-active laird"), "active")
        board.until("journalctl -u laird -o cat", 30, lambda said: "no broker" in said)

    def test_03_they_join_when_the_broker_is_there(self):
        self.operator.run("cp -r /srv/alice/mosquitto /etc/mosquitto/laird && "
                          "chown -R mosquitto: /etc/mosquitto/laird && "
                          "cp /etc/mosquitto/laird/mosquitto.conf /etc/mosquitto/ && "
                          "systemctl enable --now mosquitto && systemctl restart mosquitto", code=0)
        self.operator.until("su - alice -c 'lairctl get nodes -o json' 2>/dev/null", 90,
                            lambda said: said.code == 0 and
                            [row["live"] for row in json.loads(said)] == [True] * 3)
        self.assertIn("in force on 3 of 3", self.alice("lairctl fleet init --budget 60W"))
        self.operator.until("su - alice -c 'lairctl fleet status'", 90,
                            lambda said: "ok: 3 of 3 boards live" in said)
        said = self.alice("lairctl doctor")
        self.report(said.split("\n")[-1])
        self.assertIn(", 0 failed", said)

    def test_04_a_task_finds_a_board_and_succeeds(self):
        put(self.operator, "/srv/alice/task.json", json.dumps(TASK))
        self.assertIn("accepted", self.alice("lairctl submit -f task.json --any"))
        self.operator.until("su - alice -c 'lairctl get tasks -o json' 2>/dev/null", 90,
                            lambda said: said.code == 0 and "succeeded" in said)

    def test_05_a_board_with_other_settings_keeps_its_control_groups(self):
        board = self.boards["b-2"]
        groups = "find /sys/fs/cgroup/laird.slice/laird.service -type d | sort"
        before, pid = board.run(groups), board.run("systemctl show -P MainPID laird")
        self.assertIn("laird-agent", before)
        said = self.alice("lairctl config set power.source modelled --node b-2")
        self.assertIn("confirmed", said)
        self.assertEqual(board.run(groups), before)
        self.assertEqual(board.run("systemctl show -P MainPID laird"), pid)
        self.assertEqual(board.run("systemctl show -P NRestarts laird"), "0")

    def test_06_a_board_that_was_switched_off_joins_by_itself(self):
        self.boards["b-3"].reboot()
        self.operator.until("su - alice -c 'lairctl fleet status'", 120,
                            lambda said: "ok: 3 of 3 boards live" in said)

    def test_07_a_board_of_an_image_asks_for_its_place_and_is_admitted(self):
        self.alice("lairctl join image --days 2")
        board = type(self).newcomer = boot(arguments=["--hostname=newcomer", "--network-namespace-path=" +
                                                self.operator.network()])
        self.addClassCleanup(board.close)
        put_package(board)
        board.run("dpkg -i /srv/laird.deb", wait_s=300, code=0)
        files = self.operator.run("tar -C /srv/alice -c join | base64 -w0", code=0)
        board.run("cd /srv && base64 -d | tar -x", stdin=str(files), code=0)
        # What `lairctl provision --join` does.
        board.run("install -d -o root -g laird -m 0750 /etc/laird/join && "
                  "install -o root -g laird -m 0644 /srv/join/ca.crt /srv/join/join.crt /srv/join/join.json /etc/laird/join/ && "
                  "install -o root -g laird -m 0640 /srv/join/join.key /etc/laird/join/ && rm -r /srv/join && "
                  "systemctl enable --now laird.service laird-cell.socket laird-join.service laird-join-install.path", code=0)
        self.assertEqual(board.run("systemctl is-active laird"), "inactive")
        said = str(board.until("journalctl -u laird-join -o cat --no-pager | grep -o 'its key [0-9a-f]*'", 60))
        fingerprint = said.split()[-1]
        board.reboot()  # in the middle of asking
        self.operator.until("su - alice -c 'lairctl join approve %s --prefix b- --floor 5W --wait 20s'" % fingerprint[:16], 90)
        board.until("systemctl is-active laird", 60, lambda said: said == "active")
        self.assertEqual(board.run("stat -c '%A %U %G' /etc/laird/laird.json /etc/laird/tls/node.key"),
                         "-rw-r----- root laird\n-rw-r----- root laird")
        self.assertNotEqual(board.run("test -e /etc/laird/join/join.key").code, 0)
        self.assertEqual(board.run("systemctl --failed --no-legend"), "")
        self.operator.until("su - alice -c 'lairctl fleet status'", 90, lambda said: "ok: 4 of 4 boards live" in said)

    def versions(self):
        return [str(board.run("dpkg-query -W -f '${Version}' laird")) for board in self.boards.values()]

    def test_08_an_upgrade_goes_through_the_fleet_in_waves(self):
        files = repository()
        for board in self.boards.values():
            board.run("mkdir -p /srv/repo && cd /srv/repo && base64 -d | tar -x && chmod -R a+rX /srv/repo && "
                      "rm -f /etc/apt/sources.list && echo 'deb [trusted=yes] file:/srv/repo ./' > "
                      "/etc/apt/sources.list.d/laird.list", stdin=files, wait_s=120, code=0)
            board.run("systemctl enable --now laird-upgrade.path && systemctl enable laird-upgrade-back.service", code=0)
        self.newcomer.run("systemctl stop laird", wait_s=70, code=0)  # it has no repository
        self.newcomer.close()
        self.alice("lairctl purge b-4 --yes")
        said = self.operator.run("su - alice -c 'lairctl upgrade %s --waves 1,all'" % NEWER, wait_s=420)
        self.report(said)
        for board in self.boards.values():
            self.report(board.run("journalctl -u laird-upgrade -u laird-upgrade-back -o cat --no-pager | tail -n 4"))
        self.assertEqual(said.code, 0)
        self.assertEqual(self.versions(), [NEWER] * 3)

    def test_09_a_broken_version_stops_at_the_first_board_which_goes_back_by_itself(self):
        said = self.operator.run("su - alice -c 'lairctl upgrade %s --waves 1,all'" % BROKEN, wait_s=420)
        self.report(said)
        self.assertNotEqual(said.code, 0)
        for board in self.boards.values():
            board.until("systemctl is-active laird", 120, lambda said: said == "active")
            self.assertEqual(board.run("dpkg-query -W -f '${Version}' laird"), NEWER)
        self.operator.until("su - alice -c 'lairctl get tasks -o json' 2>/dev/null", 60,
                            lambda said: said.code == 0 and "succeeded" in said)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""docs/operations.md, "Found a fleet", step by step: an operator's machine, three boards."""

import json
import unittest

from place import Stepwise, boot, put, put_package

# Not n-1: tests outside tidy up after boards of that name, control groups in here included.
BOARDS = ("b-1", "b-2", "b-3")
LAIRCTL = {"fleet": "lab", "brokers": ["mqtts://broker.local:8883"],
           "credentials": "../../pki/operators/op-alice"}
TASK = {"name": "t-1", "trainer": "softmax", "deadline": "30m", "target_loss": 0.05,
        "memory": "40MB",
        "params": {"data": {"format": "synthetic", "rows": 4000, "features": 16}, "epochs": 0}}


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


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Fourteen things that a trainer may try against its agent, its neighbours and its board, on a board
with the real package under a real systemd: each is refused. Trainers run as the user laird-trainer in
cells that root's laird-cell makes; the trainer that tries is tests/e2e/agent/trainer_that_tries.py.
"""

import json
import os
import unittest

from place import Stepwise, put

HERE = os.path.dirname(os.path.abspath(__file__))
TRAINER = os.path.join(HERE, "..", "..", "e2e", "agent", "trainer_that_tries.py")
PROCESSES = 60
CONFIG = {
    "node": "b-1",
    "board": {"name": "orin-nano-8gb", "memory": "1GB",
              "lanes": [{"name": "cpu%d" % i, "kind": "cpu", "cores": 0.5} for i in range(4)]},
    "policy": "round-robin",
    "power": {"source": "modelled", "cap": "10W"},
    "timing": {"attempts_max": 2, "backoff_min": "0.1s", "stop_grace": "5s",
               "checkpoint_every": "1s"},
    "cell": {"processes": PROCESSES, "disk": "8MB", "tmp": "2MB"},
    "trainers": {"tries": {"exec": ["/usr/local/bin/trainer_that_tries.py"]},
                 "linear": {"exec": ["laird-train", "linear"]}},
    "fleet": {"name": "lab", "brokers": ["mqtt://127.0.0.1:1"], "insecure_lab": True,
              "members": {"b-1": {"power": "10W"}},
              "tls": {"ca": "/etc/laird/tls/ca.crt", "cert": "/etc/laird/tls/node.crt",
                      "key": "/etc/laird/tls/node.key"}},
}
STATE = "/var/lib/laird"


class Cell(Stepwise):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.board.run("dpkg -i /srv/laird.deb", wait_s=300, code=0)
        with open(TRAINER, encoding="utf-8") as file:
            put(cls.board, "/usr/local/bin/trainer_that_tries.py", file.read(), "0755")
        # The agent signs the key for its peers with this one, so it has to be one.
        cls.board.run("cd /etc/laird/tls && openssl req -x509 -newkey ed25519 -nodes -days 2 -subj "
                      "/CN=b-1 -keyout node.key -out node.crt && cp node.crt ca.crt && "
                      "chown root:laird * && chmod 0640 *", code=0)
        put(cls.board, "/etc/laird/laird.json", json.dumps(CONFIG), "0640", "root:laird")
        cls.board.run("systemctl start laird", code=0)

    def setUp(self):
        """Each attempt stands for itself: one that fails does not end the others."""

    def agent(self):
        return self.board.run("systemctl show laird -p MainPID --value", code=0)

    def attempt(self, what, name=None):
        name = name or what
        pid = int(self.agent())
        params = {
            "try": what, "agent": pid, "most": 4 * PROCESSES, "megabytes": 40,
            "keys": ["/etc/laird/tls/node.key", "/proc/%d/root/etc/laird/tls/node.key" % pid],
            "journal": self.board.run("ls %s/journal/*.db | tail -n 1" % STATE),
            "settings": [STATE + "/settings/fleet.json", STATE + "/x", "/etc/laird/laird.json"],
            "others": [STATE + "/tasks/neighbour/x", STATE + "/tasks/x"],
            "sockets": [STATE + "/laird.sock", "/run/laird-cell/laird-cell.sock"],
            "groups": self.board.run("find /sys/fs/cgroup -name cgroup.procs").split("\n")[:100],
        }
        task = {"name": name, "trainer": "tries", "deadline": "1h", "target_loss": -1,
                "memory": "200MB", "report_every": 10, "params": params}
        put(self.board, "/srv/task.json", json.dumps(task))
        self.board.run("lairctl submit -f /srv/task.json --local", code=0)
        return name

    def said(self, name):
        return str(self.board.until("cat %s/tasks/%s/said" % (STATE, name), 60,
                                    lambda said: said.code == 0 and said != ""))

    def state(self, name):
        rows = json.loads(self.board.run("lairctl get tasks -o json --local", code=0))
        return next(row for row in rows if row["name"] == name)

    def in_cells(self):
        """Processes of trainers, whoever their parent is by now."""
        return self.board.run("ps -u laird-trainer -o pid=,args=")

    def assert_refused(self, what):
        before = self.agent()
        self.attempt(what)
        said = self.said(what)
        self.report("%s: %s" % (what, said[:200]))
        self.assertTrue(said.startswith("refused"), said)
        self.assertEqual(self.agent(), before)
        self.board.run("lairctl cancel %s --local" % what, code=0)

    def test_00_trainers_are_another_user_with_nothing_more(self):
        self.attempt("journal", "neighbour")
        self.said("neighbour")
        pid = self.board.run("pgrep -u laird-trainer -f trainer_that_tries", code=0).split()[0]
        status = self.board.run("cat /proc/%s/status" % pid)
        self.report("\n".join(line for line in status.split("\n")
                              if line.startswith(("Uid", "CapBnd", "NoNew", "Seccomp:", "NSpid"))))
        for words in (r"CapEff:\s0{16}", r"CapBnd:\s0{16}", r"NoNewPrivs:\s1", r"Seccomp:\s2"):
            self.assertRegex(status, words)
        # The agent's group takes models from it.
        self.assertEqual(self.board.run("stat -c '%%A %%U %%G' %s/tasks/neighbour" % STATE),
                         "drwxr-x--- laird-trainer laird")
        if self.board.run("test -e /sys/fs/cgroup/cgroup.controllers").code == 0:
            self.assertRegex(self.board.run("cat /proc/%s/cgroup" % pid),
                             r"0::/laird.slice/laird.service/laird-b-1-[0-9a-f]+/neighbour")
        said = self.board.run("lairctl doctor --local")
        self.report(next(line for line in said.split("\n") if "trainers" in line))
        self.assertRegex(said, r"ok +trainers +are kept apart from the agent by user, processes, files")

    def test_01_the_key(self):
        self.assert_refused("key")

    def test_02_the_journal(self):
        self.assert_refused("journal")

    def test_03_the_settings(self):
        self.assert_refused("settings")

    def test_04_another_tasks_folder(self):
        self.assert_refused("other")

    def test_05_ptrace(self):
        self.assert_refused("ptrace")

    def test_06_memory(self):
        self.assert_refused("memory")

    def test_07_the_control_socket(self):
        self.assert_refused("socket")

    def test_08_its_cap(self):
        self.assert_refused("cap")

    def test_09_its_control_group(self):
        self.assert_refused("group")

    def test_10_living_on_after_cancel(self):
        self.attempt("outlive", "after-cancel")
        self.said("after-cancel")
        self.assertIn("trap", self.in_cells())
        self.board.run("lairctl cancel after-cancel --local", code=0)
        self.board.until("ps -u laird-trainer -o args= | grep -c trap", 30, lambda said: said == "0")

    def test_11_living_on_after_a_restart(self):
        self.attempt("outlive", "after-restart")
        self.said("after-restart")
        old = self.board.run("pgrep -u laird-trainer -f trap", code=0).split()
        self.assertEqual(len(old), 3)
        before = self.agent()
        self.board.run("kill -9 " + before)
        self.board.until("systemctl show laird -p MainPID,ActiveState", 60,
                         lambda said: "ActiveState=active" in said and "MainPID=0" not in said and
                         before not in said)
        left = self.board.run("ps -o pid= -p " + ",".join(old))
        self.assertEqual(left, "")
        self.board.run("lairctl cancel after-restart --local", code=0)

    def test_12_killing_the_agent(self):
        self.assert_refused("kill")

    def test_13_forking_without_end(self):
        self.assert_refused("fork")

    def test_14_filling_the_disk(self):
        self.attempt("disk")
        self.board.until("lairctl get tasks -o json --local", 60, lambda said: any(
            row["name"] == "disk" and row["state"] == "failed" for row in json.loads(said)))
        reason = self.state("disk")["reason"]
        self.report(reason)
        self.assertIn("cell.disk allows 8 MB", reason)
        self.assertEqual(self.board.run("ls -d /tmp/fill* /var/tmp/fill* /dev/shm/fill* /fill* "
                                        "2>/dev/null"), "")

    def test_15_only_the_agent_is_obeyed_by_the_one_who_makes_cells(self):
        self.board.run("useradd -m carol; useradd -m -G laird dave", code=0)
        ask = ("import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); "
               "s.settimeout(10); s.connect('/run/laird-cell/laird-cell.sock'); "
               "s.send(b'x'); print(len(s.recv(1000)))")
        said = self.board.run('runuser -u carol -- python3 -c "%s"' % ask)
        self.assertIn("PermissionError", said)
        # A member of the group reaches the socket, and is no agent.
        said = self.board.run('runuser -u dave -- python3 -c "%s"' % ask)
        self.assertNotRegex(said, r"^[1-9]")
        self.assertIn("whoever connects is no agent", self.board.run("journalctl -o cat -n 200"))

    def test_16_stopped_it_leaves_no_cell(self):
        self.board.run("systemctl stop laird", wait_s=90, code=0)
        self.assertEqual(self.in_cells(), "")
        self.board.until("systemctl list-units --no-legend 'laird-cell@*'", 30,
                         lambda said: said == "")
        self.assertEqual(self.board.run("systemctl --failed --no-legend"), "")


if __name__ == "__main__":
    unittest.main(verbosity=2)

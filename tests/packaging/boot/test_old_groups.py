"""Control groups of version 1, as JetPack 4 and 5 have them: the devices controller leaves the GPU's node to agent and
trainers, and a task's quota holds. In a container of an older Debian, whose systemd manages the controllers
of the machine around it."""

import json
import os
import unittest

import container
from container import Container
from place import IMAGE, Stepwise, put, put_package

CONTROLLERS = ("devices", "cpu", "memory", "freezer", "pids")
TREES = "/sys/fs/cgroup"
# Any number that systemd does not let everybody open: the network tunnel's.
NODE = "mknod -m 0666 /dev/nvhost-gpu c 10 200"
OPEN = "python3 -c 'import os; os.open(\"/dev/nvhost-gpu\", os.O_RDWR); print(\"opened\")'"
QUOTA = 0.3

OPENS = """#!/usr/bin/python3 -ISB
import json, os, socket
agent = socket.socket(fileno=int(os.environ["LAIRD_FD"]))
try:
    os.open("/dev/nvhost-gpu", os.O_RDWR)
    said = "opened"
except OSError as error:
    said = str(error)
with open("said", "w") as out:
    out.write(said)
agent.sendall(b'{"type":"ready","v":1,"samples":0}\\n')
samples = 0
for line in agent.makefile():
    if json.loads(line).get("type") == "run":
        samples += 1000
        # Works without looking at the clock: only the quota holds it.
        for _ in range(300000):
            pass
        agent.sendall(b'{"type":"progress","samples":%d,"loss":1.0}\\n' % samples)
    else:
        break
"""

CONFIG = {
    "node": "b-1",
    "board": {"memory": "500MB", "lanes": [{"name": "cpu0", "kind": "cpu", "cores": QUOTA}]},
    "trainers": {"opens": {"exec": ["/srv/opens.py"]}, "softmax": {"exec": ["laird-train", "softmax"]}},
    "tasks": [
        {"name": "gpu-user", "trainer": "opens", "deadline": "12h", "target_loss": -1, "memory": "60MB"},
        {"name": "long", "trainer": "softmax", "deadline": "12h", "target_loss": -1, "memory": "90MB",
         "params": {"data": {"format": "synthetic", "rows": 8000, "features": 500}, "epochs": 0}}],
}


def version_1_here():
    return all(os.path.exists(os.path.join(TREES, name, "tasks")) for name in CONTROLLERS)


class OldGroups(Stepwise):

    @classmethod
    def setUpClass(cls):
        if not version_1_here():
            raise unittest.SkipTest("the machine around the container has no control groups of version 1")
        trees = container.groups_here
        container.groups_here = lambda: trees() + [os.path.join(TREES, name) for name in CONTROLLERS]
        cls.addClassCleanup(setattr, container, "groups_here", trees)
        cls.board = Container(os.path.join(IMAGE, "root"), arguments=["--private-network"],
                              environment={"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "0"})
        cls.addClassCleanup(cls.board.close)
        put_package(cls.board)
        # The container may write below its own groups; then its systemd finds the controllers.
        for name in CONTROLLERS:
            cls.board.run("mount -o remount,bind,rw /sys/fs/cgroup/" + name, code=0)
        cls.board.run("systemctl daemon-reexec; sleep 2", wait_s=30)
        cls.board.until("systemctl is-system-running", 30, lambda said: said in ("running", "degraded"))
        cls.board.run(NODE, code=0)

    def group_of(self, pid, controller):
        said = self.board.run("cat /proc/%s/cgroup" % pid, code=0)
        return next(line.split(":", 2)[2] for line in said.split("\n") if line.split(":")[1] == controller)

    def trainer(self, name):
        """The process that runs in that task's folder."""
        return self.board.until(
            "for p in $(pgrep -u laird-trainer); do [ \"$(readlink /proc/$p/cwd)\" = /var/lib/laird/tasks/%s ] && "
            "echo $p; done | head -n 1" % name, 30, lambda said: said != "")

    def test_01_the_devices_controller_is_live(self):
        said = self.board.run("systemd-run --wait --pipe -q -p DevicePolicy=closed " + OPEN)
        self.assertIn("Operation not permitted", said)
        self.assertEqual(self.board.run("systemd-run --wait --pipe -q " + OPEN), "opened")

    def test_02_root_makes_the_agents_groups_before_it_starts(self):
        self.board.run("dpkg -i /srv/laird.deb", wait_s=300, code=0)
        put(self.board, "/srv/opens.py", OPENS, "0755")
        put(self.board, "/etc/laird/laird.json", json.dumps(CONFIG), "0640", "root:laird")
        self.board.run("laird check /etc/laird/laird.json", code=0)
        self.board.run("systemctl start laird", wait_s=90, code=0)
        said = self.board.run("stat -c '%U %n' /sys/fs/cgroup/*/laird", code=0)
        self.assertEqual(sorted(said.split("\n")), ["laird /sys/fs/cgroup/%s/laird" % name for name in sorted(
            set(CONTROLLERS) - {"devices"})])
        self.report(self.board.until("journalctl -u laird -o cat --no-pager | grep -m 1 'cgroup v1'", 20))

    def test_03_agent_and_trainer_open_a_gpus_node(self):
        agent = self.board.run("systemctl show laird -p MainPID --value", code=0)
        group = "/sys/fs/cgroup/devices" + self.group_of(agent, "devices")
        said = self.board.run(
            "echo $$ > %s/cgroup.procs && nsenter --target %s --mount setpriv --reuid laird --regid laird "
            "--clear-groups --no-new-privs %s" % (group, agent, OPEN))
        self.assertEqual(said, "opened")
        self.assertEqual(self.board.until("cat /var/lib/laird/tasks/gpu-user/said", 60), "opened")

    def test_04_a_tasks_quota_holds(self):
        self.board.run("lairctl cancel gpu-user --local --yes", code=0)  # the lane is the long task's alone
        own = self.group_of(self.trainer("long"), "cpu")
        self.assertRegex(own, r"^/laird/laird-b-1-[0-9a-f]+/long$")
        group = "/sys/fs/cgroup/cpu" + own
        self.board.until("cat %s/cpu.cfs_quota_us" % group, 30, lambda said: said == "%d" % (QUOTA * 100000))
        self.board.until("awk '$1 == \"nr_throttled\" {print $2}' %s/cpu.stat" % group, 60,
                         lambda said: said.isdigit() and int(said) > 0)
        # Ticks of 10 ms of all that is in the group, over the time that went by.
        took = self.board.run(
            "t() { for p in $(cat %s/cgroup.procs); do awk '{print $14 + $15}' /proc/$p/stat; done | "
            "awk '{s += $1} END {print s}'; }; a=$(t); b=$(date +%%s%%N); sleep 8; "
            "echo $(( ($(t) - a) * 10000000000 / ($(date +%%s%%N) - b) ))" % group, code=0)
        used = int(took) / 1000
        self.report("quota %.2f of a core, used %.3f" % (QUOTA, used))
        self.assertLess(abs(used - QUOTA), 0.1 * QUOTA)

    def test_05_a_trainers_memory_is_limited(self):
        pid = self.trainer("long")
        group = "/sys/fs/cgroup/memory" + self.group_of(pid, "memory")
        limit = int(self.board.run("cat %s/memory.limit_in_bytes" % group, code=0))
        self.assertAlmostEqual(limit, 90e6, delta=1e5)

    def test_06_stopped_it_leaves_no_process_in_the_groups(self):
        self.board.run("systemctl stop laird", wait_s=70, code=0)
        self.assertEqual(self.board.run("cat $(find /sys/fs/cgroup/*/laird -name cgroup.procs)"), "")


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""One board's life with the real package under a real systemd, from installation to purge.

The steps build on each other, so they run in this order and the first that fails ends the run.
"""

import json
import unittest

from place import Stepwise, put

CONFIG = {
    "node": "b-1",
    "board": {"name": "orin-nano-8gb", "memory": "500MB",
              "lanes": [{"name": "gpu0", "kind": "gpu", "cores": 0.5},
                        {"name": "cpu0", "kind": "cpu", "cores": 0.25}]},
    "power": {"source": "modelled", "helper": ["/run/laird-priv/laird-priv.sock"]},
    "timing": {"checkpoint_every": "1s"},
    "tasks": [{"name": "long", "trainer": "softmax", "deadline": "12h", "target_loss": -1,
               "memory": "40MB",
               "params": {"data": {"format": "synthetic", "rows": 4000, "features": 16},
                          "epochs": 0}}],
}

# Stands in for NVIDIA's program: keeps the mode where the real one does.
NVPMODEL = """#!/bin/sh
case $1 in
  -q) echo "NV Power Mode: X"; sed 's/pmode:0*\\(.\\)/\\1/' /var/lib/nvpmodel/status ;;
  -m) echo "pmode:000$2" > /var/lib/nvpmodel/status || exit 1 ;;
esac
"""
NVPMODEL_CONF = """< POWER_MODEL ID=0 NAME=15W >
CPU_ONLINE CORE_0 1
< POWER_MODEL ID=1 NAME=7W >
CPU_ONLINE CORE_0 1
< PM_CONFIG DEFAULT=0 >
"""
ASK_HELPER = """import socket, sys
helper = socket.socket(socket.AF_UNIX)
helper.settimeout(60)
helper.connect("/run/laird-priv/laird-priv.sock")
for line in sys.argv[1:]:
    if line == "mode":
        print(open("/var/lib/nvpmodel/status").read().strip())
        continue
    helper.sendall((line + "\\n").encode())
    print(helper.recv(1000).decode().strip())
"""
UNIT = "/sys/fs/cgroup/laird.slice/laird.service"


class OneBoard(Stepwise):

    def shown(self, *names, unit="laird.service"):
        out = self.board.run("systemctl show %s -p %s" % (unit, ",".join(names)), code=0)
        return dict(line.split("=", 1) for line in out.splitlines())

    def samples(self):
        tasks = json.loads(self.board.run("lairctl get tasks -o json --local", code=0))
        return tasks[0]["samples"]

    def await_samples(self, more_than):
        self.board.until("lairctl get tasks -o json --local", 60,
                         lambda said: said.code == 0 and json.loads(said) and
                         json.loads(said)[0]["samples"] > more_than)

    def await_another(self, old_pid):
        """Until systemd has put another agent in the place of the one that was."""
        self.board.until("systemctl show laird -p MainPID,ActiveState", 90,
                         lambda said: "ActiveState=active" in said and "MainPID=0" not in said and
                         "MainPID=%s\n" % old_pid not in said + "\n")

    def assert_goes_on(self, at_least):
        """Samples of before count: it did not begin anew."""
        self.await_samples(0)
        self.assertGreaterEqual(self.samples(), at_least)

    def test_01_the_installation_starts_nothing(self):
        self.board.run("dpkg -i /srv/laird.deb", wait_s=300, code=0)
        for unit in ("laird.service", "laird-cell.socket", "laird-priv.socket"):
            self.assertEqual(self.board.run("systemctl is-active " + unit), "inactive")
            self.assertEqual(self.board.run("systemctl is-enabled " + unit), "disabled")
        said = self.board.run("stat -c '%n %A %U %G' /etc/laird /etc/laird/tls /var/lib/laird")
        self.assertEqual(said.split("\n"), ["/etc/laird drwxr-x--- root laird",
                                            "/etc/laird/tls drwxr-x--- root laird",
                                            "/var/lib/laird drwxr-x--- laird laird"])

    def test_02_without_a_config_it_is_skipped_and_not_failed(self):
        self.board.run("systemctl enable --now laird", code=0)
        self.assertEqual(self.shown("ActiveState", "ConditionResult"),
                         {"ActiveState": "inactive", "ConditionResult": "no"})
        self.assertEqual(self.board.run("systemctl --failed --no-legend"), "")

    def test_03_systemd_takes_the_units_and_finds_them_well_confined(self):
        said = self.board.run("systemd-analyze verify laird.service laird-priv.socket laird.slice "
                              "laird-priv@.service laird-cell.socket laird-cell@.service", code=0)
        self.assertNotIn("laird", said)
        if "--threshold" not in self.board.run("systemd-analyze --help"):
            self.skipTest("this systemd-analyze knows no threshold; it takes the units")
        for unit, most in (("laird.service", 24), ("laird-priv@x.service", 22),
                           ("laird-cell@x.service", 56)):
            said = self.board.run("systemd-analyze security --no-pager --threshold=%d %s" %
                                  (most, unit))
            self.report(said.split("\n")[-1])
            self.assertEqual(said.code, 0)

    def test_04_it_is_started_when_it_is_ready(self):
        put(self.board, "/usr/sbin/nvpmodel", NVPMODEL, "0755")
        put(self.board, "/etc/nvpmodel.conf", NVPMODEL_CONF)
        put(self.board, "/etc/laird/live_modes", "0\n1\n")
        put(self.board, "/usr/local/bin/ask.py", ASK_HELPER)
        self.board.run("mkdir -p /var/lib/nvpmodel; echo pmode:0000 > /var/lib/nvpmodel/status; "
                       "systemctl enable --now laird-priv.socket", code=0)
        put(self.board, "/etc/laird/laird.json", json.dumps(CONFIG), "0640", "root:laird")
        self.board.run("laird check /etc/laird/laird.json", code=0)
        # With no pause between: systemctl returns when the agent has said that it is ready.
        said = self.board.run("systemctl start laird && lairctl status --local", code=0)
        self.assertIn("b-1, policy foresight", said)
        self.assertEqual(self.shown("Type", "ActiveState", "StatusText", "WatchdogUSec", "User"),
                         {"Type": "notify", "ActiveState": "active", "StatusText": "b-1 runs",
                          "WatchdogUSec": "30s", "User": "laird"})
        self.report(self.board.run("systemctl status laird --no-pager | head -n 16"))

    def test_05_it_runs_as_its_own_user_without_capabilities(self):
        pid = self.shown("MainPID")["MainPID"]
        status = self.board.run("cat /proc/%s/status" % pid)
        self.assertRegex(status, r"CapEff:\s0{16}")
        self.assertRegex(status, r"CapBnd:\s0{16}")
        self.assertRegex(status, r"NoNewPrivs:\s1")
        self.assertEqual(self.board.run("ps -C laird -o user= | sort -u"), "laird")
        self.board.until("ps -C laird-train -o user:20= | sort -u", 30,
                         lambda said: said == "laird-trainer")
        self.assertEqual(self.board.run("stat -c '%A %U %G' /var/lib/laird/laird.sock"),
                         "srw-rw---- laird laird")

    def test_06_its_log_has_levels_and_no_second_time(self):
        said = self.board.run("journalctl -u laird -o json --no-pager")
        lines = [json.loads(line) for line in said.splitlines()]
        ours = [line for line in lines if line.get("SYSLOG_IDENTIFIER") == "laird"]
        self.assertGreater(len(ours), 1)
        for line in ours:
            self.assertRegex(line["MESSAGE"], r"^[a-z][a-z0-9 ]*:? ")
            self.assertIn(line["PRIORITY"], "346", line)
            self.assertEqual(line["_SYSTEMD_UNIT"], "laird.service")

    def test_07_members_of_the_group_may_ask_and_others_are_told_why_not(self):
        self.board.run("useradd -m alice; useradd -m -G laird bob", code=0)
        said = self.board.run("runuser -u alice -- lairctl status")
        self.assertEqual(said.code, 4)
        self.assertIn("usermod -aG laird", said)
        said = self.board.run("runuser -u alice -- lairctl doctor")
        self.assertIn("may not talk to the agent", said)
        self.assertIn("b-1,", self.board.run("runuser -u bob -- lairctl status", code=0))

    def test_08_each_trainer_has_its_own_control_group(self):
        self.await_samples(0)
        pid = self.board.run("pgrep -u laird-trainer laird-train", code=0)
        own = self.board.run("grep ^0:: /proc/%s/cgroup" % pid)
        if self.board.run("test -e /sys/fs/cgroup/cgroup.controllers").code != 0:
            self.skipTest("this kernel shows no cgroup v2 here; the trainer is in " + own)
        self.assertRegex(own, r"^0::/laird.slice/laird.service/laird-b-1-[0-9a-f]+/long$")
        group = "/sys/fs/cgroup" + own[3:]
        self.assertEqual(self.board.run("cat %s/laird-agent/cgroup.procs" % UNIT),
                         self.shown("MainPID")["MainPID"])
        self.board.run("test -w %s/cgroup.freeze" % group, code=0)
        if "cpu" not in self.board.run("cat /sys/fs/cgroup/cgroup.controllers").split():
            self.skipTest("cgroup v2 without the controller cpu: no quota to look at")
        said = self.board.until("cat %s/cpu.max %s/memory.max" % (group, group), 30)
        self.report("cpu.max, memory.max of the task: " + said.replace("\n", ", "))
        self.assertEqual(said.split("\n")[0], "25000 100000")

    def test_09_the_helper_writes_what_it_is_for_and_puts_it_back(self):
        self.assertEqual(self.board.run("stat -c '%A %U %G' /run/laird-priv/laird-priv.sock"),
                         "srw-rw---- root laird")
        # The agent has it: one at a time.
        self.board.run("systemctl stop laird", code=0)
        self.board.until("systemctl list-units --no-legend 'laird-priv@*'", 30,
                         lambda said: said == "")
        said = self.board.run("runuser -u bob -- python3 /usr/local/bin/ask.py "
                              "'get nvpmodel' 'list nvpmodel' 'set nvpmodel 1' mode", code=0)
        self.assertEqual(said, "ok 0\nok 0 1\nok 1\npmode:0001")
        self.board.until("cat /var/lib/nvpmodel/status", 30, lambda said: said == "pmode:0000")
        said = self.board.run("runuser -u alice -- python3 /usr/local/bin/ask.py 'get nvpmodel'")
        self.assertIn("PermissionError", said)
        self.board.run("systemctl start laird", code=0)

    def test_10_the_helper_may_write_clocks_and_nothing_else_of_the_system(self):
        if self.board.kind == "container":
            self.skipTest("/sys belongs to the machine around a container")
        put(self.board, "/run/systemd/system/confined.service",
            self.board.run("cat /lib/systemd/system/laird-priv@.service")
            .replace("/usr/libexec/laird/laird-priv", "/bin/sh /usr/local/bin/confined")
            .replace("=socket", "=null") + "\nType=oneshot\n")
        put(self.board, "/usr/local/bin/confined",
            "say() { echo \"$1\" >> /run/laird-priv/said; }\n"
            "for f in $(ls /sys/devices/pci*/*/power/control | head -n 1); do\n"
            "  cat $f > /run/laird-priv/v; cat /run/laird-priv/v > $f && say devices; done\n"
            "echo 1 > /proc/sys/kernel/printk_ratelimit && say tunables\n"
            "echo x > /sys/kernel/mm/ksm/run && say kernel\n"
            "touch /etc/x && say etc\ntouch /var/lib/x && say var\n"
            "(cd /home && touch x) && say home\n"
            "touch /var/lib/nvpmodel/x && say nvpmodel\nexit 0\n")
        self.board.run("systemctl daemon-reload; systemctl start confined", code=0)
        self.assertEqual(self.board.run("cat /run/laird-priv/said"), "devices\nnvpmodel")

    def test_11_after_kill_9_tasks_go_on_from_their_checkpoints(self):
        self.await_samples(self.samples())
        before = self.board.run("stat -c %Y /var/lib/laird/tasks/long/checkpoint.bin")
        self.board.until("stat -c %Y /var/lib/laird/tasks/long/checkpoint.bin", 30,
                         lambda said: said != before)
        at_least = self.samples() // 2
        old = self.shown("MainPID", "NRestarts")
        self.board.run("kill -9 " + old["MainPID"])
        self.await_another(old["MainPID"])
        self.assertEqual(int(self.shown("NRestarts")["NRestarts"]), int(old["NRestarts"]) + 1)
        self.assert_goes_on(at_least)
        self.assertIn("brought back 1 unfinished", self.board.run("journalctl -u laird -o cat"))

    def test_12_an_agent_that_hangs_is_ended_by_the_watchdog(self):
        self.await_samples(self.samples())
        at_least, old = self.samples() // 2, self.shown("MainPID")["MainPID"]
        self.board.run("kill -STOP " + old)
        self.await_another(old)
        said = self.board.run("journalctl -u laird -o cat")
        self.assertIn("Watchdog timeout (limit 30s)!", said)
        self.assertIn("Failed with result 'watchdog'", said)
        self.assert_goes_on(at_least)

    def test_13_a_stop_checkpoints_and_leaves_nobody_behind(self):
        self.await_samples(self.samples())
        before = self.samples()
        self.board.run("systemctl stop laird", wait_s=70, code=0)
        self.assertEqual(self.shown("Result", "ExecMainStatus", "ActiveState"),
                         {"Result": "success", "ExecMainStatus": "0", "ActiveState": "inactive"})
        self.assertEqual(self.board.run("ps -u laird,laird-trainer -o comm="), "")
        self.board.run("systemctl start laird", code=0)
        self.assert_goes_on(before)

    def test_14_a_wrong_config_is_said_once_and_not_tried_again(self):
        put(self.board, "/etc/laird/laird.json", '{ "nod": "b-1" }', "0640", "root:laird")
        self.assertEqual(self.board.run("systemctl restart laird").code, 1)
        self.board.run("sleep 3")
        self.assertEqual(self.shown("ActiveState", "ExecMainStatus", "NRestarts"),
                         {"ActiveState": "failed", "ExecMainStatus": "2", "NRestarts": "0"})
        self.assertIn("nod", self.board.run("journalctl -u laird -p err -o cat -n 5"))
        put(self.board, "/etc/laird/laird.json", json.dumps(CONFIG), "0640", "root:laird")
        self.board.run("systemctl restart laird", code=0)
        self.await_samples(0)

    def test_15_it_comes_back_with_the_machine(self):
        self.await_samples(self.samples())
        before = self.samples()
        self.board.reboot()
        self.board.until("systemctl is-active laird", 60, lambda said: said == "active")
        self.assert_goes_on(before)

    def test_16_a_power_cut_loses_no_task(self):
        self.await_samples(self.samples())
        at_least = self.samples() // 2
        self.board.cut_power()
        self.board.until("systemctl is-active laird", 60, lambda said: said == "active")
        self.assert_goes_on(at_least)

    def test_17_an_upgrade_restarts_it_and_keeps_its_state(self):
        # However it ended, the next one had the helper: the one before let go of it.
        said = self.board.run("journalctl -u laird -o cat")
        self.assertIn("power modes 1 0", said)
        self.assertNotIn("helper does not answer", said)
        before, old = self.samples(), self.shown("MainPID")["MainPID"]
        self.board.run("dpkg -i /srv/laird.deb", wait_s=300, code=0)
        self.assertEqual(self.shown("ActiveState")["ActiveState"], "active")
        self.assertNotEqual(self.shown("MainPID")["MainPID"], old)
        self.assert_goes_on(before)

    def test_18_removed_it_ends_and_leaves_config_and_state(self):
        self.board.run("dpkg -r laird", wait_s=300, code=0)
        self.assertEqual(self.board.run("ps -u laird,laird-trainer -o comm="), "")
        self.assertEqual(self.board.run("systemctl --failed --no-legend"), "")
        self.board.run("test -e /etc/laird/laird.json -a -d /var/lib/laird/journal", code=0)
        self.board.run("test -e /usr/bin/laird -o -e /lib/systemd/system/laird.service", code=1)

    def test_19_purged_it_leaves_config_keys_and_the_user(self):
        self.board.run("dpkg -P laird", wait_s=300, code=0)
        others = ("/proc", "/sys", "/tmp", "/var/cache/man")
        left = self.board.run("find / -xdev -name '*laird*' %s | sort" %
                              " ".join("-not -path '%s/*'" % folder for folder in others))
        self.assertEqual(left, "/etc/laird\n/etc/laird/laird.json\n/srv/laird.deb")
        self.board.run("getent passwd laird", code=0)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Settings over the network: a change holds when it is confirmed over the link it brought back, and in
every other case the board goes back to what it had, by itself."""

import json
import os
import signal
import socket
import unittest
import unittest.mock

from boards import OperatedFleet, task
from harness import TOP, Broker, command, free_port, sign, wait_until


class Config(OperatedFleet):

    boards = ("n-1", "n-2")
    nodes = ("n-1", "n-2")
    operators = ("op-alice", "op-bob")

    def value(self, node, key):
        """What the board says it runs with, and where that is from."""
        row = self.lairctl("config", "get", key, "--node", node, "-o", "json").json()[0]
        settings = row["data"]["settings"]
        for level in key.split("."):
            settings = settings.get(level) if isinstance(settings, dict) else None
        return settings

    def log_of(self, node):
        return self.agents[node].log()

    def overlay(self, node):
        with open(os.path.join(self.agents[node].state, "settings", "fleet.json"),
                  encoding="utf-8") as file:
            return json.load(file)

    def wait_for(self, node, key, wanted, seconds=30):
        def holds():
            done = self.run_lairctl("config", "get", key, "--node", node, "-o", "json",
                                    "--timeout", "3s")
            return done.code == 0 and wanted in done.out
        self.assertTrue(wait_until(holds, seconds, every=0.3), self.log_of(node)[-2000:])

    def test_a_good_change_is_confirmed_and_the_tasks_go_on(self):
        self.submit(task("stays", epochs=4000), "--node", "n-1")
        self.wait_for_task("stays", "running")
        done = self.lairctl("config", "set", "power.cap=15W", "slice=0.1s", "--node", "n-1")
        self.assertIn("n-1: power.cap: (not set) -> 15W", done.out)
        self.assertIn("n-1: confirmed", done.out)
        self.assertIsNone(self.overlay("n-1").get("trial"))
        self.assertIsNone(self.agents["n-1"].process.poll())  # the same process, started anew
        self.assertRegex(self.lairctl("config", "get", "power.cap", "--node", "n-1").out,
                         r"n-1 +power.cap +15W +fleet")
        self.wait_for_task("stays", "running")
        # Over a crash too, and again is no change.
        self.agents["n-1"].signal(signal.SIGKILL)
        self.agents["n-1"].process.wait(10)
        self.agents["n-1"].start()
        self.wait_for("n-1", "power.cap", "15W")
        self.wait_for_task("stays", "running")
        again = self.lairctl("config", "set", "power.cap", "15W", "--node", "n-1")
        self.assertEqual(again.out, "n-1: no change\n")
        self.lairctl("cancel", "stays", "--yes")
        self.lairctl("config", "unset", "power.cap", "slice", "--node", "n-1")
        self.assertIsNone(self.value("n-1", "power.cap"))
        self.assertEqual(self.value("n-1", "slice"), "0.05s")

    def test_a_dead_broker_is_reverted_by_the_board_itself(self):
        dead = json.dumps(["mqtts://localhost:%d" % free_port()])
        done = self.lairctl("config", "set", "fleet.brokers", dead, "--node", "n-1",
                            "--confirm-within", "6s", code=1)
        self.assertIn("reverted: the link did not come back within 6 s", done.err)
        self.assertEqual(self.value("n-1", "fleet.brokers"), [self.broker.url])
        self.wait_for_boards()

    def test_a_change_to_another_broker_is_confirmed_there(self):
        folder = os.path.join(self.root, "second")
        os.makedirs(folder)
        second = Broker(folder, self.pki)
        self.addCleanup(second.kill)
        second.start()
        done = self.lairctl("config", "set", "fleet.brokers", json.dumps([second.url]), "--node",
                            "n-1", "--confirm-within", "30s")
        self.assertIn("n-1: confirmed", done.out)
        self.lairctl("config", "unset", "fleet.brokers", "--node", "n-1", "--broker", second.url)
        self.wait_for_boards()

    def test_bad_values_and_locked_settings_are_refused_with_key_and_remedy(self):
        before = self.log_of("n-2")
        done = self.lairctl("config", "set", "power.cap=15", "slise=2s", "node=n-9",
                            'trainers.sh.exec=["/bin/sh"]', "--node", "n-2", code=4)
        for line in ("n-2: power.cap: expected a string, found a whole number; write it with a unit, "
                     'like "15W"',
                     'n-2: slise: unknown key in laird.json; did you mean "slice"?',
                     "n-2: node: locked: ", "n-2: trainers.sh.exec: locked: "):
            self.assertIn(line, done.err)
        self.assertNotIn("starting anew", self.log_of("n-2")[len(before):])
        self.lairctl("config", "set", "power.cap", "--node", "n-2", code=2)
        self.lairctl("config", "set", "power.cap", "15W", code=2)
        self.lairctl("config", "set", "power.cap", "15W", "--node", "n-7", code=3)

    def send_change(self, node, body):
        """A change whose sender goes away; the id that a confirmation would need."""
        operator = self.up("op-alice", subscriptions=[TOP + "res/op-alice/#"])
        text = command(node, "config", body)
        operator.publish(TOP + "ctl/%s/cmd/config" % node,
                         json.dumps(sign(self.pki, "op-alice", text)), qos=1, kind="event",
                         response_topic=TOP + "res/op-alice/" + node)
        reply = json.loads(operator.message(TOP + "res/op-alice/" + node)["payload"])
        self.assertEqual(reply["code"], "ok", reply)
        return json.loads(text)["id"]

    def test_kill_9_on_trial_reverts_and_says_so(self):
        events = self.up("op-alice", subscriptions=[TOP + "node/n-2/evt/config"])
        starts = self.log_of("n-2").count("settings: on trial for")
        self.send_change("n-2", {"set": {"slice": "0.2s"}, "confirm_within_s": 600})
        self.assertTrue(wait_until(lambda: self.log_of("n-2").count("settings: on trial for") > starts, 20))
        self.wait_for("n-2", "slice", "0.2s")
        self.agents["n-2"].signal(signal.SIGKILL)
        self.agents["n-2"].process.wait(10)
        self.agents["n-2"].start()
        self.wait_for("n-2", "slice", "0.05s")
        texts = []
        for _ in range(2):
            texts.append(json.loads(events.message(TOP + "node/n-2/evt/config", 20)["payload"])["text"])
        self.assertEqual(texts[0], "op-alice changes slice; on trial for 600 s")
        self.assertIn("reverted the change by op-alice: the agent ended", texts[1])

    def test_nobody_confirms_and_it_reverts(self):
        self.send_change("n-2", {"apply": {"slice": "0.3s"}, "confirm_within_s": 5})
        self.assertTrue(wait_until(lambda: "nobody confirmed it within 5 s" in self.log_of("n-2"),
                                   40))
        self.wait_for("n-2", "slice", "0.05s")

    def test_the_supervisor_hears_of_the_agent_that_started_anew(self):
        path = os.path.join(self.root, "notify")
        heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(heard.close)
        heard.bind(path)
        heard.settimeout(20)
        board = self.agents["n-1"]
        board.kill()
        with unittest.mock.patch.dict(os.environ, NOTIFY_SOCKET=path, WATCHDOG_USEC="3000000"):
            board.start()
        self.wait_for_boards()
        process = board.process.pid
        self.lairctl("config", "set", "slice", "0.2s", "--node", "n-1")
        self.assertEqual(board.process.pid, process)
        self.assertIsNone(board.process.poll())
        said, ready = [], 0
        while ready < 2 or said[-1] != "WATCHDOG=1":
            said.append(heard.recv(4096).decode())
            ready += said[-1].startswith("READY=1")
        self.assertNotIn("STOPPING=1", said)
        with open("/proc/%d/comm" % process, encoding="utf-8") as file:
            self.assertEqual(file.read().strip(), "laird")
        self.lairctl("config", "unset", "slice", "--node", "n-1")

    def test_who_may_not_is_refused(self):
        credentials = os.path.join(self.pki.folder, "operators", "op-bob")
        refused = self.lairctl("config", "set", "slice", "2s", "--node", "n-2", "--credentials",
                               credentials, code=4)
        self.assertIn("no operator 'op-bob'", refused.err)
        with open(credentials + "/signing.pub", encoding="utf-8") as file:
            bob = {"name": "op-bob", "key": file.read().strip(), "may": ["get", "drain"]}
        board = self.agents["n-2"]
        board.config["fleet"]["operators"].append(bob)
        board.kill()
        board.start()
        self.wait_for_boards()
        self.lairctl("config", "get", "slice", "--node", "n-2", "--credentials", credentials)
        refused = self.lairctl("config", "set", "slice", "2s", "--node", "n-2", "--credentials",
                               credentials, code=4)
        self.assertIn("may not 'config'", refused.err)
        self.assertEqual(self.value("n-2", "slice"), "0.05s")

    def test_a_file_for_all_one_board_first(self):
        path = os.path.join(self.root, "site.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"slice": "0.25s", "timing": {"stop_grace": "5s"}}  // the site\n')
        done = self.lairctl("config", "diff", "-f", path, "--all")
        self.assertIn("n-2: slice: 0.05s -> 0.25s", done.out)
        self.assertEqual(self.value("n-1", "slice"), "0.05s")
        done = self.lairctl("config", "apply", "-f", path, "--all", "--yes")
        self.assertIn("n-1: confirmed", done.out)
        self.assertIn("n-2: confirmed", done.out)
        self.assertIn("answered 2 of 2", done.err)
        rows = self.lairctl("config", "apply", "-f", path, "--all", "--yes", "-o", "json").json()
        self.assertEqual([r["text"] for r in rows], ["no change", "no change"])
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"slice": "forever"}')
        done = self.lairctl("config", "apply", "-f", path, "--all", "--yes", code=4)
        self.assertIn("stopped at n-1", done.err)
        with open(path, "w", encoding="utf-8") as file:
            file.write("{}")
        self.lairctl("config", "apply", "-f", path, "--all", "--yes")
        self.assertEqual(self.value("n-2", "slice"), "0.05s")


if __name__ == "__main__":
    unittest.main(verbosity=2)

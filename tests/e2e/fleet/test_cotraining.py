"""Co-training tasks: real boards train one model on data that none of them has whole.

Eight classes, two on each of four boards: alone, a board cannot know six of them. One board is killed
in the middle and comes back. The yardstick is the same trainer on the pooled rows."""

import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import unittest

import jsonschema

from boards import LAIRD, LAIRD_TRAIN, OperatedFleet
from harness import TOP, wait_until
from links import Link
from peer import MODEL, SpeakingPeer

LAIRD_PROMOTE = os.path.join(os.path.dirname(LAIRD), "laird-promote")
SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "../../../docs/schema/cotrain.json")
CLASSES, FEATURES = 8, 16
ROWS = 2000  # of each board
NAME = "shared"
ROUNDS = 500  # long enough for a board to be away and come back


def made_up(rows, labels, seed):
    """Gaussian clouds around a centre per class, wide enough to overlap."""
    of_centres = random.Random(1000)
    centres = [[of_centres.gauss(0, 1) for _ in range(FEATURES)] for _ in range(CLASSES)]
    source = random.Random(seed)
    out = []
    for i in range(rows):
        label = labels[i % len(labels)]
        out.append([x + source.gauss(0, 1.6) for x in centres[label]] + [label])
    return out


def write_csv(path, rows):
    with open(path, "w", encoding="utf-8") as out:
        for row in rows:
            out.write(",".join(["%.5f" % x for x in row[:-1]] + [str(row[-1])]) + "\n")


def params(path, **more):
    out = {"data": {"format": "csv", "path": path, "header": False, "class_count": CLASSES,
                    "scale": 1}, "batch": 64}
    out.update(more)
    return out


class CoTraining(OperatedFleet):

    boards = ("n-1", "n-2", "n-3", "n-4")
    nodes = boards

    @classmethod
    def configure(cls, board):
        board.config["trainers"]["laird-promote"] = {"exec": [LAIRD_PROMOTE, "task"]}
        if board.node != "n-2":
            return
        # A round takes some 20 ms at least then: on any machine a group is met in the middle of its work.
        link = Link(cls.broker.port)
        link.set("slow", 0.001)
        link.start()
        cls.addClassCleanup(link.stop)
        board.config["fleet"]["brokers"] = ["mqtts://localhost:%d" % link.port]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        pooled = []
        for k, node in enumerate(cls.boards):
            part = made_up(ROWS, [2 * k, 2 * k + 1], seed=k)
            pooled += part
            # Every board has its rows under the same name in the task's folder.
            folder = os.path.join(cls.agents[node].state, "tasks", NAME)
            os.makedirs(folder, exist_ok=True)
            write_csv(os.path.join(folder, "rows.csv"), part)
        random.Random(7).shuffle(pooled)
        cls.pooled = os.path.join(cls.root, "pooled.csv")
        write_csv(cls.pooled, pooled)
        cls.test = os.path.join(cls.root, "test.csv")
        write_csv(cls.test, made_up(4000, list(range(CLASSES)), seed=99))

    def lay_rows(self, name):
        """The same rows for another task."""
        for node in self.boards:
            shutil.copytree(self.folder(node), os.path.join(self.agents[node].state, "tasks", name),
                            ignore=lambda _, names: [n for n in names if n != "rows.csv"])

    def params_file(self, name, value):
        path = os.path.join(self.root, name)
        with open(path, "w", encoding="utf-8") as out:
            json.dump(value, out)
        return path

    def trained_alone(self, name, data):
        """Accuracy on the test rows of a plain `laird-train` run on `data`."""
        folder = os.path.join(self.root, name)
        os.makedirs(folder, exist_ok=True)
        subprocess.run([LAIRD_TRAIN, "softmax", "--params",
                        self.params_file(name + ".json",
                                         params(data, epochs=60, learning_rate=0.01)),
                        "--dir", folder], check=True, stdout=subprocess.DEVNULL, timeout=60)
        return self.accuracy(folder)

    def accuracy(self, folder):
        out = subprocess.run([LAIRD_TRAIN, "evaluate", "softmax",
                              self.params_file("test.json", params(self.test)), "--dir", folder],
                             check=True, stdout=subprocess.PIPE, timeout=60).stdout.decode()
        found = re.fullmatch(r"rows=4000 loss=\S+ accuracy=(\S+)\n", out)
        self.assertTrue(found, out)
        return 100 * float(found.group(1))

    def folder(self, node):
        return os.path.join(self.agents[node].state, "tasks", NAME)

    def state_of(self, node):
        rows = self.tasks(name=NAME, node=node)
        return rows[0] if rows else {"state": "none", "samples": 0}

    def fleet_of(self, node):
        return self.state_of(node).get("fleet") or {}

    def round_of(self, node):
        return self.fleet_of(node).get("round") or 0

    def test_one_model_of_all_data_though_a_board_is_killed_and_comes_back(self):
        spec = {"name": NAME, "trainer": "softmax", "deadline": "10m", "target_loss": -1,
                "memory": "20MB", "report_every": 2 * ROWS,
                "params": params("rows.csv", fleet={"rounds": ROUNDS})}
        done = self.submit(spec, "--node", "n-1,n-2,n-4")
        self.assertIn("accepted by 3 of 3", done.err)
        self.assertTrue(wait_until(lambda: self.round_of("n-4") > 20, 60, 0.3),
                        self.agents["n-4"].log()[-800:])
        self.assertEqual(self.state_of("n-1")["fleet"]["boards"], 3)
        self.assertIn("with 2 other boards", self.lairctl("describe", "task", NAME, "--node", "n-2").out)

        # One that is silent is waited for: no round is made without its rows.
        killed = self.agents["n-4"]
        killed.process.send_signal(signal.SIGKILL)
        killed.process.wait(10)
        self.assertTrue(wait_until(lambda: self.fleet_of("n-1").get("waits_for") == ["n-4"], 30, 0.3),
                        self.fleet_of("n-1"))
        before = self.round_of("n-1")
        self.assertLess(before, ROUNDS)
        # One comes late, while the group stands still: it gets the model, and takes part from then on.
        self.submit(spec, "--node", "n-3")
        self.assertTrue(wait_until(lambda: self.round_of("n-3") + 1 >= before, 60, 0.3), self.fleet_of("n-3"))
        killed.start()
        self.assertTrue(wait_until(lambda: self.round_of("n-1") > before + 5, 60, 0.3),
                        "the group does not go on:\n" + killed.log()[-800:])

        def ended(*nodes):
            return lambda: all(self.state_of(n)["state"] == "exhausted" for n in nodes)
        self.assertTrue(wait_until(lambda: len(self.fleet_of("n-1").get("members", [])) == 4, 60, 0.3),
                        self.fleet_of("n-1"))
        self.assertTrue(wait_until(ended(*self.boards), 400, 0.5),
                        [self.state_of(n) for n in self.boards])

        central = self.trained_alone("central", self.pooled)
        alone = self.trained_alone("alone", os.path.join(self.folder("n-1"), "rows.csv"))
        shared = {n: self.accuracy(self.folder(n)) for n in self.boards}
        print("central %.2f %%, a board alone %.2f %%, shared %s" % (
            central, alone, {n: "%.2f %%" % a for n, a in shared.items()}))
        for node, accuracy in shared.items():
            self.assertGreater(accuracy, central - 0.5, node)
            self.assertGreater(accuracy, alone + 20, node)
            self.assertEqual(accuracy, shared["n-1"])  # one model, bit for bit
            reason = self.state_of(node)["reason"]
            self.assertIn("made by n-1, n-2, n-3, n-4; n-3 since round ", reason)
            self.assertNotIn("; without", reason)
        wide = self.lairctl("get", "tasks", "-o", "wide").out
        self.assertIn("made by n-1, n-2, n-3, n-4", wide)
        described = self.lairctl("describe", "task", NAME, "--node", "n-2").out
        self.assertIn("round %d of %d" % (ROUNDS, ROUNDS), described)
        # The core saw a task like any other: its journal replays.
        for node in ("n-1", "n-4"):
            self.lairctl("replay", os.path.join(self.agents[node].state, "journal"))

    def test_who_cancels_is_left_out_by_name_and_who_comes_after_the_end_gets_the_model(self):
        name = "short"
        self.lay_rows(name)
        spec = {"name": name, "trainer": "softmax", "deadline": "5m", "target_loss": -1,
                "memory": "20MB", "report_every": 2 * ROWS,
                "params": params("rows.csv", fleet={"rounds": 200})}
        self.submit(spec, "--node", "n-1,n-2,n-3")

        def row(node):
            found = self.tasks(name=name, node=node)
            return found[0] if found else {"state": "none"}
        self.assertTrue(wait_until(lambda: (row("n-1").get("fleet") or {}).get("round", 0) > 10, 60, 0.3),
                        row("n-1"))
        self.lairctl("cancel", name, "--node", "n-3", "--yes")
        self.assertTrue(wait_until(lambda: row("n-1")["state"] == row("n-2")["state"] == "exhausted",
                                   120, 0.3), (row("n-1"), row("n-2")))
        for node in ("n-1", "n-2"):
            self.assertRegex(row(node)["reason"], r"made by n-1, n-2; without n-3 since round \d+")
        events = self.lairctl("get", "events", "--since", "10m").out
        self.assertRegex(events, r"short: exhausted \(.*without n-3 since round \d+")
        self.submit(spec, "--node", "n-4")
        self.assertTrue(wait_until(lambda: row("n-4")["state"] == "exhausted", 60, 0.3), row("n-4"))
        folder = os.path.join(self.agents["n-4"].state, "tasks", name)
        self.assertEqual(self.accuracy(folder), self.accuracy(
            os.path.join(self.agents["n-1"].state, "tasks", name)))
        self.assertIn("made by n-1, n-2; without n-3", row("n-4")["reason"])

    def test_of_its_rows_a_board_tells_with_noise_and_says_how_much(self):
        name = "private"
        self.lay_rows(name)
        self.submit({"name": name, "trainer": "softmax", "deadline": "5m", "target_loss": -1,
                     "memory": "20MB", "report_every": 2 * ROWS,
                     "params": params("rows.csv", fleet={"rounds": 60, "noise": 8, "row_clip": 2})},
                    "--node", "n-1,n-2,n-3")
        there = self.boards[:3]

        def row(node):
            found = self.tasks(name=name, node=node)
            return found[0] if found else {"state": "none"}
        self.assertTrue(wait_until(lambda: all(row(n)["state"] == "exhausted" for n in there), 200, 0.3),
                        [row(n) for n in there])
        # Sixty rounds of 1/128 and a ninth of it, in zCDP.
        zcdp = 60 * (1 / 128 + 1 / 1152)
        words = "told of its rows: epsilon %.2f at delta 1e-05" % (
            math.ceil(100 * (zcdp + 2 * math.sqrt(zcdp * math.log(1e5)))) / 100)
        for node in there:
            self.assertTrue(row(node)["reason"].endswith("made by n-1, n-2, n-3; " + words), row(node))
        self.assertIn(words, self.lairctl("get", "events", "--since", "10m").out)
        self.assertIn("its model: made by n-1, n-2, n-3; " + words,
                      self.lairctl("why", name, "--node", "n-2").out)
        self.assertIn("this board has " + words,
                      self.lairctl("describe", "task", name, "--node", "n-2").out)
        # Two of eight classes on each board: alone it knows a quarter.
        self.assertGreater(self.accuracy(os.path.join(self.agents["n-1"].state, "tasks", name)), 40)

    def test_the_best_model_of_a_group_that_reached_its_target_is_promoted_on_each_board(self):
        name = "judged"
        self.lay_rows(name)
        self.submit({"name": name, "trainer": "softmax", "deadline": "5m", "target_loss": 0.5,
                     "memory": "20MB", "report_every": 2 * ROWS, "promote": {},
                     "params": params("rows.csv", held_out=0.1, target_metric="held-out-error",
                                      fleet={"rounds": 2000})}, "--node", "n-1,n-2,n-3,n-4")

        def promoted():
            return {t["node"]: t for t in self.tasks(name=name + "-promote")}
        self.assertTrue(wait_until(
            lambda: sorted(t["state"] for t in promoted().values()) == ["succeeded"] * 4, 200, 0.5), promoted())
        for node, row in promoted().items():
            # It is the model at the target, not what a board left that went down.
            self.assertNotIn("went down", row["reason"])
            current = os.path.join(self.agents[node].state, "models", name, "current")
            with open(os.path.join(current, "model.json"), encoding="utf-8") as file:
                model = json.load(file)
            self.assertEqual(model["held_out"]["from"], "held-out")
            self.assertGreater(model["held_out"]["accuracy"], 0.25)
        row = next(t for t in self.tasks(name=name, node="n-2"))
        self.assertIn("made by n-1, n-2, n-3, n-4; the best on the rows held out is kept", row["reason"])
        wide = self.lairctl("get", "tasks", "-o", "wide", "--node", "n-2").out.splitlines()
        shown = dict(zip(wide[0].split(), next(line for line in wide if line.startswith(name + " ")).split()))
        self.assertEqual(shown["BOARDS"], "4")
        self.assertRegex(shown["ROUND"], r"^\d+/2000$")
        self.assertRegex(shown["HELD_OUT"], r"^\d+%$")

    def test_a_board_that_cannot_refuses_and_says_why(self):
        path = self.params_file("alone-task.json", {
            "node": "x", "state_dir": "state",
            "board": {"lanes": [{"name": "cpu0", "kind": "cpu", "cores": 1}], "memory": "1GB"},
            "trainers": {"softmax": {"exec": [LAIRD_TRAIN, "softmax"]},
                         "mlp": {"exec": [LAIRD_TRAIN, "mlp"]}},
            "tasks": [{"name": "a", "trainer": "mlp", "deadline": "1h", "target_loss": 0,
                       "memory": "20MB", "fleet": True}]})
        done = subprocess.run([LAIRD, "check", path], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False, timeout=20)
        self.assertEqual(done.returncode, 2)
        self.assertIn("/tasks/0/fleet: a co-training task needs a board in a fleet", done.stdout.decode())
        spec = {"name": "deep", "trainer": "softmax", "deadline": "1m", "target_loss": 0,
                "memory": "20MB", "params": {"data": {"format": "csv", "path": "x"}}}
        self.assertIn("exclude", self.submit(spec, "--all", "--any", code=2).err)


FLOODS = """
import os, socket
agent = socket.socket(fileno=int(os.environ["LAIRD_FD"]))
agent.recv(65536)
agent.sendall(b'{"type":"ready","v":1,"samples":0,"loss":null,"resumed":false,"planned_samples":null}\\n')
block = b'{"type":"share","to":"*","data":"AAAA"}\\n' * 100
while True:
    agent.sendall(block)
"""


class Strangers(OperatedFleet):
    """One real board; its only peer is this test."""

    boards = ("n-1",)
    nodes = ("n-1", "n-2")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        script = os.path.join(cls.root, "floods.py")
        with open(script, "w", encoding="utf-8") as out:
            out.write(FLOODS)
        agent = cls.agents["n-1"]
        agent.kill()
        agent.config["fleet"]["members"]["n-2"] = {"power": "2W"}
        agent.config["trainers"]["floods"] = {"exec": ["/usr/bin/python3", "-B", script]}
        agent.config["timing"] = {"attempts_max": 2, "backoff_min": "0.1s"}
        agent.start()
        cls.wait_for_boards()

    def spec(self, name, trainer, **more):
        return {"name": name, "trainer": trainer, "deadline": "5m", "target_loss": -1,
                "memory": "20MB", "params": {"data": {"format": "synthetic", "rows": 100,
                                                      "features": 4}}, **more}

    def rss_kb(self):
        with open("/proc/%d/status" % self.agents["n-1"].process.pid, encoding="utf-8") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))

    def test_a_trainer_that_floods_the_others_is_ended(self):
        self.submit(self.spec("mad", "floods", fleet=True), "--node", "n-1")
        self.assertIn("floods the other boards", self.wait_for_task("mad", "failed", 90)["reason"])

    def test_a_trainer_of_another_task_may_not_speak_to_boards_at_all(self):
        self.submit(self.spec("sly", "floods"), "--node", "n-1")
        self.assertIn("no co-training task", self.wait_for_task("sly", "failed", 90)["reason"])

    def test_a_peer_that_floods_neither_grows_nor_stops_the_agent(self):
        self.submit(self.spec("shared", "softmax", fleet=True), "--node", "n-1")
        # Alone it yields at once, so its state is "running" only now and then.
        listener = self.up("op-alice", subscriptions=[TOP + "node/n-1/cotrain"])
        words = []

        def at_work():
            words.append(json.loads(listener.message()["payload"]))
            return words[-1]["tasks"].get("shared") == "at-work"

        self.assertTrue(wait_until(at_work, 20, 0.0))
        with open(SCHEMA, encoding="utf-8") as f:
            jsonschema.Draft202012Validator(json.load(f)).validate(words[-1])
        peer = SpeakingPeer(self, "n-2").meet("n-1")
        now = {"epoch": 5, "ts": "2026-11-16T07:16:56.820Z"}
        for leaf, value in (("status", {"s": "laird.status/1.0", "state": "ready", **now}),
                            ("cotrain", {"s": "laird.cotrain/1.0", "tasks": {"shared": "at-work"},
                                         **now})):
            peer.client.publish(TOP + "node/n-2/" + leaf, json.dumps(value), kind="state", retained=True,
                                qos=1)
        self.assertTrue(wait_until(
            lambda: [t["fleet"]["boards"] for t in self.tasks(name="shared")] == [2], 10,
            0.3))
        before = self.rss_kb()
        head = bytes([6]) + b"shared"
        sound = head + bytes([0x30]) + bytes(30000)
        for body in (sound, head + os.urandom(45000), head + os.urandom(60000), bytes([200]), head):
            for _ in range(10):
                for _ in range(12):  # the client itself keeps no more than a megabyte
                    peer.send("n-1", peer.seal("n-1", body, kind=MODEL))
                peer.client.counters()
        self.assertEqual(self.lairctl("pause", "shared").out, "n-1: paused\n")
        self.assertEqual(self.lairctl("cancel", "shared", "--all", "--yes").out,
                         "n-1: cancelled\n")
        self.assertLess(self.rss_kb() - before, 30_000)


if __name__ == "__main__":
    unittest.main(verbosity=2)

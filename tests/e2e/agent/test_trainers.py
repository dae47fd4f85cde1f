"""Trainers that misbehave. Whatever they do, the agent stays small, answers, keeps its other tasks
going, gives a reason, and leaves no process behind."""

import os
import time
import unittest

import harness
from harness import Board, cpu_ticks, is_alive, synthetic_task

RSS_KB_MAX = 16 * 1000
ANSWER_S_MAX = 2.0  # on a machine that is busy otherwise too

# What each script below starts with: the socket, and the protocol's two directions.
PRELUDE = """
import json, os, socket, sys, time
agent = socket.socket(fileno=int(os.environ["LAIRD_FD"]))
lines = agent.makefile("r")
def say(**message):
    agent.sendall(json.dumps(message).encode() + b"\\n")
def hear():
    line = lines.readline()
    if not line: sys.exit(0)
    return json.loads(line)
def saved():
    try: return int(open("saved").read())
    except OSError: return 0
def save(samples):
    open("saved.new", "w").write(str(samples)); os.rename("saved.new", "saved")
    say(type="checkpointed", samples=samples)
start = hear()
"""

# A trainer without fault; the others replace a part of it.
GOOD = PRELUDE + """
samples = saved()
say(type="ready", v=1, samples=samples, planned_samples=None)
while True:
    order = hear()
    if order["type"] == "run":
        while samples < order["until"]:
            samples += 1
            time.sleep(0.002)
            if samples % 10 == 0 or samples == order["until"]:
                say(type="progress", samples=samples, loss=1000.0 / samples)
    elif order["type"] in ("pause", "checkpoint"):
        save(samples)
    elif order["type"] == "stop":
        save(samples); sys.exit(0)
"""

READY = PRELUDE + 'say(type="ready", v=1, samples=0)\nwhile hear()["type"] != "run": pass\n'


def task(name, **more):
    more.setdefault("report_every", 10)
    return synthetic_task(name, trainer=name, **more)


class Misbehaviour(unittest.TestCase):
    timing = {"start_timeout": "1s", "hang_timeout": "0.6s", "pause_timeout": "0.6s",
              "stop_grace": "0.6s", "attempts_max": 3, "backoff_max": "0.1s"}

    def board(self, scripts, **config):
        board = Board(self.id().rsplit(".", 1)[-1].replace("_", "-")[-30:].strip("-"), **config)
        self.addCleanup(board.__exit__)
        board.config["timing"].update(self.timing)
        board.config["trainers"] = {name: board.script(name, source)
                                    for name, source in scripts.items()}
        return board

    def assert_small_and_awake(self, board, seconds=0.0):
        until = time.monotonic() + seconds
        while True:
            asked = time.monotonic()
            board.tasks()
            self.assertLess(time.monotonic() - asked, ANSWER_S_MAX, "the agent is not responsive")
            if time.monotonic() >= until:
                break
            time.sleep(0.1)
        self.assertLess(board.rss_kb(), RSS_KB_MAX)

    def assert_identical(self, board):
        code, text = board.replay()
        self.assertEqual((code, "identical" in text), (0, True), text)

    # ---- one that fails for good: bounded attempts, then a reason ----

    def test_each_failure_ends_with_its_reason(self):
        expected = {
            "crash": ("sys.exit(7)", "exited by itself with code 7"),
            "segv": ("os.kill(os.getpid(), 11)", "ended by signal 11"),
            "import": ("import no_such_module",
                       "code 1; it had printed: ModuleNotFoundError: No module named 'no_such_module'"),
            "exit-zero": ("sys.exit(0)", "exited by itself with code 0"),
            "nan-loss": ('agent.sendall(b\'{"type":"progress","samples":1,"loss":NaN}\\n\')\nhear()',
                         "broke the protocol"),
            "negative": ('say(type="progress", samples=-5, loss=1)\nhear()',
                         "no count of samples"),
            "backwards": ('say(type="progress", samples=9, loss=1); time.sleep(0.2)\n'
                          'say(type="progress", samples=3, loss=1)\nhear()', "went backwards"),
            "unknown-type": ('say(type="dance", samples=1)\nhear()', "unknown message type"),
            "not-utf8": ('agent.sendall(b\'{"type":"error","message":"\\xff\\xfe"}\\n\')\nhear()',
                         "broke the protocol"),
            "not-json": ('agent.sendall(b"hello\\n")\nhear()', "broke the protocol"),
            "ready-twice": ('say(type="ready", v=1, samples=0)\nhear()', "ready"),
            "says-error": ('say(type="error", message="no such column")\nhear()',
                           "no such column"),
            # How many of its reports are merged into one is a matter of timing: it is either caught
            # counting on, or taken at its word and granted more than it ever reports.
            "greedy": ('for n in range(53): say(type="progress", samples=2 ** n, loss=1)\n'
                       'time.sleep(60)', ("without a grant", "hung")),
            "silent": ("time.sleep(60)", "hung"),
            "huge-line": ('agent.sendall(b"x" * 100000 + b"\\n")\nhear()', "longer than"),
        }
        scripts = {name: READY + source for name, (source, _) in expected.items()}
        scripts["never-ready"] = PRELUDE + "time.sleep(60)"
        expected["never-ready"] = (None, "did not get ready in time")
        scripts["early-progress"] = PRELUDE + 'say(type="progress", samples=1, loss=1)\nhear()'
        expected["early-progress"] = (None, "before it was ready")
        scripts["other-version"] = PRELUDE + 'say(type="ready", v=2, samples=0)\nhear()'
        expected["other-version"] = (None, "protocol version 1")
        board = self.board(scripts, slice="3s")
        board.config["timing"].update({"start_timeout": "2s", "hang_timeout": "1.2s"})
        board.config["board"]["lanes"] = [{"name": f"cpu{i}", "kind": "cpu"} for i in range(8)]
        board.config["tasks"] = [task(name) for name in scripts]
        board.start()
        rows = board.wait_ended(*scripts, timeout=60)
        for name, (_, reason) in expected.items():
            with self.subTest(trainer=name):
                self.assertEqual(rows[name]["state"], "failed")
                reasons = reason if isinstance(reason, tuple) else (reason,)
                self.assertTrue(any(r in rows[name]["reason"] for r in reasons), rows[name])
                self.assertIn("gave up after 3 failures in a row", rows[name]["reason"])
        self.assert_small_and_awake(board)
        board.wait_for(lambda: not board.trainer_pids(), 5, "trainers are left")
        self.assertEqual(board.terminate(), 0)
        starts = {}
        rows = harness.read_journal(board.journal_folder)
        for row, _, command in harness.commands_of(rows, "start-trainer"):
            starts.setdefault(command["task"], []).append(row.at)
        for key, times in starts.items():
            self.assertEqual(len(times), 3, f"task {key}: attempts")
            self.assertGreaterEqual(times[1] - times[0], 50e6, f"task {key}: first back-off")
            self.assertGreaterEqual(times[2] - times[1], 100e6, f"task {key}: second back-off")
        self.assert_identical(board)

    def test_memory_that_ran_out_is_told_with_its_numbers_and_the_log_says_where_to_look(self):
        board = self.board({"hungry": READY + "print('step 1', flush=True)\nx = b'x' * 300_000_000\n"
                                              "time.sleep(60)"}, cgroups=True)
        board.config["tasks"] = [task("hungry", memory="60MB")]
        board.start()
        if " memory" not in board.log_text().split("cgroup", 1)[-1].split("\n")[0]:
            self.skipTest("this machine has no control group for memory")
        row = board.wait_ended("hungry", timeout=60)["hungry"]
        self.assertRegex(row["reason"], "its trainer ran out of memory: it needed more than its "
                                        "60 MB; highest seen (59|60|61) MB")
        self.assertRegex(board.log_text(), "task hungry: its trainer ran out of memory.*"
                                                  "all of it is in .*/logs/hungry.log")

    def test_four_planted_crashes_are_told_without_a_look_at_the_board(self):
        board = self.board({"import": READY + "import no_such_module",
                            "segv": READY + "print('step 12', flush=True)\nos.kill(os.getpid(), 11)"})
        for kind in ("softmax", "mlp"):
            board.config["trainers"][kind] = harness.built_in(kind)
        # Else the wrong params were refused at the door.
        board.config["cell"] = {"check": "0s"}
        board.start()
        wrong = synthetic_task("wrong-params", trainer="softmax")
        wrong["params"]["epoch"] = wrong["params"].pop("epochs")
        absent = synthetic_task("no-file", trainer="mlp")
        absent["params"]["data"] = {"format": "csv", "path": "/srv/no-such-file.csv"}
        for one in (task("import"), task("segv"), wrong, absent):
            board.accept(one)
        board.wait_ended("import", "segv", "wrong-params", "no-file")
        code, wide, err = board.ctl("get", "tasks", "-o", "wide")
        self.assertEqual(0, code, err)
        for name, words in (("import", "exited by itself with code 1; it had printed: "
                                       "ModuleNotFoundError: No module named 'no_such_module'"),
                            ("segv", "ended by signal 11; it had printed: step 12"),
                            ("wrong-params", 'did you mean "epochs"'),
                            ("no-file", "no-such-file.csv")):
            with self.subTest(task=name):
                row = next(line for line in wide.splitlines() if line.startswith(name + " "))
                self.assertIn(words, row)
                # The agent's log says it too, and where the trainer's output is.
                line = next(line for line in board.log_text().splitlines()
                            if f"task {name}: failed: " in line)
                self.assertIn(words, line)
                self.assertIn(f"/logs/{name}.log", line)
                code, out, err = board.ctl("describe", "task", name)
                self.assertIn("output        lairctl logs " + name, out, err)
        code, out, err = board.ctl("logs", "import")
        self.assertIn("Traceback", out, err)

    def test_one_that_crashes_now_and_then_resumes_from_its_checkpoint(self):
        # Six crashes where three in a row would be the end: checkpoints between them count.
        crashing = GOOD.replace("samples += 1\n", """samples += 1
            if samples % 100 == 99 and not os.path.exists(f"crash{samples}"):
                open(f"crash{samples}", "w").close(); os._exit(3)
""")
        board = self.board({"sometimes": crashing})
        board.config["tasks"] = [task("sometimes", target=1000.0 / 600)]
        board.start()
        rows = board.wait_ended("sometimes", timeout=40)
        self.assertEqual(rows["sometimes"]["state"], "succeeded", rows)
        self.assertEqual(board.terminate(), 0)
        lives = checkpoint = 0
        for row in harness.read_journal(board.journal_folder):
            if row.kind == "trainer-checkpointed":
                checkpoint = row.fields["samples"]
            elif row.kind == "trainer-ready":
                lives += 1
                self.assertEqual(row.fields["samples"], checkpoint)
        self.assertEqual(lives, 7)
        self.assertGreater(checkpoint, 300)
        self.assert_identical(board)

    # ---- ones that do not listen ----

    def test_one_that_ignores_pause_is_restarted_and_its_neighbour_runs_on(self):
        deaf = READY + """
n = 0
while True:
    n += 1; time.sleep(0.05)
    say(type="progress", samples=0, loss=5)
"""
        board = self.board({"deaf": deaf, "good": GOOD})
        board.config["tasks"] = [task("deaf"), task("good", target=5.0)]
        board.start()
        rows = board.wait_ended("deaf", "good", timeout=40)
        self.assertEqual(rows["good"]["state"], "succeeded", rows["good"])
        self.assertEqual(rows["deaf"]["state"], "failed", rows["deaf"])
        self.assertIn("did not pause in time", rows["deaf"]["reason"])
        self.assert_identical(board)

    def test_one_that_ignores_stop_is_killed_after_its_grace(self):
        deaf = ("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + READY +
                'say(type="progress", samples=1, loss=0.0)\nwhile True: time.sleep(1)\n')
        board = self.board({"stays": deaf})
        board.config["tasks"] = [task("stays", target=0.5)]
        board.start()
        rows = board.wait_ended("stays", timeout=20)
        self.assertEqual(rows["stays"]["state"], "succeeded")
        board.wait_for(lambda: not board.trainer_pids(), 5, "it was not killed")
        board.accept(synthetic_task("again", trainer="stays"))
        board.wait_for(lambda: board.tasks()["again"]["loss"] is not None, 10, "it does not run")
        asked = time.monotonic()
        self.assertEqual(board.terminate(), 0)
        self.assertLess(time.monotonic() - asked, 5)
        self.assertFalse(board.trainer_pids())

    # ---- ones that talk too much ----

    def flood(self, name, source, **limits):
        good = "good-" + name
        board = self.board({name: READY + source, good: GOOD})
        board.config["timing"].update({"hang_timeout": "3s", "pause_timeout": "3s"}, **limits)
        board.config["board"]["lanes"] = [{"name": f"cpu{i}", "kind": "cpu"} for i in range(2)]
        board.config["tasks"] = [task(name), task(good, target=2.0)]
        board.start()
        board.wait_for(lambda: board.task_state(name) != "starting", 10, "not started")
        self.assert_small_and_awake(board, 2.0)
        board.wait_ended(good, timeout=30)
        self.assertEqual(board.task_state(good), "succeeded")
        self.assert_small_and_awake(board)
        return board

    def test_flood_on_stdout(self):
        board = self.flood("prints", """
import threading
block = b"y" * 65535 + b"\\n"
def spill():
    for _ in range(8000): os.write(1, block)
threading.Thread(target=spill, daemon=True).start()
agent.sendall(b'{"type":"progress","samples":10,"loss":1000.0}\\n')
samples = 20
say(type="progress", samples=20, loss=500.0)
""" + GOOD[GOOD.index("while True"):], hang_timeout="60s", pause_timeout="60s")
        # What it says on the socket still gets through, however slowly on a busy machine: its spill
        # competes with it for the processor.
        board.wait_for(lambda: board.tasks()["prints"]["samples"] > 100, 60,
                       "its reports do not get through")
        self.assertNotIn(board.task_state("prints"), ("failed", "backoff"))
        logs = sum(os.path.getsize(os.path.join(board.task_folder("prints"), name))
                   for name in os.listdir(board.task_folder("prints")))
        self.assertLess(logs, 3_000_000)
        self.assertEqual(board.terminate(), 0)
        self.assert_identical(board)

    def test_endless_line_on_the_socket(self):
        board = self.flood("endless", "while True: agent.sendall(b'z' * 65536)\n")
        rows = board.wait_ended("endless", timeout=30)
        self.assertEqual(rows["endless"]["state"], "failed")
        self.assertIn("longer than", rows["endless"]["reason"])

    def test_garbage_on_the_socket(self):
        board = self.flood("garbage", "while True: agent.sendall(os.urandom(65536))\n")
        rows = board.wait_ended("garbage", timeout=30)
        self.assertEqual(rows["garbage"]["state"], "failed")

    def test_millions_of_messages(self):
        progress = """
block = b"".join(b'{"type":"progress","samples":%d,"loss":5.0}\\n' % (10 ** 9) for _ in range(999))
while True: agent.sendall(block)
"""
        board = self.flood("reports", progress)
        events = len(harness.read_journal(board.journal_folder))
        self.assertLess(events, 1500, "every report of a flood became an event")
        self.assertEqual(board.terminate(), 0)
        self.assert_identical(board)

    def test_floods_of_every_kind_from_many_at_once(self):
        scripts = {}
        for kind in ("checkpointed", "done", "ready", "progress"):
            extra = ', "loss": 5.0, "v": 1'
            scripts[kind] = READY + f"""
block = b'{{"type":"{kind}","samples":5{extra}}}\\n' * 999
while True: agent.sendall(block)
"""
        board = self.board(scripts)
        board.config["board"]["lanes"] = [{"name": f"cpu{i}", "kind": "cpu"} for i in range(8)]
        board.config["timing"]["attempts_max"] = 100
        board.config["tasks"] = [synthetic_task(f"{kind}-{i}", trainer=kind, report_every=10)
                                 for kind in scripts for i in range(5)]
        board.start()
        self.assert_small_and_awake(board, 4.0)
        self.assertIsNone(board.process.poll(), board.log_tail())
        self.assertEqual(board.terminate(), 0)
        self.assert_identical(board)

    # ---- what must not stay behind ----

    def grandchildren(self, detach, cgroups):
        source = PRELUDE + f"""
if os.fork() == 0:
    {'os.setsid()' if detach else 'pass'}
    if os.fork() == 0:
        while True: time.sleep(0.1)
    os._exit(0)
os.wait()
say(type="ready", v=1, samples=0)
while True:
    order = hear()["type"]
    if order == "stop": sys.exit(0)
"""
        board = self.board({"forks": source}, cgroups=cgroups)
        board.config["timing"]["hang_timeout"] = "60s"
        board.config["tasks"] = [task("forks")]
        board.start()
        if cgroups and "no writable cgroup" in board.log_text():
            self.skipTest("no writable cgroup here")
        return board

    def test_grandchildren_go_with_their_trainer(self):
        for detach, cgroups in ((False, True), (False, False), (True, True)):
            with self.subTest(detach=detach, cgroups=cgroups):
                board = self.grandchildren(detach, cgroups)
                board.wait_for(lambda: len(board.trainer_pids()) >= 2, 10, "no grandchild")
                pids = board.trainer_pids()
                self.assertEqual(board.ctl("cancel", "forks")[0], 0)
                board.wait_for(lambda: not any(map(is_alive, pids)), 10, "grandchildren go on")
                board.__exit__()

    def test_grandchildren_of_a_killed_agent_end_when_it_is_back(self):
        board = self.grandchildren(detach=True, cgroups=True)
        board.wait_for(lambda: len(board.trainer_pids()) >= 2, 10, "no grandchild")
        pids = board.trainer_pids()
        board.kill()
        board.start()
        board.wait_for(lambda: not any(map(is_alive, pids)), 10, "grandchildren go on")

    # ---- the allow-list ----

    def test_a_trainer_that_is_not_allowed_or_not_there(self):
        board = self.board({"good": GOOD, "vanishes": GOOD})
        board.start()
        answer = board.submit(synthetic_task("x", trainer="rm"))
        self.assertEqual((answer["ok"], answer["code"]), (False, "refused"))
        self.assertIn("not on this board's allow-list", answer["error"])
        os.unlink(board.config["trainers"]["vanishes"]["exec"][0])
        board.accept(task("vanishes"))
        rows = board.wait_ended("vanishes", timeout=20)
        self.assertEqual(rows["vanishes"]["state"], "failed")
        self.assertIn("cannot start", rows["vanishes"]["reason"])
        # Taken off the list while one of its tasks waits: the task says so.
        board.accept(task("good"))
        self.assertEqual(board.terminate(), 0)
        del board.config["trainers"]["good"]
        del board.config["trainers"]["vanishes"]
        board.config["trainers"]["other"] = board.script("other", GOOD)
        board.start()
        rows = board.wait_ended("good", timeout=20)
        self.assertIn("no longer on the allow-list", rows["good"]["reason"])

    # ---- trainers that only print ----

    LINES = """
import sys, time
n = 0
while True:
    for _ in range(20000): pass
    n += 1
    print(f"laird: samples={n} loss={100.0 / n}", flush=True)
"""

    def lines_board(self, cgroups):
        board = self.board({"a": self.LINES, "b": self.LINES}, cgroups=cgroups)
        for entry in board.config["trainers"].values():
            entry["protocol"] = "lines"
        board.config["slice"] = "0.2s"
        board.config["timing"]["hang_timeout"] = "10s"
        board.config["tasks"] = [task("a"), task("b")]
        board.start()
        if cgroups and "freezer" not in board.log_text():
            self.skipTest("no writable freezer here")
        return board

    def test_lines_trainers_take_turns_frozen_between(self):
        for cgroups in (True, False):
            with self.subTest(cgroups=cgroups):
                board = self.lines_board(cgroups)
                both = lambda: {n: r["samples"] for n, r in board.tasks().items()}
                board.wait_for(lambda: min(both().values()) > 20, 30, "one of them starves")
                compared = sum(self.frozen_one_rests(board) for _ in range(40))
                self.assertGreater(compared, 5, "never both ends of a turn were seen")
                self.assertEqual(board.ctl("cancel", "a")[0], 0)
                self.assertEqual(board.ctl("cancel", "b")[0], 0)
                board.wait_for(lambda: not board.trainer_pids(), 10, "a frozen one was left")
                self.assertEqual(board.terminate(), 0)
                self.assert_identical(board)

    def test_a_lines_trainer_that_exits_with_zero_has_done_its_work(self):
        source = "import time\nfor n in range(1, 6): " \
                 "print(f'laird: samples={n} loss=3', flush=True); time.sleep(0.01)\n"
        board = self.board({"prints": source, "fails": source + "raise SystemExit(1)"})
        for entry in board.config["trainers"].values():
            entry["protocol"] = "lines"
        board.config["tasks"] = [task("prints"), task("fails"), task("reaches", target=4.0)]
        board.config["tasks"][2]["trainer"] = "prints"
        board.start()
        rows = board.wait_ended("prints", "fails", "reaches", timeout=20)
        self.assertEqual(rows["prints"]["state"], "exhausted", rows["prints"])
        self.assertEqual(rows["prints"]["samples"], 5)
        self.assertEqual(rows["fails"]["state"], "failed", rows["fails"])
        self.assertEqual(rows["reaches"]["state"], "succeeded", rows["reaches"])

    def frozen_one_rests(self, board):
        """Whoever held no grant throughout an interval used no time in it. True: there was one."""
        (a,), (b,) = board.trainer_pids("a"), board.trainer_pids("b")
        rows = board.tasks()  # before and after the ticks: a turn may end while they are read
        ticks = cpu_ticks(a), cpu_ticks(b)
        time.sleep(0.05)
        ticks_after = cpu_ticks(a), cpu_ticks(b)
        rows_after = board.tasks()
        view = lambda all_rows: [(all_rows[n]["state"], all_rows[n]["switches"]) for n in "ab"]
        states = [rows[n]["state"] for n in "ab"]
        if view(rows) != view(rows_after) or sorted(states) != ["ready", "running"]:
            return False
        idle = states.index("ready")
        self.assertLessEqual(ticks_after[idle] - ticks[idle], 1, "the frozen one works")
        return True


if __name__ == "__main__":
    harness.main()

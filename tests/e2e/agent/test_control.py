"""The control socket and lairctl: every request, every exit code, and clients that misbehave."""

import json
import os
import signal
import socket
import stat
import subprocess
import time
import unittest

import harness
from harness import LAIRD, Board, read_line, synthetic_task


class Control(unittest.TestCase):
    def setUp(self):
        self.board = Board("control")
        self.addCleanup(self.board.__exit__)

    def task_file(self, task):
        path = os.path.join(self.board.root, "task.json")
        with open(path, "w", encoding="utf-8") as out:
            out.write("// a comment\n" + (task if isinstance(task, str) else json.dumps(task)))
        return path

    def assert_ctl(self, code, text, *args, **more):
        got, out, err = self.board.ctl(*args, **more)
        self.assertEqual(got, code, out + err)
        self.assertIn(text, out + err)
        if code != 0:
            self.assertTrue(err.startswith("lairctl: "), err)
        return out

    def test_a_tasks_file_is_checked_by_its_trainer_too(self):
        def check(task, *more):
            done = subprocess.run([LAIRD, "check", self.task_file(task), *more], text=True,
                                  capture_output=True, timeout=60, check=False)
            return done.returncode, done.stdout + done.stderr
        task = synthetic_task("t")
        code, said = check(task)
        self.assertEqual((code, "valid task" in said, "note" in said), (0, True, False), said)
        code, said = check(dict(task, memory="1MB"))
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"note: it may need up to \d+ MB, and its \"memory\" says 1 MB")
        wrong = json.loads(json.dumps(task))
        wrong["params"]["epoch"] = wrong["params"].pop("epochs")
        code, said = check(wrong)
        self.assertEqual(code, 2, said)
        self.assertIn('did you mean "epochs"', said)
        absent = json.loads(json.dumps(task))
        absent["params"]["data"] = {"format": "csv", "path": "/srv/no-such-file.csv"}
        code, said = check(absent)
        self.assertEqual(code, 2, said)
        self.assertIn("no-such-file.csv", said)
        self.assertEqual(check(absent, "--no-data")[0], 0)
        code, said = check(dict(task, trainer="my-own"))
        self.assertEqual((code, "no check of its own" in said), (0, True), said)

    def test_requests_and_exit_codes(self):
        board = self.board
        board.config["board"]["lanes"].append({"name": "cpu1", "kind": "cpu"})
        board.start()
        long = synthetic_task("long", epochs=0)
        self.assert_ctl(0, "accepted", "submit", "-f", self.task_file(long))
        self.assert_ctl(0, "known already", "submit", "-f", self.task_file(long))
        other = dict(long, target_loss=5.0)
        self.assert_ctl(4, "another task has the name", "submit", "-f", self.task_file(other))
        self.assert_ctl(4, "allow-list", "submit", "-f",
                        self.task_file(synthetic_task("x", trainer="nobody")))
        wrong = self.task_file({"name": "y", "trainr": "softmax", "memory": "1 horse"})
        _, _, err = board.ctl("submit", "-f", wrong)
        self.assert_ctl(2, "trainer", "submit", "-f", wrong)
        for part in ("trainr", "memory", "deadline", "target_loss"):
            self.assertIn(part, err, "not every problem at once")
        self.assert_ctl(2, "", "submit", "-f", self.task_file("{ nonsense"))
        self.assert_ctl(3, "", "submit", "-f", os.path.join(board.root, "absent.json"))

        board.wait_for(lambda: board.tasks()["long"]["samples"] > 0, 20, "no progress")
        self.assert_ctl(0, "long", "get", "tasks")
        rows = json.loads(self.assert_ctl(0, "", "get", "tasks", "-o", "json"))
        self.assertEqual([row["name"] for row in rows], ["long"])
        self.assert_ctl(0, "round-robin", "explain", "long")
        # The same words as live, from the journal alone; a task it does not know is an error.
        replay = ["replay", board.journal_folder, "--explain"]
        code, out, _ = board.ctl(*replay, "long", on_socket=False)
        self.assertEqual(code, 0, out)
        self.assertRegex(out, r"(?m)^20\d\d-[-0-9T:.]+Z  .*round-robin: ")
        self.assertEqual(board.ctl(*replay, "nobody", on_socket=False)[0], 3)
        self.assert_ctl(0, "paused", "pause", "long")
        board.wait_for(lambda: board.task_state("long") == "held", 10, "not held")
        self.assertFalse(board.trainer_pids("long"), "a paused task keeps its memory")
        held_at = board.tasks()["long"]["samples"]
        self.assertGreater(held_at, 0)
        self.assert_ctl(0, "paused already", "pause", "long")
        self.assert_ctl(0, "paused by an operator", "explain", "long")
        self.assert_ctl(0, "resumed", "resume", "long")
        self.assert_ctl(0, "not paused", "resume", "long")
        board.wait_for(lambda: board.tasks()["long"]["samples"] > held_at, 20, "not resumed")
        self.assert_ctl(0, "cancelled", "cancel", "long")
        board.wait_ended("long", timeout=10)
        self.assert_ctl(0, "cancelled already", "cancel", "long")
        # No decision follows the end of the last task; its end is told all the same.
        # The trainer may still be writing its last checkpoint.
        board.wait_for(lambda: "Z  cancelled: " in board.ctl(*replay, "long", on_socket=False)[1], 10,
                       "replay does not tell the end of the task")
        self.assert_ctl(4, "ended already", "pause", "long")
        for op in ("cancel", "pause", "resume", "explain"):
            self.assert_ctl(3, "no task 'nobody'", op, "nobody")

        self.assertEqual(board.ctl("dance", on_socket=False)[0], 2)
        self.assertEqual(board.ctl("cancel")[0], 2)
        self.assertEqual(board.ctl(on_socket=False)[0], 2)
        self.assertEqual(board.ctl("--help", on_socket=False)[0], 0)
        self.assertEqual(board.ctl("--version", on_socket=False)[0], 0)
        self.assertEqual(board.terminate(), 0)
        self.assertEqual(board.replay()[0], 0)

    def test_no_agent_and_one_that_does_not_answer(self):
        board = self.board
        self.assert_ctl(124, "is it up", "get", "tasks")
        board.start()
        self.assert_ctl(2, "", "get", "tasks", "--timeout", "soon")
        board.process.send_signal(signal.SIGSTOP)
        asked = time.monotonic()
        self.assert_ctl(124, "did not answer in time", "get", "tasks", "--timeout", "0.3s")
        # So many that the queue of the listening socket is full.
        waiting = [self.hold_open() for _ in range(40)]
        self.assert_ctl(124, "", "get", "tasks", "--timeout", "0.3s")
        self.assertLess(time.monotonic() - asked, 10)
        for client in waiting:
            client.close()
        board.process.send_signal(signal.SIGCONT)
        board.wait_for(board.answers, 10, "it does not come back")
        board.kill()
        self.assert_ctl(124, "is it up", "get", "tasks")  # the socket file is still there

    @unittest.skipUnless(os.getuid() == 0, "only root can become somebody else")
    def test_a_user_who_may_not_ask_is_told_whom_to_ask(self):
        board = self.board
        board.start()
        os.chmod(board.state, 0o750)
        os.chmod(board.root, 0o755)
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        for command in (["get", "tasks"], ["doctor"]):
            done = subprocess.run([*nobody, harness.LAIRCTL, *command, "--socket", board.socket],
                                  capture_output=True, text=True, timeout=20, check=False)
            self.assertIn("may not talk to the agent", done.stdout + done.stderr)
            self.assertIn("usermod -aG laird", done.stdout + done.stderr)
            self.assertEqual(done.returncode, 4 if command[0] == "get" else 0, done)

    def test_journald_gets_levels_and_nobody_else_does(self):
        board = self.board
        board.write_config()
        with open(board.log_path, "wb") as log:
            info = os.fstat(log.fileno())
        board.env["JOURNAL_STREAM"] = "%d:%d" % (info.st_dev, info.st_ino)
        board.start()
        self.assertEqual(board.terminate(), 0)
        with open(board.log_path, encoding="utf-8") as log:
            lines = log.read().splitlines()
        self.assertIn("<6>stopping: trainers write a last checkpoint; a second signal kills them",
                      lines)
        for line in lines:
            self.assertRegex(line, r"^<[3467]>[^ 0-9]")
        del board.env["JOURNAL_STREAM"]
        os.unlink(board.log_path)
        board.start()
        self.assertEqual(board.terminate(), 0)
        with open(board.log_path, encoding="utf-8") as log:
            for line in log.read().splitlines():
                self.assertRegex(line, r"^20\d\d-\d\d-\d\dT[0-9:.]+ [a-z]+ ")

    def hold_open(self):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(client.close)
        client.setblocking(False)
        try:
            client.connect(self.board.socket)
        except BlockingIOError:
            pass
        return client

    def test_replay_exit_codes(self):
        board = self.board
        self.assertEqual(board.replay(os.path.join(board.root, "absent"))[0], 3)
        junk = os.path.join(board.root, "junk.db")
        with open(junk, "wb") as out:
            out.write(os.urandom(10000))
        code, text = board.replay(junk)
        self.assertEqual(code, 1, text)
        self.assertIn("nothing that can be read", text)

    def test_socket_is_for_owner_and_group_only(self):
        self.board.start()
        mode = os.lstat(self.board.socket).st_mode
        self.assertTrue(stat.S_ISSOCK(mode))
        self.assertEqual(stat.S_IMODE(mode) & 0o007, 0, oct(mode))

    def test_garbage_and_oversized_requests(self):
        self.board.start()
        requests = {
            b"hello\n": "", b"\xff\xfe\x00\n": "", b"[]\n": "", b"{}\n": "op",
            b'{"op":7}\n': "op", b'{"op":"dance"}\n': "no command 'dance'",
            b'{"op":"cancel"}\n': "", b'{"op":"submit"}\n': "",
            b'{"op":"submit","task":[]}\n': "", b'{"op":"cancel","task":"' + b"x" * 99 + b'"}\n': "",
            b'{"op":"explain"}\n': "task", b"[" * 5000 + b"\n": "",
            b'{"op":"' + b"a" * 100000 + b'"}\n': "at most",
        }
        with self.board.connect() as client:
            for request, text in requests.items():
                client.sendall(request)
                answer = json.loads(read_line(client))
                self.assertFalse(answer["ok"], request[:40])
                self.assertIn(text, answer["error"])
            # Two at once, and one in pieces.
            client.sendall(b'{"op":"status"}\n{"op":"sta')
            self.assertTrue(json.loads(read_line(client))["ok"])
            client.sendall(b'tus"}\n')
            self.assertTrue(json.loads(read_line(client))["ok"])
        with self.board.connect() as client:
            for _ in range(200):  # 13 MB of one line
                client.sendall(b"x" * 65536)
        self.assertLess(self.board.rss_kb(), 16000)

    def test_an_unknown_request_does_not_confuse_a_known_one(self):
        """submit, cancel, pause and resume without a usable task are told what they lack."""
        self.board.start()
        for op in ("submit", "cancel", "pause", "resume"):
            answer = self.board.ask({"op": op})
            self.assertFalse(answer["ok"])
            self.assertNotIn("no command", answer["error"], op)
            self.assertIn("task", answer["error"], op)

    def test_clients_that_never_read_or_never_leave(self):
        board = self.board
        board.config["tasks"] = [synthetic_task(f"t{i}", memory="2GB") for i in range(50)]
        for task in board.config["tasks"]:
            task["params"]["epochs"] = 0
        board.start()
        deaf = board.connect()
        self.addCleanup(deaf.close)
        deaf.setblocking(False)
        try:
            for _ in range(5000):
                deaf.send(b'{"op":"tasks"}\n')
        except OSError:
            pass
        idle = [board.connect() for _ in range(100)]
        self.addCleanup(lambda: [client.close() for client in idle])
        for _ in range(10):
            self.assertEqual(len(board.tasks()), 50)
        # With ten tasks it stays below 16 MB (bench/footprint). Fifty take 13 MB here; answers that nobody
        # takes may be 2 MB together, in a buffer that doubles as it grows, beside the next answer.
        self.assertLess(board.rss_kb(), 20000)

    def test_fifty_at_once(self):
        self.board.start()
        running = [subprocess.Popen([harness.LAIRCTL, "get", "tasks", "--socket",
                                     self.board.socket], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, text=True) for _ in range(50)]
        results = [process.communicate(timeout=30) + (process.returncode,) for process in running]
        failed = [result for result in results if result[2] != 0]
        self.assertFalse(failed)

    def test_a_full_board_is_listed_and_refuses_more(self):
        board = self.board.start()
        with board.connect(60) as client:
            for i in range(1024):
                task = synthetic_task(f"task-{i:04}-with-a-long-name-here", memory="2GB", epochs=0)
                client.sendall(json.dumps({"op": "submit", "task": task}).encode() + b"\n")
                self.assertTrue(json.loads(read_line(client))["ok"], i)
        answer = board.submit(synthetic_task("one-more"))
        self.assertEqual((answer["ok"], answer["code"]), (False, "full"))
        self.assertIn("1024", answer["error"])
        code, out, err = board.ctl("get", "tasks", "-o", "json")
        self.assertEqual(code, 0, err)
        self.assertEqual(len(json.loads(out)), 1024)

    def test_two_agents_on_one_folder_or_one_socket(self):
        board = self.board.start()
        second = subprocess.run([LAIRD, "run", "--config", board.config_path, "--view", "none"],
                                capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual(second.returncode, 1)
        self.assertIn("another laird runs with " + board.state, second.stderr)
        self.assertTrue(board.answers(), "the second took the socket of the first")

        config = dict(board.config, state_dir=os.path.join(board.root, "other"),
                      control_socket=board.socket)
        path = os.path.join(board.root, "second.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(config, out)
        second = subprocess.run([LAIRD, "run", "--config", path, "--view", "none"],
                                capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual(second.returncode, 1)
        self.assertIn("control_socket", second.stderr)
        self.assertTrue(board.answers(), "the second took the socket of the first")

    def test_as_an_ordinary_user(self):
        harness.require_root()
        nobody = 65534
        with Board("plain", user=nobody, cgroups=True) as board:
            os.chmod(board.root, 0o755)
            os.mkdir(board.state)
            os.chown(board.state, nobody, nobody)
            if subprocess.run(["setpriv", f"--reuid={nobody}", f"--regid={nobody}",
                               "--clear-groups", LAIRD, "--version"], capture_output=True,
                              check=False).returncode != 0:
                self.skipTest("an ordinary user cannot execute the programs under test")
            board.config["tasks"] = [synthetic_task("work", epochs=5)]
            board.start()
            rows = board.wait_ended("work", timeout=30)
            self.assertEqual(rows["work"]["state"], "exhausted")
            self.assertEqual(os.stat(board.socket).st_uid, nobody)
            self.assertEqual(board.terminate(), 0)
            self.assertEqual(board.replay()[0], 0)


if __name__ == "__main__":
    harness.main()

"""What every cooperating trainer must do, whoever wrote it: the protocol's rules as test cases."""

import os
import shutil
import signal
import tempfile
import time

from trainer_peer import Peer


class LifeCycle(object):
    """Mix with unittest.TestCase; a subclass says how to start its trainer.

    argv       command line
    env        environment to add
    params     a run that does not end within a test
    short      a run of exactly `short_samples`
    grid       a sample count at which a limit leaves no trace in the result
    newest     name of the file of the last checkpoint, `before` of the one before it
    """

    argv = []
    env = {}
    params = {}
    short = {}
    short_samples = 0
    grid = 1
    newest = ""
    before = ""
    report_every = 500

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="laird-e2e-")
        self.addCleanup(shutil.rmtree, self.folder)

    def peer(self):
        return Peer(self.argv, self.env)

    def path(self, name):
        return os.path.join(self.folder, name)

    def ready(self, peer, params=None, folder=None, **more):
        more.setdefault("report_every", self.report_every)
        return peer.ready(folder or self.folder, params or self.params, **more)

    def run_until(self, peer, samples):
        peer.send({"type": "run", "until": samples})
        while True:
            message = peer.until("progress")[-1]
            if message["samples"] >= samples:
                return message

    def test_ready_says_where_it_is(self):
        with self.peer() as peer:
            ready = self.ready(peer, self.short)
            self.assertEqual(ready, {"type": "ready", "v": 1, "samples": 0, "loss": None,
                                     "resumed": False, "planned_samples": self.short_samples})
            self.assertTrue(peer.silent(0.3), "it worked without an allowance")

    def test_it_begins_with_the_model_of_a_run_before_and_counts_from_none(self):
        with self.peer() as peer:
            self.ready(peer)
            self.run_until(peer, 20 * self.grid)
            peer.stop()
        next_run = tempfile.mkdtemp(prefix="laird-e2e-")
        self.addCleanup(shutil.rmtree, next_run)
        losses = {}
        for warm in (None, self.folder):
            with self.peer() as peer:
                more = {} if warm is None else {"warm": warm}
                ready = self.ready(peer, folder=next_run, **more)
                self.assertEqual((ready["samples"], ready["resumed"]), (0, False))
                losses[warm] = self.run_until(peer, self.grid)["loss"]
                peer.kill()
                if warm is not None:
                    self.assertIn("begins with the model of the run before", peer.errors())
        self.assertNotEqual(losses[None], losses[self.folder])
        # A checkpoint of its own counts more than another's model.
        with self.peer() as peer:
            self.ready(peer, folder=next_run)
            self.run_until(peer, self.grid)
            peer.stop()
        with self.peer() as peer:
            ready = self.ready(peer, folder=next_run, warm=self.folder)
            self.assertEqual((ready["samples"], ready["resumed"]), (self.grid, True))
            peer.kill()
        # One that is not there, or of no use, is left out.
        empty = tempfile.mkdtemp(prefix="laird-e2e-")
        self.addCleanup(shutil.rmtree, empty)
        with self.peer() as peer:
            ready = self.ready(peer, folder=empty, warm=empty + "/nothing")
            self.assertEqual((ready["samples"], ready["resumed"]), (0, False))
            peer.kill()
            self.assertIn("begins without the model of the run before", peer.errors())

    def test_reports_and_keeps_the_limit(self):
        with self.peer() as peer:
            self.ready(peer)
            limit = 10 * self.report_every + self.grid
            peer.send({"type": "run", "until": limit})
            counts = []
            while not counts or counts[-1] < limit:
                message = peer.until("progress")[-1]
                self.assertIsInstance(message["loss"], float)
                counts.append(message["samples"])
            self.assertGreaterEqual(len(counts), 10)
            self.assertEqual(counts, sorted(set(counts)))
            self.assertEqual(counts[-1], limit)
            self.assertTrue(peer.silent(0.3), "it worked beyond its limit")

    def test_the_same_run_again_does_no_work_and_is_answered(self):
        with self.peer() as peer:
            self.ready(peer)
            first = self.run_until(peer, self.grid)
            peer.send({"type": "run", "until": self.grid})
            self.assertEqual(peer.receive(), first)
            self.assertTrue(peer.silent(0.2))

    def test_a_lower_limit_stops_it(self):
        with self.peer() as peer:
            self.ready(peer)
            peer.send({"type": "run", "until": 1 << 50})
            peer.until("progress")
            peer.send({"type": "run", "until": 1})
            quiet_after = time.monotonic() + 20.0
            while not peer.silent(0.4):
                self.assertLess(time.monotonic(), quiet_after, "it goes on working")

    def test_pause_checkpoints_and_waits_and_run_goes_on(self):
        with self.peer() as peer:
            self.ready(peer)
            peer.send({"type": "run", "until": 1 << 50})
            peer.until("progress")
            peer.send({"type": "pause"})
            paused = peer.until("checkpointed", timeout=20.0)[-1]
            self.assertTrue(os.path.exists(self.path(self.newest)))
            self.assertTrue(peer.silent(0.4), "it worked while paused")
            peer.send({"type": "checkpoint"})
            self.assertEqual(peer.receive(), paused)
            self.run_until(peer, paused["samples"] + self.grid)

    def test_checkpoint_goes_on_with_the_current_limit(self):
        with self.peer() as peer:
            self.ready(peer)
            peer.send({"type": "run", "until": 1 << 50})
            peer.until("progress")
            peer.send({"type": "checkpoint"})
            at = peer.until("checkpointed")[-1]["samples"]
            self.assertGreater(peer.until("progress")[-1]["samples"], at)

    def test_stop_checkpoints_and_leaves_with_0(self):
        with self.peer() as peer:
            self.ready(peer)
            self.run_until(peer, self.grid)
            last = peer.stop()
            self.assertEqual(last["samples"], self.grid)
        with self.peer() as peer:
            again = self.ready(peer)
            self.assertTrue(again["resumed"])
            self.assertEqual((again["samples"], again["loss"]), (last["samples"], last["loss"]))

    def test_done_then_waits_for_stop(self):
        with self.peer() as peer:
            self.ready(peer, self.short)
            peer.send({"type": "run", "until": 1 << 50})
            done = peer.until("done")[-1]
            self.assertEqual(done["samples"], self.short_samples)
            self.assertIsInstance(done["loss"], float)
            self.assertTrue(peer.silent(0.2))
            peer.send({"type": "run", "until": 1 << 50})
            self.assertEqual(peer.receive(), done)
            peer.stop()
        with self.peer() as peer:
            self.assertEqual(self.ready(peer, self.short)["samples"], self.short_samples)
            self.assertEqual(peer.receive(), done)

    def test_killed_and_resumed_it_ends_as_if_it_had_not_been(self):
        whole = tempfile.mkdtemp(prefix="laird-e2e-")
        self.addCleanup(shutil.rmtree, whole)
        first, last = 2 * self.grid, 20 * self.grid
        with self.peer() as peer:
            self.ready(peer, folder=whole)
            self.run_until(peer, first)
            end = self.run_until(peer, last)
            peer.stop()
        with self.peer() as peer:
            self.ready(peer)
            self.run_until(peer, first)
            peer.send({"type": "checkpoint"})
            peer.until("checkpointed")
            peer.send({"type": "run", "until": 1 << 50})
            peer.until("progress")
            peer.kill()
            self.assertEqual(peer.process.returncode, -signal.SIGKILL)
        with self.peer() as peer:
            ready = self.ready(peer, seed=99)
            self.assertEqual((ready["samples"], ready["resumed"]), (first, True))
            self.assertEqual(self.run_until(peer, last), end)
            peer.stop()
        self.assertEqual(self.result(whole), self.result(self.folder))

    def result(self, folder):
        with open(os.path.join(folder, self.newest), "rb") as file:
            return file.read()

    def test_it_leaves_at_once_and_writes_nothing_when_the_agent_is_gone(self):
        for working in (False, True):
            with self.peer() as peer:
                self.ready(peer)
                if working:
                    peer.send({"type": "run", "until": 1 << 50})
                    peer.until("progress")
                peer.close()
                self.assertEqual(peer.wait(20.0), 3)
        self.assertEqual(os.listdir(self.folder), [])

    def test_it_leaves_when_the_agent_is_gone_before_start(self):
        with self.peer() as peer:
            peer.close()
            self.assertEqual(peer.wait(20.0), 3)

    def test_idle_it_uses_no_processor(self):
        with self.peer() as peer:
            self.ready(peer)
            self.run_until(peer, self.grid)
            before = peer.cpu_ticks()
            time.sleep(1.0)
            self.assertLessEqual(peer.cpu_ticks() - before, 1)

    def test_an_agent_that_does_not_read_holds_it_back_and_loses_nothing(self):
        with self.peer() as peer:
            self.ready(peer, report_every=1)
            peer.send({"type": "run", "until": 1 << 50})
            deadline = time.monotonic() + 30.0
            while time.monotonic() < deadline:
                before = peer.cpu_ticks()
                time.sleep(0.3)
                if peer.cpu_ticks() == before:
                    break
            else:
                self.fail("it never blocked on the full socket")
            counts = [peer.receive()["samples"] for _ in range(500)]
            self.assertEqual(counts, sorted(set(counts)))

    def test_garbage_from_the_agent_is_ignored_and_noted(self):
        with self.peer() as peer:
            peer.send_bytes(b"\n{\n\xff\xfe\x00\n[]\n" + b"[" * 5000 + b"\n")
            self.ready(peer)
            peer.send_bytes(b'{"type":"dance"}\n{"type":"run"}\n{"type":"run","until":-1}\n'
                            b'{"type":"run","until":"5"}\n{"type":["stop"]}\n{"until":3}\n')
            self.start_again(peer)
            self.run_until(peer, self.grid)
            peer.stop()
            notes = peer.errors()
            self.assertIn("unknown type", notes)
            self.assertIn("ignored a second", notes)

    def start_again(self, peer):
        peer.start(self.folder, self.params)

    def test_endless_garbage_fills_no_log(self):
        with self.peer() as peer:
            self.ready(peer)
            for _ in range(50):
                peer.send_bytes(b'{"type":"dance"}\n' * 100)
            self.run_until(peer, self.grid)
            peer.stop()
            self.assertLess(len(peer.errors()), 20000)

    def test_a_line_without_end_is_an_error(self):
        with self.peer() as peer:
            self.ready(peer)
            try:
                peer.send_bytes(b"x" * 200000)
            except BrokenPipeError:
                pass
            message = peer.receive()
            self.assertEqual(message["type"], "error")
            self.assertIn("longer than 65536 bytes", message["message"])
            self.assertEqual(peer.wait(), 1)

    def test_work_before_start_is_an_error(self):
        with self.peer() as peer:
            peer.send({"type": "run", "until": 5})
            message = peer.receive()
            self.assertEqual(message["type"], "error")
            self.assertIn('must be "start"', message["message"])
            self.assertEqual(peer.wait(), 1)

    def test_a_start_it_cannot_use_is_an_error_that_says_why(self):
        for change, why in (({"v": 2}, '"v"'), ({"dir": "here"}, "absolute path"),
                            ({"report_every": 0}, '"report_every"'), ({"seed": "x"}, '"seed"')):
            with self.peer() as peer:
                peer.start(self.folder, self.params, **change)
                message = peer.receive()
                self.assertEqual(message["type"], "error")
                self.assertIn(why, message["message"])
                self.assertEqual(peer.wait(), 1)

    def test_a_damaged_checkpoint_falls_back_to_the_one_before(self):
        with self.peer() as peer:
            self.ready(peer)
            for n in (1, 2):
                self.run_until(peer, n * self.grid)
                peer.send({"type": "checkpoint"})
                peer.until("checkpointed")
            peer.kill()
        self.damage(self.newest)
        with self.peer() as peer:
            ready = self.ready(peer)
            self.assertEqual((ready["samples"], ready["resumed"]), (self.grid, True))
            # The next checkpoint must not replace the good one by the damaged one.
            peer.send({"type": "checkpoint"})
            peer.until("checkpointed")
            self.assertIn("not used", peer.errors())
        self.damage(self.newest)
        with self.peer() as peer:
            self.assertEqual(self.ready(peer)["samples"], self.grid)
        self.damage(self.before)
        with self.peer() as peer:
            ready = self.ready(peer)
            self.assertEqual((ready["samples"], ready["resumed"]), (0, False))
            self.assertIn("starting afresh", peer.errors())

    def damage(self, name):
        with open(self.path(name), "r+b") as file:
            file.seek(30)
            file.write(b"\x00\xff\x00")

    def test_a_checkpoint_that_cannot_be_written_is_an_error(self):
        with self.peer() as peer:
            self.ready(peer, folder=self.path("absent"))
            self.run_until(peer, self.grid)
            peer.send({"type": "checkpoint"})
            message = peer.receive()
            self.assertEqual(message["type"], "error")
            self.assertIn("absent", message["message"])
            self.assertEqual(peer.wait(), 1)

    def test_a_socket_number_that_is_none_is_a_usage_error(self):
        import subprocess
        for text in ("", "x", "-1", "0", "99", "99999999999999999999"):
            run = subprocess.run(self.argv, env=dict(os.environ, LAIRD_FD=text, **self.env),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, timeout=20)
            self.assertEqual(run.returncode, 2, text)
            self.assertIn(b"names no open socket", run.stderr)

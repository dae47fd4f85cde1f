"""lairctl top on a pseudo-terminal: what it draws, how little it writes, how it ends."""

import signal
import time
import unittest

from boards import OperatedFleet, task
from record_top import TopRun


class Top(OperatedFleet):
    boards = nodes = ("n-1", "n-2")

    def start(self, *args, **more):
        run = TopRun(self.environment(), *args, **more)
        self.addCleanup(run.close)
        drawn = run.watch(10, until=lambda lines: "n-2" in "\n".join(lines))
        self.assertTrue(drawn, run.terminal.lines())
        return run

    def test_once_prints_a_picture_without_escapes(self):
        self.submit(task("drawn", epochs=3000), "--node", "n-1")
        self.wait_for_task("drawn", "running")
        out = self.lairctl("top", "--once", "--width", "110").out
        self.assertNotIn("\x1b", out)
        self.assertRegex(out, r"laird  fleet lab   2 of 2 boards")
        self.assertRegex(out, r"budget .* W allowed")
        self.assertRegex(out, r"(?m)^n-1 +ready ")
        self.assertRegex(out, r"(?m)^drawn +n-1 ")
        self.assertLessEqual(max(len(line) for line in out.splitlines()), 110)

    def test_without_a_terminal_it_says_what_to_do(self):
        self.assertIn("--once", self.lairctl("top", code=2).err)

    def test_it_draws_live_writes_only_changes_and_q_restores_the_terminal(self):
        run = self.start()
        self.assertIn("?1049", run.terminal.modes)
        before = run.written
        run.watch(3)
        # Six pictures of about 2 kB would be 12 kB.
        self.assertLess(run.written - before, 4000)
        self.submit(task("appears", epochs=50), "--node", "n-2")
        self.assertTrue(run.watch(10, until=lambda lines: "appears" in "\n".join(lines)))
        run.press("q")
        self.assertEqual(run.process.wait(5), 0)
        run.watch(0.5)
        self.assertTrue(run.is_restored())

    def test_signals_restore_the_terminal(self):
        for number, code in ((signal.SIGINT, 0), (signal.SIGTERM, 128 + 15),
                             (signal.SIGHUP, 128 + 1), (signal.SIGABRT, -signal.SIGABRT)):
            run = self.start()
            run.process.send_signal(number)
            self.assertEqual(run.process.wait(5), code)
            run.watch(0.5)
            self.assertTrue(run.is_restored(), number)

    def test_it_follows_the_size_of_the_window(self):
        run = self.start(columns=112, rows=24)
        wide = max(len(line) for line in run.terminal.lines())
        run.resize(50, 10)
        run.terminal.columns, run.terminal.rows = 50, 10
        run.process.send_signal(signal.SIGWINCH)
        time.sleep(1)
        run.watch(1.5)
        self.assertGreater(wide, 90)
        self.assertIn("n-1", "\n".join(run.terminal.lines()))
        self.assertLessEqual(max(len(line) for line in run.terminal.lines()), 50)


if __name__ == "__main__":
    unittest.main(verbosity=2)

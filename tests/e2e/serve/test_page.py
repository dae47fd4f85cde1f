"""The live page in a real browser, of real agents over a real broker: a task from its submission to
its success, a cap, a board that is killed, a broker that goes and comes back; orders.

    test_page.py --pictures FOLDER    also leaves pictures of the page there (./dev pictures)"""

import os
import signal
import sys
import unittest

from fleet_page import PagedFleet, slow_task, task
import browser

PICTURES = None
SHOWN = {(1440, "light"): "serve-page.png", (390, "dark"): "serve-phone.png"}
ROW = "[...document.querySelectorAll('#task-rows tr')].find(r => r.textContent.includes('%s'))"
CARD = "[...document.querySelectorAll('.board')].find(b => b.querySelector('b').textContent === '%s')"


@unittest.skipUnless(browser.path(), "no chromium here: apt install chromium")
class Page(PagedFleet):
    def text(self, b, what):
        return b.says("((%s) || {innerText: ''}).innerText" % what)

    def sees(self, b, what, part, seconds=20):
        found = "((%s) || {innerText: ''}).innerText.includes(%r)" % (what, part)
        self.assertTrue(b.wait_for(found, seconds), (part, self.text(b, what)))

    def test_1_a_task_is_seen_from_submission_to_success(self):
        serve = self.serve()
        with browser.Browser() as b:
            self.open(b, serve)
            names = b.says("[...document.querySelectorAll('.board b')].map(x => x.textContent).join(' ')")
            self.assertEqual("n-1 n-2 n-10", names)
            self.submit(slow_task("seen", 0.10, "5m", 6e-8), "--node", "n-2")
            self.sees(b, ROW % "seen", "→")
            self.submit(task("easy", target=100), "--node", "n-1")
            self.sees(b, ROW % "easy", "succeeded")
            self.sees(b, "document.querySelector('#event-rows')", "easy: succeeded")
            self.sees(b, CARD % "n-2", "°C")
            # Its curve, its numbers and why, opened by the keyboard.
            b.says("(%s).querySelector('button').focus()" % (ROW % "easy"))
            b.ask("Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r")
            b.ask("Input.dispatchKeyEvent", type="keyUp", key="Enter")
            self.sees(b, "document.querySelector('#detail')", "in all")
            self.assertEqual([], b.errors())
            self.lairctl("cancel", "seen", "--yes")

    def test_2_a_cap_is_seen_and_a_second_browser_sees_the_same(self):
        serve = self.serve()
        with browser.Browser() as first, browser.Browser() as second:
            for b in (first, second):
                self.open(b, serve)
            self.lairctl("cap", "set", "4.4W", "--node", "n-1")
            for b in (first, second):
                self.sees(b, CARD % "n-1", "may 4.4 W (operator's cap)", 10)
            # Where several answer, they do it in the natural order of their names.
            self.lairctl("cap", "clear", "--node", "n-1")
            told = self.lairctl("undrain", "--all").out
            self.assertEqual(["n-1", "n-2", "n-10"], [line.split(":")[0] for line in told.splitlines()])
            self.assertTrue(first.wait_for("!(%s).innerText.includes('4.4 W (op')" % (CARD % "n-1"), 10))
            self.assertEqual([], first.errors() + second.errors())

    def test_3_every_width_and_scheme_without_errors_and_sideways_scrolling(self):
        serve = self.serve("--control")
        for number, (name, target, rate) in enumerate([("night-run", 0.11, 2e-8), ("camera-3", 0.2, 1e-8),
                                                       ("gait", 0.1, 3e-8)]):
            self.submit(slow_task(name, target, "3m", rate, number + 1), "--node", self.boards[number])
        with browser.Browser() as b:
            self.open(b, serve, 1440)
            self.assertTrue(b.wait_for("document.querySelectorAll('.chance.good, .chance.bad').length > 1", 30))
            for width in (390, 1440):
                for scheme in ("light", "dark"):
                    with self.subTest(width=width, scheme=scheme):
                        self.open(b, serve, width, scheme)
                        self.assertLessEqual(b.says("document.documentElement.scrollWidth"), width)
                        dark = b.says("getComputedStyle(document.body).backgroundColor")
                        self.assertEqual(scheme == "dark", dark != "rgb(255, 255, 255)")
                        self.assertEqual([], b.errors())
                        if PICTURES and (width, scheme) in SHOWN:
                            b.picture(os.path.join(PICTURES, SHOWN[width, scheme]))
        for name in ("night-run", "camera-3", "gait"):
            self.run_lairctl("cancel", name, "--yes")

    def test_4_orders_are_confirmed_and_done(self):
        self.submit(slow_task("steered", 0.01, "10m", 1e-8), "--node", "n-10")
        serve = self.serve("--control")
        with browser.Browser() as b:
            self.open(b, serve)
            self.sees(b, ROW % "steered", "steered")
            click = "[...document.querySelectorAll('%s button')].find(x => x.textContent === '%s').click()"
            b.says("(%s).querySelector('button').click()" % (ROW % "steered"))
            b.says(click % ("#detail", "Cancel"))
            # In one go: the first question's end must not answer the second one.
            b.says(click % ("#confirm", "Leave it") + "; " + click % ("#detail", "Pause"))
            b.says(click % ("#confirm", "Pause it"))
            self.sees(b, "document.querySelector('#said')", "n-10: paused")
            self.sees(b, ROW % "steered", "held")
            b.says(click % ("#detail", "Cancel"))
            b.says(click % ("#confirm", "End it"))
            self.sees(b, ROW % "steered", "cancelled")
            self.assertEqual([], b.errors())

    def test_5_a_killed_board_is_shown_as_gone(self):
        serve = self.serve()
        with browser.Browser() as b:
            self.open(b, serve)
            self.agents["n-2"].kill()
            self.assertTrue(b.wait_for("(%s).className.includes('trouble')" % (CARD % "n-2"), 20))
            self.sees(b, "document.querySelector('#attention')", "n-2")
            self.sees(b, CARD % "n-2", "lost")
            self.agents["n-2"].start()
            self.assertTrue(b.wait_for("!(%s).className.includes('trouble')" % (CARD % "n-2"), 40))

    def test_6_a_broker_that_goes_and_comes_back_and_a_server_that_ends(self):
        serve = self.serve()
        with browser.Browser() as b:
            self.open(b, serve)
            self.broker.kill(signal.SIGKILL)
            self.sees(b, "document.querySelector('#link')", "No link to the broker since")
            self.broker.start()
            self.assertTrue(b.wait_for("document.querySelector('#link.live') !== null", 40))
            self.assertEqual([], b.errors())
            serve.end()
            self.sees(b, "document.querySelector('#link')", "does not answer")


if __name__ == "__main__":
    if "--pictures" in sys.argv:
        at = sys.argv.index("--pictures")
        PICTURES = sys.argv[at + 1]
        del sys.argv[at:at + 2]
    unittest.main(verbosity=2)

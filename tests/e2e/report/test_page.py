"""The page of `lairctl report` in a real browser: at a phone's width and a screen's, light and
dark, without errors and without scrolling sideways; what a pointer, a finger and a key do; without
scripts; and what hostile names do to it, which is nothing.

    test_page.py --pictures FOLDER    also leaves a picture of the page there"""

import datetime
import json
import os
import shutil
import subprocess
import sys
import unittest

import browser
from test_report import LAIRCTL, MAKER, RECORDED, Folder

PICTURES = None


@unittest.skipUnless(browser.path(), "no chromium here: apt install chromium")
class Page(Folder):
    def page(self, *journals):
        out = self.path("page.html")
        done = subprocess.run([LAIRCTL, "report", *journals, "-o", out, "--json",
                               self.path("summary.json")], check=False, timeout=120,
                              capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stderr)
        return out

    def fleet(self, boards="4", hours="0.1", tasks="3"):
        subprocess.run([MAKER, self.path("fleet"), boards, hours, tasks], check=True, timeout=120,
                       stdout=subprocess.DEVNULL)
        return self.page(self.path("fleet"))

    def test_every_width_and_scheme_without_errors_and_sideways_scrolling(self):
        pages = {"board": self.page(self.copied())}
        pages["board"] = shutil.move(pages["board"], self.path("board.html"))
        pages["fleet"] = self.fleet()
        with browser.Browser() as b:
            for name, page in pages.items():
                for width in (390, 1440):
                    for scheme in ("light", "dark"):
                        with self.subTest(page=name, width=width, scheme=scheme):
                            b.open(page, width, scheme=scheme)
                            self.assertEqual([], b.errors())
                            wide = b.says("document.documentElement.scrollWidth")
                            self.assertLessEqual(wide, width)
                            self.assertGreater(b.says("document.querySelectorAll('svg.chart').length"), 3)
                            dark = b.says("getComputedStyle(document.body).backgroundColor")
                            self.assertEqual(scheme == "dark", dark != "rgb(255, 255, 255)")
            if PICTURES:
                b.open(pages["board"], 1120, height=1500)
                b.picture(os.path.join(PICTURES, "report-page.png"), whole=False)

    def test_a_what_if_shows_both_lives_at_every_width_and_scheme(self):
        out = self.path("what-if.html")
        done = subprocess.run([LAIRCTL, "replay", self.copied(), "--what-if", "policy=round-robin",
                               "--what-if", "speed=0.5", "-o", out], check=False, timeout=120,
                              capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stderr)
        with browser.Browser() as b:
            for width in (390, 1440):
                for scheme in ("light", "dark"):
                    with self.subTest(width=width, scheme=scheme):
                        b.open(out, width, scheme=scheme)
                        self.assertEqual([], b.errors())
                        self.assertLessEqual(b.says("document.documentElement.scrollWidth"), width)
                        text = b.says("document.body.innerText")
                        self.assertIn("run again with nothing changed", text)
                        self.assertIn("drawn, as it was", text)
                        self.assertIn("drawn, what if", text)
            if PICTURES:
                b.open(out, 1120, height=1500)
                b.picture(os.path.join(PICTURES, "what-if-page.png"), whole=False)

    def test_pointing_dragging_and_keys(self):
        page = self.page(self.copied())
        with browser.Browser() as b:
            b.open(page, 1440)
            at = b.box("#power-chart svg")
            b.mouse("mouseMoved", at["x"] + at["w"] / 2, at["y"] + at["h"] / 2)
            middle = b.says("document.querySelector('#bar .at').textContent")
            with open(self.path("summary.json"), encoding="utf-8") as file:
                board = json.load(file)["boards"][0]
            begin, end = (datetime.datetime.fromisoformat(board[t].replace("Z", "+00:00"))
                          for t in ("from", "to"))
            part = (datetime.datetime.fromisoformat(middle + "+00:00") - begin) / (end - begin)
            self.assertAlmostEqual(0.5, part, delta=0.1)
            self.assertRegex(b.says("document.querySelector('#power-chart .key b').textContent"), r"\d W")
            b.drag(at["x"] + at["w"] * 0.4, at["x"] + at["w"] * 0.6, at["y"] + 50)
            self.assertLess(b.says("view.to - view.from"), 10000)
            self.assertFalse(b.says("document.querySelector('#bar .whole').disabled"))
            b.says("document.querySelector('#power-chart svg').focus()")
            b.ask("Input.dispatchKeyEvent", type="keyDown", key="Escape")
            b.settle()
            self.assertTrue(b.says("!view.zoomed()"))
            # A row of the timeline tells the task, what it did and why.
            row = b.box("#timeline-chart svg")
            b.mouse("mouseMoved", row["x"] + row["w"] * 0.8, row["y"] + 4 + 20 * 3.5)
            told = b.says("document.querySelector('#timeline-chart .told').textContent")
            self.assertIn("garment-mlp-deep: running", told)
            self.assertIn("foresight", told)
            self.assertEqual([], b.errors())

    def test_a_pinch_zooms(self):
        page = self.page(self.copied())
        with browser.Browser() as b:
            b.open(page, 390)
            at = b.box("#power-chart svg")
            y, middle = at["y"] + 60, at["x"] + at["w"] / 2
            b.touch("touchStart", [(middle - 20, y), (middle + 20, y)])
            for i in range(1, 6):
                b.touch("touchMove", [(middle - 20 - 15 * i, y), (middle + 20 + 15 * i, y)])
            b.touch("touchEnd", [])
            self.assertLess(b.says("(view.to - view.from) / (view.whole[1] - view.whole[0])"), 0.6)
            self.assertEqual([], b.errors())

    def test_the_slider_shows_the_forecast_as_it_was_then(self):
        page = self.page(self.copied())
        with browser.Browser() as b:
            b.open(page, 1440)
            said = []
            for part in (0.3, 0.9):
                b.says(f"view.point(data.t0 + (data.t1 - data.t0) * {part})")
                b.settle()
                said.append(b.says("document.querySelector('details[open] .loss .told').textContent"))
                self.assertEqual(1, b.says("document.querySelectorAll('details[open] .forecast').length > 0 ? 1 : 0"))
            self.assertNotEqual(said[0], said[1])
            self.assertIn("likely", said[0])

    def test_a_link_opens_the_task(self):
        page = self.page(self.copied())
        with browser.Browser() as b:
            b.open(page, 390)
            self.assertFalse(b.says("document.getElementById('task-0').open"))
            b.says("document.querySelector('a[href=\"#task-0\"]').click()")
            b.settle()
            self.assertTrue(b.says("document.getElementById('task-0').open"))
            self.assertTrue(b.says("document.querySelector('#task-0 svg.chart') !== null"))

    def test_without_scripts_the_verdict_and_the_tables_are_there(self):
        page = self.page(self.copied())
        with browser.Browser() as b:
            b.open(page, 390, scripts=False)
            text = b.ask("DOMSnapshot.captureSnapshot", computedStyles=[])["strings"]
            whole = " ".join(text)
            self.assertIn("4 of 6 tasks reached the target loss by the deadline", whole)
            self.assertIn("garment-softmax", whole)
            self.assertIn("The charts need a script", whole)

    def test_what_hostile_boards_and_trainers_say_stays_text(self):
        subprocess.run([MAKER, self.path("bad"), "1", "0.02", "2", "1", "hostile"], check=True,
                       stdout=subprocess.DEVNULL, timeout=60)
        page = self.page(self.path("bad"))
        with open(page, encoding="utf-8") as f:
            text = f.read()
        for character in "\u202e\u2066\u200b":
            self.assertNotIn(character, text)
        with browser.Browser() as b:
            b.open(page, 390)
            self.assertEqual([], b.errors())
            self.assertIsNone(b.says("window.broken"))
            self.assertEqual(2, b.says("document.querySelectorAll('script').length"))
            self.assertEqual(0, b.says("document.querySelectorAll('img,iframe,b b').length"))
            self.assertIn("<script>window.broken=1", b.says("document.querySelector('#events').textContent"))
            self.assertLessEqual(b.says("document.documentElement.scrollWidth"), 390)

    def test_the_content_policy_holds_where_escaping_would_fail(self):
        page = self.page(self.copied())
        with open(page, encoding="utf-8") as f:
            text = f.read()
        hostile = "<script>window.broken=1</script>"
        inside = text.replace('"name":"garment-mlp"', '"name":"\\u003cscript>window.broken=1\\u003c/script>"')
        self.assertNotEqual(text, inside)
        inside = inside.replace("<section id=tasks>", hostile + "<section id=tasks>", 1)
        with open(page, "w", encoding="utf-8") as f:
            f.write(inside)
        with browser.Browser() as b:
            b.open(page, 1440)
            self.assertIsNone(b.says("window.broken"))
            rows = b.says("[...document.querySelectorAll('#timeline-chart text')].map(t=>t.textContent).join(' ')")
            self.assertIn("<script>window", rows)


if __name__ == "__main__":
    if "--pictures" in sys.argv:
        at = sys.argv.index("--pictures")
        PICTURES = sys.argv[at + 1]
        del sys.argv[at:at + 2]
    unittest.main(verbosity=2)

"""`lairctl replay --what-if` of a real board that trained under a cap: with nothing changed it is
what it was, changes change it, wrong words are refused by name, and nothing hostile gets into the page."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonschema

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../agent"))

from harness import LAIRCTL, Board, synthetic_task

SCHEMA = os.path.join(HERE, "../../../docs/schema/what-if.json")


def replay(*args):
    done = subprocess.run([LAIRCTL, "replay", *args], capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, check=False)
    return done.returncode, done.stdout, done.stderr


class WhatIf(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="laird-what-if-")
        with Board("asked", power={"source": "modelled", "every": "0.05s"},
                   board={"name": "orin-nano-8gb", "memory": "2GB",
                          "lanes": [{"name": "cpu0", "kind": "cpu", "cores": 1}]}) as board:
            board.start()
            board.ctl("cap", "set", "9W")
            board.accept(synthetic_task("easy", target=100))
            board.accept(synthetic_task("endless", epochs=100000, deadline="8s"))
            board.wait_ended("easy", "endless")
            board.terminate()
            cls.journal = os.path.join(cls.root, "state")
            shutil.copytree(board.state, cls.journal)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.root, ignore_errors=True)

    def asked(self, *words):
        flags = [flag for word in words for flag in ("--what-if", word)]
        code, out, err = replay(self.journal, *flags, "--json")
        self.assertEqual(0, code, err)
        self.assertIn("run again with nothing changed", err)
        answer = json.loads(out)
        with open(SCHEMA, encoding="utf-8") as schema:
            jsonschema.validate(answer, json.load(schema))
        return answer["boards"][0]

    def test_with_nothing_changed_it_is_what_it_was(self):
        board = self.asked("nothing")
        self.assertTrue(board["fidelity"]["good"], board["fidelity"])
        self.assertEqual(2, board["fidelity"]["same_end"])
        ends = {t["task"]: t["what_if"]["end"] for t in board["tasks"]}
        self.assertEqual({"easy": "succeeded", "endless": "missed"}, ends)

    def test_changes_change_it(self):
        board = self.asked("without=endless")
        self.assertEqual(1, board["what_if"]["tasks"])
        board = self.asked("deadline:endless=2s")
        took = {t["task"]: t["what_if"]["took_s"] for t in board["tasks"]}
        self.assertAlmostEqual(2.0, took["endless"], delta=0.5)
        self.assertGreater(self.asked("cap=none")["what_if"]["energy_j"],
                           1.1 * board["was"]["energy_j"] * 2 / 8)
        with_more = self.asked("with=twin:easy")
        self.assertIn("twin", [t["task"] for t in with_more["tasks"] if t["was"] is None])

    def test_the_table_for_people_says_first_how_near_it_comes(self):
        code, out, err = replay(self.journal, "--what-if", "policy=round-robin")
        self.assertEqual(0, code, err)
        lines = out.splitlines()
        self.assertIn("run again with nothing changed: 2 of 2 tasks end as they did", lines[0])
        self.assertTrue(lines[1].startswith("TASK"), out)
        self.assertTrue(any(line.startswith("what if: ") for line in lines), out)

    def test_every_policy_is_compared(self):
        code, out, err = replay(self.journal, "--policies", "all", "--json")
        self.assertEqual(0, code, err)
        answer = json.loads(out)
        with open(SCHEMA, encoding="utf-8") as schema:
            jsonschema.validate(answer, json.load(schema))
        names = [row["policy"] for row in answer["policies"]]
        self.assertEqual("as it was", names[0])
        self.assertIn("foresight", names)
        self.assertIn("round-robin", names)

    def test_the_page_holds_both_lives_and_loads_nothing(self):
        page = os.path.join(self.root, "page.html")
        code, _, err = replay(self.journal, "--what-if", "with=<b>x</b>:easy", "-o", page)
        self.assertEqual(0, code, err)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(", as it was", text)
        self.assertIn(", what if", text)
        self.assertIn("default-src 'none'", text)
        self.assertNotIn("http://", text)
        self.assertNotIn("<b>x</b>", text)
        self.assertIn("&lt;b&gt;x", text)

    def test_what_cannot_be_asked_is_refused_with_the_word(self):
        for word, said in (("polic=x", "--what-if polic=x: there is no such change"), ("policy=luck", "luck"),
                           ("cap=12", "12"), ("deadline:nobody=2h", "'nobody'"),
                           ("lanes=tpu", "'tpu'"), ("weight:easy=1000", "0.1 to 100"),
                           ("with=twin", "with=NEW:TASK")):
            code, out, err = replay(self.journal, "--what-if", word)
            self.assertNotEqual(0, code, word)
            self.assertIn(said, err, word)
        code, _, err = replay(self.journal, "--what-if", "nothing", "--why", "easy")
        self.assertNotEqual(0, code)
        self.assertIn("--why", err)
        code, _, err = replay(self.journal, "-o", os.path.join(self.root, "p.html"))
        self.assertNotEqual(0, code)
        self.assertIn("lairctl report", err)


if __name__ == "__main__":
    unittest.main()

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

from harness import BIN, LAIRCTL, Board, synthetic_task

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


class WhatIfOfAFleet(unittest.TestCase):
    """Journals of three boards in virtual time, whose ledgers spoke to one another."""

    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="laird-what-if-")
        cls.fleet = os.path.join(cls.root, "fleet")
        subprocess.run([os.path.join(BIN, "make-journals"), cls.fleet, "3", "0.1", "2"], check=True,
                       stdout=subprocess.DEVNULL, timeout=120)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.root, ignore_errors=True)

    def asked(self, *words):
        flags = [flag for word in words for flag in ("--what-if", word)]
        code, out, err = replay(self.fleet, *flags, "--json")
        self.assertEqual(0, code, err)
        self.assertIn("one fleet of 3 boards: their ledgers run again", err)
        answer = json.loads(out)
        with open(SCHEMA, encoding="utf-8") as schema:
            jsonschema.validate(answer, json.load(schema))
        self.assertTrue(answer["as_fleet"])
        return {board["node"]: board for board in answer["boards"]}

    def test_a_board_less(self):
        boards = self.asked("without-board=n-2")
        self.assertTrue(boards["n-2"]["left_out"])
        self.assertEqual((2, 0), (boards["n-2"]["was"]["tasks"], boards["n-2"]["what_if"]["tasks"]))
        self.assertEqual(2, boards["n-1"]["what_if"]["tasks"])
        self.assertEqual([], boards["n-1"]["refused"])

    def test_a_board_more_with_a_task_of_its_own(self):
        boards = self.asked("with-board=n-4:n-1:orin-nano-8gb", "with=twin:task-2@n-4", "budget=60W")
        self.assertTrue(boards["n-4"]["added"])
        self.assertEqual(["twin"], [t["task"] for t in boards["n-4"]["tasks"]])
        self.assertGreater(boards["n-4"]["tasks"][0]["what_if"]["samples"], 0)

    def test_the_table_says_who_ran_it_and_who_is_left_out(self):
        code, out, err = replay(self.fleet, "--what-if", "without-board=n-3", "--what-if", "fleet",
                                "-o", os.path.join(self.root, "page.html"))
        self.assertEqual(0, code, err)
        self.assertTrue(out.startswith("one fleet of 3 boards"), out)
        self.assertIn("left out", out)
        with open(os.path.join(self.root, "page.html"), encoding="utf-8") as page:
            text = page.read()
        self.assertIn("n-3, as it was", text)
        self.assertNotIn("n-3, what if", text)

    def test_what_cannot_be_is_refused(self):
        for words, said in ((("without-board=n-9",), "no board 'n-9'"),
                            (("with-board=n-1:n-2",), "'n-1' is there already"),
                            (("with-board=n-4:nobody",), "no board 'nobody'"),
                            (("with-board=n-4",), "with-board=NEW:BOARD"),
                            (("with-board=../x:n-1",), "cannot be the name of a board"),
                            (("with-board=n-4:n-1:abacus",), "abacus"),
                            (("move:nothing=n-1",), "'nothing'"),
                            (("with=twin:task-1@n-9",), "no board 'n-9'"),
                            (("budget=1W",), "no such budget"),
                            (("without-board=n-1", "without-board=n-2", "without-board=n-3"), "no board is left")):
            flags = [flag for word in words for flag in ("--what-if", word)]
            code, _, err = replay(self.fleet, *flags)
            self.assertNotEqual(0, code, words)
            self.assertIn(said, err, words)
        code, _, err = replay(os.path.join(self.fleet, "n-1"), "--what-if", "without-board=n-1")
        self.assertNotEqual(0, code)
        self.assertIn("for the journals of a whole fleet", err)

    def test_words_about_a_task_are_for_the_board_that_has_it(self):
        code, out, err = replay(self.fleet, "--what-if", "target:task-1=0.5", "--json")
        self.assertEqual(0, code, err)
        self.assertFalse(json.loads(out)["as_fleet"])
        code, _, err = replay(self.fleet, "--what-if", "without=nobody")
        self.assertNotEqual(0, code)
        self.assertIn("these 3 boards", err)


if __name__ == "__main__":
    unittest.main()

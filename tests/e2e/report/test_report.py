"""`lairctl report` of a real board that trained under a cap, and of journals that are cut, foreign,
newer or not there: the page, the summary by its schema, the tables and the trace."""

import csv
import datetime
import glob
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import jsonschema

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../agent"))

from harness import BIN, LAIRCTL, Board, synthetic_task

SCHEMA = os.path.join(HERE, "../../../docs/schema/journal-report.json")
RECORDED = os.path.join(HERE, "../../replay/one_board.db")
OLD = os.path.join(HERE, "../../unit/agent/journal/formats/format_3.db")
MAKER = os.path.join(BIN, "make-journals")


def report(*args):
    done = subprocess.run([LAIRCTL, "report", *args], capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, check=False)
    return done.returncode, done.stdout, done.stderr


class Folder(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="laird-report-")
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.root, *names)

    def read(self, *names):
        with open(self.path(*names), encoding="utf-8") as f:
            return f.read()

    def rows(self, name):
        with open(self.path("csv", name), encoding="utf-8", newline="") as f:
            return list(csv.DictReader(f))

    def copied(self, journal=RECORDED):
        # SQLite leaves files beside what it reads.
        return shutil.copy(journal, self.path(os.path.basename(journal)))

    def all_of(self, *journals):
        """Every output of a report; what it printed."""
        code, out, err = report(*journals, "-o", self.path("page.html"), "--json",
                                self.path("summary.json"), "--csv", self.path("csv"), "--trace",
                                self.path("trace.json"))
        self.assertEqual(0, code, out + err)
        self.summary = json.loads(self.read("summary.json"))
        with open(SCHEMA, encoding="utf-8") as schema:
            jsonschema.validate(self.summary, json.load(schema))
        return out


class OneBoard(Folder):
    def test_a_real_run_is_told_alike_by_page_summary_tables_and_trace(self):
        with Board("told", power={"source": "modelled", "every": "0.05s"},
                   board={"name": "orin-nano-8gb", "memory": "2GB",
                          "lanes": [{"name": "cpu0", "kind": "cpu", "cores": 1}]}) as board:
            board.start()
            self.assertEqual(0, board.ctl("cap", "set", "9W")[0])
            board.accept(synthetic_task("easy", target=100))
            board.accept(synthetic_task("endless", epochs=100000, deadline="8s"))
            rows = board.wait_ended("easy", "endless")
            board.terminate()
            # A state folder will do as well as its journal.
            out = self.all_of(board.state)
            node = board.config["node"]
        self.assertIn("1 of 2 tasks reached the target loss", out)
        verdict, told = self.summary["verdict"], self.summary["boards"][0]
        self.assertEqual((2, 1, 1), (verdict["tasks"], verdict["met"], verdict["missed"]))
        self.assertEqual((node, True), (told["node"], told["whole"]))
        tasks = {task["name"]: task for task in told["tasks"]}
        self.assertEqual({name: row["state"] for name, row in rows.items()},
                         {name: task["state"] for name, task in tasks.items()})
        for name, task in tasks.items():
            whole = moment(task["ended"]) - moment(task["accepted"])
            self.assertAlmostEqual(whole, sum(s["s"] for s in task["spent"]), delta=0.003)
            self.assertAlmostEqual(rows[name]["energy_j"], task["energy_j"], delta=0.5)
        self.assertGreater(told["power"]["capped_s"], 1)

        reports = self.rows("reports.csv")
        for name, task in tasks.items():
            mine = [r for r in reports if r["task"] == name]
            self.assertEqual(task["reports"], len(mine))
            # A trainer may report once more after its task's end is decided.
            self.assertIn(task["loss"], [float(r["loss"]) for r in mine])
        self.assertEqual({"easy", "endless"}, {r["task"] for r in self.rows("tasks.csv")})
        self.assertTrue(any("a cap of 9.0 W" in r["text"] for r in self.rows("events.csv")))
        self.assertTrue(all(r["cap_w"] == "9.000" for r in self.rows("power.csv")[5:]))
        self.assertTrue(all(r["why"] for r in self.rows("decisions.csv")))

        trace = json.loads(self.read("trace.json"))["traceEvents"]
        names = {e["args"]["name"] for e in trace if e["name"] == "thread_name"}
        self.assertEqual({"lane cpu0", "task easy", "task endless"}, names)
        ran = sum(e["dur"] for e in trace if e["ph"] == "X" and e["name"] == "running") / 1e6
        self.assertAlmostEqual(sum(t["ran_s"] for t in tasks.values()), ran, delta=0.3)

        page = self.read("page.html")
        self.assertIn('<a href="#task-1">endless</a>', page)
        self.assertNotIn("http://", page)
        self.assertNotIn("https://", page)

    def test_the_recorded_board_and_the_ways_to_name_its_journal(self):
        journal = self.copied()
        self.all_of(journal)
        self.assertEqual(6, self.summary["verdict"]["tasks"])
        folder = self.path("boards", "demo", "journal")
        os.makedirs(folder)
        shutil.copy(journal, os.path.join(folder, "journal-000001-20261118.db"))
        for argument in (folder, self.path("boards", "demo"), self.path("boards")):
            code, out, _ = report(argument, "--json", "-")
            self.assertEqual(0, code)
            self.assertEqual(6, json.loads(out)["verdict"]["tasks"])


class Fleet(Folder):
    def test_a_fleet_is_joined_by_its_clocks_and_its_shares_are_checked(self):
        subprocess.run([MAKER, self.path("fleet"), "3", "0.05", "3"], check=True,
                       stdout=subprocess.DEVNULL, timeout=120)
        self.all_of(self.path("fleet"))
        verdict = self.summary["verdict"]
        self.assertEqual(["n-1", "n-2", "n-3"], [b["node"] for b in self.summary["boards"]])
        self.assertEqual(9, verdict["tasks"])
        self.assertGreater(verdict["shares"]["most"], 0.5)
        self.assertLess(verdict["shares"]["longest_over_s"], 1)
        self.assertLess(verdict["shares"]["longest_over_budget_s"], 1)
        self.assertEqual(1, self.summary["boards"][0]["agent_starts"])
        self.assertTrue(any(r["by"] == "op-alice" and "a budget of 22.5 W" in r["text"]
                            for r in self.rows("events.csv")))
        self.assertEqual({"n-1", "n-2", "n-3"}, {r["board"] for r in self.rows("shares.csv")})
        self.assertIn("A fleet of 3 boards", self.read("page.html"))


class Trouble(Folder):
    def test_what_is_not_there_or_no_journal_is_said(self):
        code, _, err = report(self.path("nothing"), "-o", self.path("p.html"))
        self.assertEqual(3, code)
        self.assertIn("is not there", err)
        os.makedirs(self.path("empty"))
        code, _, err = report(self.path("empty"), "-o", self.path("p.html"))
        self.assertEqual(3, code)
        self.assertIn("no journal files", err)
        with open(self.path("text.db"), "w", encoding="utf-8") as f:
            f.write("this is no journal\n" * 100)
        code, _, err = report(self.path("text.db"), "-o", self.path("p.html"))
        self.assertNotEqual(0, code)
        self.assertIn("text.db", err)
        self.assertFalse(os.path.exists(self.path("p.html")))
        code, _, err = report(self.copied())
        self.assertEqual(2, code)
        self.assertIn("say what to write", err)

    def test_older_and_newer_journals_are_said_and_the_others_told(self):
        good = self.copied()
        old = self.copied(OLD)
        newer = shutil.copy(good, self.path("newer.db"))
        with sqlite3.connect(newer) as db:
            db.execute("UPDATE meta SET value = 99 WHERE key = 'format'")
        db.close()
        code, out, err = report(good, old, newer, "-o", self.path("p.html"))
        self.assertEqual(5, code, err)
        self.assertIn("older release", err)
        self.assertIn("newer", err)
        self.assertIn("of 6 tasks", out)
        self.assertTrue(os.path.exists(self.path("p.html")))

    def test_a_cut_journal_is_told_up_to_the_cut(self):
        subprocess.run([MAKER, self.path("board"), "1", "0.05", "2"], check=True,
                       stdout=subprocess.DEVNULL, timeout=60)
        cut = glob.glob(self.path("board", "n-1", "journal", "*.db"))[0]
        with open(cut, "r+b") as f:
            f.truncate(os.path.getsize(cut) * 3 // 4 // 4096 * 4096)
        code, out, err = report(cut, "-o", self.path("p.html"))
        self.assertEqual(5, code, err)
        self.assertIn("damaged", out + err)
        self.assertIn("damaged", self.read("p.html"))

    def test_a_state_folder_is_replayed_and_that_of_a_fleet_is_asked_about(self):
        subprocess.run([MAKER, self.path("fleet"), "2", "0.02", "2"], check=True, timeout=120,
                       stdout=subprocess.DEVNULL)

        def replay(*names):
            return subprocess.run([LAIRCTL, "replay", self.path(*names)], capture_output=True,
                                  text=True, timeout=60, check=False)
        done = replay("fleet", "n-1")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertRegex(done.stdout, r"^identical: \d+ events")
        done = replay("fleet")
        self.assertEqual(2, done.returncode, done.stderr)
        self.assertIn("holds the journals of 2 boards; name one of them", done.stderr)

    def test_help_has_an_example(self):
        code, out, _ = report("--help")
        self.assertEqual(0, code)
        self.assertIn("Example: lairctl report", out)


def moment(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").timestamp()


if __name__ == "__main__":
    unittest.main(verbosity=2)

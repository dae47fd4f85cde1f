#!/usr/bin/env python3
"""Plans of the real laird-lab, checked by a checker that is written from docs/placement.md alone."""

import hashlib
import itertools
import json
import os
import random
import subprocess
import tempfile
import unittest

LAB = os.path.join(os.environ["LAIRD_BIN"], "laird-lab")


def lab(*words):
    return subprocess.run([LAB, "placement", *words], capture_output=True, text=True, timeout=120)


def by_board(instance, task, key):
    value = task.get(key, 0)
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return [value.get(b["kind"], 0) for b in instance["boards"]]
    return [value] * len(instance["boards"])


def names(instance, words):
    return {b["name"] for b in instance["boards"] if b["name"] in words or b["kind"] in words}


def breaches(instance, plan):
    """Every rule that the plan breaks, as texts."""
    boards = {b["name"]: (i, b) for i, b in enumerate(instance["boards"])}
    tasks = {t["name"]: t for t in instance["tasks"]}
    canonical = json.dumps(instance, sort_keys=True, separators=(",", ":")).encode()
    out = []
    if plan["instance"] != hashlib.sha256(canonical).hexdigest()[:16]:
        out.append("of another instance")
    if sorted(p["task"] for p in plan["tasks"]) != sorted(tasks):
        out.append("not every task once")
        return out
    spans, groups, end = [], {}, 0
    for p in plan["tasks"]:
        task, (index, board) = tasks[p["task"]], boards[p["board"]]
        running = task.get("running")
        time = running["left_s"] if running else by_board(instance, task, "time_s")[index]
        start = p["start_s"]
        spans.append((p["board"], start, start + time, by_board(instance, task, "gpu")[index],
                      task.get("memory_mb", 0)))
        end = max(end, start + time)
        if time <= 0:
            out.append(p["task"] + ": not there")
        if "apart" in task:
            if p["board"] in groups.setdefault(task["apart"], set()):
                out.append(p["task"] + ": together")
            groups[task["apart"]].add(p["board"])
        if running:
            if start != 0 or running["board"] != p["board"]:
                out.append(p["task"] + ": moved")
            continue
        if "only" in task and p["board"] not in names(instance, task["only"]):
            out.append(p["task"] + ": not allowed")
        data = task.get("data", {})
        if p["board"] not in names(instance, data.get("on", [])) and (
                start < by_board(instance, data, "transfer_s")[index]):
            out.append(p["task"] + ": without its data")
        for window in board.get("closed", []):
            if start + time > window[0] and (len(window) == 1 or start < window[1]):
                out.append(p["task"] + ": while closed")
    for name, (_, board) in boards.items():
        here = [s for s in spans if s[0] == name]
        for moment in {s[1] for s in here}:
            now = [s for s in here if s[1] <= moment < s[2]]
            most = 1 if plan["mode"] == "S" else board.get("lanes", 0) or len(now)
            if (len(now) > most or sum(s[3] for s in now) > board.get("gpu", 1000) or
                    sum(s[4] for s in now) > board["memory_mb"]):
                out.append("%s at %d: too much at once" % (name, moment))
    if end != plan["makespan_s"] or plan["bound_s"] > end:
        out.append("makespan or bound")
    return out


def random_instance(seed):
    rng = random.Random(seed)
    boards = [{"name": "b-%d" % i, "kind": rng.choice(["nano", "orin"]),
               "memory_mb": rng.choice([4000, 8000]), "gpu": 1000} for i in range(4)]
    boards[1]["closed"] = [[rng.randint(0, 500), rng.randint(600, 900)]]
    boards[2]["lanes"] = 2
    tasks = []
    for i in range(25):
        time = rng.randint(50, 900)
        task = {"name": "t-%d" % i, "memory_mb": rng.randint(200, 3900),
                "time_s": {"nano": 3 * time, "orin": time},
                "gpu": {"nano": rng.randint(100, 900), "orin": rng.randint(50, 600)}}
        if i % 5 == 0:
            task["only"] = [rng.choice(boards)["name"], "b-0"]
        if i % 6 == 1:
            task["apart"] = "g%d" % (i % 2)
        if i % 4 == 2:
            task["data"] = {"on": ["b-3"], "transfer_s": rng.randint(10, 800)}
        if i % 3 == 0:
            task["deadline_s"] = rng.randint(500, 6000)
        tasks.append(task)
    tasks[7] = {"name": "t-7", "memory_mb": 300, "time_s": [100] * 4, "gpu": 100,
                "running": {"board": "b-2", "left_s": 321}}
    return {"format": "laird.placement/1", "name": "random %d" % seed, "mode": rng.choice("SC"),
            "boards": boards, "tasks": tasks}


class Placement(unittest.TestCase):
    def solve(self, folder, instance, *words):
        path, plan = os.path.join(folder, "instance.json"), os.path.join(folder, "plan.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(instance, f)
        done = lab("solve", "--instance", path, "--plan", plan, "--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(plan, encoding="utf-8") as f:
            return path, plan, json.load(f), json.loads(done.stdout)

    def test_plans_keep_every_rule_of_the_page(self):
        with tempfile.TemporaryDirectory() as folder:
            for seed, mode in itertools.product(range(8), "SC"):
                instance = random_instance(seed)
                path, plan, read, told = self.solve(folder, instance, "--mode", mode,
                                                    "--steps", "100000", "--seed", str(seed))
                with self.subTest(seed=seed, mode=mode):
                    self.assertEqual(breaches(instance, read), [])
                    self.assertEqual(told["makespan_s"], read["makespan_s"])
                    self.assertEqual(told["trace"][-1][1], read["makespan_s"])
                    self.assertEqual(lab("check", path, plan).returncode, 0)

    def test_broken_plans_are_refused_with_the_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            instance = random_instance(3)
            path, plan, read, _ = self.solve(folder, instance, "--steps", "50000")
            rng, refused = random.Random(1), 0
            for _ in range(60):
                broken = json.loads(json.dumps(read))
                p = rng.choice(broken["tasks"])
                p["board"] = rng.choice(instance["boards"])["name"]
                p["start_s"] = max(0, p["start_s"] + rng.randint(-400, 400))
                with open(plan, "w", encoding="utf-8") as f:
                    json.dump(broken, f)
                done = lab("check", path, plan)
                wrong = breaches(instance, broken)
                self.assertEqual(done.returncode, 1 if wrong else 0, (wrong, done.stdout))
                refused += bool(wrong)
                if wrong:
                    self.assertTrue(done.stdout.startswith("broken: "), done.stdout)
            self.assertGreater(refused, 30)

    def test_steps_and_seed_fix_the_plan(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ("--steps", "60000", "--seed", "4")
            first = self.solve(folder, random_instance(1), *words)[2]
            self.assertEqual(first, self.solve(folder, random_instance(1), *words)[2])

    def test_bad_words_are_told(self):
        for words, part in ((("solve", "--instance", "gen:x"), "gen:x"),
                            (("solve", "--instance", "gen:5:8:1", "--time", "never"), "never"),
                            (("check", "gen:5:8:1", "no-such-plan"), "no-such-plan")):
            done = lab(*words)
            self.assertIn(done.returncode, (1, 2))
            self.assertIn(part, done.stderr)


if __name__ == "__main__":
    unittest.main()

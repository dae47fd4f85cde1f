"""submit --any when the chosen board falls silent: nobody else is asked before its time is over."""

import base64
import json
import os
import subprocess
import threading
import time
import unittest

from boards import OperatedFleet, task
from harness import LAIRCTL, TOP, wait_until


class FakeBoard(threading.Thread):
    """n-1, which is the fastest board there is and falls silent when a task is handed in."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self.client = client
        self.fate = {}       # of a task, once its submission has expired
        self.submitted = {}  # task: when first; the same command may come again
        self.lies = set()    # tasks that it says it takes, and does not
        self.cancelled = []
        self.says = {}       # when it is asked to explain a task
        self.bid = None      # when it is asked for one
        for kind, body in (("status", {"s": "laird.status/1.0", "state": "ready", "epoch": 1}),
                           ("info", {"s": "laird.info/1.0", "trainers": ["softmax"],
                                     "lanes": ["cpu0"], "lane_kinds": ["cpu"],
                                     "memory_bytes": 10**10,
                                     "hardware": {"cpu_cores": 64, "cpu_mhz": 5000,
                                                  "cpu_w": 0.1}})):
            client.publish(TOP + "node/n-1/" + kind, json.dumps(body), kind="state", qos=1,
                           retained=True)

    def reply(self, message, code, data=None, text=None):
        body = {"s": "laird.reply/1.0", "id": "", "node": "n-1", "ok": code == "ok", "code": code,
                "text": text or code, "data": data}
        self.client.publish(message["response_topic"].removesuffix("/n-1") + "/n-1",
                            json.dumps(body), kind="reply", qos=1,
                            correlation64=message["correlation64"])

    def run(self):
        while True:
            event = self.client.lines.get()
            if event is None:
                return
            if event["ev"] != "message":
                continue
            verb = event["topic"].split("/")[-1]
            command = json.loads(base64.b64decode(event["payload64"]))
            body = json.loads(command["signed"])["body"]
            if verb == "submit":
                name = body["task"]["name"]
                self.submitted.setdefault(name, time.monotonic())
                if name in self.lies:
                    self.reply(event, "ok")
            elif verb == "bid" and self.bid:
                self.reply(event, "ok", data=self.bid)
            elif verb == "cancel":
                self.cancelled.append(body["task"])
                self.reply(event, "not-found")
            elif verb == "explain" and body["task"] in self.says:
                self.reply(event, "ok", text=self.says[body["task"]])
            elif verb == "explain":
                silent_since = self.submitted.get(body["task"])
                fate = self.fate[body["task"]] if silent_since else "not-found"
                if fate != "silent":
                    self.reply(event, fate)


class WithFakeBoard(OperatedFleet):
    """n-2 is an agent, n-1 is not."""

    boards = ("n-2",)
    nodes = ("n-1", "n-2")

    def start_submission(self, name):
        spec = os.path.join(self.root, name + ".json")
        with open(spec, "w", encoding="utf-8") as out:
            json.dump(task(name, epochs=100000), out)
        return subprocess.Popen([LAIRCTL, "submit", "-f", spec, "--any", "--timeout", "1s"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=self.environment())


class Lying(WithFakeBoard):
    """The chosen board accepts and does nothing."""

    def test_a_board_that_accepts_and_has_nothing_is_told_to_cancel_before_the_next_is_asked(self):
        fake = FakeBoard(self.up("n-1", subscriptions=[TOP + "ctl/n-1/cmd/+",
                                                       TOP + "ctl/all/cmd/+"]))
        fake.fate, fake.lies = {"lied": "not-found"}, {"lied"}
        fake.start()
        run = self.start_submission("lied")
        out, err = [text.decode() for text in run.communicate(timeout=40)]
        self.assertEqual((run.returncode, out), (0, "n-2: accepted\n"), err)
        self.assertIn("n-1 accepted it and does not have it", err)
        self.assertEqual(fake.cancelled, ["lied"])
        self.assertTrue(wait_until(lambda: self.tasks(node="n-2"), 5, every=0.3))
        self.assertEqual([t["name"] for t in self.tasks()], ["lied"])

    def test_what_a_board_says_does_not_steer_the_terminal(self):
        fake = FakeBoard(self.up("n-1", subscriptions=[TOP + "ctl/n-1/cmd/+",
                                                       TOP + "ctl/all/cmd/+"]))
        hostile = "\x1b]0;mine\x07\x1b[2Jgood\nn-2: accepted\u202edab\u2066\x9b31m"
        fake.says = {"night": hostile}
        fake.client.publish(TOP + "node/n-1/task/night", json.dumps(
            {"s": "laird.task/1.0", "name": "night", "state": "running", "lane": "cpu",
             "reason": hostile, "epoch": 1, "seq": 1}), kind="state", qos=1, retained=True)
        fake.start()
        for command in (["explain", "night", "--node", "n-1"], ["describe", "task", "night"],
                        ["get", "tasks", "-o", "wide"], ["get", "tasks", "-o", "json"]):
            said = self.lairctl(*command)
            text = said.out + said.err
            self.assertIn("good", text, command)
            self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
            self.assertNotRegex(text, "(?m)^n-2: accepted")
        (row,) = self.tasks(name="night")
        self.assertEqual(row["reason"], hostile, "a program gets what was said")


class Older(WithFakeBoard):
    """A board whose agent does not say of which kind its lanes are."""

    def test_it_is_asked_for_a_bid_after_the_places_and_gets_what_it_admits(self):
        fake = FakeBoard(self.up("n-1", subscriptions=[TOP + "ctl/n-1/cmd/+",
                                                       TOP + "ctl/all/cmd/+"]))
        # By its name its lane is one for a GPU, which the task does not want.
        fake.client.publish(TOP + "node/n-1/info", json.dumps(
            {"s": "laird.info/1.0", "trainers": ["softmax"], "lanes": ["gpu-or-not"],
             "memory_bytes": 10**10}), kind="state", qos=1, retained=True)
        fake.fate, fake.lies = {"old": "ok"}, {"old"}
        fake.bid = {"admits": True, "probability": 0.9, "finish_in_s": 5.0, "energy_j": None}
        fake.start()
        asked = self.submit(task("asked"), "--any", "--dry-run").err
        self.assertIn("it would go to n-2: done in", asked)
        self.lairctl("drain", "n-2")
        self.addCleanup(self.run_lairctl, "undrain", "n-2")

        def states():
            rows = self.lairctl("get", "nodes", "-o", "json").json()
            return {row["node"]: row["state"] for row in rows}
        self.assertTrue(wait_until(lambda: states()["n-2"] != "ready", 20, every=0.3), states())
        asked = self.submit(task("asked"), "--any", "--dry-run").err
        self.assertIn("it would go to n-1: met with 90%", asked)
        given = self.submit(task("old"), "--any")
        self.assertEqual(given.out, "n-1: ok\n", given)
        self.assertIn("offering it to n-1: met with 90%", given.err)
        self.assertEqual(list(fake.submitted), ["old"])


class Silent(WithFakeBoard):
    """The chosen board bids and then does not answer the submission."""

    def test_the_next_board_is_asked_only_when_the_first_surely_does_not_have_it(self):
        fake = FakeBoard(self.up("n-1", subscriptions=[TOP + "ctl/n-1/cmd/+",
                                                       TOP + "ctl/all/cmd/+"]))
        fake.fate = {"free": "not-found", "had": "ok", "mute": "silent"}
        fake.start()
        runs = {name: self.start_submission(name) for name in fake.fate}
        self.assertTrue(wait_until(lambda: len(fake.submitted) == 3, 10))
        # The command lives 1 s; with both clocks 30 s apart it may be taken for 31 s.
        waiting = set(runs)
        while waiting:
            if len(waiting) == len(runs):
                self.assertEqual(self.tasks(), [])
            ended = {name for name in waiting if runs[name].poll() is not None}
            waiting = {name for name in waiting
                       if time.monotonic() < fake.submitted[name] + 30}
            self.assertEqual(ended & waiting, set())
            time.sleep(0.5)
        said = {name: [text.decode() for text in run.communicate(timeout=20)]
                for name, run in runs.items()}
        codes = {name: run.returncode for name, run in runs.items()}
        self.assertEqual(codes, {"free": 0, "had": 0, "mute": 5}, said)
        self.assertEqual(said["free"][0], "n-2: accepted\n")
        self.assertEqual(said["had"][0], "n-1: accepted\n")
        self.assertIn("n-1 is silent", said["mute"][1])
        self.assertTrue(wait_until(lambda: self.tasks(node="n-2"), 5, every=0.3))
        self.assertEqual([t["name"] for t in self.tasks()], ["free"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

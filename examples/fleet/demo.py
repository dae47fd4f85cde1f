#!/usr/bin/env python3
"""Eight boards on one machine: a real broker with TLS, eight real agents with modelled power, real
training on Fashion-MNIST, a power budget cut half-way, one board killed and brought back.

  ./dev demo            two and a half minutes
  ./dev demo --quick    under one
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fleet as one_machine  # noqa: E402

# Seconds after the boards have joined, and the tasks' deadlines.
FULL = {"cut": 55, "kill": 75, "back": 95, "end": 140}
QUICK = {"cut": 14, "kill": 19, "back": 27, "end": 38}
BUDGET_W, CUT_TO_W = 78, 52
VICTIM = "n-orin-2"


def tasks(end):
    """More than the budget lets every board do at full speed; some cannot be done at all."""
    mlp = {"hidden": [96], "epochs": 400}
    deep = {"hidden": [192, 96], "learning_rate": 0.003, "epochs": 400}
    slow = {"learning_rate": 0.00001, "epochs": 4000}
    wanted = [
        # name, where (None: wherever it does best), trainer, lane, params, target, part of the time
        ("boots-svm", "n-nano-1", "svm", "cpu", {"positive_class": 9, "learning_rate": 5e-6,
                                                 "epochs": 4000}, 0.045, 0.8),
        ("labels-linear", "n-nano-2", "linear", "cpu", slow, 0.0375, 0.9),
        ("bags-svm", "n-nano-3", "svm", "cpu", {"positive_class": 8, "learning_rate": 5e-6,
                                                "epochs": 4000}, 0.03, 0.9),
        ("garments-softmax", "n-nano-4", "softmax", "cpu", slow, 0.52, 0.9),
        ("garments-mlp", "n-xavier-1", "mlp", "gpu", mlp, 0.22, 0.9),
        ("garments-deep", "n-xavier-2", "mlp", "gpu", deep, 0.17, 0.95),
        ("garments-wide", "n-orin-1", "mlp", "gpu", {"hidden": [256], "epochs": 400}, 0.16, 0.9),
        ("garments-perfect", "n-orin-2", "mlp", "gpu", deep, 0.01, 0.95),
        ("softmax-anywhere", None, "softmax", "cpu", slow, 0.60, 0.8),
        ("mlp-anywhere", None, "mlp", "gpu", mlp, 0.30, 0.9),
    ]
    for name, node, trainer, lane, params, target, part in wanted:
        yield node, {**one_machine.fashion(trainer, **params), "name": name, "lane": lane,
                     "target_loss": target, "deadline": "%ds" % int(part * (end - 8)),
                     "memory": "150MB", "report_every": 4000}


class Demo:
    def __init__(self, fleet, times, tty):
        self.fleet, self.times, self.tty = fleet, times, tty
        self.started = 0.0
        self.view = None

    def say(self, text):
        """To the terminal, unless the live view has it; always to the demo's own log."""
        at = time.monotonic() - self.started if self.started else 0.0
        line = "%5.0f s  %s" % (at, text)
        with open(os.path.join(self.fleet.folder, "demo.log"), "a", encoding="utf-8") as log:
            log.write(line + "\n")
        if self.view is None:
            print(line, flush=True)

    def at(self, moment):
        wait = self.started + self.times[moment] - time.monotonic()
        if wait > 0:
            time.sleep(wait)

    def wait_for_all(self):
        for _ in range(300):
            reports = self.fleet.latest("report")
            if len(reports) == len(self.fleet.boards) and not any(
                    r["fenced"] for r in reports.values()):
                return
            time.sleep(0.1)
        raise RuntimeError("not every board joined; see %s/*.log" % self.fleet.folder)

    def submit(self):
        for node, task in tasks(self.times["end"]):
            path = os.path.join(self.fleet.folder, task["name"] + ".json")
            with open(path, "w", encoding="utf-8") as out:
                json.dump(task, out, indent=2)
            where = ["--node", node] if node else ["--any"]
            said = self.fleet.ctl("submit", "-f", path, *where, check=False)
            self.say("lairctl submit -f %s %s: %s" % (task["name"] + ".json", " ".join(where),
                                                      said.strip().splitlines()[-1]))

    def summary(self):
        newest = self.fleet.newest("report", 7.0)
        # The mean of the last seconds, which is what a cap holds: a board that rests between
        # batches draws more than its cap while it works.
        power = sum(t.get("power_mean_w") or 0.0
                    for t in self.fleet.newest("tele/power", 7.0).values())
        running = sum(r["tasks"]["running"] for r in newest.values())
        return "%d boards draw %.0f W, %d tasks run" % (len(newest), power, running)

    def tell_now_and_then(self, done):
        while not done.wait(10):
            self.say(self.summary())

    def script(self):
        self.submit()
        self.at("cut")
        self.say("the budget is cut: lairctl cap set %dW" % CUT_TO_W)
        self.say(self.fleet.ctl("cap", "set", "%dW" % CUT_TO_W, check=False).strip())
        self.at("kill")
        self.say("kill -9 of the agent on %s: its trainers die with it, its share goes to others"
                 % VICTIM)
        self.fleet.kill_board(VICTIM)
        self.at("back")
        self.say("%s comes back and goes on from its journal and checkpoints" % VICTIM)
        self.fleet.start_board(VICTIM)
        self.at("end")

    def run(self):
        self.say("certificates, broker and eight configs in %s" % self.fleet.folder)
        self.fleet.make()
        self.fleet.start()
        self.say("mosquitto on localhost port %d with TLS, eight agents start" % self.fleet.port)
        self.wait_for_all()
        self.started = time.monotonic()
        self.say("all boards joined and agreed on their shares of %d W" % BUDGET_W)
        done = threading.Event()
        if self.tty:
            env = dict(os.environ, LAIRCTL_CONFIG=os.path.join(self.fleet.folder, "lairctl.json"))
            self.view = subprocess.Popen([os.path.join(self.fleet.programs, "lairctl"), "top"],
                                         env=env)
        else:
            threading.Thread(target=self.tell_now_and_then, args=(done,), daemon=True).start()
        try:
            self.script()
        finally:
            done.set()
            if self.view is not None:
                self.view.terminate()
                self.view.wait(5)
                self.view = None

    def close(self, page):
        self.say("boards write their checkpoints and leave")
        self.fleet.stop()
        if self.tty:
            with open(os.path.join(self.fleet.folder, "demo.log"), encoding="utf-8") as log:
                print(log.read(), end="")
        lab = os.path.join(self.fleet.programs, "laird-lab")
        print("\nJudged from what was recorded at the broker:", flush=True)
        verdict = subprocess.run([lab, "fleet", self.fleet.recording, "--page", page], check=False)
        journal = os.path.join(self.fleet.folder, "state", "n-orin-1", "journal")
        print("\npage:    %s\nreplay:  %s/lairctl replay %s" % (page, self.fleet.programs, journal))
        return verdict.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="under a minute")
    parser.add_argument("--folder", help="where everything goes (default: a new one in /tmp)")
    parser.add_argument("--page", help="where the page goes (default: in the folder)")
    parser.add_argument("--programs", default="build/release/bin", help="where laird is")
    parser.add_argument("--plain", action="store_true", help="lines even on a terminal")
    wishes = parser.parse_args()
    folder = wishes.folder or tempfile.mkdtemp(prefix="laird-fleet-")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.listdir(folder):
        sys.exit("%s is not empty; name a new folder" % folder)
    fleet = one_machine.Fleet(folder, os.path.abspath(wishes.programs), budget_w=BUDGET_W,
                              lease="10s" if not wishes.quick else "6s",
                              tick="500ms" if not wishes.quick else "250ms")
    demo = Demo(fleet, QUICK if wishes.quick else FULL,
                sys.stdout.isatty() and not wishes.plain)
    try:
        demo.run()
    except KeyboardInterrupt:
        print("\nstopped; the fleet shuts down", flush=True)
    except BaseException:
        fleet.stop()
        raise
    return demo.close(wishes.page or os.path.join(folder, "page.html"))


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Eight boards on one machine: a real broker with TLS, eight real agents with modelled power, real
training on Fashion-MNIST submitted to the fleet, a power budget cut half-way, one board killed, whose
tasks go on elsewhere.

  ./dev demo            about two minutes
  ./dev demo --quick    under one
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fleet as one_machine  # noqa: E402
import workload  # noqa: E402

# Seconds after the broker's start. `kill` comes earlier when the victim's task is well under way.
FULL = {"cut": 45, "kill": 75, "away": 14, "end": 135}
QUICK = {"cut": 14, "kill": 22, "away": 9, "end": 46}
BUDGET_W, CUT_TO_W = 78, 52
# Whoever has it is killed.
VICTIMS_TASK = workload.LATE[0].name
ENDS = ("succeeded", "missed", "exhausted", "failed", "cancelled")


class Demo:
    def __init__(self, fleet, times, tty):
        self.fleet, self.times, self.tty = fleet, times, tty
        self.started = time.monotonic()
        self.pace = 1.0
        self.view = None
        self.marks = []
        self.samples = {}  # by task: what it should take

    def say(self, text):
        """To the terminal, unless the live view has it; always to the demo's own log."""
        line = "%5.0f s  %s" % (time.monotonic() - self.started, text)
        with open(os.path.join(self.fleet.folder, "demo.log"), "a", encoding="utf-8") as log:
            log.write(line + "\n")
        if self.view is None:
            print(line, flush=True)

    def mark(self, text):
        self.marks.append("%.3f=%s" % (time.time(), text))

    def wait_until(self, second, condition=lambda: False):
        """Until then, or until the condition holds."""
        while time.monotonic() < self.started + second and not condition():
            self.look_after_view()
            time.sleep(0.25)

    def look_after_view(self):
        if self.view is None or self.view.poll() is None:
            return
        self.view = None
        self.say("lairctl top was left; the demo goes on in lines, Ctrl-C ends it")
        self.tell_now_and_then()

    def calibrate(self):
        per_s, per_core = workload.calibrate(self.fleet.programs, self.fleet.folder)
        self.pace = workload.pace_of(per_s, per_core)
        print(workload.told(per_s), flush=True)

    def wait_for_all(self):
        def all_in():
            reports = self.fleet.latest("report")
            return len(reports) == len(self.fleet.boards) and not any(
                r["fenced"] for r in reports.values())
        self.wait_until(40, all_in)
        if not all_in():
            raise RuntimeError("not every board joined; see %s/*.log" % self.fleet.folder)

    def submit(self, tasks):
        for task in tasks:
            left = self.times["end"] - 2 - (time.monotonic() - self.started)
            path = os.path.join(self.fleet.folder, task.name + ".json")
            spec = task.spec(self.pace, left * (0.75 if task.why else 1.0))
            self.samples[task.name] = task.samples(self.pace, left)
            with open(path, "w", encoding="utf-8") as out:
                json.dump(spec, out, indent=2)
            said = self.fleet.ctl("submit", "-f", path, "--any", check=False).strip().splitlines()
            self.look_after_view()
            self.say("submit %-17s --any  to loss %-6g in %4s: %s%s" % (
                task.name, spec["target_loss"], spec["deadline"], said[-1] if said else "no answer",
                ", out of reach by design" if task.why else ""))

    def states(self):
        """Of all tasks, by name: the newest word of the board that has it, and which board that is."""
        out = {}
        for _, topic, payload in self.fleet.messages():
            level = topic.split("/")
            if level[0] != "node" or level[2] != "task" or not payload:
                continue
            known = out.get(level[3])
            if known and known["state"] in ENDS and known["node"] != level[1]:
                continue  # of a board that has not heard yet that another one did it
            out[level[3]] = {**json.loads(payload), "node": level[1]}
        return out

    def victim(self):
        return self.states().get(VICTIMS_TASK, {}).get("node")

    def victim_at_work(self):
        """Its task has come some way, another board has a copy, and its end is not near."""
        task = self.states().get(VICTIMS_TASK, {})
        return ((task.get("title") or {}).get("backed", False)
                and task.get("samples", 0) >= 0.3 * self.samples[VICTIMS_TASK])

    def has_gone_on(self, victim):
        task = self.states().get(VICTIMS_TASK, {})
        return task.get("node") not in (None, victim) and task.get("samples", 0) > 0

    def all_over(self):
        states = self.states()
        return len(states) == len(workload.FIRST + workload.LATE) and all(
            s["state"] in ENDS for s in states.values())

    def summary(self):
        heard = self.fleet.newest("tele/power", 2.5)  # each says it every second
        # The mean of the last seconds, which is what a cap holds: a board that rests between
        # batches draws more than its cap while it works.
        power = sum(t.get("power_mean_w") or 0.0 for t in heard.values())
        states = [s["state"] for s in self.states().values()]
        budget = max((r["shares"]["power"]["budget_w"]
                      for r in self.fleet.newest("report", 7.0).values()), default=0)
        return "%d boards draw %.0f W of %.0f W; tasks: %d live, %d succeeded, %d missed" % (
            len(heard), power, budget, sum(s not in ENDS for s in states),
            states.count("succeeded"), states.count("missed"))

    def tell_now_and_then(self):
        def tell():
            while not self.fleet.done.wait(10):
                if not self.fleet.leaving:
                    self.say(self.summary())
        threading.Thread(target=tell, daemon=True).start()

    def script(self):
        self.submit(workload.FIRST)
        for task in workload.FIRST:
            if task.why:
                self.say("by design nobody reaches %s: %s" % (task.name, task.why))
        self.wait_until(self.times["cut"])
        self.say("the budget is cut: lairctl cap set %dW" % CUT_TO_W)
        self.mark("cut to %d W" % CUT_TO_W)
        self.say(self.fleet.ctl("cap", "set", "%dW" % CUT_TO_W, check=False).strip())
        self.submit(workload.LATE)
        self.wait_until(self.times["kill"], self.victim_at_work)
        victim = self.victim()
        if victim is None:
            raise RuntimeError("no board has %s; see %s/demo.log" % (VICTIMS_TASK, self.fleet.folder))
        self.say("kill -9 of the agent on %s, with %s on it: its trainers die too, its share goes to "
                 "the others, its tasks to their backups" % (victim, VICTIMS_TASK))
        self.mark("kill -9 " + victim)
        self.fleet.kill_board(victim)
        self.wait_until(time.monotonic() - self.started + self.times["away"],
                        lambda: self.has_gone_on(victim))
        if self.has_gone_on(victim):
            task = self.states()[VICTIMS_TASK]
            self.say("%s goes on at %s (%s)" % (VICTIMS_TASK, task["node"], task.get("moved") or
                                                task["state"]))
        else:
            self.say("%s has not gone on elsewhere yet" % VICTIMS_TASK)
        self.say("%s comes back, and leaves to the others what they took over" % victim)
        self.mark(victim + " back")
        self.fleet.start_board(victim)
        self.wait_until(self.times["end"], self.all_over)
        self.say("every task is over" if self.all_over() else "the time is up")

    def run(self):
        print("certificates, the broker's files and eight configs in %s" % self.fleet.folder,
              flush=True)
        self.fleet.make()
        self.calibrate()
        self.started = time.monotonic()
        self.fleet.start()
        self.say("mosquitto on localhost port %d with TLS; eight agents start" % self.fleet.port)
        self.wait_for_all()
        self.say("all boards joined and agreed on their shares of %d W" % BUDGET_W)
        if self.tty:
            env = dict(os.environ, LAIRCTL_CONFIG=os.path.join(self.fleet.folder, "lairctl.json"))
            self.view = subprocess.Popen([os.path.join(self.fleet.programs, "lairctl"), "top"],
                                         env=env)
        else:
            self.tell_now_and_then()
        try:
            self.script()
        finally:
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
        known = [arg for mark in self.marks for arg in ("--mark", mark)]
        seen = self.states()
        for task in workload.FIRST + workload.LATE:
            if task.why and task.name in seen:
                known += ["--out-of-reach", task.name]
        print("\nJudged from what was recorded at the broker:\n", flush=True)
        verdict = subprocess.run([os.path.join(self.fleet.programs, "laird-lab"), "fleet",
                                  self.fleet.recording, "--tasks", "--page", page, *known],
                                 check=False)
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
    folder = os.path.abspath(wishes.folder or tempfile.mkdtemp(prefix="laird-fleet-"))
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.listdir(folder):
        sys.exit("%s is not empty; name a new folder" % folder)
    fleet = one_machine.Fleet(folder, os.path.abspath(wishes.programs), budget_w=BUDGET_W,
                              lease="6s" if wishes.quick else "10s",
                              tick="250ms" if wishes.quick else "500ms",
                              checkpoint_every="2s" if wishes.quick else "4s")
    demo = Demo(fleet, QUICK if wishes.quick else FULL, sys.stdout.isatty() and not wishes.plain)
    # Ended by a signal it cleans up as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        demo.run()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what runs is ended in any case
        print("\nstopped; the fleet shuts down", flush=True)
        fleet.stop()
        return 128 + signal.SIGINT
    except BaseException:
        fleet.stop()
        raise
    return demo.close(os.path.abspath(wishes.page or os.path.join(folder, "page.html")))


if __name__ == "__main__":
    sys.exit(main())

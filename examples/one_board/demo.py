#!/usr/bin/env python3
"""One board alone: six real tasks on Fashion-MNIST, four with targets that this machine can reach, two that
nobody could. A second of training at the start measures the machine and sets the targets.

  ./dev demo --one-board    about a minute; further arguments go to `laird run`
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../fleet"))
import workload  # noqa: E402

SECONDS = 50
OUT_OF_REACH_SECONDS = 40
OUTCOME = re.compile(r"Z  (succeeded|missed|exhausted|failed|cancelled)\b", re.M)


def without_comments(text):
    return re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*', lambda m: m.group(1) or "", text)


def make_config(pace):
    """The example's config, with the tasks of the workload in it."""
    with open(os.path.join(HERE, "laird.json"), encoding="utf-8") as text:
        config = json.loads(without_comments(text.read()))
    config["tasks"] = [task.spec(pace, OUT_OF_REACH_SECONDS if task.why else SECONDS)
                       for task in workload.ONE_BOARD]
    return config


def outcomes(programs, journal):
    """Of every task, as its journal replays; and what the last replay said."""
    out, said = {}, ""
    for task in workload.ONE_BOARD:
        said = subprocess.run([os.path.join(programs, "lairctl"), "replay", journal, "--explain",
                               task.name], stdout=subprocess.PIPE, text=True, check=True).stdout
        ends = OUTCOME.findall(said)
        out[task.name] = ends[-1] if ends else "not over"
    return out, said.splitlines()[-1]


def verdict(ends):
    """(the line that sums it up, whether all went as it should)"""
    real = [task.name for task in workload.ONE_BOARD if not task.why]
    reached = sum(ends[name] == "succeeded" for name in real)
    beyond = [task.name for task in workload.ONE_BOARD if task.why]
    missed = sum(ends[name] == "missed" for name in beyond)
    text = "%d of %d tasks reached the target loss in time; of %d out of reach by design %d missed it" % (
        reached, len(real), len(beyond), missed)
    return text, reached == len(real) and missed == len(beyond)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="build/release/bin", help="where laird is")
    wishes, more = parser.parse_known_args()
    programs = os.path.abspath(wishes.programs)
    folder = tempfile.mkdtemp(prefix="laird-demo-")
    print("six tasks on one board alone, with modelled power; config and state are in %s" % folder)
    per_s, per_core = workload.calibrate(programs, folder)
    print(workload.told(per_s))
    config = make_config(workload.pace_of(per_s, per_core))
    for task, spec in zip(workload.ONE_BOARD, config["tasks"]):
        print("  %-17s on the %s lane to loss %-6g in %4s%s" % (
            task.name, task.lane, spec["target_loss"], spec["deadline"],
            "; out of reach by design: " + task.why if task.why else ""))
    sys.stdout.flush()
    path = os.path.join(folder, "laird.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(config, out, indent=2)
    laird = subprocess.Popen([os.path.join(programs, "laird"), "run", "--config", path, "--state-dir",
                              os.path.join(folder, "state"), "--until-done", *more])
    # Ctrl-C reaches laird by itself: it writes checkpoints and sums up, and this waits for it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, lambda *_: laird.terminate())
    code = laird.wait()
    if code != 0:
        return code
    ends, replayed = outcomes(programs, os.path.join(folder, "state", "journal"))
    if "not over" in ends.values():
        print("stopped before every task was over")
        return 0
    text, good = verdict(ends)
    print("\n%s\nits journal, stepped again: %s" % (text, replayed))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

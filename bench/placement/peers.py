#!/usr/bin/env python3
"""The planner beside CP-SAT, HiGHS and CBC: the same instances, the same CPU time of one thread.

    bench/placement/peers.py [--lab build/release/bin/laird-lab] [--seconds 1] [--seeds 10]
                             [--cases S20,S50,S100,S1000,C20,C50,C100,C1000] [--json]

One line per case and solver: the gap of the makespan to the best bound that anyone proved, mean and
worst over the seeds, and when the first plan was there. In mode C CP-SAT gets the plan of "first
come, first served on the least loaded board" as a hint, without which it is far behind; in mode S a
hint holds it back. A peer that is not installed is named and
left out: python3 -m venv build/peers && build/peers/bin/pip install ortools highspy, then run this
with build/peers/bin/python.
"""

import argparse
import collections
import importlib.util
import json
import subprocess
import sys
import tempfile
import threading
import time

Run = collections.namedtuple("Run", "makespan bound first_s")  # makespan None: no plan


def lab_json(lab, *words):
    done = subprocess.run([lab, "placement", *words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def pairs_of(instance):
    """(task, board, seconds, gpu) of every pair that may be."""
    for t, task in enumerate(instance["tasks"]):
        for b, board in enumerate(instance["boards"]):
            if task["time_s"][b] > 0 and task["memory_mb"] <= board["memory_mb"]:
                yield t, b, task["time_s"][b], task["gpu"][b]


def stop_after_cpu(seconds, stop):
    """Calls stop() once this process has used so many seconds more of CPU."""
    end = time.process_time() + seconds
    gone = threading.Event()

    def watch():
        while not gone.wait(0.005):
            if time.process_time() >= end:
                stop()
                return

    threading.Thread(target=watch, daemon=True).start()
    return gone


def cp_sat(instance, mode, seconds):
    from ortools.sat.python import cp_model

    class FirstPlan(cp_model.CpSolverSolutionCallback):
        first_s = None

        def on_solution_callback(self):
            if self.first_s is None:
                self.first_s = time.process_time() - begun

    begun = time.process_time()
    model = cp_model.CpModel()
    horizon = sum(max(t["time_s"]) for t in instance["tasks"])
    makespan = model.new_int_var(0, horizon, "makespan")
    chosen = collections.defaultdict(list)
    loads = collections.defaultdict(list)
    spans = collections.defaultdict(list)
    hint = {p["task"]: p for p in instance["hint"]["tasks"]}
    if mode == "C":
        model.add_hint(makespan, instance["hint"]["makespan_s"])
    for t, b, time_s, gpu in pairs_of(instance):
        here = model.new_bool_var("")
        chosen[t].append(here)
        if mode == "S":
            loads[b].append(time_s * here)
            continue
        first = hint[instance["tasks"][t]["name"]]
        is_first = first["board"] == instance["boards"][b]["name"]
        start = model.new_int_var(0, horizon, "")
        model.add_hint(here, is_first)
        model.add_hint(start, first["start_s"] if is_first else 0)
        span = model.new_optional_fixed_size_interval_var(start, time_s, here, "")
        spans[b].append((span, gpu, instance["tasks"][t]["memory_mb"]))
        model.add(start + time_s <= makespan).only_enforce_if(here)
        loads[b].append((time_s * gpu) * here)
    for boards in chosen.values():
        model.add_exactly_one(boards)
    for b, board in enumerate(instance["boards"]):
        if mode == "S":
            model.add(sum(loads[b]) <= makespan)
        elif spans[b]:
            intervals = [s for s, _, _ in spans[b]]
            model.add_cumulative(intervals, [g for _, g, _ in spans[b]], board["gpu"])
            model.add_cumulative(intervals, [m for _, _, m in spans[b]], board["memory_mb"])
            model.add(sum(loads[b]) <= board["gpu"] * makespan)
    model.minimize(makespan)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    callback = FirstPlan()
    # Building the model is part of its time, as it is of the others'.
    gone = stop_after_cpu(seconds - (time.process_time() - begun), solver.stop_search)
    status = solver.solve(model, callback)
    gone.set()
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return Run(round(solver.objective_value) if found else None, solver.best_objective_bound,
               callback.first_s)


def highs(instance, _mode, seconds):
    """Mode S as a mixed integer programme."""
    import highspy
    import numpy

    begun = time.process_time()
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.setOptionValue("threads", 1)
    inf = highspy.kHighsInf
    h.addVar(0, inf)
    h.changeColCost(0, 1.0)
    chosen, loads, columns = collections.defaultdict(list), collections.defaultdict(list), 1
    for t, b, time_s, _ in pairs_of(instance):
        h.addVar(0, 1)
        h.changeColIntegrality(columns, highspy.HighsVarType.kInteger)
        chosen[t].append(columns)
        loads[b].append((columns, time_s))
        columns += 1
    for row in chosen.values():
        h.addRow(1, 1, len(row), numpy.array(row, dtype=numpy.int32), numpy.ones(len(row)))
    for row in loads.values():
        h.addRow(-inf, 0, len(row) + 1, numpy.array([0] + [c for c, _ in row], dtype=numpy.int32),
                 numpy.array([-1.0] + [s for _, s in row]))
    h.HandleUserInterrupt = True
    gone = stop_after_cpu(seconds - (time.process_time() - begun), h.cancelSolve)
    h.run()
    gone.set()
    info = h.getInfo()
    found = info.primal_solution_status == 2
    return Run(round(info.objective_function_value) if found else None, info.mip_dual_bound, None)


def ours(lab, name, mode, seconds, solver):
    try:
        r = lab_json(lab, "solve", "--instance", name, "--mode", mode, "--time", "%gs" % seconds,
                     "--solver", solver, "--json")
    except subprocess.CalledProcessError:
        return Run(None, 0, None)
    return Run(r["makespan_s"], r["bound_s"], r["trace"][0][0])


PEERS = {"CP-SAT": ("ortools", cp_sat), "HiGHS": ("highspy", highs)}


def installed(who):
    return importlib.util.find_spec(PEERS[who][0]) is not None


def in_own_process(who, instance, mode, seconds):
    """The peers' libraries do not bear each other in one process, and so each is timed alone."""
    done = subprocess.run([sys.executable, __file__, "--peer", who, mode, str(seconds)],
                          input=json.dumps(instance), capture_output=True, text=True, check=True)
    return Run(*json.loads(done.stdout.splitlines()[-1]))


def greedy_plan(lab, name, mode):
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        lab_json(lab, "solve", "--instance", name, "--mode", mode, "--solver", "fcfs", "--plan",
                 file.name, "--json")
        with open(file.name, encoding="utf-8") as plan:
            return json.load(plan)


def solvers(lab, mode, seconds):
    out = {"laird": lambda name, _: ours(lab, name, mode, seconds, "search")}
    for who in PEERS:
        if installed(who) and (mode == "S" or who == "CP-SAT"):
            out[who] = lambda _, instance, who=who: in_own_process(who, instance, mode, seconds)
    if mode == "S":
        out["CBC"] = lambda name, _: ours(lab, name, mode, seconds, "cbc")
    return out


def run_case(lab, case, boards, seconds, seeds):
    mode, tasks = case[0], int(case[1:])
    runs = collections.defaultdict(list)
    for seed in range(1, seeds + 1):
        name = "gen:%d:%d:%d" % (tasks, boards, seed)
        instance = lab_json(lab, "instance", name)
        instance["hint"] = greedy_plan(lab, name, mode)
        once = {who: solve(name, instance) for who, solve in solvers(lab, mode, seconds).items()}
        bound = max(r.bound for r in once.values())
        for who, r in once.items():
            gap = None if r.makespan is None else 100.0 * (r.makespan / bound - 1.0)
            runs[who].append({"seed": seed, "makespan_s": r.makespan, "bound_s": r.bound,
                              "gap_percent": gap, "first_s": r.first_s})
    return runs


def print_case(case, boards, runs):
    for who, rows in runs.items():
        gaps = [r["gap_percent"] for r in rows if r["gap_percent"] is not None]
        firsts = [r["first_s"] for r in rows if r["first_s"] is not None]
        against = [(a["makespan_s"], b["makespan_s"]) for a, b in zip(runs["laird"], rows)
                   if b["makespan_s"] is not None]
        worse = sum(1 for a, b in against if a > b)
        print("%-6s x %-3d %-7s plans %2d of %2d  gap mean %s worst %s  first plan %s  laird worse in %d" % (
            case, boards, who, len(gaps), len(rows),
            "%6.3f%%" % (sum(gaps) / len(gaps)) if gaps else "   -   ",
            "%6.3f%%" % max(gaps) if gaps else "   -   ",
            "%6.1f ms" % (1e3 * max(firsts)) if firsts else "    -   ", worse), flush=True)


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "--peer":
        solve = PEERS[sys.argv[2]][1]
        print(json.dumps(solve(json.load(sys.stdin), sys.argv[3], float(sys.argv[4]))))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lab", default="build/release/bin/laird-lab")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--boards", type=int, default=8)
    parser.add_argument("--cases", default="S20,S50,S100,S1000,C20,C50,C100,C1000")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    for who in PEERS:
        if not installed(who):
            print("skipped: %s, since %s is not installed" % (who, PEERS[who][0]), file=sys.stderr)
    everything = {}
    for case in options.cases.split(","):
        runs = run_case(options.lab, case, options.boards, options.seconds, options.seeds)
        everything[case] = runs
        if not options.json:
            print_case(case, options.boards, runs)
    if options.json:
        print(json.dumps(everything))
    return 0


if __name__ == "__main__":
    sys.exit(main())

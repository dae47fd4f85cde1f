"""A fleet's budget goes where it can be used: power to the one busy board of twelve, the time of cpu and
gpu lanes by the same rule."""

import json
import os
import shutil
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../examples/fleet"))
import fleet as one_machine  # noqa: E402
import workload  # noqa: E402

BIN = os.path.abspath(os.environ.get("LAIRD_BIN", "build/release/bin"))

TWELVE = [("n-nano-%d" % i, "nano-4gb", 2.0) for i in range(6)] + [
    ("n-xavier-%d" % i, "xavier-nx-8gb", 5.0) for i in range(3)] + [
    ("n-orin-%d" % i, "orin-nx-16gb", 5.5) for i in range(3)]
BUSY = "n-orin-1"
BUDGET_W = 100.0
TICK_S = 0.5
ORIN_CPU_W = 4.5 + 9.0  # idle and its cpu lane, by board_configs/orin_nx_16gb.json


def endless(name, lane, deadline_s):
    """Learns for as long as it may, on data made up on the spot."""
    return {"name": name, "trainer": "linear", "lane": lane, "deadline": "%ds" % deadline_s,
            "target_loss": 1e-9, "memory": "40MB", "report_every": 2000,
            "params": {"data": {"format": "synthetic", "rows": 4000, "features": 16},
                       "epochs": 100000}}


class BudgetedFleet(one_machine.Fleet):
    """With a budget of another resource than power."""

    def __init__(self, *args, budget, tasks, **more):
        super().__init__(*args, **more)
        self.budget, self.tasks = budget, tasks

    def config_of(self, board):
        config = super().config_of(board)
        config["fleet"]["budget"] = self.budget
        config["fleet"]["members"] = {node: {} for node in self.boards}
        config["tasks"] = self.tasks.get(board.node, [])
        return config


class FleetTest(unittest.TestCase):

    def run_fleet(self, fleet):
        self.addCleanup(fleet.stop)
        fleet.make()
        fleet.start()
        self.wait_for(lambda: self.all_in(fleet), 60, "every board to join")
        return fleet

    def folder(self):
        folder = tempfile.mkdtemp(prefix="laird-watts-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    @staticmethod
    def all_in(fleet):
        reports = fleet.latest("report")
        return len(reports) == len(fleet.boards) and not any(r["fenced"] for r in reports.values())

    def wait_for(self, condition, seconds, what):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "waited %d s for %s" % (seconds, what))
            time.sleep(0.1)


class Power(FleetTest):

    def submit(self, fleet, seconds):
        per_s, per_core = workload.calibrate(BIN, fleet.folder)
        task = workload.Task("one", "cpu", "softmax", 100_000, 0.6)
        path = os.path.join(fleet.folder, "one.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(task.spec(workload.pace_of(per_s, per_core), seconds), out)
        fleet.ctl("submit", "-f", path, "--node", BUSY)
        return time.time()

    def test_one_task_in_the_fleet_has_all_the_power_that_its_board_can_use(self):
        fleet = self.run_fleet(one_machine.Fleet(self.folder(), BIN, name="watts", boards=TWELVE,
                                                 budget_w=BUDGET_W, tick="%dms" % (1000 * TICK_S)))
        seconds = 75
        submitted = self.submit(fleet, seconds)
        caps, throttled = [], 0

        def over():
            nonlocal throttled
            tele = fleet.newest("tele/power", 3.0)
            if BUSY in tele and len(tele) == len(TWELVE) and tele[BUSY]["running"]:
                drawn = sum(t["power_mean_w"] or 0.0 for t in tele.values())
                age = time.time() - submitted
                caps.append((age, tele[BUSY]["cap_w"]))
                held = tele[BUSY]["cap_w"] < ORIN_CPU_W
                # Beside the 20 ticks there is the delay of the telemetry itself.
                if age > 20 * TICK_S + 3.0 and held and drawn < 0.9 * BUDGET_W:
                    throttled += 1
            states = [json.loads(p)["state"] for _, topic, p in fleet.messages()
                      if topic == "node/%s/task/one" % BUSY and p]
            return states and states[-1] in ("succeeded", "missed", "exhausted", "failed")

        self.wait_for(over, seconds + 30, "the end of the task")
        self.assertGreater(len(caps), 0)
        # On a fast machine the task may be over before the 20 ticks are.
        late = [cap for age, cap in caps if age > 20 * TICK_S + 3.0] or [caps[-1][1]]
        self.assertGreaterEqual(min(late), ORIN_CPU_W, caps)
        self.assertEqual(throttled, 0, caps)
        task = json.loads([p for _, topic, p in fleet.messages()
                           if topic == "node/%s/task/one" % BUSY and p][-1])
        self.assertEqual(task["state"], "succeeded", task)
        # What is enforced never adds up to more than the budget, idle boards or not.
        reports = fleet.latest("report")
        self.assertLessEqual(sum(r["shares"]["power"]["enforced_w"] for r in reports.values()),
                             BUDGET_W + 0.01)


class LaneTime(FleetTest):
    """Three boards, budgets of cpu and of gpu time; the trainers are real processes."""

    BOARDS = [("n-%d" % i, "orin-nano-8gb", 0.0) for i in range(3)]

    def shares(self, fleet, resource, unit):
        return {node: r["shares"][resource]["enforced_" + unit]
                for node, r in fleet.latest("report").items()}

    def busy_part(self, fleet, node, task, seconds):
        """Of its lane's time, from what the board says of the task."""
        said = []

        def heard_for_long_enough():
            said[:] = [(at, json.loads(p)["busy_s"]) for at, topic, p in fleet.messages()
                       if topic == "node/%s/task/%s" % (node, task) and p and at >= began]
            return said and said[-1][0] - said[0][0] >= seconds

        began = time.time()
        self.wait_for(heard_for_long_enough, seconds + 30, "the board to speak of its task")
        return (said[-1][1] - said[0][1]) / (said[-1][0] - said[0][0])

    def check(self, resource, unit, whole, lane, budget):
        """A board alone in having work gets all the time of its lane; two share what there is."""
        tasks = {"n-0": [endless("alone", lane, 120)]}
        fleet = self.run_fleet(BudgetedFleet(
            self.folder(), BIN, name="lanes", boards=self.BOARDS, budget=budget, tasks=tasks,
            tick="%dms" % (1000 * TICK_S)))
        self.wait_for(lambda: self.shares(fleet, resource, unit)["n-0"] >= 0.98 * whole, 30,
                      "all of the budget to be with the busy board")
        path = os.path.join(fleet.folder, "second.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(endless("second", lane, 120), out)
        fleet.ctl("submit", "-f", path, "--node", "n-1")

        def halves():
            now = self.shares(fleet, resource, unit)
            return all(0.4 * whole < now[node] < 0.6 * whole for node in ("n-0", "n-1"))
        self.wait_for(halves, 40, "the budget to be divided between two busy boards")
        self.assertLess(self.busy_part(fleet, "n-0", "alone", 8.0), 0.7)

    def test_cpu_goes_to_the_boards_with_work_and_limits_their_trainers(self):
        # One core for three boards of two lanes of one core each; a cpu task uses one of them.
        self.check("cpu", "milli", 1000, "cpu", {"cpu": 1.0})

    def test_gpu_time_goes_to_the_boards_with_work_and_limits_their_trainers(self):
        self.check("gpu", "ppm", 1_000_000, "gpu", {"gpu": 1.0})


if __name__ == "__main__":
    unittest.main(verbosity=2)

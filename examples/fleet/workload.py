"""What the demos train: real tasks on Fashion-MNIST, each with a target that this machine can reach in
the time there is, and two that nobody could. The fleet of eight boards and the board alone share it."""

import json
import math
import os
import subprocess

import fleet as one_machine

# Loss after so many samples, measured with `laird-train KIND --params FILE --samples N` (means around
# each point). It is the same on every machine; only how long it takes is not.
MODELS = {
    "boots": ("svm", {"positive_class": 9, "learning_rate": 5e-6, "epochs": 4000},
              [(240000, 0.115), (380000, 0.09), (610000, 0.065), (970000, 0.0585), (1500000, 0.0535),
               (2400000, 0.0495), (3900000, 0.046), (6200000, 0.0431), (9800000, 0.0405)]),
    "bags": ("svm", {"positive_class": 8, "learning_rate": 5e-6, "epochs": 4000},
             [(300000, 0.112), (460000, 0.0883), (710000, 0.0654), (1100000, 0.0587),
              (1700000, 0.0535), (2700000, 0.0498), (4100000, 0.0471), (6400000, 0.0448),
              (9900000, 0.0428)]),
    "linear": ("linear", {"learning_rate": 1e-5, "epochs": 4000},
               [(98000, 0.0621), (160000, 0.0558), (270000, 0.0498), (460000, 0.0461),
                (760000, 0.0434), (1300000, 0.041), (2100000, 0.0394), (3600000, 0.038),
                (5900000, 0.037)]),
    "softmax": ("softmax", {"learning_rate": 1e-5, "epochs": 4000},
                [(93000, 1.31), (160000, 1.07), (260000, 0.887), (440000, 0.774), (740000, 0.688),
                 (1200000, 0.625), (2100000, 0.567), (3500000, 0.525), (5900000, 0.491)]),
    "mlp": ("mlp", {"hidden": [96], "epochs": 400},
            [(19000, 0.531), (30000, 0.466), (48000, 0.397), (76000, 0.376), (120000, 0.345),
             (190000, 0.315), (310000, 0.279), (500000, 0.242), (790000, 0.204)]),
    "wide": ("mlp", {"hidden": [256], "epochs": 400},
             [(9400, 0.581), (15000, 0.512), (23000, 0.45), (36000, 0.413), (57000, 0.377),
              (90000, 0.351), (140000, 0.318), (220000, 0.283), (350000, 0.254)]),
    "deep": ("mlp", {"hidden": [192, 96], "learning_rate": 0.003, "epochs": 400}, []),
}

# What calibrate() measured where the rates below were: samples a second of softmax, all cores at once.
REFERENCE_PER_S = 250_000
REFERENCE_PER_CORE = 125_000
# Beyond this it is the power budget, which no machine makes larger, that sets the rate.
PACE_MAX = 1.8


class Task:
    """`rate`: samples a second that it got on a small board, beside all the others and within the
    board's share of the power budget. `part`: of the time it has, what it should take at that rate; the
    rest is margin. `target`: not from the machine's speed but out of reach."""

    def __init__(self, name, lane, model, rate=0, part=0.0, target=None, why=""):
        self.name, self.lane, self.model = name, lane, model
        self.rate, self.part, self.target, self.why = rate, part, target, why

    def samples(self, pace, seconds):
        """What it should take to the target, if that is in reach."""
        wanted = pace * self.rate * self.part * seconds
        curve = MODELS[self.model][2]
        return min(max(wanted, curve[0][0]), curve[-1][0]) if self.target is None else wanted

    def spec(self, pace, seconds):
        """As submitted: to be done in so many seconds on a machine of that pace."""
        trainer, params, curve = MODELS[self.model]
        samples = self.samples(pace, seconds)
        target = self.target
        if target is None:
            target = float("%.3g" % loss_after(curve, samples))
        return {**one_machine.fashion(trainer, **params), "name": self.name, "lane": self.lane,
                "target_loss": target, "deadline": "%ds" % int(seconds), "memory": "150MB",
                "report_every": max(1000, int(samples / 40) // 500 * 500)}


FIRST = [
    Task("boots-svm", "cpu", "boots", 120_000, 0.25),
    Task("labels-linear", "cpu", "linear", 95_000, 0.3),
    Task("bags-svm", "cpu", "bags", 220_000, 0.25),
    Task("garments-softmax", "cpu", "softmax", 100_000, 0.27),
    Task("garments-mlp", "gpu", "mlp", 10_000, 0.35),
    Task("garments-wide", "gpu", "wide", 5_500, 0.3),
    Task("garments-perfect", "gpu", "deep", 2_000, 1.0, target=0.01,
         why="no network gets there in so short a time"),
    Task("softmax-perfect", "cpu", "softmax", 100_000, 0.3, target=0.1,
         why="softmax regression does not fit this data so well"),
    Task("softmax-anywhere", "cpu", "softmax", 20_000, 0.3),
]
# After the cut; the board that gets the first of them is killed. Its checkpoint is small enough to be
# copied to another board.
LATE = [
    Task("late-boots", "cpu", "boots", 80_000, 0.25),
    Task("late-mlp", "gpu", "mlp", 4_500, 0.3),
    Task("late-softmax", "cpu", "softmax", 50_000, 0.25),
]

# One board alone. The rates are those of a lane that one task has to itself: a lane's tasks take turns.
ONE_BOARD = [
    Task("garment-mlp", "gpu", "mlp", 20_000, 0.2),
    Task("garment-mlp-deep", "gpu", "deep", 5_000, 1.0, target=0.01,
         why="no network gets there in so short a time"),
    Task("garment-softmax", "cpu", "softmax", 100_000, 0.08),
    Task("boots-svm", "cpu", "boots", 120_000, 0.08),
    Task("label-linear", "cpu", "linear", 95_000, 0.08),
    Task("softmax-perfect", "cpu", "softmax", 100_000, 0.3, target=0.1,
         why="softmax regression does not fit this data so well"),
]


def loss_after(curve, samples):
    """Straight lines between the points of the curve, both axes logarithmic."""
    for (n0, l0), (n1, l1) in zip(curve, curve[1:]):
        if samples <= n1:
            part = math.log(samples / n0) / math.log(n1 / n0)
            return math.exp(math.log(l0) + part * math.log(l1 / l0))
    return curve[-1][1]


def calibrate(programs, folder):
    """Trains on every core for a second: samples a second of all together, and of one."""
    path = os.path.join(folder, "calibrate.json")
    trainer, params, _ = MODELS["softmax"]
    with open(path, "w", encoding="utf-8") as out:
        json.dump(one_machine.fashion(trainer, **params)["params"], out)
    cores = len(os.sched_getaffinity(0))
    runs = [subprocess.Popen([os.path.join(programs, "laird-train"), trainer, "--params", path,
                              "--seconds", "1"], stdout=subprocess.PIPE, text=True)
            for _ in range(cores)]
    per_s = []
    for run in runs:
        said = run.communicate(timeout=60)[0]
        if run.returncode != 0:
            raise RuntimeError("laird-train does not run: exit code %d" % run.returncode)
        per_s.append(float(said.rsplit("samples_per_s=", 1)[1]))
    return sum(per_s), sum(per_s) / cores


def told(per_s):
    """What calibrate() found, for people."""
    return ("a second of training on every core: %.0f 000 samples/s of softmax regression; the "
            "targets are set for that" % (per_s / 1000))


def pace_of(per_s, per_core):
    """How much faster than the reference. Many cores help only so far: a trainer uses one."""
    return min(per_s / REFERENCE_PER_S, 1.5 * per_core / REFERENCE_PER_CORE, PACE_MAX)

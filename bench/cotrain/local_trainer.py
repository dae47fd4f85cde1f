"""laird's side of bench/cotrain/local_steps: the model of local_model.py through laird_trainer.py."""

import json
import os
import resource
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "trainers", "python")]
import numpy as np  # noqa: E402

import laird_trainer  # noqa: E402
from local_model import Model, Rows  # noqa: E402


def peak_kb(pid):
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))


with laird_trainer.connect() as trainer:
    p = trainer.params
    if "weights" in p:  # nothing to learn: only as much to exchange
        model, rows = Model("softmax", 10, 1), None
        model.weights = [np.zeros(p["weights"], "f4")]
    else:
        x, y = np.load("x.npy"), np.load("y.npy")
        model, rows = Model(p["model"], x.shape[1], 1), Rows(x, y, p["batch"], p["seed"])
    source = np.random.default_rng(p["seed"])

    def save(path):
        with open(path, "wb") as file:
            np.savez(file, *model.weights)

    def load(path):
        with np.load(path) as found:
            model.weights = [found[name] for name in found.files]

    # A board that is wrong multiplies its changes by so much.
    times = 1.0
    if os.path.exists("shouts"):
        with open("shouts", encoding="utf-8") as file:
            times = float(file.read())
    trainer.resume(save=save, load=load)
    trainer.average(model.weights)
    begun = [w.copy() for w in model.weights]
    for _ in trainer.batches([[0] * p["batch"]]):
        if rows is None:
            model.weights[0] += source.normal(0, 1e-3, len(model.weights[0])).astype("f4")
            trainer.report(loss=1.0)
        else:
            trainer.report(loss=model.step(*rows(), p["rate"]))
        if trainer.steps % p["steps"] == 0:
            if times != 1.0:
                model.weights = [b + np.float32(times) * (w - b) for b, w in zip(begun, model.weights)]
            trainer.average(model.weights)
            begun = [w.copy() for w in model.weights]
    with open("peak.json", "w", encoding="utf-8") as out:
        json.dump({"trainer_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
                   "helper_kb": peak_kb(trainer._group._helper.pid) if trainer._group else 0}, out)

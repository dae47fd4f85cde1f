"""A tiny deterministic trainer on laird_trainer, for the tests: four numbers, 50 samples an epoch.

Parameters: epochs, sleep (seconds a batch takes), fail_at (samples at which it raises), nan_at
(samples at which its loss is not a number), forget (no save and load).
"""

import json
import os
import sys
import time

sys.path.insert(0, os.environ["LAIRD_PYTHON_MODULE"])
import laird_trainer  # noqa: E402


class Model(object):
    def __init__(self, params):
        self.params = params
        self.weights = [1.0, 2.0, 3.0, 4.0]

    def step(self, batch, samples):
        time.sleep(self.params.get("sleep", 0.0))
        if samples >= self.params.get("fail_at", 1 << 60):
            raise RuntimeError("the disk with the data is on fire")
        for x in batch:
            self.weights = [w * 0.999 + 0.001 * x for w in self.weights]
        if samples >= self.params.get("nan_at", 1 << 60):
            return float("nan")
        return sum(w * w for w in self.weights)

    def save(self, path):
        with open(path, "w") as file:
            json.dump(self.weights, file)

    def load(self, path):
        with open(path) as file:
            self.weights = json.load(file)


def data(epoch):
    values = [((epoch + 1) * 37 + i * 11) % 17 for i in range(50)]
    return [values[i:i + 10] for i in range(0, 50, 10)]


with laird_trainer.connect() as trainer:
    model = Model(trainer.params)
    if trainer.params.get("forget"):
        trainer.resume()
    else:
        trainer.resume(save=model.save, load=model.load,
                       planned_samples=trainer.params.get("epochs", 1000) * 50)
    for batch in trainer.batches(data):
        trainer.report(loss=model.step(batch, trainer.samples))

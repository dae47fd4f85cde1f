#!/usr/bin/env python3
"""Trains a classifier of Fashion-MNIST as a laird trainer: with PyTorch if it is installed, else
a softmax regression in plain Python on the first 2000 images.

Alone: python3 fashion_mnist.py. Under the agent, it goes on the board's allow-list of trainers.
Parameters: folder (of the data set), rows, epochs, batch, learning_rate, export (NAME.onnx: where to
write the model when the work is done, with PyTorch). Without epochs, or with 0, it trains under the
agent until the task's target loss or deadline, and alone for 5.
"""

import gzip
import inspect
import math
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import laird_trainer  # noqa: E402

DEFAULTS = {"folder": "/usr/share/datasets/fashion-mnist", "rows": 0, "epochs": 0, "batch": 64,
            "learning_rate": 0.05, "export": ""}
EPOCHS_ALONE = 5
PIXELS = 28 * 28
CLASSES = 10
EXPORT_ROWS = 1000


def read_data(params, rows_max):
    """(images as bytes, labels as bytes, rows); rows_max 0 means all."""
    def body(name, header, row_bytes):
        with gzip.open(os.path.join(params["folder"], name), "rb") as file:
            file.read(header)
            return file.read(rows_max * row_bytes if rows_max else -1)

    labels = body("train-labels-idx1-ubyte.gz", 8, 1)
    images = body("train-images-idx3-ubyte.gz", 16, PIXELS)
    return images, labels, len(labels)


def order_of(epoch, rows, seed):
    """The epoch's shuffle, the same after a restart."""
    order = list(range(rows))
    random.Random(seed * 1000003 + epoch).shuffle(order)
    return order


def batches_of(epoch, rows, batch, seed):
    order = order_of(epoch, rows, seed)
    return (order[i:i + batch] for i in range(0, rows, batch))


class PlainSoftmax(object):
    """Softmax regression in plain Python: slow, but the real thing."""

    rows_max = 2000

    def __init__(self, images, labels, rows, params, trainer):
        self.rate = params["learning_rate"]
        self.labels = labels
        self.inputs = [[p / 255.0 for p in images[r * PIXELS:(r + 1) * PIXELS]]
                       for r in range(rows)]
        self.weights = [[0.0] * (PIXELS + 1) for _ in range(CLASSES)]

    def step(self, batch):
        gradients = [[0.0] * (PIXELS + 1) for _ in range(CLASSES)]
        total = 0.0
        for r in batch:
            x = self.inputs[r]
            scores = [sum(map(float.__mul__, w, x)) + w[PIXELS] for w in self.weights]
            top = max(scores)
            exps = [math.exp(s - top) for s in scores]
            norm = sum(exps)
            total += math.log(norm) - (scores[self.labels[r]] - top)
            for k in range(CLASSES):
                d = exps[k] / norm - (1.0 if k == self.labels[r] else 0.0)
                gradient = gradients[k]
                gradients[k] = [g + d * v for g, v in zip(gradient, x)] + [gradient[PIXELS] + d]
        rate = self.rate / len(batch)
        for k in range(CLASSES):
            self.weights[k] = [w - rate * g for w, g in zip(self.weights[k], gradients[k])]
        return total / len(batch)

    def save(self, path):
        with open(path, "w") as file:
            for row in self.weights:
                file.write(" ".join(w.hex() for w in row) + "\n")

    def load(self, path):
        with open(path) as file:
            weights = [[float.fromhex(w) for w in line.split()] for line in file]
        if [len(row) for row in weights] != [PIXELS + 1] * CLASSES:
            raise ValueError("not ten rows of weights")
        self.weights = weights


class TorchNetwork(object):
    rows_max = 0

    def __init__(self, images, labels, rows, params, trainer):
        import torch
        self.torch = torch
        torch.manual_seed(trainer.seed)
        torch.set_num_threads(trainer.threads)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.images = torch.frombuffer(bytearray(images), dtype=torch.uint8).view(rows, PIXELS)
        self.labels = torch.frombuffer(bytearray(labels), dtype=torch.uint8).long()
        self.model = torch.nn.Sequential(torch.nn.Linear(PIXELS, 128), torch.nn.ReLU(),
                                         torch.nn.Linear(128, CLASSES)).to(self.device)
        self.optimiser = torch.optim.SGD(self.model.parameters(), lr=params["learning_rate"],
                                         momentum=0.9)

    def step(self, batch):
        x = self.images[batch].to(self.device).float().div_(255.0)
        y = self.labels[batch].to(self.device)
        loss = self.torch.nn.functional.cross_entropy(self.model(x), y)
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return loss.item()

    def save(self, path):
        self.torch.save({"model": self.model.state_dict(),
                         "optimiser": self.optimiser.state_dict()}, path)

    def export(self, path):
        """The model as ONNX; the division by 255 goes with it."""
        torch = self.torch

        class Whole(torch.nn.Module):
            def __init__(self, model):
                super().__init__()
                self.model = model

            def forward(self, pixels):
                return self.model(pixels / 255.0)

        whole = Whole(self.model).cpu().eval()
        rows = self.images[:EXPORT_ROWS].float()
        # Newer releases have two exporters; this one needs no further package.
        exporter = inspect.signature(torch.onnx.export).parameters
        with torch.no_grad():
            answers = whole(rows)
            torch.onnx.export(whole, (rows[:1],), path, opset_version=13,
                              input_names=["input"], output_names=["logits"],
                              dynamic_axes={"input": {0: "batch"}, "logits": {0: "batch"}},
                              **({"dynamo": False} if "dynamo" in exporter else {}))
        self.model.to(self.device).train()
        return {"features": PIXELS, "outputs": CLASSES, "kind": "fashion-mnist",
                "weights": sum(p.numel() for p in self.model.parameters()),
                "rows": (rows, self.labels[:EXPORT_ROWS], answers), "rows_from": "training"}

    def load(self, path):
        state = self.torch.load(path, map_location=self.device)
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])


def learner_class():
    try:
        import torch  # noqa: F401
        return TorchNetwork
    except ImportError:
        return PlainSoftmax


def main():
    with laird_trainer.connect() as trainer:
        unknown = sorted(set(trainer.params) - set(DEFAULTS))
        if unknown:
            raise ValueError("unknown parameter %s; there are %s"
                             % (", ".join(unknown), ", ".join(sorted(DEFAULTS))))
        params = dict(DEFAULTS, **trainer.params)
        kind = learner_class()
        images, labels, rows = read_data(params, params["rows"] or kind.rows_max)
        learner = kind(images, labels, rows, params, trainer)
        epochs = params["epochs"] or (EPOCHS_ALONE if trainer.standalone else 0)
        trainer.resume(save=learner.save, load=learner.load,
                       export=getattr(learner, "export", None),
                       planned_samples=rows * epochs if epochs else None)
        for batch in trainer.batches(
                lambda epoch: batches_of(epoch, rows, params["batch"], trainer.seed)):
            trainer.report(loss=learner.step(batch))
        if params["export"]:
            trainer.export(os.path.abspath(params["export"]))


if __name__ == "__main__":
    main()

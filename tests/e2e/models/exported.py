"""Models for the tests: trained by laird-train for a moment, and exported."""

import json
import os
import struct
import subprocess

BIN = os.environ["LAIRD_BIN"]
TRAIN = os.path.join(BIN, "laird-train")
KINDS = ("linear", "svm", "softmax", "mlp")


def params(**more):
    out = {"data": {"format": "synthetic", "rows": 4000, "features": 8, "classes": 4, "noise": 1.5},
           "epochs": 2, "held_out": 0.5}
    out.update(more)
    return out


def said(*argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120, **more)


def write_params(folder, values):
    path = os.path.join(folder, "params.json")
    with open(path, "w") as file:
        json.dump(values, file)
    return path


def train(folder, kind, values, seed=1):
    """Into `folder`, which is made."""
    os.makedirs(folder, exist_ok=True)
    done = said(TRAIN, kind, "--params", write_params(folder, values), "--dir", folder,
                "--seed", str(seed))
    assert done.returncode == 0, done


def export(folder, *more):
    """The path of the ONNX file."""
    path = os.path.join(folder, "model.onnx")
    done = said(TRAIN, "export", folder, "-o", path, *more)
    assert done.returncode == 0, done
    return path


def about(folder):
    with open(os.path.join(folder, "model.json")) as file:
        return json.load(file)


class Rows:
    """model.rows, by its description in docs/models.md."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        assert data[:8] == b"LAIRDROW"
        version, self.rows, self.features, self.outputs = struct.unpack("<4I", data[8:24])
        assert version == 1
        numbers = struct.unpack("<%df" % ((len(data) - 24) // 4), data[24:])
        inputs = self.rows * self.features
        self.inputs = numbers[:inputs]
        self.labels = numbers[inputs:inputs + self.rows]
        self.answers = numbers[inputs + self.rows:]
        assert len(self.answers) == self.rows * self.outputs

    def input(self, row):
        return self.inputs[row * self.features:(row + 1) * self.features]

    def answer(self, row):
        return self.answers[row * self.outputs:(row + 1) * self.outputs]

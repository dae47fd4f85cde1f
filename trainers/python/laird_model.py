"""Hands a trained model over as ONNX with model.json beside it, for laird-promote and others.

Used by laird_trainer.py; copy it along with that one when a script exports its model. One file,
standard library, Python >= 3.6. The files are described in docs/models.md.

    def export(path):                          # given to connect() or resume() as export=
        torch.onnx.export(model, example, path, opset_version=13, input_names=["input"],
                          output_names=["logits"],
                          dynamic_axes={"input": {0: "batch"}, "logits": {0: "batch"}})
        return {"features": 784, "outputs": 10, "rows": (inputs, labels, answers)}

What the function returns tells of the model:

    features, outputs   how wide its input and its output are (needed)
    input, output       their names, if not "input" and "logits"
    decision            "largest" output is the class (if not given), or "number"
    kind, weights       what to call it, and how many weights it has
    rows                (inputs, labels, answers) of held-out rows, with the model's own answers:
                        nested lists, arrays or tensors. Without them no engine is verified.
    rows_from           "held-out" (if not given), or "training" for rows the training saw
"""

import array
import hashlib
import json
import math
import os
import sys

__all__ = ["export", "answer"]

FORMAT = 1
ROWS_VERSION = 1


def export(trainer, function, path):
    """Writes `path` (NAME.onnx), NAME.rows and model.json; returns what model.json holds."""
    if function is None:
        raise ValueError("this trainer exports no model: give connect() or resume() an export=")
    if not path.endswith(".onnx"):
        raise ValueError("the model's file is called NAME.onnx, not %s" % os.path.basename(path))
    staged = path + ".new"
    try:
        facts = dict(function(staged) or {})
        onnx = _keep(staged, path)
    finally:
        if os.path.exists(staged):
            os.unlink(staged)
    for key in ("features", "outputs"):
        if not isinstance(facts.get(key), int):
            raise ValueError("export= must return a dict with the whole number %r" % key)
    number = facts.get("decision", "largest") == "number"
    about = {
        "format": FORMAT, "kind": facts.get("kind", "python"), "onnx": onnx, "onnx_fp16": None,
        "weights": facts.get("weights", 0),
        "input": {"name": facts.get("input", "input"), "features": facts["features"]},
        "output": {"name": facts.get("output", "logits"), "size": facts["outputs"],
                   "decision": "number" if number else "largest",
                   "loss": "squared" if number else "cross-entropy",
                   "mean": 0.0, "deviation": facts.get("deviation", 1.0), "classes": None},
        "held_out": None, "task": trainer.task, "samples": trainer.samples,
        "training_loss": trainer.loss, "params": trainer.params, "board": None, "energy_j": None}
    if facts.get("rows") is not None:
        about["held_out"] = _write_rows(path[:-len(".onnx")] + ".rows", facts, about["output"])
    place = os.path.join(os.path.dirname(path), "model.json")
    with open(place + ".new", "w") as file:
        json.dump(about, file, indent=2, allow_nan=False)
        file.write("\n")
    _keep(place + ".new", place)
    return about


def answer(trainer, function, line):
    """What to say to the agent's message `export`."""
    try:
        if not str(line.get("path")).startswith("/"):
            raise ValueError('export: "path" must be an absolute path')
        about = export(trainer, function, line["path"])
    except Exception as error:  # any way a model can fail to be written; the training goes on
        return {"type": "exported", "samples": trainer.samples,
                "problem": ("%s: %s" % (type(error).__name__, error))[:500]}
    return {"type": "exported", "samples": trainer.samples, "path": line["path"],
            "sha256": about["onnx"]["sha256"], "bytes": about["onnx"]["bytes"]}


def _keep(staged, path):
    """Moves a file that is written to its place, for good; what model.json says of it."""
    digest, size = hashlib.sha256(), 0
    with open(staged, "rb") as file:
        for block in iter(lambda: file.read(1 << 16), b""):
            digest.update(block)
            size += len(block)
        os.fsync(file.fileno())
    os.rename(staged, path)
    return {"file": os.path.basename(path), "sha256": digest.hexdigest(), "bytes": size}


def _floats(value):
    """All numbers of nested lists, of an array or of a tensor, in their order."""
    out = array.array("f")
    if hasattr(value, "tolist"):
        value = value.tolist()
    stack = [iter(value)]
    while stack:
        for item in stack[-1]:
            if hasattr(item, "tolist"):
                item = item.tolist()
            if isinstance(item, (list, tuple)):
                stack.append(iter(item))
                break
            out.append(item)
        else:
            stack.pop()
    return out


def _write_rows(path, facts, output):
    inputs, labels, answers = (_floats(part) for part in facts["rows"])
    rows = len(labels)
    if not rows or len(inputs) != rows * facts["features"] or (
            len(answers) != rows * facts["outputs"]):
        raise ValueError("rows: %d labels, %d inputs and %d answers do not fit %d features and %d "
                         "outputs" % (rows, len(inputs), len(answers), facts["features"],
                                      facts["outputs"]))
    head = array.array("I", [ROWS_VERSION, rows, facts["features"], facts["outputs"]])
    if head.itemsize != 4:
        raise ValueError("this Python has no whole numbers of 32 bits")
    with open(path + ".new", "wb") as file:
        file.write(b"LAIRDROW")
        for part in (head, inputs, labels, answers):
            if sys.byteorder == "big":
                part.byteswap()
            file.write(part.tobytes())
            if sys.byteorder == "big":
                part.byteswap()
        file.flush()
    told = _keep(path + ".new", path)
    loss, accuracy = _metric(output, labels, answers)
    told.update(rows=rows, loss=loss, accuracy=accuracy)
    told["from"] = facts.get("rows_from", "held-out")
    return told


def _metric(output, labels, answers):
    """(mean loss, accuracy or None)"""
    width, total, right = output["size"], 0.0, 0
    for row, label in enumerate(labels):
        z = answers[row * width:(row + 1) * width]
        if output["decision"] == "number":
            total += ((z[0] - label) / output["deviation"]) ** 2
            continue
        top = max(z)
        total += math.log(sum(math.exp(v - top) for v in z)) - (z[int(label)] - top)
        right += z.index(top) == int(label)
    number = output["decision"] == "number"
    return total / len(labels), None if number else right / float(len(labels))

"""A trainer of its own that makes local steps and has them averaged: softmax regression in plain
Python, on rows of `rows.json` in the task's folder."""

import json
import math
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../../trainers/python"))
import laird_trainer  # noqa: E402


def scores_of(model, row):
    return [sum(w * x for w, x in zip(weights, row)) + bias
            for weights, bias in zip(model["weights"], model["biases"])]


def step(model, batch, rate):
    total = 0.0
    gradient = [[0.0] * len(w) for w in model["weights"]]
    of_biases = [0.0] * len(model["biases"])
    for row in batch:
        *inputs, label = row
        scores = scores_of(model, inputs)
        top = max(scores)
        exps = [math.exp(s - top) for s in scores]
        norm = sum(exps)
        total += math.log(norm) - (scores[label] - top)
        for k, e in enumerate(exps):
            d = e / norm - (1.0 if k == label else 0.0)
            of_biases[k] += d
            for i, x in enumerate(inputs):
                gradient[k][i] += d * x
    for k, weights in enumerate(model["weights"]):
        model["biases"][k] -= rate * of_biases[k] / len(batch)
        for i in range(len(weights)):
            weights[i] -= rate * gradient[k][i] / len(batch)
    return total / len(batch)


def judged(model, rows):
    right, loss = 0, 0.0
    for *inputs, label in rows:
        scores = scores_of(model, inputs)
        top = max(scores)
        right += scores.index(top) == label
        loss += math.log(sum(math.exp(s - top) for s in scores)) - (scores[label] - top)
    return right, len(rows), loss / len(rows)


def main():
    with laird_trainer.connect() as trainer:
        classes, features = trainer.params["classes"], trainer.params["features"]
        model = {"weights": [[0.0] * features for _ in range(classes)], "biases": [0.0] * classes,
                 "own.count": [0.0]}
        with open("rows.json", encoding="utf-8") as file:
            rows = json.load(file)
        held, rows = rows[::10], [r for i, r in enumerate(rows) if i % 10]

        def save(path):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(model, file)

        def load(path):
            with open(path, encoding="utf-8") as file:
                model.update(json.load(file))

        def average():
            trainer.average(model, personal=["own"], rows=len(rows),
                            judge=lambda: judged(model, held))

        trainer.resume(save=save, load=load)
        average()
        batches = [rows[i:i + 30] for i in range(0, len(rows), 30)]
        for batch in trainer.batches(batches):
            trainer.report(loss=step(model, batch, 0.1))
            model["own.count"][0] += 1
            if trainer.steps % trainer.params["steps"] == 0:
                time.sleep(trainer.params.get("rest_s", 0))
                average()


if __name__ == "__main__":
    main()

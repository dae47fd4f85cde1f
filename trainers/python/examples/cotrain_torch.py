#!/usr/bin/env python3
"""Co-training with PyTorch: every board trains a small network on its own rows, and all have one model.

The boards' rows: x.npy (float32, a row each) and y.npy (classes) in the task's folder. In the task's
params: classes, and "fleet": {"rounds": 100}. Every 20 batches the boards average what they learnt."""
import os
import sys

import numpy
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import laird_trainer  # noqa: E402

with laird_trainer.connect() as trainer:
    x, y = (torch.from_numpy(numpy.load(name)) for name in ("x.npy", "y.npy"))
    learn = torch.arange(len(x)) % 10 > 0
    held_x, held_y, x, y = x[~learn], y[~learn], x[learn], y[learn]
    model = torch.nn.Sequential(torch.nn.Linear(x.shape[1], 64), torch.nn.ReLU(),
                                torch.nn.Linear(64, trainer.params["classes"]))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05)
    data = torch.utils.data.TensorDataset(x, y)
    loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True)

    def judge():
        with torch.no_grad():
            out = model(held_x)
            return ((out.argmax(1) == held_y).sum(), len(held_y),
                    torch.nn.functional.cross_entropy(out, held_y))

    trainer.resume(save=lambda path: torch.save(model.state_dict(), path),
                   load=lambda path: model.load_state_dict(torch.load(path)))
    trainer.average(model)  # the group's model, before the first step
    for inputs, classes in trainer.batches(loader):
        loss = torch.nn.functional.cross_entropy(model(inputs), classes)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        trainer.report(loss=loss)
        if trainer.steps % 20 == 0:
            trainer.average(model, rows=len(x), judge=judge)

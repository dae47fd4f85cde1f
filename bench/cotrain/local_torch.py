"""A co-training trainer in PyTorch, for bench/cotrain/local_steps --torch: K local steps, then average()."""
import os
import sys

import numpy
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "trainers", "python"))
import laird_trainer  # noqa: E402

with laird_trainer.connect() as trainer:
    p = trainer.params
    x, y = torch.from_numpy(numpy.load("x.npy")), torch.from_numpy(numpy.load("y.npy"))
    sizes = [x.shape[1], 10] if p["model"] == "softmax" else [x.shape[1], 128, 10]
    layers = [layer for k, size in enumerate(sizes[1:]) for layer in (torch.nn.Linear(sizes[k], size), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers[:-1])
    optimiser = torch.optim.SGD(model.parameters(), lr=p["rate"])
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=p["batch"], shuffle=True)

    def save(path):  # as bench/cotrain/local_model.py has it
        with open(path, "wb") as file:
            numpy.savez(file, *(w.detach().numpy().T for w in model.parameters()))

    trainer.resume(save=save, load=lambda path: None)
    trainer.average(model)
    for inputs, classes in trainer.batches(loader):
        loss = torch.nn.functional.cross_entropy(model(inputs), classes)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        trainer.report(loss=loss)
        if trainer.steps % p["steps"] == 0:
            trainer.average(model)

"""A model in numpy that both sides of bench/cotrain/local_steps train: softmax regression, or with one
hidden layer. Plain SGD on batches of a board's own rows."""

import numpy as np

CLASSES, HIDDEN = 10, 128


class Model:
    def __init__(self, kind, features, seed):
        source = np.random.default_rng(seed)
        if kind == "softmax":
            shapes = [(features, CLASSES), (CLASSES,)]
        else:
            shapes = [(features, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES), (CLASSES,)]
        deep = len(shapes) > 2
        self.weights = [
            (source.normal(0, (2 / s[0]) ** 0.5, s) if deep and len(s) == 2 else np.zeros(s)).astype("f4")
            for s in shapes]

    def scores(self, x):
        hidden = None
        if len(self.weights) > 2:
            hidden = np.maximum(x @ self.weights[0] + self.weights[1], 0)
            x = hidden
        return x @ self.weights[-2] + self.weights[-1], hidden

    def step(self, x, y, rate):
        out, hidden = self.scores(x)
        out = out - out.max(1, keepdims=True)
        p = np.exp(out)
        norm = p.sum(1)
        rows = np.arange(len(y))
        loss = float(np.mean(np.log(norm) - out[rows, y]))
        p /= norm[:, None]
        p[rows, y] -= 1
        p /= len(y)
        below = hidden if hidden is not None else x
        gradients = [below.T @ p, p.sum(0)]
        if hidden is not None:
            d = (p @ self.weights[2].T) * (hidden > 0)
            gradients = [x.T @ d, d.sum(0), *gradients]
        for w, g in zip(self.weights, gradients):
            w -= rate * g
        return loss

    def accuracy(self, x, y):
        return 100.0 * float(np.mean(self.scores(x)[0].argmax(1) == y))


class Rows:
    """Batches without end, shuffled anew in each epoch."""

    def __init__(self, x, y, batch, seed):
        self.x, self.y, self.batch = x, y, batch
        self.source = np.random.default_rng(seed)
        self.order, self.at = self.source.permutation(len(y)), 0

    def __call__(self):
        if self.at + self.batch > len(self.order):
            self.order, self.at = self.source.permutation(len(self.y)), 0
        pick = self.order[self.at:self.at + self.batch]
        self.at += self.batch
        return self.x[pick], self.y[pick]

"""Reads an ONNX file and runs it, in plain Python: the few operators that laird-train writes.

A second implementation of both, for the fake trtexec and for machines without onnxruntime.
"""

import math
import struct


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of each field of a message; bytes or whole numbers."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            if len(value) != length:
                raise ValueError("cut")
        elif key & 7 == 5:  # a float, such as Gemm's alpha, which is 1
            value, at = data[at:at + 4], at + 4
        else:
            raise ValueError("wire type %d" % (key & 7))
        yield key >> 3, value


def every(data, number):
    return [value for key, value in fields(data) if key == number]


def one(data, number, default=None):
    found = every(data, number)
    return found[-1] if found else default


def tensor(data):
    dims = every(data, 1)
    kind = one(data, 2)
    raw = one(data, 9)
    size = {1: "f", 10: "e"}[kind]
    values = struct.unpack("<%d%s" % (len(raw) // struct.calcsize(size), size), raw)
    count = 1
    for dim in dims:
        count *= dim
    if count != len(values):
        raise ValueError("a tensor of %r with %d numbers" % (dims, len(values)))
    return one(data, 8).decode(), (dims, values)


class Graph:
    def __init__(self, data):
        self.ir = one(data, 1)
        self.opset = one(one(data, 8), 2)
        graph = one(data, 7)
        self.nodes = [([v.decode() for v in every(node, 1)], one(node, 2).decode(),
                       one(node, 4).decode()) for node in every(graph, 1)]
        # Whole numbers alone, which is what these operators have that matter.
        self.attributes = {one(node, 2).decode(): {one(a, 1).decode(): one(a, 3)
                                                   for a in every(node, 5)}
                           for node in every(graph, 1)}
        self.tensors = dict(tensor(t) for t in every(graph, 5))
        self.inputs = [one(v, 1).decode() for v in every(graph, 11)]
        self.outputs = [one(v, 1).decode() for v in every(graph, 12)]

    def run(self, row):
        """Each output for one row of inputs."""
        known = {self.inputs[0]: list(row)}
        for inputs, output, op in self.nodes:
            more = {"across": self.attributes[output].get("transB") == 1} if op == "Gemm" else {}
            known[output] = getattr(self, op.lower())(
                known[inputs[0]], *[self.tensors[i] for i in inputs[1:]], **more)
        return {name: known[name] for name in self.outputs}

    @staticmethod
    def spread(values, count):
        return values if len(values) == count else values * count

    def sub(self, x, other):
        return [a - b for a, b in zip(x, self.spread(other[1], len(x)))]

    def mul(self, x, other):
        return [a * b for a, b in zip(x, self.spread(other[1], len(x)))]

    def add(self, x, other):
        return [a + b for a, b in zip(x, self.spread(other[1], len(x)))]

    def gemm(self, x, weights, biases, across=False):
        (rows, columns), w = weights
        if across:  # as PyTorch has them: a row of weights for each output
            w = [w[k * columns + i] for i in range(columns) for k in range(rows)]
            rows, columns = columns, rows
        if rows != len(x):
            raise ValueError("Gemm of %d by %r" % (len(x), weights[0]))
        out = list(biases[1])
        for i, value in enumerate(x):
            for k in range(columns):
                out[k] += value * w[i * columns + k]
        return out

    def relu(self, x):
        return [max(0.0, v) for v in x]

    def cast(self, x):
        return x

    def softmax(self, x):
        top = max(x)
        parts = [math.exp(v - top) for v in x]
        return [p / sum(parts) for p in parts]


def read(path):
    with open(path, "rb") as file:
        return Graph(file.read())

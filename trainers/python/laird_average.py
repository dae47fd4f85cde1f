"""trainer.average() of laird_trainer.py: one model with the other boards of a co-training task.

The rounds themselves are made by `laird-train average`, a process between this one and the agent
(docs/trainer-protocol.md, "Averaging"): it listens to the other boards while this one trains. It is
looked for under LAIRD_TRAIN, then in PATH, then in /usr/bin. Standard library alone; numpy and
PyTorch are used if the tensors are theirs.
"""

import array
import os
import shutil
import subprocess
import sys

import laird_trainer

# What a layer of batch normalisation has seen of a board's rows stays the board's own.
OF_BOARD = ("running_mean", "running_var", "num_batches_tracked")
HELPER_ENDS_S = 10
ROWS_MAX = 1e12


class Group(object):
    """The other boards, as far as a trainer sees them."""

    def __init__(self, trainer, start):
        self.ended = False
        self._trainer = trainer
        self._samples, self._loss_sum = 0, 0.0  # since the last round
        self._judged = None  # the group's model, on rows held out
        self._helper = _start_helper(trainer._channel)
        trainer._channel = laird_trainer._Channel(None, trainer._note, self._helper)
        trainer._channel.send(start)

    def learnt(self, samples, loss):
        self._samples += samples
        self._loss_sum += loss * samples

    def average(self, tensors, personal, rows, judge):
        trainer = self._trainer
        if rows is not None and not 0 < float(rows) <= ROWS_MAX:
            raise ValueError("average(rows=%r): say how much this board counts, a number above 0 "
                             "and up to 1e12" % (rows,))
        slots = slots_of(tensors, personal)
        values = array.array("f")
        for slot in slots:
            slot.read_into(values)
        if not values:
            raise ValueError("average(): there are no floating-point numbers to exchange")
        if trainer._pending_samples > 0:
            trainer._send_progress()
        learnt = self._samples
        trainer._channel.send(
            {"type": "average", "bytes": 4 * len(values), "judged": self._judged,
             "rows": float(learnt if rows is None else rows) if learnt > 0 else 0,
             "loss": self._loss_sum / learnt if learnt > 0 else None},
            _little_endian(values))
        answer = self._await_answer(4 * len(values))
        at = 0
        for slot in slots:
            at = slot.write_from(answer, at)
        self._samples, self._loss_sum, self._judged = 0, 0.0, None
        if judge is not None and not self.ended:
            self._judged = _judgement(judge())

    def _await_answer(self, size):
        trainer = self._trainer
        while True:
            line = trainer._channel.receive(wait=True)
            if line["type"] != "averaged":
                trainer._take(line)
                continue
            if line.get("bytes") != size:
                raise laird_trainer.ProtocolError("averaged: %r bytes, not %d"
                                                  % (line.get("bytes"), size))
            values = array.array("f")
            values.frombytes(trainer._channel.receive_raw(size))
            trainer.round = line["round"]
            # The allowance may have been given back while the group was waited for.
            trainer._limit = line["limit"]
            self.ended = line["finished"]
            if trainer._loss is None:
                trainer._loss = line.get("loss")
            return _little_endian(values)

    def end(self):
        """The helper still has this process' last words to pass on; the agent ends it with us."""
        self._trainer._channel.close()
        try:
            self._helper.wait(HELPER_ENDS_S)
        except subprocess.TimeoutExpired:
            pass


def _start_helper(channel):
    program = os.environ.get("LAIRD_TRAIN") or shutil.which("laird-train") or "/usr/bin/laird-train"
    fd = channel.fileno()
    try:
        helper = subprocess.Popen([program, "average"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, pass_fds=[fd],
                                  env=dict(os.environ, LAIRD_FD=str(fd)))
    except OSError as error:
        raise laird_trainer.ProtocolError(
            "a co-training task needs laird-train, and %s cannot be started (%s): name it as "
            "LAIRD_TRAIN in the trainer's env" % (program, error.strerror))
    channel.close()

    def leave():
        for end in (helper.stdin, helper.stdout):
            try:
                end.close()
            except OSError:
                pass
    # A worker of a data loader that outlives this process must not keep its helper waiting.
    if hasattr(os, "register_at_fork"):  # since Python 3.7
        os.register_at_fork(after_in_child=leave)
    return helper


def _judgement(found):
    right, rows = found[0], found[1]
    loss = float(found[2]) if len(found) > 2 else 1.0 - float(right) / max(int(rows), 1)
    return {"right": int(right), "rows": int(rows), "loss": loss}


def _little_endian(values):
    if sys.byteorder == "big":
        values.byteswap()
    return values


class _Slot(object):
    """One tensor of a model: its numbers out, and others in."""

    def __init__(self, tensor, put):
        self._tensor, self._put = tensor, put
        self._count = 0

    def read_into(self, values):
        before = len(values)
        tensor = self._tensor
        if hasattr(tensor, "detach"):  # PyTorch
            tensor = tensor.detach().to("cpu").float().contiguous().view(-1)
            try:
                tensor = tensor.numpy()
            except (RuntimeError, TypeError):  # a PyTorch without numpy
                values.extend(tensor.tolist())
        if hasattr(tensor, "astype"):  # numpy
            values.frombytes(tensor.astype("<f4" if sys.byteorder == "little" else ">f4").tobytes())
        elif not hasattr(tensor, "detach"):
            _flatten(tensor, values)
        self._count = len(values) - before

    def write_from(self, values, at):
        part = values[at:at + self._count]
        tensor = self._tensor
        if hasattr(tensor, "detach"):
            torch = sys.modules["torch"]
            with torch.no_grad():
                try:
                    fresh = torch.frombuffer(part, dtype=torch.float32)
                except AttributeError:  # before 1.10
                    fresh = torch.tensor(part.tolist())
                tensor.copy_(fresh.view(tensor.shape))
        elif hasattr(tensor, "astype"):
            numpy = sys.modules["numpy"]
            fresh = numpy.frombuffer(part, dtype="f4").reshape(tensor.shape).astype(tensor.dtype)
            if isinstance(tensor, numpy.ndarray) and tensor.flags.writeable and tensor.ndim > 0:
                tensor[...] = fresh
            else:
                self._put(fresh)
        elif isinstance(tensor, list):
            _unflatten(tensor, iter(part))
        else:
            self._put(part[0])
        return at + self._count


def slots_of(tensors, personal):
    """A slot for each tensor that is exchanged, in an order that is the same on every board."""
    if isinstance(personal, str):
        personal = (personal,)
    if hasattr(tensors, "state_dict"):
        tensors = tensors.state_dict()
    if hasattr(tensors, "keys"):
        named = [(key, tensors[key]) for key in sorted(tensors, key=str)]
    elif isinstance(tensors, (list, tuple)) and not _is_numbers(tensors):
        named = list(enumerate(tensors))
    else:
        named = [(0, tensors)]
    own = [str(name) for name in personal]
    slots = []
    for key, tensor in named:
        name = str(key)
        stays = any(name == mine or name.startswith(mine + ".") for mine in own)
        if stays or name.split(".")[-1] in OF_BOARD or not _is_floating(tensor):
            continue

        def put(value, key=key):
            tensors[key] = value
        slots.append(_Slot(tensor, put))
    return slots


def _is_numbers(value):
    return isinstance(value, list) and len(value) > 0 and isinstance(value[0], (int, float))


def _is_floating(tensor):
    if isinstance(tensor, list):  # one of whole numbers is an order, or counts
        return any(_is_floating(member) for member in tensor)
    kind = getattr(tensor, "dtype", None)
    if kind is None:
        return isinstance(tensor, float)
    return bool(getattr(kind, "is_floating_point", getattr(kind, "kind", "") == "f"))


def _flatten(value, out):
    if isinstance(value, list):
        if value and not isinstance(value[0], list):
            out.extend(value)
        else:
            for member in value:
                _flatten(member, out)
    else:
        out.append(value)


def _unflatten(into, values):
    for index, member in enumerate(into):
        if isinstance(member, list):
            _unflatten(member, values)
        else:
            into[index] = next(values)

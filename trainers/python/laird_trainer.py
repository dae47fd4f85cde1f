"""Makes any training loop a trainer of the laird agent: one file, standard library, Python >= 3.6.

    import laird_trainer

    with laird_trainer.connect(save=save, load=load) as trainer:
        for batch in trainer.batches(loader):         # waits while the agent gives no allowance
            trainer.report(loss=step(batch))          # counts the rows of the batch by itself

`save(path)` writes your state (model, optimiser) to a file, `load(path)` reads it back; the module
makes that atomic, keeps two generations and falls back to the older when the newer is damaged.
`loader` is anything that can be iterated again and again (a list, a DataLoader), or a function of
the epoch's number that returns an iterable; after a restart the loop goes on in the epoch it was
in, without the batches it had done.

report(loss=...) counts the rows of the batches since the last report: the first dimension of the
arrays in a batch, nested as they may be, or the length of a list. Where a batch does not say, it
counts as one sample, and a warning says so once: give report(samples=..., loss=...) then.

A model that depends on the task's parameters is made inside, before resume():

    with laird_trainer.connect() as trainer:
        model = make_model(trainer.params, trainer.seed)
        trainer.resume(save=model.save, load=model.load, planned_samples=60000 * 10)

When the agent says stop, the process leaves from inside the loop (exit code 0), so that nothing
after it takes a half-trained model for a finished one. What should happen once when the work is
done belongs after the loop and inside the `with`: trainer.export("model.onnx"), say, which uses the
function given as export= (see laird_model.py, to be copied along for it).

In a co-training task (docs/cotraining.md) all boards train one model, each on its own rows:

    trainer.average(model)                            # first it only takes the group's model over
    for batch in trainer.batches(loader):
        trainer.report(loss=step(batch))
        if trainer.steps % 20 == 0:
            trainer.average(model)                    # the mean of what the boards have learnt

`model` is a PyTorch module, a dict, or a list of arrays, tensors or lists of numbers, changed in
place. See Trainer.average; copy laird_average.py along for it.

Without an agent (neither LAIRD_FD nor, in a container, LAIRD_TRAINER_SOCKET) the same script is a plain loop that prints its progress. An exception
inside the `with` is told to the agent as the task's error. Protocol: docs/trainer-protocol.md.
"""

import hashlib
import json
import math
import os
import select
import socket
import stat
import sys
import time

__all__ = ["connect", "answer_check", "rows_of", "Trainer", "AgentGone", "ProtocolError"]

PROTOCOL_VERSION = 1
LINE_FROM_AGENT_MAX, LINE_TO_AGENT_MAX = 65536, 4096
NOTES_MAX = 100
EXIT_USAGE, EXIT_AGENT_GONE = 2, 3

# File names in the task's folder.
NEWEST, BEFORE = "checkpoint.json", "checkpoint.before.json"
DAMAGED, UNFINISHED = "checkpoint.damaged.json", "checkpoint.tmp"
STATE = "state."
INDEX_MAX = 65536

# A list or tuple with more members than this holds rows, not columns.
COLUMNS_MAX, NESTING_MAX = 8, 4


class AgentGone(SystemExit):
    """The socket closed: the process leaves at once, with exit code 3, and writes nothing."""


class ProtocolError(Exception):
    """The agent sent something this trainer cannot work with."""


class _Stopped(SystemExit):
    """Raised out of the loop when the agent asked to stop; the checkpoint is written."""


def connect(save=None, load=None, planned_samples=None, export=None, **alone):
    """A Trainer, to be used in a `with` statement, which waits for the agent's start.

    With any of the four given it also resumes, see Trainer.resume. `alone` is what the agent would
    give, for running without one: params, folder (for checkpoints), report_every, seed.
    """
    return Trainer(save, load, planned_samples, export, **alone)


def answer_check(check):
    """Started to check a task (`--laird-check FILE`, "-" for standard input), the process calls
    check(params) and leaves: with 0, or with 1 after printing the exception that it raised. Started
    in any other way nothing happens. Call it first, before connect(); a board asks when its file
    says "check": true of this trainer."""
    if "--laird-check" not in sys.argv[1:]:
        return
    try:
        path = sys.argv[sys.argv.index("--laird-check") + 1]
        text = sys.stdin.read() if path == "-" else open(path).read()
        check(json.loads(text))
    except Exception as error:
        sys.stderr.write("%s\n" % (error if str(error) else repr(error)))
        raise SystemExit(1)
    raise SystemExit(0)


class Trainer(object):
    def __init__(self, save, load, planned_samples, export=None, params=None, folder=None,
                 report_every=0, seed=1):
        self.params, self.task, self.seed, self.threads = dict(params or {}), "", seed, 1
        self.samples = 0  # since the start of the task, over all its restarts
        self.steps = 0  # reports since this process began
        self.epoch, self.resumed, self.warm, self._warm = 0, False, False, None
        self.round = 0  # of a co-training task
        self._group = None  # laird_average.Group, of a co-training task
        self._batch, self._notes = 0, 0  # batches done in this epoch; notes written
        self._save, self._load, self._planned, self._export = save, load, planned_samples, export
        self._store = _Store(folder)
        self._report_every = report_every  # standing alone, 0 is once a second
        self._limit = None  # no allowance yet; standing alone there is no limit
        self._pending_loss, self._pending_samples, self._loss = 0.0, 0, None
        self._ready = self._done = self._warned = False
        self._rows = (0, 0, True)  # last batch, all since the last report, whether all are known
        fd, path = os.environ.get("LAIRD_FD"), os.environ.get("LAIRD_TRAINER_SOCKET")
        found = _inherited(fd) if fd is not None else _connected(path) if path else None
        self._channel = _Channel(found, self._note) if found is not None else None
        self._last_print = time.time()

    # What a training loop uses.

    def __enter__(self):
        try:
            self._begin()
            if self._save or self._load or self._planned or self._export:
                self.resume(self._save, self._load, self._planned, self._export)
        except Exception as error:
            self._tell_error(error)
            raise
        return self

    def __exit__(self, kind, error, _):
        if kind is None:
            try:
                self.finish()
            except Exception as trouble:
                self._tell_error(trouble)
                raise
        elif not issubclass(kind, (SystemExit, KeyboardInterrupt)):
            self._tell_error(error)
        return False

    @property
    def standalone(self):  # there is no agent
        return self._channel is None

    @property
    def loss(self):
        """Mean loss since the last report, or that report's; None before the first sample."""
        if self._pending_samples > 0:
            return self._pending_loss / self._pending_samples
        return self._loss

    def resume(self, save=None, load=None, planned_samples=None, export=None):
        """Loads the last checkpoint if there is one, and tells the agent that work can begin.

        save, load       functions of a path; without them a restart begins afresh
        planned_samples  the whole work in samples; None when the loop itself decides when it ends
        export           function of a path that writes the model there as ONNX (laird_model.py)
        """
        if self._ready:
            raise RuntimeError("resume() is called once, before the first batch")
        self._ready = True
        self._save, self._load, self._planned, self._export = save, load, planned_samples, export
        if load is not None and self._store.folder is not None:
            self._load_checkpoint()
        if self._channel is not None:
            self._channel.send({"type": "ready", "v": PROTOCOL_VERSION, "samples": self.samples,
                                "loss": self.loss, "resumed": self.resumed,
                                "planned_samples": planned_samples})

    def batches(self, loader, epochs=None):
        """The batches of `loader`, epoch after epoch, each only when the agent allows work.

        Ends after `epochs` passes, or when planned_samples are reached; never if there is neither.
        A restarted task skips what it had done of its epoch.
        """
        if not self._ready:
            self.resume()
        while epochs is None or self.epoch < epochs:
            source = loader(self.epoch) if callable(loader) else loader
            skip = self._batch
            empty = True
            for index, batch in enumerate(source):
                empty = False
                if index < skip:
                    continue
                if self._finished():
                    return
                self.wait()
                self._count_rows(batch)
                yield batch
                self._batch = index + 1
            if empty:
                raise ValueError("the loader gave no batch; if it is a generator, pass a function "
                                 "that makes a new one for each epoch")
            self.epoch += 1
            self._batch = 0
            if self._finished():
                return

    def wait(self):
        """Takes the agent's messages and returns when work is allowed. `batches` calls it."""
        while self._channel is not None:
            allowed = self._limit is not None and self.samples < self._limit
            line = self._channel.receive(wait=not allowed)
            if line is None:
                return
            self._take(line)

    def report(self, samples=None, loss=None):
        """Says that so many more samples were learnt from, with this mean loss over them; without
        `samples`, as many as the batches since the last report have rows."""
        if loss is None:
            raise TypeError("report() needs a loss: report(loss=...)")
        samples = self._samples_to_report(samples)
        loss = float(loss.detach() if hasattr(loss, "detach") else loss)  # PyTorch warns otherwise
        if samples <= 0:
            raise ValueError("report(samples=%d): give the batch's number of samples" % samples)
        if not math.isfinite(loss):
            raise ValueError("the loss is %r after %d samples: the training diverged; lower its "
                             "learning rate" % (loss, self.samples))
        self.samples += samples
        self.steps += 1
        if self._group is not None:
            self._group.learnt(samples, loss)
        self._pending_loss += loss * samples
        self._pending_samples += samples
        at_limit = self._limit is not None and self.samples >= self._limit
        if self._channel is None:
            self._print_if_due()
        elif at_limit or self._finished() or self._pending_samples >= self._report_every:
            self._send_progress()

    def export(self, path):
        """Writes the model to `path` (NAME.onnx) by the function given as export=, and model.json."""
        import laird_model
        return laird_model.export(self, self._export, path)

    def average(self, tensors, personal=(), rows=None, judge=None):
        """Makes a round with the other boards of a co-training task: puts the group's model in
        place of `tensors`, moved by the mean of what all boards have learnt since their last call.
        Returns `tensors`. Copy laird_average.py along for it.

        The first call of a process only takes the group's model over, so call it once before the
        loop. It waits for the other boards. In a task that is none of co-training, and without an
        agent, it does nothing. When the group has ended, batches() ends too, and the tensors are
        the model of the task.

        tensors   a PyTorch module, a dict, a list or a tuple of tensors, arrays or lists of
                  numbers, the same on all boards; what is no floating-point number is left alone
        personal  names of layers or tensors that stay this board's ("head" is "head.weight" too);
                  in a list, the tensor's number. So do statistics of batch normalisation
        rows      how much this board counts; if not given, the samples since the last call
        judge     function that looks at rows this board holds out and returns (right, rows, loss)
                  or (right, rows); it is called when the group's model is in place
        """
        if not self._ready:
            self.resume()
        if self._group is not None:
            self._group.average(tensors, personal, rows, judge)
        return tensors

    def finish(self):
        """The work is done: says so and waits to be told to stop. Leaving `with` calls it."""
        if self._channel is None:
            if self._pending_samples > 0:
                self._print_progress()
            if self._store.folder is not None:
                self._write_checkpoint()
            return
        self._done = True
        if self._pending_samples > 0:
            self._send_progress()
        if self._loss is None:
            raise ValueError("the loop ended without one report()")
        self._send_done()
        while True:
            self._take(self._channel.receive(wait=True))

    # How many samples a batch is.

    def _count_rows(self, batch):
        rows = rows_of(batch)
        self._rows = (rows or 1, self._rows[1] + (rows or 1), self._rows[2] and rows is not None)

    def _samples_to_report(self, samples):
        (last, rows, known), self._rows = self._rows, (0, 0, True)
        if samples is None and rows == 0:
            raise ValueError("report(loss=...) counts the rows that batches() gave since the last "
                             "report, and there are none: give report(samples=..., loss=...)")
        if samples is None and not known:
            self._warn_once("a batch does not say how many rows it has and is counted as one "
                            "sample: give report(samples=..., loss=...)")
        if samples is not None and rows > 0 and known and int(samples) not in (last, rows):
            self._warn_once("report(samples=%d), but the last batch has %d rows: leave samples= "
                            "out to have the rows counted; len() of a batch of several tensors "
                            "counts the tensors" % (samples, last))
        return rows if samples is None else int(samples)

    def _warn_once(self, text):
        if not self._warned:
            self._warned = True
            self._note("warning: " + text)

    # What the agent asks for.

    def _begin(self):
        if self._channel is None:
            return
        start = self._channel.first()
        self.task, self.params, self.seed = start["task"], start["params"], start["seed"]
        self.threads = start.get("threads", 1)
        self._report_every = start["report_every"]
        self._store, self._warm = _Store(start["dir"]), start.get("warm")
        if "fleet" in self.params:
            import laird_average
            self._group = laird_average.Group(self, start)

    def _take(self, line):
        kind = line["type"]
        if kind == "run":
            self._limit = line["until"]
            if self._done:
                self._send_done()
            elif self.samples >= self._limit and self.loss is not None:
                self._send_progress()
        elif kind in ("pause", "checkpoint", "stop"):
            if kind == "pause":
                self._limit = None
            self._write_checkpoint()
            self._channel.send({"type": "checkpointed", "samples": self.samples, "loss": self.loss})
            if kind == "stop":
                self._end_group()
                raise _Stopped(0)
        elif kind == "export":
            import laird_model
            self._channel.send(laird_model.answer(self, self._export, line))
        elif kind == "start":
            self._note('ignored a second "start"')

    def _end_group(self):
        if self._group is not None:
            self._group.end()

    def _finished(self):
        if self._group is not None and self._group.ended:
            return True
        return self._planned is not None and self.samples >= self._planned

    def _take_mean(self):
        self._loss, self._pending_loss, self._pending_samples = self.loss, 0.0, 0
        return self._loss

    def _send_progress(self):
        self._channel.send({"type": "progress", "samples": self.samples, "loss": self._take_mean()})

    def _send_done(self):
        self._channel.send({"type": "done", "samples": self.samples, "loss": self._loss})

    def _tell_error(self, error):
        text = "%s: %s" % (type(error).__name__, error)
        self._note(text)
        if self._channel is not None:
            try:
                self._channel.send_error(text)
                self._end_group()
            except SystemExit:
                pass

    # Checkpoints: the caller's file, and beside it where the loop is.

    def _write_checkpoint(self):
        position = {"samples": self.samples, "epoch": self.epoch, "batch": self._batch,
                    "loss": self._loss, "pending_loss": self._pending_loss,
                    "pending_samples": self._pending_samples}
        if self._save is None:
            self._note("connect() was given no save(): a restart will begin afresh")
            return
        self._store.write(position, self._save)

    def _load_checkpoint(self):
        self.resumed = self._load_from(self._store)
        if not self.resumed and self._notes > 0:
            self._note("starting afresh")
        if not self.resumed and self._warm is not None:  # what another run learnt, not its counts
            self.warm = self._load_from(_Store(self._warm), counts=False)
            self._note("begins with%s the model of the run before" % ("" if self.warm else "out"))

    def _load_from(self, store, counts=True):
        for path, position, why in store.candidates():
            try:
                if position is not None:
                    self._load(os.path.join(store.folder, position["state"]))
                    if counts:
                        self.samples, self.epoch, self._batch, self._loss = (
                            position[key] for key in ("samples", "epoch", "batch", "loss"))
                        self._pending_loss, self._pending_samples = (
                            position[key] for key in ("pending_loss", "pending_samples"))
                    return True
            except Exception as error:  # any format of the caller's, any way to fail
                why = "could not be loaded (%s: %s)" % (type(error).__name__, error)
            self._note("%s %s; not used" % (path, why))
            store.set_aside(path)
        return False

    # Standing alone.

    def _print_if_due(self):
        due = (self._pending_samples >= self._report_every if self._report_every
               else time.time() - self._last_print >= 1.0)
        if due:
            self._print_progress()

    def _print_progress(self):
        self._last_print = time.time()
        print("samples=%d loss=%.6g" % (self.samples, self._take_mean()))
        sys.stdout.flush()

    def _note(self, text):
        if self._notes < NOTES_MAX:
            self._notes += 1
            sys.stderr.write("laird_trainer: %s\n" % text)
            sys.stderr.flush()


def rows_of(batch):
    """The number of rows of a batch, or None if its structure does not tell."""
    possible = _possible_rows(batch, 0)
    return possible.pop() if len(possible) == 1 else None


def _possible_rows(part, depth):
    """An array has as many rows as its first dimension. Members of a tuple or a dict are columns of
    equally many rows. Those of a list are columns, as of a DataLoader, or rows: both are possible."""
    if hasattr(part, "shape"):
        try:
            return {int(part.shape[0])}
        except (TypeError, IndexError, ValueError):
            return set()  # a single number, or a shape that is not known
    if not _has_members(part) or depth >= NESTING_MAX:
        return set()
    named = hasattr(part, "values")
    members = list(part.values()) if named else part
    first = members[:COLUMNS_MAX]
    holds_arrays = any(hasattr(m, "shape") for m in first)
    if not named and (len(members) > COLUMNS_MAX or
                      not (holds_arrays or any(_has_members(m) for m in first))):
        return {len(members)} - {0}
    possible = [_possible_rows(member, depth + 1) for member in first]
    rows = {len(members)} if isinstance(part, list) and not holds_arrays else set()
    return rows.union(set.intersection(*possible) if possible else set())


def _has_members(part):
    return isinstance(part, (list, tuple, range)) or hasattr(part, "values")


def _inherited(fd_text):
    try:
        fd = int(fd_text)
        if not stat.S_ISSOCK(os.fstat(fd).st_mode):
            raise ValueError("not a socket")
        return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, fileno=fd)
    except (ValueError, OSError, OverflowError) as error:
        sys.stderr.write("laird_trainer: LAIRD_FD=%s names no open socket (%s); the agent sets it, "
                         "unset it to run without one\n" % (fd_text[:40], error))
        raise SystemExit(EXIT_USAGE)


def _connected(path):
    """In a container the agent is behind a socket's path."""
    agent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        agent.connect(path)
    except OSError as error:
        sys.stderr.write("laird_trainer: cannot connect to LAIRD_TRAINER_SOCKET=%s (%s); the agent "
                         "sets it, unset it to run without one\n" % (path[:100], error))
        raise SystemExit(EXIT_USAGE)
    return agent


class _Channel(object):
    """Lines of JSON over the agent's socket, or over the pipes to the helper."""

    def __init__(self, agent, note, helper=None):
        self._buffer = b""
        self._note = note
        self._socket = None
        if helper is not None:
            self._in, self._out = helper.stdout.fileno(), helper.stdin.fileno()
            self._pipes = (helper.stdin, helper.stdout)
            os.set_blocking(self._in, False)
            os.set_blocking(self._out, False)
            return
        self._socket = agent
        self._socket.setblocking(False)
        os.set_inheritable(self._socket.fileno(), False)
        self._in = self._out = self._socket.fileno()

    def fileno(self):
        return self._in

    def close(self):
        for end in (self._socket,) if self._socket is not None else self._pipes[:1]:
            try:
                end.close()
            except OSError:
                pass

    def first(self):
        """The start message, checked. What comes behind it stays in the socket, which may be given
        away (laird_average.py)."""
        while not self._buffer.endswith(b"\n"):
            select.select([self._in], [], [])
            ahead = self._peek()
            self._fill(True, ahead.find(b"\n") + 1 or len(ahead))
        line = self.receive(wait=True)
        if line["type"] != "start":
            raise ProtocolError('the first message must be "start"')
        checks = (("v", line.get("v") == PROTOCOL_VERSION, "1"),
                  ("task", isinstance(line.get("task"), str), "a string"),
                  ("dir", isinstance(line.get("dir"), str) and line["dir"].startswith("/"),
                   "an absolute path"),
                  ("params", isinstance(line.get("params"), dict), "an object"),
                  ("report_every", _is_count(line.get("report_every")) and line["report_every"] > 0,
                   "a whole number from 1"),
                  ("seed", isinstance(line.get("seed"), int), "a whole number"))
        for key, good, what in checks:
            if not good:
                raise ProtocolError('start: "%s" must be %s' % (key, what))
        return line

    def receive(self, wait):
        """The next message; None when there is none and `wait` is false."""
        while True:
            end = self._buffer.find(b"\n")
            if end < 0:
                if len(self._buffer) > LINE_FROM_AGENT_MAX:
                    raise ProtocolError("a line from the agent is longer than %d bytes"
                                        % LINE_FROM_AGENT_MAX)
                if not self._fill(wait):
                    return None
                continue
            line, self._buffer = self._buffer[:end], self._buffer[end + 1:]
            message = self._parse(line)
            if message is not None:
                return message

    def _parse(self, line):
        try:
            message = json.loads(line.decode("utf-8"))
            kind = message["type"]
        except (ValueError, KeyError, TypeError, RecursionError):
            self._note("ignored a line from the agent: not an object with a \"type\"")
            return None
        if kind not in ("start", "run", "pause", "checkpoint", "stop", "export", "averaged"):
            self._note("ignored a line from the agent: unknown type %.40r" % (kind,))
            return None
        if kind == "run" and not _is_count(message.get("until")):
            self._note('ignored a line from the agent: run: "until" must be a whole number from 0')
            return None
        return message

    def receive_raw(self, size):
        """So many bytes behind the last line."""
        parts, have = [self._buffer[:size]], min(size, len(self._buffer))
        self._buffer = self._buffer[size:]
        while have < size:
            self._fill(True)
            part, self._buffer = self._buffer[:size - have], self._buffer[size - have:]
            parts.append(part)
            have += len(part)
        return b"".join(parts)

    def _peek(self):
        try:
            return self._socket.recv(LINE_FROM_AGENT_MAX, socket.MSG_PEEK)
        except OSError:
            return b""

    def _fill(self, wait, most=LINE_FROM_AGENT_MAX):
        """Reads what is there; false when there is nothing. Raises AgentGone at the end."""
        while True:
            try:
                data = os.read(self._in, most)
            except (BlockingIOError, InterruptedError):
                if not wait:
                    return False
                select.select([self._in], [], [])
                continue
            except OSError:
                data = b""
            if not data:
                raise AgentGone(EXIT_AGENT_GONE)
            self._buffer += data
            return True

    def send(self, message, raw=None):
        data = json.dumps(message, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"
        if len(data) > (LINE_TO_AGENT_MAX if self._socket is not None else LINE_FROM_AGENT_MAX):
            raise ProtocolError("a message of %d bytes" % len(data))
        self._write(data)
        if raw is not None:
            self._write(memoryview(raw).cast("B"))

    def _write(self, data):
        data = memoryview(data)
        while len(data) > 0:
            try:
                data = data[self._send_some(data):]
            except (BlockingIOError, InterruptedError):
                select.select([], [self._out], [])
            except OSError:
                raise AgentGone(EXIT_AGENT_GONE)

    def _send_some(self, data):
        if self._socket is not None:
            return self._socket.send(data)
        return os.write(self._out, data)

    def send_error(self, text):
        while len(json.dumps(text)) > LINE_TO_AGENT_MAX - 64:
            text = text[:len(text) * 7 // 8] + "..."
        self.send({"type": "error", "message": text})


class _Store(object):
    """Two generations of a checkpoint: the caller's state files, each with an index that names it.

    An index is JSON with the name and SHA-256 of its state file and where the loop was. The state
    is written under a new name and synced before its index is renamed into place, so an index in
    place always has its state, and a rename replaces both at once.
    """

    def __init__(self, folder):
        self.folder = folder

    def _path(self, name):
        return os.path.join(self.folder, name)

    def write(self, position, save):
        names = [int(name[len(STATE):]) for name in os.listdir(self.folder) if _is_state(name)]
        state = STATE + str(max(names) + 1 if names else 1)
        try:
            save(self._path(state))
            _sync(self._path(state))
            index = dict(position, state=state, sha256=_digest(self._path(state)))
            with open(self._path(UNFINISHED), "w") as file:
                json.dump(index, file, sort_keys=True)
                file.write("\n")
            _sync(self._path(UNFINISHED))
        except BaseException:
            for name in (state, UNFINISHED):
                if os.path.isfile(self._path(name)):
                    os.unlink(self._path(name))
            raise
        if os.path.exists(self._path(NEWEST)):
            os.rename(self._path(NEWEST), self._path(BEFORE))
        os.rename(self._path(UNFINISHED), self._path(NEWEST))
        _sync(self.folder)
        self._remove_unused()

    def candidates(self):
        """(path of the index, its content or None, what is wrong with it), newest first."""
        for name in (NEWEST, BEFORE):
            if os.path.exists(self._path(name)):
                try:
                    yield self._path(name), self._read(name), ""
                except (OSError, ValueError, KeyError, TypeError) as error:
                    yield self._path(name), None, "is damaged (%s)" % error

    def set_aside(self, path):
        """A bad newest index must not push the good one before it out at the next write."""
        if path == self._path(NEWEST):
            os.rename(path, self._path(DAMAGED))

    def _read(self, name):
        with open(self._path(name), "rb") as file:
            index = json.loads(file.read(INDEX_MAX).decode("utf-8"))
        if not _is_state(index["state"]):
            raise ValueError("it names no state file")
        counts = [index[key] for key in ("samples", "epoch", "batch", "pending_samples")]
        losses = [index["pending_loss"], 0.0 if index["loss"] is None else index["loss"]]
        if not all(_is_count(n) for n in counts) or not all(math.isfinite(x) for x in losses):
            raise ValueError("impossible numbers")
        if _digest(self._path(index["state"])) != index["sha256"]:
            raise ValueError("%s has changed since it was written" % index["state"])
        return index

    def _remove_unused(self):
        used = set()
        for name in (NEWEST, BEFORE):
            try:
                used.add(self._read(name)["state"])
            except (OSError, ValueError, KeyError, TypeError):
                pass
        for name in os.listdir(self.folder):
            if _is_state(name) and name not in used:
                os.unlink(self._path(name))


def _is_state(name):
    return name.startswith(STATE) and name[len(STATE):].isdigit() and len(name) < len(STATE) + 18


def _sync(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 1 << 53


def _digest(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 16), b""):
            digest.update(block)
    return digest.hexdigest()

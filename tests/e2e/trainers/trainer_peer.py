"""The agent's end of the trainer protocol, for tests: a trainer on a socket pair."""

import json
import os
import select
import socket
import subprocess
import time

LINE_MAX = 4096


class Peer:
    """One trainer process and our end of its socket. Use as a context manager."""

    def __init__(self, argv, env=None):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        environment = dict(os.environ)
        environment.pop("LAIRD_FD", None)
        environment.update(env or {})
        environment["LAIRD_FD"] = str(theirs.fileno())
        self.process = subprocess.Popen(
            argv, pass_fds=[theirs.fileno()], env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        theirs.close()
        self.socket = ours
        self.buffer = b""
        self.lines = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def close(self):
        self.socket.close()

    def send_bytes(self, data):
        self.socket.sendall(data)

    def send(self, message):
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def receive(self, timeout=20.0):
        """The next message; None at the end of the stream; raises TimeoutError."""
        end = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.socket], [], [], left)[0]:
                raise TimeoutError("no message within %.1f s" % timeout)
            try:
                data = self.socket.recv(65536)
            except ConnectionResetError:
                data = b""
            if not data:
                return None
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        if len(line) + 1 > LINE_MAX:
            raise AssertionError("a line of %d bytes" % (len(line) + 1))
        message = json.loads(line.decode("utf-8"))
        self.lines.append(message)
        return message

    def until(self, kind, timeout=20.0):
        """Messages up to and with the first of that type."""
        got = []
        while True:
            message = self.receive(timeout)
            if message is None:
                raise AssertionError("the stream ended before %r; got %r, stderr %r"
                                     % (kind, got[-3:], self.errors()))
            got.append(message)
            if message["type"] == kind:
                return got
            if message["type"] == "error":
                raise AssertionError("unexpected %r" % message)

    def silent(self, seconds):
        """True when nothing arrives for that long."""
        try:
            self.receive(seconds)
        except TimeoutError:
            return True
        return False

    def start(self, folder, params, report_every=1000, seed=7, **more):
        message = {"type": "start", "v": 1, "task": "t-1", "dir": folder, "params": params,
                   "report_every": report_every, "seed": seed, "threads": 1}
        message.update(more)
        self.send(message)

    def ready(self, folder, params, **more):
        self.start(folder, params, **more)
        return self.until("ready")[-1]

    def stop(self):
        self.send({"type": "stop"})
        last = self.until("checkpointed")[-1]
        if self.wait() != 0:
            raise AssertionError("exit code %d, stderr %r"
                                 % (self.process.returncode, self.errors()))
        return last

    def kill(self):
        self.process.kill()
        self.wait()

    def wait(self, timeout=20.0):
        return self.process.wait(timeout)

    def errors(self):
        """What it wrote to stderr; ends it first if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
        return self.process.communicate()[1].decode("utf-8", "replace")

    def cpu_ticks(self):
        with open("/proc/%d/stat" % self.process.pid) as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

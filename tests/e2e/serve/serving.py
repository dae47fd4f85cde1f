"""`lairctl serve` in a process of its own, and plain requests to it."""

import http.client
import json
import re
import subprocess
import sys
import os

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../fleet"), os.path.join(HERE, "../report")]

from harness import LAIRCTL, free_port


class Serve:
    """Ends with its test."""

    def __init__(self, test, *args, env=None, port=None):
        self.port = port or free_port()
        self.log = open(os.path.join(test.root, "serve.log"), "ab")
        self.process = subprocess.Popen(
            [LAIRCTL, "serve", "--listen", "127.0.0.1:%d" % self.port, *args],
            stdout=subprocess.PIPE, stderr=self.log, env=env or test.environment())
        test.addCleanup(self.end)
        self.address = self.process.stdout.readline().decode().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:\d+/#([0-9a-f]{32})", self.address)
        assert found, (self.address, open(self.log.name, encoding="utf-8").read())
        self.token = found[1]

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(10)
        self.process.stdout.close()
        self.log.close()

    def ask(self, path, method="GET", body=None, token=True, timeout=30, **headers):
        """Status, headers and text of an answer."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            given = {"Host": "127.0.0.1:%d" % self.port}
            if token:
                given["Authorization"] = "Bearer " + (self.token if token is True else token)
            given.update({k.replace("_", "-"): v for k, v in headers.items() if v is not None})
            link.request(method, path, body=body, headers=given)
            answer = link.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()
        finally:
            link.close()

    def stream(self):
        return Stream(self)

    def order(self, **what):
        status, _, text = self.ask("/api/order", "POST", json.dumps(what),
                                   Origin="http://127.0.0.1:%d" % self.port,
                                   Content_Type="application/json")
        return status, json.loads(text) if status == 200 else text

    def resident_kb(self):
        with open("/proc/%d/status" % self.process.pid, encoding="utf-8") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])

    def cpu_s(self):
        with open("/proc/%d/stat" % self.process.pid, encoding="utf-8") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Stream:
    """The server-sent events, one by one."""

    def __init__(self, serve):
        self.link = http.client.HTTPConnection("127.0.0.1", serve.port, timeout=30)
        self.link.request("GET", "/api/stream", headers={"Authorization": "Bearer " + serve.token})
        self.answer = self.link.getresponse()
        self.status = self.answer.status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.link.close()

    def next(self):
        """The kind of the next event and what it tells."""
        kind, data = None, None
        while True:
            line = self.answer.readline().decode().rstrip("\n")
            if line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: "):
                data = json.loads(line[6:])
            elif kind and not line:
                return kind, data
            else:
                raise AssertionError("not an event: %r" % line)

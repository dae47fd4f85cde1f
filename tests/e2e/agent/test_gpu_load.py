"""A board whose GPU load comes from NVML: the load is in the journal's readings, and a library that
hangs, in the middle of life or from the start, holds up neither the agent nor its power readings."""

import contextlib
import glob
import os
import sqlite3
import struct
import unittest

import harness
from harness import Board

FAKE_NVML = os.path.abspath(os.path.join(harness.BIN, "..", "fake_nvml", "whole"))
TEGRASTATS = """#!/bin/sh
while :; do
  echo 'RAM 1/2MB (lfb 1x4MB) GR3D_FREQ @[314,314,314] VIN 20000mW/20000mW/20000mW'
  sleep 0.05
done
"""


class Blob:
    """Reads an event's bytes in the order of PowerReading::archive."""

    def __init__(self, body):
        self.body, self.at = body, 0

    def take(self, form):
        value = struct.unpack_from("<" + form, self.body, self.at)
        self.at += struct.calcsize("<" + form)
        return value[0]

    def text(self):
        size = self.take("I")
        self.at += size

    def optional(self, form):
        return self.take(form) if self.take("B") else None


def gpu_load(body):
    blob = Blob(body)
    for form in "qBqBB":  # event: time, kind; reading: time, source, scope
        blob.take(form)
    blob.optional("q")
    blob.text()
    blob.take("q")
    for _ in range(2):  # rails, zones
        for _ in range(blob.take("I")):
            blob.text()
            blob.take("q")
    return blob.optional("i")


class GpuLoad(unittest.TestCase):
    def setUp(self):
        self.board = Board("thor", board={"name": "thor-t5000", "memory": "2GB", "lanes": [
            {"name": "cpu0", "kind": "cpu", "cores": 1}]},
            power={"source": "tegrastats", "every": "0.05s"})
        self.addCleanup(self.board.__exit__)
        programs = os.path.join(self.board.root, "bin")
        os.mkdir(programs)
        with open(os.path.join(programs, "tegrastats"), "w", encoding="utf-8") as out:
            out.write(TEGRASTATS)
        os.chmod(out.name, 0o755)
        self.nvml = os.path.join(self.board.root, "nvml")
        self.board.env = {"PATH": programs + ":" + os.environ["PATH"], "FAKE_NVML": self.nvml,
                          "LD_LIBRARY_PATH": FAKE_NVML}

    def say(self, text):
        with open(self.nvml + ".new", "w", encoding="utf-8") as out:
            out.write(text)
        os.rename(self.nvml + ".new", self.nvml)

    def loads(self):
        out = []
        for path in sorted(glob.glob(os.path.join(self.board.journal_folder, "*.db"))):
            with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
                out += [gpu_load(body) for (body,) in db.execute(
                    "SELECT body FROM event WHERE kind = 'power-sampled' ORDER BY seq")]
        return out

    def test_a_hung_library_takes_the_load_and_nothing_else(self):
        board = self.board
        self.say("load 47\n")
        board.start()
        board.wait_for(lambda: 470 in self.loads(), 20, "no load in the readings")
        self.assertIn("GPU load: NVML, driver 580.00-fake", board.log_text())
        self.say("load 47\nhang load\n")
        board.wait_for(lambda: self.loads()[-1] is None, 30, "the last load stands for ever")
        self.assertEqual(1, board.log_text().count("a call hangs"), board.log_tail())
        count = len(self.loads())
        board.wait_for(lambda: len(self.loads()) > count + 20, 30, "power is not read on")
        self.assertTrue(board.ask({"op": "status"})["ok"])
        self.assertEqual({470, None}, set(self.loads()), "a load was made up")
        self.say("load 52\n")
        board.wait_for(lambda: self.loads()[-1] == 520, 30, "the load does not come back")
        self.say("hang load\n")
        board.wait_for(lambda: self.loads()[-1] is None, 30, "the last load stands for ever")
        self.assertEqual(0, board.terminate())  # with the call still hanging

    def test_a_library_that_hangs_at_its_start(self):
        board = self.board
        self.say("hang init\n")
        board.start()
        board.wait_for(lambda: len(self.loads()) > 20, 30, "power is not read")
        self.assertEqual({None}, set(self.loads()))
        board.wait_for(lambda: "GPU load: unknown: NVML does not answer" in board.log_text(), 30,
                       "it is not said")
        self.assertEqual(0, board.terminate())

    def test_no_library(self):
        board = self.board
        board.env["LD_LIBRARY_PATH"] = ""
        board.start()
        board.wait_for(lambda: "GPU load: unknown: NVML cannot be loaded" in board.log_text(), 30,
                       "it is not said")
        board.wait_for(lambda: len(self.loads()) > 20, 30, "power is not read")
        self.assertEqual({None}, set(self.loads()))


if __name__ == "__main__":
    harness.main()

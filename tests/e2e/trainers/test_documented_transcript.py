"""The conversation and the errors in docs/trainer-protocol.md are what laird-train says."""

import json
import os
import re
import tempfile
import unittest

from trainer_peer import Peer

PROGRAM = os.path.join(os.environ["LAIRD_BIN"], "laird-train")
DOCUMENTED_FOLDER = "/var/lib/laird/tasks/softmax-1"

with open(os.path.join(os.environ["LAIRD_DOCS"], "trainer-protocol.md")) as page:
    PAGE = page.read()


class Documented(unittest.TestCase):
    def assert_same(self, want, got, line):
        """Losses may differ in the digits that another processor rounds differently."""
        self.assertEqual(list(want), list(got), line)
        for key in want:
            if key == "loss" and want[key] is not None:
                self.assertAlmostEqual(want[key], got[key], delta=1e-4, msg=line)
            elif key == "data":  # quantized numbers of the model
                self.assertEqual(len(want[key]), len(got[key]), line)
            else:
                self.assertEqual(want[key], got[key], line)

    def test_the_transcripts_play(self):
        transcripts = re.findall(r"```transcript\n(.*?)```", PAGE, re.S)
        self.assertEqual(len(transcripts), 2)
        for transcript in transcripts:
            self.play(transcript.splitlines())

    def play(self, lines):
        self.assertGreater(len(lines), 15)
        answers = 0
        with tempfile.TemporaryDirectory() as folder:
            peer = None
            for line in lines:
                mark, text = line[0], line[2:].replace(DOCUMENTED_FOLDER, folder)
                if mark == ">":
                    if '"start"' in text:
                        if peer is not None:
                            peer.__exit__()
                        peer = Peer([PROGRAM, "softmax"])
                        self.addCleanup(peer.__exit__)
                    peer.send_bytes(text.encode() + b"\n")
                elif mark == "<":
                    self.assert_same(json.loads(text), peer.receive(), line)
                    answers += 1
                else:
                    self.assertEqual(mark, "#")
            self.assertEqual(peer.wait(), 0)
        self.assertGreater(answers, 6)

    def test_the_errors_are_the_documented_ones(self):
        data = {"format": "synthetic", "rows": 2000, "features": 10, "classes": 3}
        starts = [
            {"data": {"format": "synthetic", "row": 5}, "batch": 0},
            {"data": {"format": "idx", "images": "/data/images.gz", "labels": "/data/labels.gz"}},
        ]
        got = []
        for params in starts:
            with tempfile.TemporaryDirectory() as folder, Peer([PROGRAM, "softmax"]) as peer:
                peer.start(folder, params)
                got.append(peer.receive()["message"])
        with tempfile.TemporaryDirectory() as folder, Peer([PROGRAM, "softmax"]) as peer:
            peer.start(folder, {"data": data}, v=2)
            got.append(peer.receive()["message"])
        for first in (b'{"type":"run","until":5}\n', b"x" * 70000):
            with Peer([PROGRAM, "softmax"]) as peer:
                peer.send_bytes(first)
                got.append(peer.receive()["message"])
        for message in got:
            self.assertIn("| `%s` |" % message, PAGE)


if __name__ == "__main__":
    unittest.main()

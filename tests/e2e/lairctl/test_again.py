"""A command whose answer does not come is sent again, byte for byte as it was, so that a board that has done it does nothing; and its
answer to any of them counts."""

import json
import threading
import unittest

from boards import OperatedFleet

from harness import TOP


class Again(OperatedFleet):

    boards = ()
    nodes = ("n-1",)

    def setUp(self):
        # A board of this test's own making, which hears commands and answers when it likes.
        self.board = self.up("n-1", subscriptions=[TOP + "ctl/n-1/cmd/+"])
        self.board.publish(TOP + "node/n-1/status", json.dumps(
            {"s": "laird.status/1.0", "state": "ready", "epoch": 1, "ts": "2026-11-16T07:16:53.850Z"}),
            kind="state", qos=1, retained=True)

    def answer(self, message):
        text = json.loads(json.loads(message["payload"])["signed"])
        self.board.publish(message["response_topic"], json.dumps(
            {"s": "laird.reply/1.0", "id": text["id"], "node": "n-1", "ok": True, "code": "ok",
             "text": "draining", "data": None}), kind="reply", qos=1,
            correlation64=message["correlation64"])

    def test_the_same_envelope_comes_again_and_its_answer_counts(self):
        done = []
        asking = threading.Thread(target=lambda: done.append(
            self.run_lairctl("drain", "n-1", "--timeout", "20s")))
        asking.start()
        self.addCleanup(asking.join)
        first = self.board.message(TOP + "ctl/n-1/cmd/drain", 15)
        second = self.board.message(TOP + "ctl/n-1/cmd/drain", 15)
        self.assertEqual(first["payload"], second["payload"])
        self.assertEqual(first["correlation"], second["correlation"])
        self.answer(second)
        asking.join(25)
        self.assertEqual(done[0].code, 0, done[0])
        self.assertIn("draining", done[0].out)


if __name__ == "__main__":
    unittest.main(verbosity=2)

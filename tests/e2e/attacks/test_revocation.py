"""A board is stolen: one command of an operator, and the others believe it no more, without a restart of the broker. The list
cannot be taken back by an older one, and holds over restarts."""

import json
import os
import shutil
import unittest

from arena import TOP, Arena, wait_until
from harness import lairctl


class Revocation(Arena):

    def test_a_stolen_board_is_not_heard_any_more(self):
        older = os.path.join(self.root, "older.pem")
        shutil.copy(os.path.join(self.pki.folder, "crl.pem"), older)
        peer = self.fall()
        self.assertGreater(self.packets("n-1", "key"), 0)
        lairctl("pki", "revoke", "n-4", "--dir", self.pki.folder)
        done = self.lairctl("pki", "publish", "--dir", self.pki.folder)
        self.assertIn("in force on 3 of 3 boards", done.out)
        for node in self.honest:
            self.assertIn("the certificate of board n-4 is revoked", self.agents[node].log())
        # It is still at the broker, and says what it will.
        opened = {n: self.packets(n, "opened") for n in self.honest}
        for node in self.honest:
            refused = self.packets(node, "no-key")
            peer.say(node, b"whatever it says")
            self.assertTrue(wait_until(lambda node=node, refused=refused:
                                       self.packets(node, "no-key") > refused, 10, 0.1))
            peer.send(node, peer.announcement())
            self.assertTrue(wait_until(lambda node=node: self.packets(node, "revoked") > 0, 10, 0.1))
        self.assertTrue(all(self.packets(n, "opened") > opened[n] for n in self.honest))  # of each other

        # The broker, or an operator's stolen TLS key, brings the old list back: it is refused.
        with open(older, encoding="utf-8") as f:
            text = json.dumps({"s": "laird.crl/1.0", "crl": f.read()})
        operator = self.up("op-alice")
        operator.publish(TOP + "ctl/all/crl", text, qos=1, kind="event", retained=True)
        self.assertTrue(wait_until(lambda: "is older than number" in self.agents["n-1"].log(), 10))
        operator.publish(TOP + "ctl/all/crl", "{}", qos=1, kind="event", retained=True)

        # A board that starts anew knows it from its disk.
        board = self.agents["n-1"]
        board.process.terminate()
        board.process.wait(20)
        board.start()
        self.assertTrue(wait_until(lambda: self.is_up("n-1"), 20, 0.3))
        before = self.packets("n-1", "revoked")
        peer.send("n-1", peer.announcement())
        self.assertTrue(wait_until(lambda: self.packets("n-1", "revoked") > before, 10, 0.2))
        # What the stolen board held goes to the others: each had a quarter of what is above the floors.
        self.assertTrue(wait_until(lambda: sum(self.used_w().get(n, 0) for n in self.honest) > 27, 60, 0.5),
                        self.used_w())

    def is_up(self, node):
        try:
            return self.counters(node, "laird_mqtt_connected")[""] == 1
        except OSError:
            return False


if __name__ == "__main__":
    unittest.main(verbosity=2)

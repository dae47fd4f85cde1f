"""One message of one member, "ask these keepers instead, in an epoch that is to come", to every board: they go on with the shares they
have."""

import unittest

from arena import Arena, time_to_settle

import journal_reader
import ledger_reader as wire

LATEST = 2**32 - 1


class Refer(Arena):

    def test_one_word_does_not_put_the_fleet_on_its_floor(self):
        peer = self.fall()
        evil = {"node": journal_reader.node_number(self.evil), "incarnation": 1}
        for epoch in (LATEST, LATEST - 1, 2):
            for node in self.honest:
                peer.say(node, wire.encoded({"kind": "refer", "epoch": epoch, "incarnation": 1, "body": {
                    "version": LATEST, "keepers": [evil]}}))
        time_to_settle()
        self.assert_budget_holds(2)
        used = self.used_w()
        for node in self.honest:
            self.assertGreater(used[node], 6.0, used)


if __name__ == "__main__":
    unittest.main(verbosity=2)

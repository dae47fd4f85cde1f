"""Any certificate of the fleet, and the names of all boards: whoever connects under a board's name does not throw the board off,
because a board's client id has 16 digits that only its private key gives."""

import re
import unittest

from arena import Arena, RawClient, wait_until


class ClientIds(Arena):

    def test_no_certificate_throws_a_board_off(self):
        before = {n: self.counters(n, "laird_mqtt_connects_total")[""] for n in self.honest}
        for certificate in ("n-4", "op-alice"):
            guests = []
            for board in self.honest:
                for client_id in (board, board + "-" + 16 * "0", board + "-", board.upper()):
                    guests.append(RawClient(self, certificate, client_id))
                    self.addCleanup(guests[-1].close)
                    self.assertTrue(guests[-1].connected)
        self.assert_budget_holds(7, self.boards)
        self.assertEqual(before, {n: self.counters(n, "laird_mqtt_connects_total")[""] for n in self.honest})
        for board in self.honest:
            self.assertNotIn("another client came under the name", self.agents[board].log())
        log = self.broker.log()
        for board in self.honest:
            self.assertRegex(log, r"as %s-[0-9a-f]{16} \(" % board)

    def test_a_board_whose_key_is_used_by_another_says_so(self):
        """Only a copied key gives the id. mosquitto does not tell why it throws a client off; the board tells what it sees."""
        client_id = re.search(r"as (n-3-[0-9a-f]{16}) \(", self.broker.log())[1]
        for _ in range(3):
            connects = self.counters("n-3", "laird_mqtt_connects_total")[""]
            RawClient(self, "n-3", client_id).close()
            self.assertTrue(wait_until(lambda connects=connects: self.counters(
                "n-3", "laird_mqtt_connects_total")[""] > connects, 20, 0.2))
        self.assertTrue(wait_until(lambda: "somebody has this board's key" in self.agents["n-3"].log(), 5))
        events = self.lairctl("get", "events", "-o", "json").out
        self.assertIn("somebody has this board's key", events)


if __name__ == "__main__":
    unittest.main(verbosity=2)

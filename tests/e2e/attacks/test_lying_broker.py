"""A broker that lies: it lets anybody write anything anywhere, changes what boards say, repeats it, and says things in
their name. It reads every message and has every key but the boards' own. Nothing of it is believed."""

import unittest

from arena import Arena, RawClient, SpeakingPeer, coop_topic, wait_until
from peer import Peer, frames

import ledger_reader as wire


def edge(life, seq):
    """A grant of the whole budget, as a neighbour says it."""
    return wire.encoded({"kind": "edge", "epoch": 1, "incarnation": None, "body": {"edge": {
        "life": life, "seq": seq, "ack": 0, "price_absolute": True, "sent_absolute": True, "frozen": False, "degree": 3,
        "urgency": [256] * 3, "price": [0] * 3, "code": [0] * 3, "grant": [0, 0, 10**12], "base_age": 0}}})


class LyingBroker(Arena):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # No ACL any more: who holds the broker writes below every name.
        path = cls.broker.folder + "/mosquitto.conf"
        with open(path, encoding="utf-8") as f:
            lines = [line for line in f if not line.startswith("acl_file")]
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(lines)
        cls.broker.kill()
        cls.broker.start()
        cls.wait_for_boards()

    def setUp(self):
        super().setUp()
        # A certificate that lets it in; what it writes is in the name of others.
        self.broker_hand = RawClient(self, "op-alice", "the-broker")
        self.addCleanup(self.broker_hand.close)
        self.assertTrue(self.broker_hand.connected)

    def forge(self, source, target, *payloads):
        self.broker_hand.send([RawClient.publish_bytes(coop_topic(source, target), p) for p in payloads], 200)

    def assert_unmoved(self, refused, count, act):
        """What the boards hold is as before, and what was forged is counted as refused."""
        before = {node: sum(self.packets(node, r) for r in refused) for node in self.honest}
        act()
        self.assertTrue(wait_until(lambda: sum(
            self.packets(node, r) for node in self.honest for r in refused) -
            sum(before.values()) >= count, 20, 0.3), (before, {
                node: self.counters(node, "laird_coop_packets_total") for node in self.honest}))
        self.assert_budget_holds(2, self.boards)

    def test_grants_in_the_name_of_a_board_are_not_believed(self):
        """What took a fleet of 40 W to 75 W within seconds: 60 grants on the edges of real neighbours."""
        sealed = [bytes([0x20]) + bytes([n, len(e)]) + e + b"12345678"
                  for n in range(1, 61) for e in [edge(0, n + 1000)]]
        plain = [b"\x28" + frames(edge(0, n + 1000)) for n in range(1, 61)]
        old = [b"\1" + len(e).to_bytes(2, "little") + e for n in range(1, 61) for e in [edge(0, n + 1000)]]

        def act():
            for payloads in (sealed, plain, old):
                self.forge("n-1", "n-2", *payloads)
        # Some of the many are above what a peer may send at all, and some numbers were heard before.
        self.assert_unmoved(("forged", "unsealed", "version", "too-much", "repeated"), 180, act)

    def test_what_was_said_is_believed_once_and_unchanged(self):
        ear = SpeakingPeer(self, "n-4", client=self.up(
            "op-alice", subscriptions=[coop_topic("n-1", "n-2")]))
        self.assertTrue(wait_until(lambda: self.heard(ear) >= 10, 20))
        said = self.said[-10:]
        again = [p for p in said for _ in range(3)]
        changed = [p[:-9] + bytes([p[-9] ^ 1]) + p[-8:] for p in said]
        self.assert_unmoved(("repeated", "forged", "too-much"), len(again) + len(changed),
                            lambda: self.forge("n-1", "n-2", *again, *changed))
        # To another board, and back to its sender.
        self.assert_unmoved(("repeated", "forged", "too-much"), 20, lambda: (
            self.forge("n-1", "n-3", *said), self.forge("n-2", "n-1", *said)))

    def heard(self, ear):
        self.said = getattr(self, "said", []) + [p for _, p in ear.listen() if p[0] == 0x20]
        return len(self.said)

    def test_a_key_in_the_name_of_a_board_is_not_believed(self):
        """The broker has certificates of members at hand, its own, and an operator's; not the board's key."""
        later = 1 << 52
        for signer in ("n-4", "op-alice"):
            own = Peer(self.pki, signer, start=later)
            self.assert_unmoved(("key-refused", "too-much"), 1,
                                lambda own=own: self.forge("n-1", "n-2", own.announcement("n-1")))
        self.assert_unmoved(("key-refused", "malformed", "too-much"), 2, lambda: self.forge(
            "n-1", "n-2", b"\x22" + bytes(700), b"\x22" + b"\1" * 700))

    def test_it_cannot_bring_back_an_earlier_start(self):
        ear = SpeakingPeer(self, "n-4", client=self.up(
            "op-alice", subscriptions=[coop_topic("n-3", "+"), coop_topic("+", "n-3")]))
        board = self.agents["n-3"]
        board.kill()
        board.start()
        keys = []

        def kept():
            keys.extend((sender, p) for sender, p in ear.listen() if p[0] == 0x22 and sender == "n-3")
            return keys
        self.assertTrue(wait_until(kept, 20, 0.2))
        # Another start; then the key of the one before, again.
        board.kill()
        board.start()
        self.assertTrue(wait_until(lambda: self.shares_are_out() and "n-3" in self.used_w(), 60, 0.5))
        targets = ("n-1", "n-2")
        earlier = {node: self.packets(node, "key-refused") for node in targets}

        def refused():
            """A board looks at a key of a peer only so often: at the first, maybe, not at all."""
            for node in targets:
                self.forge("n-3", node, keys[0][1])
            return all(self.packets(node, "key-refused") > earlier[node] for node in targets)
        self.assertTrue(wait_until(refused, 30, 1.5))
        before = self.fences()
        self.assert_budget_holds(7, self.boards)
        self.assertEqual(before, self.fences())


if __name__ == "__main__":
    unittest.main(verbosity=2)

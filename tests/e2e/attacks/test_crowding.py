"""A member that floods: thousands of packets a second to every other board, garbage, repeated, or all of them new and well sealed. Nobody
is fenced, the ticks go on, and the journal does not grow by what was sent.

LAIRD_FLOOD_PER_SECOND and LAIRD_FLOOD_SECONDS make it harder than this machine needs in CI; LAIRD_FLOOD_BOARDS=1 sends all of it to one board."""

import os
import time
import unittest

from arena import Arena, RawClient, coop_topic
from peer import frames

import ledger_reader as wire

PER_SECOND = int(os.environ.get("LAIRD_FLOOD_PER_SECOND", "2000"))
SECONDS = int(os.environ.get("LAIRD_FLOOD_SECONDS", "8"))
BOARDS = int(os.environ.get("LAIRD_FLOOD_BOARDS", "3"))
# A board that is busy may be late with a tick or two in this time; a crowd of messages must not cost it more.
ROUNDS_MIN = 0.7
PROBE = {"kind": "probe", "epoch": 1, "incarnation": 1, "body": {"version": 1, "question": 2}}


class Crowding(Arena):

    def life(self, act):
        """What `act` does to the honest boards: journal bytes, rounds and seconds of a core in a second."""
        began = time.monotonic()
        before = {n: (self.journal_bytes(n), self.rounds(n), self.cpu_s(n)) for n in self.honest}
        fences = self.fences()
        act()
        lasted = time.monotonic() - began
        after = {n: (self.journal_bytes(n), self.rounds(n), self.cpu_s(n)) for n in self.honest}
        self.assertEqual(fences, self.fences())
        return {n: [(b - a) / lasted for a, b in zip(before[n], after[n])] for n in self.honest}

    def assert_harmless(self, what, packets):
        """`packets`: by target, the payloads that the evil board sends it, over and over."""
        hand = RawClient(self, "n-4", "crowd")
        self.addCleanup(hand.close)
        idle = self.life(lambda: time.sleep(SECONDS))
        packets = dict(list(packets.items())[:BOARDS])
        share = PER_SECOND // len(packets)
        crowd = [RawClient.publish_bytes(coop_topic("n-4", target), payload)
                 for n in range(share * SECONDS) for target, payloads in packets.items()
                 for payload in [payloads[n % len(payloads)]]]
        flood = self.life(lambda: hand.send(crowd, PER_SECOND))
        for node in self.honest:
            print("%s, %s: journal %.0f B/s (idle %.0f), rounds %.2f/s (idle %.2f), core %.1f %% (idle %.1f %%)" % (
                what, node, flood[node][0], idle[node][0], flood[node][1], idle[node][1],
                100 * flood[node][2], 100 * idle[node][2]))
            self.assertGreater(flood[node][1], ROUNDS_MIN * idle[node][1])
            # Journals grow in pages: a few of them more or less say nothing.
            self.assertLess(flood[node][0], 2 * idle[node][0] + 65536 / SECONDS)
        self.assert_budget_holds(1, self.honest)

    def test_garbage(self):
        self.fall()
        self.assert_harmless("garbage", {n: [os.urandom(300) for _ in range(50)] for n in self.honest})

    def test_packets_of_the_old_version(self):
        self.fall()
        old = b"\1" + 20 * (b"\5\0" + bytes.fromhex("5401010102"))
        self.assert_harmless("version 1", {n: [old] for n in self.honest})

    def test_well_sealed_ledger_messages(self):
        """As a member may say them, only far too many: each of them new, and of kinds that do not replace one another."""
        peer = self.fall()
        probes = [wire.encoded({**PROBE, "body": {"version": 1, "question": n}}) for n in range(40)]
        count = PER_SECOND // min(BOARDS, len(self.honest)) * SECONDS
        self.assert_harmless("sealed", {n: [peer.seal(n, frames(*probes)) for _ in range(count)]
                                        for n in self.honest})

    def test_keys(self):
        peer = self.fall()
        keys = []
        for n in range(50):
            peer.start += n
            keys.append(peer.announcement())
        self.assert_harmless("keys", {n: keys for n in self.honest})


if __name__ == "__main__":
    unittest.main(verbosity=2)

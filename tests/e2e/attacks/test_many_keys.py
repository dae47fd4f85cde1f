"""JSON that is dear to read: 64 KiB of objects with thousands of keys, from somebody who may write to the board's command topic but
has no right at all. It is refused before it costs anything, and the board's ticks go on."""

import json
import unittest

from arena import TOP, Arena, RawClient, wait_until

MESSAGES = 208


class ManyKeys(Arena):

    def flood(self, payload):
        """What it costs the board, in seconds of a core; its rounds meanwhile."""
        self.assertLess(len(payload), 65536)
        hand = RawClient(self, "op-alice", "somebody")
        self.addCleanup(hand.close)
        before = self.cpu_s("n-1"), self.rounds("n-1"), self.fences()
        received = self.counters("n-1", "laird_mqtt_messages_total")['direction="received"']
        packet = RawClient.publish_bytes(TOP + "ctl/n-1/cmd/submit", payload)
        hand.send([packet] * MESSAGES, 100)
        self.assertTrue(wait_until(lambda: self.counters("n-1", "laird_mqtt_messages_total")[
            'direction="received"'] >= received + MESSAGES / 2, 30, 0.2))
        used, rounds = self.cpu_s("n-1") - before[0], self.rounds("n-1") - before[1]
        print("%d messages of %d bytes: %.2f s of a core, %d rounds" % (MESSAGES, len(payload), used, rounds))
        self.assertEqual(before[2], self.fences())
        return used, rounds

    def test_an_envelope_of_4000_keys(self):
        many = {"k%d" % i: 1 for i in range(4000)}
        used, rounds = self.flood(json.dumps({"s": "laird.cmd/1.0", **many}).encode())
        self.assertGreater(rounds, 5)
        self.assertLess(used, 2.0)  # it was 7 s and more

    def test_a_signed_text_of_4000_keys_by_nobody(self):
        many = json.dumps({"k%d" % i: 1 for i in range(2500)})
        used, rounds = self.flood(json.dumps({
            "s": "laird.cmd/1.0", "signed": many, "op": "op-nobody", "sig": "A" * 86 + "=="}).encode())
        self.assertGreater(rounds, 5)
        self.assertLess(used, 2.0)


if __name__ == "__main__":
    unittest.main(verbosity=2)

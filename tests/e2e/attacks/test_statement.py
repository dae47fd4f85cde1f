"""A member's certificate against the ledger's register: a board that speaks as a keeper speaks, with a good seal, and says that somebody
holds the whole budget, that somebody else is dead, or that the register is another one. What the honest boards use together stays within the
budget, during the attack and after the attacker has gone and all agents were started anew."""

import unittest

from arena import BUDGET_W, Arena, wait_until

import journal_reader
import ledger_reader as wire

WHOLE = 10**12
LATEST = 2**32 - 1


def number(node):
    return journal_reader.node_number(node)


class Statement(Arena):

    def account(self, node, incarnation=1):
        return {"node": number(node), "incarnation": incarnation}

    def statement(self, node, version=LATEST):
        """You hold everything, you are alone, and I am the only keeper."""
        return wire.encoded({"kind": "statement", "epoch": 1, "incarnation": 1, "body": {
            "version": version, "incarnation": 1, "dead": False, "certain": False, "living": 1,
            "base": [WHOLE] * 3, "quorum": 0, "term": 0, "ties": [], "keepers": [self.account(self.evil)]}})

    def decided(self, node, version=LATEST):
        """A register in which one board holds everything."""
        entries = sorted(({"account": self.account(n), "base": [WHOLE if n == node else 0] * 3, "quorum": 0,
                           "term": 0, "dead": n != node, "certain": n != node, "changed": version}
                          for n in self.boards), key=lambda e: e["account"]["node"])
        return wire.encoded({"kind": "decided", "epoch": 1, "incarnation": 1, "body": {"value": {
            "version": version, "owner": self.account(self.evil), "lives": 9,
            "keepers": [self.account(self.evil)], "entries": entries, "ties": [], "buried": [], "closed": []}}})

    def test_no_member_gives_away_the_budget(self):
        peer = self.fall()
        # One after the other: a board keeps the newest statement of a tick.
        for version in (LATEST, 100, 3, 2):
            for make in (self.statement, self.decided):
                for node in self.honest:
                    peer.say(node, make(node, version))
                self.assert_budget_holds(1)
        # The honest ones have work for all they can get; and a start anew brings nothing back.
        for node in self.honest:
            self.agents[node].process.terminate()
            self.agents[node].process.wait(20)
            self.agents[node].start()
        peer.client.kill()
        self.assertTrue(wait_until(lambda: set(self.used_w()) >= set(self.honest), 40, 0.5))
        self.assert_budget_holds(8)
        # Reports come once a second; the journals have every instant.
        verdict = self.judged(*self.boards, budget_w=BUDGET_W)
        print("over the budget by at most %.1f W" % verdict["most_over_budget_w"])
        self.assertEqual(0, verdict["excess_parts"], verdict)
        self.assertLessEqual(verdict["most_over_budget_w"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)

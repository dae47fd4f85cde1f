"""One by one: what a board must refuse, with an event and an answer that say why, and nothing else
changes. The broker is believed in nothing: operators send these as they please."""

import base64
import json
import subprocess
import time
import unittest

from harness import TOP, Board, FleetTest, command, sign

TASK = {"name": "never", "trainer": "linear", "deadline": "5m", "target_loss": 100,
        "memory": "20MB", "params": {"data": {"format": "synthetic", "rows": 500, "features": 4}}}


class Refusals(FleetTest):

    operators = ("op-alice", "op-mallory")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.board = Board(_Borrowed(cls), "n-1", may=["ping", "submit", "drain", "get"]).start()

    def setUp(self):
        self.operator = self.up("op-alice", subscriptions=[
            TOP + "node/n-1/evt/#", TOP + "node/n-1/task/#", TOP + "node/n-1/report",
            TOP + "res/op-alice/#"])
        self.operator.message(TOP + "node/n-1/report", 20)
        self.assertEqual(self.ask(sign(self.pki, "op-alice", command("n-1", "ping")),
                                  "ping")["code"], "ok")

    def send(self, payload, verb="submit", **more):
        text = payload if isinstance(payload, str) else json.dumps(payload)
        self.operator.publish(TOP + "ctl/n-1/cmd/" + verb, text, qos=1, kind="event", **{
            "response_topic": TOP + "res/op-alice/n-1", **more})

    def reply(self):
        return json.loads(self.operator.message(TOP + "res/op-alice/n-1")["payload"])

    def ask(self, payload, verb="submit"):
        self.send(payload, verb)
        return self.reply()

    def assert_refused(self, code, word, payload, verb="submit", **more):
        self.send(payload, verb, **more)
        reply = self.reply()
        self.assertEqual((reply["ok"], reply["code"]), (False, code), reply)
        self.assertIn(word, reply["text"])
        self.assert_event(word)

    def assert_event(self, word):
        event = json.loads(self.operator.message(TOP + "node/n-1/evt/refused-command")["payload"])
        self.assertIn(word, event["text"])

    def tearDown(self):
        """Nothing changed: no task came to be, and the board still answers."""
        got = self.ask(sign(self.pki, "op-alice", command("n-1", "get", {"what": "tasks"})), "get")
        self.assertEqual(got["data"]["tasks"], [], self.board.log())

    def submit(self, **more):
        return command("n-1", "submit", {"task": TASK}, **more)

    def test_unsigned(self):
        self.assert_refused("invalid", "schema", self.submit())
        self.assert_refused("invalid", '"sig"', {"s": "laird.cmd/1.0", "signed": self.submit(),
                                                 "op": "op-alice"})

    def test_signed_by_somebody_unknown(self):
        self.assert_refused("unauthorised", "no operator 'op-mallory'",
                            sign(self.pki, "op-mallory", self.submit()))

    def test_signed_by_somebody_else_in_the_name_of_an_operator(self):
        forged = sign(self.pki, "op-mallory", self.submit())
        forged["op"] = "op-alice"
        self.assert_refused("unauthorised", "signature", forged)

    def test_changed_after_signing(self):
        changed = sign(self.pki, "op-alice", self.submit())
        changed["signed"] = changed["signed"].replace("never", "other")
        self.assert_refused("unauthorised", "signature", changed)

    def test_a_verb_the_operator_may_not(self):
        self.assert_refused("unauthorised", "may not 'cancel'",
                            sign(self.pki, "op-alice", command("n-1", "cancel", {"task": "x"})),
                            "cancel")

    def test_stale_and_from_the_future_and_for_too_long(self):
        now = int(time.time() * 1000)
        for word, times in (("expired", (now - 120000, now - 60000)),
                            ("future", (now + 90000, now + 120000)),
                            ("sign it for less", (now, now + 700000))):
            self.assert_refused("expired", word, sign(self.pki, "op-alice", self.submit(
                issued_ms=times[0], expires_ms=times[1])))

    def test_for_another_board_fleet_or_verb(self):
        self.assert_refused("refused", "n-2", sign(self.pki, "op-alice", command(
            "n-2", "submit", {"task": TASK})))
        self.assert_refused("refused", "other", sign(self.pki, "op-alice", self.submit(
            fleet="other")))
        self.assert_refused("refused", "signed as 'drain'",
                            sign(self.pki, "op-alice", command("n-1", "drain")))

    def test_retained(self):
        # The client of the test keeps what it sends with the broker; the board meets it again.
        self.send(sign(self.pki, "op-alice", command("n-1", "ping")), "ping", retained=True)
        self.assertEqual(self.reply()["code"], "ok")  # live: the flag is not told to those there
        self.board.stop()
        self.board.start()
        self.assert_event("retained")
        self.assertEqual(self.reply()["code"], "refused")
        self.operator.publish(TOP + "ctl/n-1/cmd/ping", "", qos=1, kind="event", retained=True)

    def test_replayed(self):
        envelope = sign(self.pki, "op-alice", command("n-1", "drain"))
        self.assertEqual(self.ask(envelope, "drain")["code"], "ok")
        again = self.ask(envelope, "drain")
        self.assertEqual(again["code"], "replayed")
        # It is remembered over a kill, too.
        self.board.stop(9)
        self.board.start()
        self.send(envelope, "drain")
        self.assertEqual(self.reply()["code"], "replayed")

    def test_malformed_and_of_another_version(self):
        self.assert_refused("invalid", "JSON", '{"s":')
        self.assert_refused("invalid", "laird.cmd/2.0", {
            **sign(self.pki, "op-alice", self.submit()), "s": "laird.cmd/2.0"})

    def test_a_response_topic_that_is_not_the_clients(self):
        for place in (TOP + "node/n-1/status", TOP + "res/op-alice/n-2", TOP + "ctl/n-1/cmd/x"):
            self.send(sign(self.pki, "op-alice", command("n-1", "ping")), "ping",
                      response_topic=place)
            self.assert_event("response topic")
            time.sleep(0.2)

    def test_oversized(self):
        files = self.pki.files("op-alice")
        done = subprocess.run(
            ["mosquitto_pub", "-h", "localhost", "-p", str(self.broker.port), "-V", "5", "-q", "1",
             "--cafile", files["ca"], "--cert", files["cert"], "--key", files["key"], "-t",
             TOP + "ctl/n-1/cmd/submit", "-s"], input=b"x" * 65537, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=10, check=False)
        self.assertIn(b"Packet too large", done.stdout)

    def test_a_hostile_peer_is_not_believed(self):
        """Garbage and forged ledger messages from another board of the fleet, by its own topic."""
        peer = self.up("n-2")
        for payload in (b"", b"\x02", b"\x01\xff\xff", b"\x01\x04\x00abcd" * 100,
                        b"\x20\x01" + bytes(40), b"\x28\x04abcd", b"\x22" + bytes(700),
                        bytes(range(256)) * 16):
            peer.tell("publish", topic=TOP + "node/n-2/coop/n-1",
                      payload64=base64.b64encode(payload).decode(), kind="peer")
        before = json.loads(self.operator.message(TOP + "node/n-1/report", 10)["payload"])
        after = json.loads(self.operator.message(TOP + "node/n-1/report", 10)["payload"])
        self.assertEqual(before["shares"]["power"]["parts"], after["shares"]["power"]["parts"])
        self.assertIsNone(self.board.process.poll())


class _Borrowed:
    """What Board needs of a test, when it lives as long as the class."""

    def __init__(self, cls):
        self.root, self.pki, self.broker = cls.root, cls.pki, cls.broker
        self.addCleanup = cls.addClassCleanup


if __name__ == "__main__":
    unittest.main(verbosity=2)

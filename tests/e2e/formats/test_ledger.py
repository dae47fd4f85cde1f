"""docs/wire-ledger.md is true: what it says is enough to read, to the last byte, all that three real boards say to
each other from their founding to the death and return of one; and a real board takes and refuses what it says."""

import base64
import os
import re
import shutil
import sys
import time
import unittest
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../fleet"))

import journal_reader
import ledger_reader as wire
from boards import Board, OperatedFleet
from doc_tables import page, tables_of
from harness import TOP, free_port, wait_until
from ledger_reader import Refused
from peer import SpeakingPeer, frames
from samples import Sampler

STORED = os.path.join(HERE, "ledger_messages.txt")
CLASSES, FEATURES, ROUNDS = 3, 4, 40
COOP = re.compile(re.escape(TOP) + r"node/([^/]+)/coop/([^/]+)$")


def stored():
    """(from, to, bytes) of each."""
    with open(STORED, encoding="utf-8") as lines:
        rows = [line.split() for line in lines if not line.startswith("#")]
    return [(a, b, bytes.fromhex(data)) for a, b, data in rows]


class Stored(unittest.TestCase):
    """Messages that were captured at a broker, a few of each kind that came by."""

    def test_each_decodes_and_encodes_back_to_the_same_bytes(self):
        messages = stored()
        self.assertGreater(len(messages), 25)
        for _, _, data in messages:
            self.assertEqual(wire.encoded(wire.message(data)), data)
        kinds = {wire.message(data)["kind"] for _, _, data in messages}
        self.assertGreaterEqual(len(kinds), 12, sorted(kinds))

    def test_cut_anywhere_or_longer_it_is_refused(self):
        for _, _, data in stored():
            for size in range(len(data)):
                with self.assertRaises(Refused):
                    wire.message(data[:size])
            with self.assertRaises(Refused):
                wire.message(data + b"\0")

    def test_the_examples_of_the_page_are_among_them(self):
        tables = [rows[1:] for heading, rows in tables_of(page("wire-ledger.md"))
                  if heading == "Two examples by hand"]
        self.assertEqual(len(tables), 2)
        for rows in tables:
            data = bytes.fromhex("".join(row[0].strip("`") for row in rows))
            self.assertIn(data, [each for _, _, each in stored()])
            message = wire.message(data)
            self.assertIn(f"`{message['kind']}`", rows[0][2])
            body = message["body"].get("edge", message["body"])
            flat = {"epoch": message["epoch"], "sender": message["incarnation"], **self.flat(body)}
            told = 0
            for _, field, value in rows[1:]:
                if not field.startswith("`"):
                    continue
                for name, number in zip(re.findall(r"`([^`]+)`", field), value.split(", ")):
                    self.assertEqual(str(flat[name]), number.split(" ")[0].rstrip(":"), (field, value))
                    told += 1
            self.assertGreaterEqual(told, 9)

    def flat(self, value, prefix=""):
        """Fields by their path: `seq`, `base[2]`, as the page's examples name them."""
        out = {}
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in items:
            if isinstance(value, dict):
                path = f"{prefix}.{key}" if prefix else key
            else:
                path = f"{prefix}[{key}]"
            each = int(each) if isinstance(each, bool) else each
            out.update(self.flat(each, path) if isinstance(each, (dict, list)) else {path: each})
        return out

    def test_the_codes_of_the_page_are_those_of_its_rule(self):
        (rows,) = [rows[1:] for _, rows in tables_of(page("wire-ledger.md"))
                   if rows[0] == ["code", "difference"]]
        differences = wire.differences()
        self.assertEqual([(int(k), int(d)) for k, d in rows],
                         [(int(k), differences[int(k)]) for k, _ in rows])

    def test_the_ties_of_the_page_are_written_so(self):
        encoder = wire.Encoder()
        encoder.put_ties([(1, 3, 9, 5, 6), (1, 4, 7, 5, 6)], 5)
        self.assertEqual(bytes(encoder.out), bytes.fromhex("020506" + "00" + "02030901020007" + "000000"))
        self.assertIn("`02 05 06 00 02 03 09 01 02 00 07 00 00 00`", page("wire-ledger.md"))


class Captured(OperatedFleet):
    """Three boards, with an ear at the broker from before their first word."""

    boards = ()
    nodes = ("n-1", "n-2", "n-3")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.boards = cls.nodes
        for node in cls.boards:
            cls.agents[node] = Board(cls, node, cls.boards)
            cls.addClassCleanup(cls.agents[node].kill)

    def setUp(self):
        self.ear = self.up("op-alice", subscriptions=[TOP + "node/+/coop/+"])
        self.packets = []  # (from, to, payload)
        self.edges_checked = 0
        self.words_on_runs = []

    def listen(self):
        """Takes what has come by since."""
        while not self.ear.lines.empty():
            self.ear.unclaimed.append(self.ear.lines.get())
        for event in self.ear.unclaimed:
            found = COOP.match(event.get("topic", "")) if event else None
            if found:
                self.packets.append((found[1], found[2], base64.b64decode(event["payload64"])))
        self.ear.unclaimed.clear()
        return self.packets

    def test_all_they_say_is_as_the_page_says(self):
        for agent in self.agents.values():
            agent.start()
        self.wait_for_boards()
        self.train_together()
        self.agents["n-3"].kill()
        self.wait_for_kinds({"accept", "accepted", "decided", "probe"}, 30)
        self.agents["n-3"].start()
        self.wait_for_kinds({"statement"}, 30)
        time.sleep(2)
        self.stop_and_check_journals()
        # All journals are lost: the fleet is founded anew.
        for agent in self.agents.values():
            shutil.rmtree(os.path.join(agent.state, "journal"))
            agent.start()
        self.wait_for_kinds({"roll-call", "present", "found", "found-ack"}, 40)
        self.wait_for_boards()
        self.lairctl("drain", "n-2")
        time.sleep(3)
        self.stop_and_check_journals()
        self.assertGreaterEqual(self.edges_checked, 6)
        messages, parts = self.decode_all(self.listen())
        self.assertGreater(len(messages), 300)
        kinds = {m["kind"] for _, _, _, m in messages}
        self.assertGreaterEqual(len(kinds), 13, kinds)
        self.check_models(parts)
        self.check_words_on_runs()
        self.record(messages)

    def check_words_on_runs(self):
        """Who begins the task asks. The runs are short, so boards may have nothing to tell."""
        asked = [w for w in self.words_on_runs if not w["told"]]
        told = [w for w in self.words_on_runs if w["told"]]
        self.assertTrue(asked)
        self.assertEqual({(w["trainer"], w["name"], w["run_of"]) for w in asked}, {("softmax", "shared", "")})
        self.assertEqual(len({w["work"] for w in asked + told}), 1)
        for word in told:
            self.assertTrue(word["same_work"])
            samples = [point[0] for point in word["points"]]
            self.assertGreaterEqual(len(samples), 6)
            self.assertEqual(samples, sorted(set(samples)))
            lows = [point[2] for point in word["points"]]
            self.assertEqual(lows, sorted(lows, reverse=True))

    def stop_and_check_journals(self):
        for agent in self.agents.values():
            agent.process.terminate()
            agent.process.wait(20)
        messages, _ = self.decode_all(self.listen())
        sent = {(a, b, data) for a, b, data, _ in messages}
        for node, agent in self.agents.items():
            self.edges_checked += self.check_journal(node, agent, sent)

    def train_together(self):
        spec = {"name": "shared", "trainer": "softmax", "deadline": "5m", "target_loss": -1,
                "memory": "20MB", "report_every": 500,
                "params": {"data": {"format": "synthetic", "rows": 500, "features": FEATURES,
                                    "classes": CLASSES},
                           "batch": 50, "learning_rate": 0.05, "fleet": {"rounds": ROUNDS}}}
        def ended(count):
            return wait_until(lambda: len(self.tasks(name="shared", state="exhausted")) == count, 60, 0.3)
        self.submit(spec, "--node", "n-1,n-2")
        self.assertTrue(ended(2), self.tasks(name="shared"))
        # It comes after the end, and is handed the model.
        self.submit(spec, "--node", "n-3")
        self.assertTrue(ended(3), self.tasks(name="shared"))

    def wait_for_kinds(self, kinds, seconds):
        """Until each was said anew."""
        count = len(self.listen())

        def said():
            messages, _ = self.decode_all(self.listen()[count:])
            return {m["kind"] for _, _, _, m in messages}
        self.assertTrue(wait_until(lambda: kinds <= said(), seconds, 0.3), said())

    def decode_all(self, packets):
        """All of it, each message encoded back to the same bytes."""
        messages, parts = [], []
        for sender, receiver, payload in packets:
            kind, content = wire.packet(payload)
            if kind in ("key", "title"):
                continue
            if kind == "run":
                self.assertIn(receiver, ("n-1", "n-2", "n-3"))
                self.words_on_runs.append(content)
                continue
            if kind == "model":
                parts.append((sender, receiver, content[0], *wire.model_part(content[1])))
                continue
            for data in content:
                message = wire.message(data)
                self.assertEqual(wire.encoded(message), data)
                messages.append((sender, receiver, data, message))
            self.assertEqual(payload[-wire.TAG_BYTES - len(frames(*content)):-wire.TAG_BYTES], frames(*content))
        return messages, parts

    def check_models(self, parts):
        """From the contributions alone a listener makes the model that the boards hand to one that comes late."""
        size = sum((count + 15) // 16 * 16 for count in (FEATURES * CLASSES, CLASSES))
        contributed, models, whole = {}, [], {}
        for sender, _, task, kind, head, body in parts:
            self.assertEqual(task, "shared")
            if kind == "ask":
                self.assertEqual(body, b"")
                continue
            pieces = whole.setdefault((sender, kind), [])
            del pieces[head["part"]:]
            pieces.append(body)
            if head["part"] + 1 < head["parts"] or len(pieces) < head["parts"]:
                continue
            message = wire.model_message(kind, b"".join(pieces))
            if kind == "contribution":
                contributed.setdefault(head["round"], {})[sender] = message
            elif kind == "model":
                models.append(message)
        last = max(models, key=lambda m: m["round"])
        self.assertEqual(last["round"], ROUNDS)
        self.assertEqual([b["name"] for b in last["boards"]], ["n-1", "n-2"])
        told = {"n-1": [0.0] * size, "n-2": [0.0] * size}
        x, momentum = [0.0] * size, [0.0] * size
        for number in range(1, ROUNDS + 1):
            for node, message in contributed[number].items():
                for i, change in wire.changes(message["changes"], size).items():
                    told[node][i] += change
            weights = {node: contributed[number][node]["weight"] for node in told}
            for i in range(size):
                z = sum(weights[n] * told[n][i] for n in told) / sum(weights.values())
                momentum[i] = 0.9 * momentum[i] + z
                x[i] -= 0.05 * momentum[i]
        largest = max(abs(v) for v in last["x"])
        self.assertGreater(largest, 0.05)
        self.assertLess(max(abs(a - b) for a, b in zip(x, last["x"])), 1e-3 * largest)
        for board in last["boards"]:
            self.assertLess(max(abs(a - b) for a, b in zip(told[board["name"]], board["told"])), 1e-4)

    def check_journal(self, node, agent, sent):
        """Its journal holds the same messages; from them alone follows what its last state says of its edges."""
        folder = os.path.join(agent.state, "journal")
        files = [journal_reader.JournalFile(journal_reader.schema(), os.path.join(folder, name))
                 for name in sorted(os.listdir(folder)) if name.endswith(".db")]
        last = max(files[-1].snapshots)
        ends, own = {}, {}
        # What still came after the last state was written is not in it.
        for row in (row for file in files for row in file.rows if row.seq < last):
            if row.kind == "peers-heard":
                for heard in row.fields["messages"]:
                    self.assertIn((heard["from"], node, heard["bytes"]), sent)
                    message = wire.message(heard["bytes"])
                    if message["kind"] == "edge":
                        edge = message["body"]["edge"]
                        at = (heard["from"], edge["life"])
                        end = ends.setdefault(at, wire.EdgeEnd())
                        end.hear(edge, own.get(at, {}).get(edge["ack"]))
            for kind, command in row.commands or []:  # a killed agent takes the last answers along
                if kind == "send-to-peer":
                    message = wire.message(command["bytes"])
                    if message["kind"] == "edge":
                        self.note_sent(command["to"], message["body"]["edge"], ends, own)
        state, _ = files[-1].snapshots[last]
        ledger = state["fleet"]["ledger"]
        names = {journal_reader.node_number(name): name for name in self.nodes}
        checked = 0
        for edge in ledger["edges"] if ledger else []:
            end = ends.get((names[edge["peer"]["node"]], edge["life"]))
            if end is None or edge["closing"]:
                continue
            self.assertEqual((edge["seq_heard"], edge["heard"], edge["price"]),
                             (end.seq_heard, end.heard, end.price))
            self.assertEqual((edge["degree"], edge["urgency"]),
                             (end.terms["degree"], end.terms["urgency"]))
            checked += 1
        return checked

    def note_sent(self, peer, edge, ends, own):
        """The price in an own message, as both ends have it from then on."""
        at = (peer, edge["life"])
        if edge["price_absolute"]:
            price = edge["price"]
        else:
            self.assertEqual(ends[at].seq_heard, edge["ack"])
            price = [theirs + wire.EdgeEnd.difference(code)
                     for theirs, code in zip(ends[at].price, edge["code"])]
        own.setdefault(at, {})[edge["seq"]] = price

    def record(self, messages):
        """Three of each kind, where the environment asks for it."""
        if "LAIRD_RECORD" not in os.environ:
            return
        kept = {}
        for sender, receiver, data, message in messages:
            of_kind = kept.setdefault(message["kind"], {})
            # As different as can be: of each length the first.
            if len(of_kind) < 6:
                of_kind.setdefault(len(data), (sender, receiver, data))
        with open(os.environ["LAIRD_RECORD"], "w", encoding="utf-8") as out:
            out.write("# From, to and bytes of ledger messages, captured at the broker of three real boards.\n"
                      "# Made anew by: LAIRD_RECORD=<this file> tests/e2e/formats/test_ledger.py Captured\n")
            for kind in sorted(kept):
                for sender, receiver, data in kept[kind].values():
                    out.write(f"{sender} {receiver} {data.hex()}\n")


class WireSampler(Sampler):
    """Made-up messages. Numbers are small, so that long lists fit a packet, or, when `large`, as large as they may be."""

    def __init__(self, seed, large=False, **more):
        super().__init__(wire.TABLES, seed, **more)
        self.large = large

    def make_varint(self, limit):
        self.places += 1
        if self.places - 1 == self.stretch:
            return limit + self.over
        return limit if self.large else self.random.randrange(1, min(limit, 100))

    def make_name(self, name):
        if name in ("edge", "ties"):
            return getattr(self, name)()
        if name == "u8":
            return 255 if self.large else self.random.randrange(256)
        if name == "signed":
            value = self.make_varint(wire.NUMBER_MAX)
            return value if self.random.random() < 0.5 else -value
        if name == "digest":
            return self.random.randrange(1 << 64)
        if name in ("v32", "v63", "parts"):
            return self.make_varint({"v32": 0xFFFFFFFF, "v63": wire.COUNT_MAX, "parts": wire.NUMBER_MAX}[name])
        value = super().make_name(name)
        if name == "Register":
            self.put_in_order(value)
        return value

    def make_some(self, element, limit):
        return self.make_list(element, limit)

    def put_in_order(self, register):
        accounts = [(2, 1), (2, 5), (7, 1)]
        entry = register["entries"][0]
        register["entries"] = [{**entry, "account": {"node": n, "incarnation": i}} for n, i in accounts]
        register["ties"] = [(0, 1, 3, 10**11, 0), (0, 2, 4, 10**11, 0), (1, 2, 300, 0, 7)]
        register["buried"] = [{"account": {"node": node, "incarnation": 9}, "debt": node} for node in (1, 4)]

    def ties(self):
        return []

    def edge(self):
        out = {name: self.make_varint(0xFFFFFFFF) for name in ("life", "seq", "ack")}
        out["price_absolute"] = self.random.random() < 0.5
        out["sent_absolute"] = self.random.random() < 0.5
        out["frozen"] = self.random.random() < 0.5
        if self.random.random() < 0.5:
            out.update(degree=self.random.randrange(256),
                       urgency=[self.make_varint(65535) for _ in range(3)])
        out["grant"] = [self.random.choice([0, 1, 6 << 40, wire.NUMBER_MAX, 1 << 60]) for _ in range(3)]
        if any(out["grant"]) and not out["sent_absolute"]:
            out["base_age"] = self.random.randrange(1, 16)
        out["price"] = [self.make_name("signed") if out["price_absolute"] else 0 for _ in range(3)]
        out["code"] = [0 if out["price_absolute"] else self.random.randrange(-255, 256)
                       for _ in range(3)]
        return out

    def message(self, kind):
        fields = dict(wire.TABLES.choices["LedgerMessage"].values())[kind]
        return {"kind": kind, "epoch": self.make_varint(wire.COUNT_MAX),
                "incarnation": None if kind == "edge" else self.make_varint(wire.INCARNATION_MAX),
                "body": self.fields(fields)}


KINDS = [name for name, _ in wire.TABLES.choices["LedgerMessage"].values()]


def register_with(**more):
    """The bytes of a `decided` with another register."""
    message = WireSampler(3).message("decided")
    message["body"]["value"].update(more)
    return wire.encoded(message)


class Judged(OperatedFleet):
    """A real board, to which this test speaks as a neighbour."""

    boards = ()
    nodes = ("n-1", "n-2")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.port = free_port()
        board = Board(cls, "n-1", cls.nodes)
        board.config["metrics"] = {"listen": "127.0.0.1:%d" % cls.port}
        cls.addClassCleanup(board.kill)
        cls.agents["n-1"] = board.start()
        cls.boards = ("n-1",)
        cls.wait_for_boards()

    def setUp(self):
        self.peer = SpeakingPeer(self, "n-2").meet("n-1")

    def counters(self, *results):
        with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % self.port, timeout=10) as answer:
            text = answer.read().decode()
        return [int(re.search(r'laird_coop_packets_total{result="%s"} (\d+)' % r, text)[1])
                for r in results or ("opened", "undecoded")]

    def verdicts(self, messages):
        """How many of these the board refuses."""
        before = self.counters()
        data = [m if isinstance(m, bytes) else wire.encoded(m) for m in messages]
        packets, size = [[]], 0
        for each in data:
            if packets[-1] and size + len(each) > 50000:
                packets.append([])
                size = 0
            packets[-1].append(each)
            size += len(each) + 2
        for packet in packets:
            self.assertTrue(wait_until(lambda: self.is_opened(packet), 60, 0.5))
        after = self.counters()
        self.assertEqual(after[0] - before[0], len(packets))
        return after[1] - before[1]

    def is_opened(self, packet):
        """Whether the board took it; not if this peer has said too much in a short time."""
        opened, much = self.counters("opened", "too-much")
        self.peer.say("n-1", *packet)
        self.assertTrue(wait_until(lambda: sum(self.counters("opened", "too-much")) > opened + much, 10, 0.02))
        return self.counters("opened")[0] > opened

    def assert_verdicts(self, messages, refused):
        """All of them, or none, are refused by the board, and by the reader too."""
        for first in range(0, len(messages), 150):
            some = messages[first:first + 150]
            self.assertEqual(self.verdicts(some), len(some) if refused else 0)
        for each in messages:
            if refused:
                with self.assertRaises(Refused):
                    wire.message(each)
            else:
                self.assertEqual(wire.encoded(wire.message(each)), each)

    def test_it_takes_every_kind_of_the_page(self):
        messages = [wire.encoded(WireSampler(seed, large=seed == 0).message(kind))
                    for kind in KINDS for seed in range(8)]
        self.assert_verdicts(messages, refused=False)

    def test_it_refuses_every_kind_cut_or_longer_or_of_another_version(self):
        for kind in KINDS:
            data = wire.encoded(WireSampler(2).message(kind))
            wrong = [data[:size] for size in range(1, len(data))] + [data + b"\0"]
            wrong += [bytes([version << 4 | data[0] & 15]) + data[1:]
                      for version in range(16) if version != wire.VERSION]
            self.assert_verdicts(wrong, refused=True)

    def test_its_limits_are_those_of_the_page(self):
        fit, beyond = [], []
        for kind in KINDS:
            sampler = WireSampler(4)
            sampler.message(kind)
            for place in range(sampler.places):
                for over in (0, 1):
                    data = wire.encoded(WireSampler(4, stretch=place, over=over).message(kind))
                    if len(data) > 50000:
                        continue
                    # The sampler has lists of its own in a register: some places are not in the message.
                    (beyond if over and self.is_refused(data) else fit).append(data)
        self.assertGreater(len(fit), 140)
        self.assertGreater(len(beyond), 140)
        self.assert_verdicts(fit, refused=False)
        self.assert_verdicts(beyond, refused=True)

    def is_refused(self, data):
        try:
            wire.message(data)
        except Refused:
            return True
        return False

    def test_it_refuses_second_encodings_and_values_out_of_range(self):
        probe = wire.encoded({"kind": "probe", "epoch": 1, "incarnation": 1,
                              "body": {"version": 1, "question": 2}})
        self.assertEqual(probe, bytes.fromhex("7401010102"))
        accounts = [{"account": {"node": n, "incarnation": 1}, "base": [0, 0, 0], "quorum": 0, "term": 0,
                     "dead": False, "certain": False, "changed": 0} for n in (5, 6)]
        wrong = [bytes.fromhex(text) for text in (
            "74 81 00 01 01 02", "74 01 00 01 02", "74 01 01 01 82 80 00",
            "74 01 01 01 FF FF FF FF FF FF FF FF FF 02", "7E 01 01 01 02",
            "70 01 00 20 00 01 00", "70 01 00 40 00 01 00", "70 01 00 80 00 01 00",
            "70 01 40 00 00 01 00", "70 01 0A 00 00 01 00 00 00 00 05",
            "70 01 00 02 00 02 01 00 00 01", "70 01 00 02 00 02 01 10 00 01",
            "70 01 04 02 00 02 01 00 02", "70 01 04 02 00 02 01 3E 01", "70 01 08 00 00 02 01 00",
            "73 01 01 01 00", "7F 01 01 05 00" + "00" * 10)]
        wrong += [register_with(entries=accounts[::-1], ties=[], buried=[]),
                  register_with(entries=accounts[:1] * 2, ties=[], buried=[]),
                  register_with(entries=accounts, ties=[(0, 2, 1, 0, 0)]),
                  *self.wrong_limits(accounts),
                  register_with(buried=[{"account": {"node": 4, "incarnation": 1}, "debt": 0},
                                        {"account": {"node": 4, "incarnation": 2}, "debt": 0}]),
                  register_with(keepers=[])]
        self.assert_verdicts(wrong, refused=True)
        right = [register_with(entries=accounts, ties=[(0, 1, 1, 0, 0)]), register_with(keepers=[], version=0),
                 bytes.fromhex("70 01 00 10 00 01 00"),
                 bytes.fromhex("70 01 04 02 00 02 01 3C 01"), bytes.fromhex("70 01 08 00 00 02 01 01"),
                 bytes.fromhex("70 01 00 02 00 02 01 0F 00 01")]
        self.assert_verdicts(right, refused=False)

    def wrong_limits(self, accounts):
        """The only tie of a register has no limits, and says so; a limit is in the list that it has not; twice; one is not in the list."""
        right = register_with(entries=accounts, ties=[(0, 1, 77, 0, 0)])
        head, tail = right.split(bytes.fromhex("00 01 00 4D 00"))
        return [head + bytes.fromhex(text) + tail for text in (
            "00 01 01 4D 00 00 00", "01 05 01 00 4D 00", "02 05 05 01 01 4D 01 02 00", "01 05 01 01 4D 01 02 00")]

    def test_a_packet_out_of_shape_brings_nothing(self):
        probe = wire.encoded({"kind": "probe", "epoch": 1, "incarnation": 1,
                              "body": {"version": 1, "question": 2}})
        refused = ("version", "malformed", "unsealed", "undecoded", "unwanted", "forged", "repeated")
        self.assertEqual(self.verdicts([probe]), 0)
        sound = self.peer.seal("n-1", frames(probe))
        old = self.peer.seal("n-1", frames(probe), number=1)
        for result, payload in (
                ("malformed", b""), ("malformed", b"\0" + sound[1:]), ("version", b"\1" + sound[1:]),
                ("version", b"\2" + sound[1:]), ("version", b"\x30" + sound[1:]), ("malformed", b"\x23" + sound[1:]),
                ("malformed", b"\x2a" + sound[1:]), ("malformed", sound[:9]), ("malformed", b"\x20\0" + sound[2:]),
                ("forged", sound[:-1] + b"?"), ("forged", sound[:-1]), ("forged", sound + b"\1"),
                ("unsealed", b"\x28" + frames(probe)), ("unwanted", b"\x21" + sound[1:]), ("repeated", old),
                ("undecoded", self.peer.seal("n-1", frames(probe) + b"\1")),
                ("undecoded", self.peer.seal("n-1", b"\0")), ("undecoded", self.peer.seal("n-1", b"\x81\0x")),
                ("undecoded", self.peer.seal("n-1", frames(*[probe] * 257)))):
            before = dict(zip(refused, self.counters(*refused)))
            self.peer.send("n-1", payload)
            self.assertTrue(wait_until(lambda: self.counters(result)[0] > before[result], 10, 0.02), (result, payload))
            after = dict(zip(refused, self.counters(*refused)))
            self.assertEqual({r: after[r] - before[r] for r in refused if after[r] != before[r]}, {result: 1})
            if result in ("version", "malformed", "unsealed"):
                with self.assertRaises(Refused):
                    wire.packet(payload)
        self.assertEqual(self.verdicts([probe]), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Reads and writes what boards say to each other by docs/wire-ledger.md, and by nothing else: field lists come from its
tables, and no code of the agent's is used."""

import math
import struct

from doc_tables import Schema, page, tables_of

VERSION = 7
NUMBER_MAX = (1 << 61) - 1
INCARNATION_MAX = 4294967294
COUNT_MAX = (1 << 63) - 1
PACKET_BYTES_MAX, MESSAGE_BYTES_MAX, MESSAGES_MAX, PART_BYTES_MAX = 65536, 61440, 256, 46080
BODY_BYTES_MAX = 32768
FIXED = {"u16": "<H", "u32": "<I", "u64": "<Q", "f32": "<f", "f64": "<d"}
NAME_LETTERS = set(b"abcdefghijklmnopqrstuvwxyz0123456789-")


class Refused(Exception):
    """A receiver must not take this."""


def refuse_if(wrong, why):
    if wrong:
        raise Refused(why)


class WireSchema(Schema):
    """The page, and the bits of an edge's flags as it has them."""

    def __init__(self):
        super().__init__("wire-ledger.md")
        self.flags = {}
        for _, rows in tables_of(page("wire-ledger.md")):
            if rows[0][:2] == ["bits", "flag"]:
                for bits, flag, *_ in rows[1:]:
                    first, _, last = bits.partition("-")
                    self.flags[flag.strip("`")] = range(int(first), int(last or first) + 1)


TABLES = WireSchema()


def differences():
    """By code."""
    out, level = [0], 1024 << 20
    for _ in range(255):
        out.append((level + (1 << 19)) >> 20)
        level = level * 1245909900143 >> 40
    return out


def is_name(text):
    return 1 <= len(text) <= 32 and text[:1] != b"-" and set(text) <= NAME_LETTERS


# ---- packets ----


TAG_BYTES = 8
KINDS_OF_PACKETS = {0x20: "ledger", 0x21: "model", 0x22: "key", 0x23: "many", 0x24: "title", 0x25: "run"}
RECIPIENT_BYTES = 4 + TAG_BYTES


def packet(payload):
    """("ledger", messages), ("model", (task, part)), ("key", announcement), ("title", body) or ("run", word); the tag is
    not looked at."""
    refuse_if(len(payload) > PACKET_BYTES_MAX, "too long")
    refuse_if(not payload or payload[0] not in KINDS_OF_PACKETS, "an unknown kind of packet")
    kind = KINDS_OF_PACKETS[payload[0]]
    if kind == "key":
        return kind, payload[1:]
    if kind == "many":
        decoder = Decoder(payload[1:])
        refuse_if(decoder.take_varint(2**63 - 1) == 0, "no number")
        rest = decoder.data[decoder.at:]
        refuse_if(not rest or not 1 <= rest[0] <= 64, "for no board, or too many")
        body = rest[1 + rest[0] * RECIPIENT_BYTES:]
        refuse_if(len(rest) < 1 + rest[0] * RECIPIENT_BYTES, "cut")
        return "model", model_body(body)
    refuse_if(len(payload) < 2 + TAG_BYTES, "cut")
    decoder = Decoder(payload[1:-TAG_BYTES])
    refuse_if(decoder.take_varint(2**63 - 1) == 0, "no number")
    bodies = {"model": model_body, "ledger": ledger_body, "title": bytes, "run": run_word}
    return kind, bodies[kind](decoder.data[decoder.at:])


def run_word(body):
    """A word on an earlier run, as "Earlier runs" of the page has it."""
    refuse_if(len(body) < 2 or body[0] != 1 or body[1] > 1, "a word of another version or an unknown one")
    at, word = 2, {"told": body[1] == 1}

    def take(count):
        nonlocal at
        refuse_if(at + count > len(body), "cut")
        at += count
        return body[at - count:at]

    def text():
        return take(struct.unpack("<I", take(4))[0]).decode("ascii")

    word["task"], = struct.unpack("<I", take(4))
    word["work"] = text()
    refuse_if(len(word["work"]) != 32, "a work of no possible length")
    if not word["told"]:
        word.update(trainer=text(), name=text(), run_of=text())
    else:
        word.update(name=text(), same_work=take(1) == b"\1")
        count, _, _ = struct.unpack("<Idd", take(20))
        refuse_if(count > 24, "too many points")
        word["points"] = [struct.unpack("<ddd", take(24)) for _ in range(24)][:count]
    refuse_if(at != len(body), "too long")
    return word


def model_body(body):
    refuse_if(not body, "no name")
    name = body[1:1 + body[0]]
    part = body[1 + len(name):]
    refuse_if(len(name) != body[0] or not is_name(name), "a wrong name")
    refuse_if(not 1 <= len(part) <= PART_BYTES_MAX, "a part of no possible length")
    return name.decode(), part


def ledger_body(body):
    decoder, messages = Decoder(body), []
    while decoder.at < len(body):
        size = decoder.take_varint(2**63 - 1)
        message = body[decoder.at:decoder.at + size]
        refuse_if(not 1 <= size <= MESSAGE_BYTES_MAX or len(message) != size, "a wrong length")
        messages.append(message)
        decoder.at += size
    refuse_if(len(messages) > MESSAGES_MAX, "too many messages")
    return messages


# ---- ledger messages ----


class Decoder:
    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        refuse_if(self.at == len(self.data), "cut")
        self.at += 1
        return self.data[self.at - 1]

    def take_varint(self, limit):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            refuse_if(shift > 63, "a varint without an end")
        refuse_if(byte == 0 and shift > 7, "a second encoding")
        refuse_if(value > limit, f"{value} is more than {limit}")
        return value

    def value(self, kind):
        return getattr(self, "take_" + kind[0])(*kind[1:])

    def take_name(self, name):
        if name == "u8":
            return self.byte()
        if name == "bool":
            value = self.byte()
            refuse_if(value > 1, "a bool")
            return value == 1
        if name == "v32":
            return self.take_varint(0xFFFFFFFF)
        if name == "v63":
            return self.take_varint(COUNT_MAX)
        if name == "digest":
            return sum(self.byte() << (8 * k) for k in range(8))
        if name == "parts":
            return self.take_varint(NUMBER_MAX)
        if name == "signed":
            folded = self.take_varint(2 * NUMBER_MAX)
            return folded // 2 if folded % 2 == 0 else -(folded + 1) // 2
        if name == "edge":
            return self.edge()
        fields = TABLES.structures[name]
        value = self.fields(fields)
        if name == "Register":
            check_register(value)
        refuse_if(name == "Lock" and value["digest"] == 0, "a lock on nothing")
        return value

    def fields(self, fields):
        out = {}
        for name, kind, _ in fields:
            out[name] = self.ties(out["entries"]) if kind == ("name", "ties") else self.value(kind)
        return out

    def take_array(self, element, count):
        return [self.value(element) for _ in range(count)]

    def take_list(self, element, limit):
        return self.take_array(element, self.take_varint(limit))

    def take_some(self, element, limit):
        out = self.take_list(element, limit)
        refuse_if(not out, "nobody")
        return out

    def ties(self, entries):
        """(place of the lower end, place of the upper, life, limits of both), as they stand."""
        out, counts, limits = [], [0] * len(entries), (0, 0)
        known = [0] + self.take_list(("name", "parts"), 16384)
        refuse_if(any(a >= b for a, b in zip(known, known[1:])), "limits out of order")
        used = {0}
        def limit():
            number = self.take_varint((1 << 64) - 1)
            refuse_if(number >= len(known), "an unknown limit")
            used.add(number)
            return known[number]
        for lower in range(len(entries)):
            last = lower
            for _ in range(self.take_varint(48)):
                head = self.take_varint((1 << 64) - 1)
                last += head // 2 + 1
                life = self.take_name("v32")
                if head % 2:
                    before, limits = limits, (limit(), limit())
                    refuse_if(limits == before, "limits said again")
                refuse_if(last >= len(entries), "a tie beyond the last entry")
                out.append((lower, last, life, *limits))
                for end in (lower, last):
                    counts[end] += 1
                    refuse_if(counts[end] > 48, "too many ties")
        refuse_if(len(used) < len(known), "a limit that no tie has")
        return out

    def edge(self):
        flags = self.byte() | self.byte() << 8
        bits = {name: [flags >> bit & 1 for bit in at] for name, at in TABLES.flags.items()}
        known = sum(1 << bit for at in TABLES.flags.values() for bit in at)
        refuse_if(flags & ~known, "unknown flags")
        for has, negative in zip(bits["price"], bits["negative"]):
            refuse_if(negative and not has, "a sign of nothing")
            refuse_if(has and bits["price_absolute"][0], "two prices")
        out = {name: self.take_name("v32") for name in ("life", "seq", "ack")}
        out["price_absolute"] = bits["price_absolute"][0] == 1
        out["sent_absolute"] = bits["sent_absolute"][0] == 1
        out["frozen"] = bits["frozen"][0] == 1
        if bits["terms"][0]:
            out["degree"] = self.byte()
            out["urgency"] = [self.take_varint(65535) for _ in range(3)]
        if any(bits["grant"]) and not out["sent_absolute"]:
            out["base_age"] = self.byte()
            refuse_if(not 1 <= out["base_age"] <= 15, "an age that nobody remembers")
        out["price"], out["code"], out["grant"] = [0] * 3, [0] * 3, [0] * 3
        for r in range(3):
            if out["price_absolute"]:
                out["price"][r] = self.take_name("signed")
            elif bits["price"][r]:
                code = self.byte()
                refuse_if(code == 0, "a code of nothing")
                out["code"][r] = -code if bits["negative"][r] else code
            if bits["grant"][r]:
                zeros, digits = self.byte(), self.take_name("parts")
                refuse_if(zeros > 61 or digits % 2 == 0 or digits << zeros > NUMBER_MAX, "a grant")
                out["grant"][r] = digits << zeros
        return out


def check_register(value):
    def ascending(items):
        return all(a < b for a, b in zip(items, items[1:]))
    refuse_if(value["version"] != 0 and not value["keepers"], "a register without a keeper")
    accounts = [(e["account"]["node"], e["account"]["incarnation"]) for e in value["entries"]]
    refuse_if(not ascending(accounts), "entries out of order")
    refuse_if(not ascending([g["account"]["node"] for g in value["buried"]]), "the buried out of order")


def message(data):
    """{"kind", "epoch", "incarnation" (None on an edge), "body": the fields}."""
    refuse_if(len(data) > MESSAGE_BYTES_MAX, "too long")
    decoder = Decoder(data)
    first = decoder.byte()
    refuse_if(first >> 4 != VERSION, "another version")
    name, fields = TABLES.choices["LedgerMessage"][first & 15]
    out = {"kind": name, "epoch": decoder.take_name("v63"), "incarnation": None}
    if name != "edge":
        out["incarnation"] = decoder.take_varint(INCARNATION_MAX)
        refuse_if(out["incarnation"] == 0, "from nobody")
    out["body"] = decoder.fields(fields)
    refuse_if(name == "relay" and out["body"]["from"]["incarnation"] == 0, "of nobody")
    refuse_if(decoder.at != len(data), "bytes behind the last field")
    return out


class Encoder:
    def __init__(self):
        self.out = bytearray()

    def put_varint(self, value, _limit=None):
        while value >= 0x80:
            self.out.append(value & 0x7F | 0x80)
            value >>= 7
        self.out.append(value)

    def put(self, kind, value):
        getattr(self, "put_" + kind[0])(value, *kind[1:])

    def put_name(self, value, name):
        if name in ("u8", "bool"):
            self.out.append(int(value))
        elif name in ("v32", "v63", "parts"):
            self.put_varint(value)
        elif name == "digest":
            self.out += struct.pack("<Q", value)
        elif name == "signed":
            self.put_varint(2 * value if value >= 0 else -2 * value - 1)
        elif name == "edge":
            self.put_edge(value)
        else:
            self.put_fields(value, TABLES.structures[name])

    def put_fields(self, value, fields):
        for name, kind, _ in fields:
            if kind == ("name", "ties"):
                self.put_ties(value[name], len(value["entries"]))
            else:
                self.put(kind, value[name])

    def put_array(self, value, element, _count):
        for each in value:
            self.put(element, each)

    def put_list(self, value, element, _limit):
        self.put_varint(len(value))
        self.put_array(value, element, None)

    put_some = put_list

    def put_ties(self, ties, count):
        before = (0, 0)
        known = sorted({limit for tie in ties for limit in tie[3:]} | {0})
        self.put_list(known[1:], ("name", "parts"), None)
        for lower in range(count):
            own = [tie for tie in ties if tie[0] == lower]
            self.put_varint(len(own))
            last = lower
            for _, upper, life, *limits in own:
                limits = tuple(limits)
                self.put_varint((upper - last - 1) * 2 + (limits != before))
                self.put_varint(life)
                if limits != before:
                    self.put_varint(known.index(limits[0]))
                    self.put_varint(known.index(limits[1]))
                before = limits
                last = upper

    def put_edge(self, edge):
        bits = {"terms": ["degree" in edge], "frozen": [edge["frozen"]], "price_absolute": [edge["price_absolute"]],
                "sent_absolute": [edge["sent_absolute"]], "price": [c != 0 for c in edge["code"]],
                "negative": [c < 0 for c in edge["code"]], "grant": [g != 0 for g in edge["grant"]]}
        flags = sum(1 << bit for name, at in TABLES.flags.items()
                    for bit, on in zip(at, bits[name]) if on)
        self.out += struct.pack("<H", flags)
        for name in ("life", "seq", "ack"):
            self.put_varint(edge[name])
        if "degree" in edge:
            self.out.append(edge["degree"])
            for urgency in edge["urgency"]:
                self.put_varint(urgency)
        if any(bits["grant"]) and not edge["sent_absolute"]:
            self.out.append(edge["base_age"])
        for r in range(3):
            if edge["price_absolute"]:
                self.put_name(edge["price"][r], "signed")
            elif edge["code"][r] != 0:
                self.out.append(abs(edge["code"][r]))
            if edge["grant"][r] != 0:
                zeros = (edge["grant"][r] & -edge["grant"][r]).bit_length() - 1
                self.out.append(zeros)
                self.put_varint(edge["grant"][r] >> zeros)


def encoded(value):
    """The bytes of what message() gives."""
    kinds = TABLES.choices["LedgerMessage"]
    number = next(n for n, (name, _) in kinds.items() if name == value["kind"])
    encoder = Encoder()
    encoder.out.append(VERSION << 4 | number)
    encoder.put_varint(value["epoch"])
    if value["incarnation"] is not None:
        encoder.put_varint(value["incarnation"])
    encoder.put_fields(value["body"], kinds[number][1])
    return bytes(encoder.out)


class EdgeEnd:
    """What one end of an edge makes of its neighbour's messages."""

    DIFFERENCES = differences()

    def __init__(self):
        self.seq_heard, self.heard, self.price, self.price_seq = 0, [0] * 3, [0] * 3, 0
        self.stated, self.terms = {}, {}

    @classmethod
    def difference(cls, code):
        return -cls.DIFFERENCES[-code] if code < 0 else cls.DIFFERENCES[code]

    def hear(self, edge, own_prices):
        """`own_prices`: of this end's message with the number `ack`; None: it is not known."""
        total = list(edge["grant"])
        if not edge["sent_absolute"]:
            if not any(total):
                total = list(self.heard)
            else:
                base = self.stated.get(edge["seq"] - edge["base_age"])
                if base is None:
                    return  # it builds on a message that was lost
                total = [a + b for a, b in zip(base, total)]
        self.heard = [max(a, b) for a, b in zip(self.heard, total)]
        if edge["seq"] <= self.seq_heard:
            return
        self.seq_heard = edge["seq"]
        self.stated[edge["seq"]] = total
        if "degree" in edge:
            self.terms = {"degree": edge["degree"], "urgency": edge["urgency"]}
        if edge["price_absolute"]:
            self.price, self.price_seq = list(edge["price"]), edge["seq"]
        elif own_prices is not None:
            self.price = [own + self.difference(code) for own, code in zip(own_prices, edge["code"])]
            self.price_seq = edge["seq"]


# ---- parts of a model ----


class FixedDecoder:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        refuse_if(count > len(self.data) - self.at, "cut")
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, name):
        value = struct.unpack(FIXED[name], self.take(struct.calcsize(FIXED[name])))[0]
        refuse_if(name in ("f32", "f64") and not math.isfinite(value), "no number")
        return value

    def value(self, kind):
        if kind[0] == "list":
            count = self.number("u32")
            refuse_if(count > kind[2], "too many")
            return [self.value(kind[1]) for _ in range(count)]
        if kind[0] == "text":
            text = self.take(self.number("u32"))
            refuse_if(len(text) > kind[1], "too long a text")
            return text.decode()
        name = kind[1]
        if name == "u8":
            return self.take(1)[0]
        if name == "bool":
            value = self.take(1)[0]
            refuse_if(value > 1, "neither yes nor no")
            return bool(value)
        if name == "blob":
            return self.take(self.number("u32"))
        if name == "floats":
            count = self.number("u32")
            out = struct.unpack("<%df" % count, self.take(4 * count))
            refuse_if(not all(map(math.isfinite, out)), "no number")
            return list(out)
        if name in FIXED:
            return self.number(name)
        return {field: self.value(each) for field, each, _ in TABLES.structures[name]}


class Chances:
    """The chances of the bits of one message's changes."""

    def __init__(self):
        self.changed, self.negative, self.level = [2048] * 4, [2048], [2048] * 64


class RangeDecoder:
    def __init__(self, data):
        self.data, self.at, self.range = data, 0, 2**32 - 1
        self.code = 0
        for _ in range(4):
            self.code = self.code << 8 | self.next()

    def next(self):
        refuse_if(self.at >= len(self.data), "cut")
        self.at += 1
        return self.data[self.at - 1]

    def bit(self, chances, which):
        bound = (self.range >> 12) * chances[which]
        one = self.code >= bound
        if one:
            self.code -= bound
            self.range -= bound
        else:
            self.range = bound
        chances[which] += int(((0 if one else 4096) - chances[which]) / 32)
        while self.range < 2**24:
            self.range <<= 8
            self.code = self.code << 8 | self.next()
        return int(one)


def changes(data, size, rho=0.25):
    """By coordinate."""
    refuse_if(len(data) < 4, "cut")
    scale = struct.unpack("<f", data[:4])[0]
    refuse_if(not math.isfinite(scale) or scale < 0, "no scale")
    if scale == 0:
        refuse_if(len(data) != 4, "bytes behind the last field")
        return {}
    decoder, chances, before, out = RangeDecoder(data[4:]), Chances(), 0, {}
    for i in range(size):
        changed = decoder.bit(chances.changed, before)
        before = (before << 1 | changed) & 3
        if not changed:
            continue
        negative, node = decoder.bit(chances.negative, 0), 1
        for _ in range(6):
            node = node << 1 | decoder.bit(chances.level, node)
        step = scale * math.exp(-rho * (node - 64))
        out[i] = -step if negative else step
    refuse_if(decoder.at != len(decoder.data), "bytes behind the last field")
    return out


def model_part(data):
    """(kind, head, body)."""
    decoder = FixedDecoder(data)
    first = decoder.take(1)[0]
    kinds = TABLES.choices["ModelPart"]
    refuse_if(first >> 4 != 3 or first & 7 not in kinds, "another version or kind")
    name, fields = kinds[first & 7]
    head = decoder.value(fields[0][1])
    body = data[decoder.at:]
    refuse_if(head["part"] >= head["parts"] or head["round"] > 10**9, "no such round or part")
    refuse_if(len(body) > BODY_BYTES_MAX, "too long a body")
    return name, head, body


STRUCTURES_OF_PARTS = {"contribution": "Contribution", "yours": "Contribution", "model": "GroupModel",
                       "vote": "Vote"}


def model_message(name, data):
    """The parts of a message, put together."""
    decoder = FixedDecoder(data)
    out = decoder.value(("name", STRUCTURES_OF_PARTS[name]))
    refuse_if(decoder.at != len(data), "bytes behind the last field")
    return out

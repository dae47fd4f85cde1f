"""Reads and writes journals by docs/journal-format.md and docs/journal-state.md, and by nothing else: field lists
come from their tables, and no code of the agent's is used."""

import contextlib
import glob
import os
import sqlite3
import struct

from doc_tables import Schema, in_newest

FORMAT_NEWEST = 7
MASK = (1 << 64) - 1
NUMBERS = {"u8": "<B", "u16": "<H", "u32": "<I", "u64": "<Q", "i32": "<i", "i64": "<q", "f64": "<d"}


class Damage(Exception):
    """The bytes are not what the page says."""


def schema():
    return Schema("journal-format.md", "journal-state.md")


# ---- digests ----


def rotl(word, by):
    return (word << by | word >> (64 - by)) & MASK


def digest(words):
    state = 0x9E3779B97F4A7C15
    for word in words:
        word = rotl(word * 0xC2B2AE3D27D4EB4F & MASK, 31) * 0x9E3779B185EBCA87 & MASK
        state = (rotl(state ^ word, 27) * 0x9E3779B185EBCA87 + 0x85EBCA77C2B2AE63) & MASK
    state = (state ^ state >> 33) * 0xC2B2AE3D27D4EB4F & MASK
    state = (state ^ state >> 29) * 0x165667B19E3779F9 & MASK
    return state ^ state >> 32


def words_of(data):
    return [int.from_bytes(data[i:i + 8], "little") for i in range(0, len(data), 8)]


def seal(data, salt):
    return digest([salt & MASK, *words_of(data)])


def sealed(data, salt):
    return data + struct.pack("<Q", seal(data, salt))


def unsealed(blob, salt):
    """What was sealed. Of a page that was cut the column may be anything: nothing, a number."""
    if not isinstance(blob, bytes) or len(blob) < 8:
        raise Damage("there is no seal")
    if struct.unpack("<Q", blob[-8:])[0] != seal(blob[:-8], salt):
        raise Damage("the seal is broken")
    return blob[:-8]


def node_number(name):
    text = name.encode()
    number = digest([len(text), *words_of(text)])
    return (number ^ number >> 32) & 0xFFFFFFFF


# ---- values ----


class Decoder:
    """Decodes a blob; `words` are what a digest of the decoded value is made of."""

    def __init__(self, tables, data, format_number=FORMAT_NEWEST):
        self.tables, self.data, self.format = tables, data, format_number
        self.at, self.words, self.root = 0, [], None

    def take(self, count):
        if count > len(self.data) - self.at:
            raise Damage(f"cut at byte {len(self.data)}")
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, name):
        raw = self.take(struct.calcsize(NUMBERS[name]))
        self.words.append(int.from_bytes(raw, "little"))
        return struct.unpack(NUMBERS[name], raw)[0]

    def count(self, limit):
        number = self.number("u32")
        if number > limit:
            raise Damage(f"a count of {number}, at most {limit}")
        return number

    def value(self, kind):
        return getattr(self, "take_" + kind[0])(*kind[1:])

    def take_name(self, name):
        if name in NUMBERS:
            return self.number(name)
        if name == "bool":
            value = self.number("u8")
            if value > 1:
                raise Damage(f"a bool of {value}")
            return value == 1
        if name in self.tables.enumerations:
            value, words = self.number("u8"), self.tables.enumerations[name]
            if value >= len(words):
                raise Damage(f"{name} of {value}")
            return words[value]
        return self.fields(self.tables.structures[name])

    def take_bytes(self, limit):
        data = self.take(self.count(limit))
        self.words += words_of(data)
        return data

    def take_text(self, limit):
        return self.take_bytes(limit).decode("utf-8")

    def take_opt(self, element):
        return self.value(element) if self.take_name("bool") else None

    def take_part(self, element):
        before, self.words = self.words, []
        value = self.value(element)
        self.words = before + ([digest(self.words)] if self.format >= 4 else self.words)
        return value

    def take_list(self, element, limit):
        return [self.value(element) for _ in range(self.count(limit))]

    def take_array(self, element, count):
        return [self.value(element) for _ in range(count)]

    def take_choice(self, name):
        number = self.number("u8")
        if number not in self.tables.choices[name]:
            raise Damage(f"{name} of number {number}")
        kind, fields = self.tables.choices[name][number]
        return (kind, self.fields(fields))

    def take_policy(self, name):
        return self.fields(self.tables.policies[name or self.root["config"]["policy"]])

    def fields(self, fields):
        out = {}
        if self.root is None:
            self.root = out
        for name, kind, formats in fields:
            if self.format in formats:
                out[name] = self.value(kind)
        return out

    def whole(self, structure):
        value = self.take_name(structure)
        if self.at != len(self.data):
            raise Damage(f"{len(self.data) - self.at} bytes are left over")
        return value


class Encoder:
    """The inverse, for the newest format."""

    def __init__(self, tables):
        self.tables, self.out = tables, bytearray()

    def put(self, kind, value):
        getattr(self, "put_" + kind[0])(value, *kind[1:])
        return self

    def put_name(self, value, name):
        if name in NUMBERS:
            self.out += struct.pack(NUMBERS[name], value)
        elif name == "bool":
            self.out.append(1 if value else 0)
        elif name in self.tables.enumerations:
            self.out.append(self.tables.enumerations[name].index(value))
        else:
            self.put_fields(value, self.tables.structures[name])

    def put_bytes(self, value, _limit):
        self.out += struct.pack("<I", len(value)) + value

    def put_text(self, value, limit):
        self.put_bytes(value.encode(), limit)

    def put_opt(self, value, element):
        self.out.append(0 if value is None else 1)
        if value is not None:
            self.put(element, value)

    def put_part(self, value, element):
        self.put(element, value)

    def put_list(self, value, element, _limit):
        self.out += struct.pack("<I", len(value))
        self.put_array(value, element, len(value))

    def put_array(self, value, element, count):
        assert len(value) == count
        for each in value:
            self.put(element, each)

    def put_choice(self, value, name):
        kinds = self.tables.choices[name]
        number = next(n for n, (kind, _) in kinds.items() if kind == value[0])
        self.out.append(number)
        self.put_fields(value[1], kinds[number][1])

    def put_fields(self, value, fields):
        for name, kind, formats in fields:
            if in_newest(formats):
                self.put(kind, value[name])


# ---- files ----


class Row:
    """One event and, where it was recorded, what the core answered."""

    def __init__(self, seq, at, kind, fields):
        self.seq, self.at, self.kind, self.fields = seq, at, kind, fields
        self.commands, self.state_hash = None, None


class JournalFile:
    """A file, read by the steps of the page. Everything is checked; Damage says what does not hold."""

    def __init__(self, tables, path, immutable=False):
        self.tables, self.path = tables, path
        options = "mode=ro&immutable=1" if immutable else "mode=ro"
        db = sqlite3.connect(f"file:{path}?{options}", uri=True)
        with contextlib.closing(db):
            self.meta = dict(db.execute("SELECT key, value FROM meta"))
            self.format = self.meta["format"]
            if self.format > FORMAT_NEWEST:
                raise Damage(f"format {self.format} is newer than the page")
            self.snapshots = {seq: self.snapshot(seq, body) for seq, body in db.execute(
                "SELECT seq, body FROM snapshot ORDER BY seq")}
            self.rows = [self.event(*row) for row in db.execute(
                "SELECT seq, at_ns, kind, body FROM event ORDER BY seq")]
            by_seq = {row.seq: row for row in self.rows}
            for seq, commands, state_hash in db.execute("SELECT * FROM outcome ORDER BY seq"):
                self.outcome(by_seq[seq], commands, state_hash & MASK)
        first = min(self.snapshots)
        if [row.seq for row in self.rows] != list(range(first, first + len(self.rows))):
            raise Damage("an event is missing")

    def decoder(self, blob, salt):
        return Decoder(self.tables, unsealed(blob, salt), self.format)

    def snapshot(self, seq, body):
        """(the state, its digest)."""
        decoder = self.decoder(body, seq)
        state = decoder.whole("State")
        return state, digest(decoder.words)

    def event(self, seq, at_ns, kind, body):
        value = self.decoder(body, seq).whole("EventRow")
        name, fields = value["body"]
        if (at_ns, kind) != (value["at"], name):
            raise Damage(f"event {seq}: the columns say {kind} at {at_ns}, the blob {name}")
        return Row(seq, at_ns, name, fields)

    def outcome(self, row, commands, state_hash):
        row.commands = self.decoder(commands, row.seq ^ state_hash).whole("CommandRow")["commands"]
        row.state_hash = state_hash


def read_folder(tables, folder):
    """The rows of all files, oldest first."""
    paths = sorted(glob.glob(os.path.join(folder, "journal-*.db")))
    return [row for path in paths if path != paths[-1] or has_snapshot(path)
            for row in JournalFile(tables, path).rows]


def has_snapshot(path):
    """A newest file without one holds nothing: the agent was killed while it made the file."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    with contextlib.closing(db):
        made = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'snapshot'").fetchone()
        return bool(made and db.execute("SELECT 1 FROM snapshot").fetchone())


def salvage(tables, path):
    """The events of a file that was cut, up to the damage: the numbers of those that can still be read."""
    good = []
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    with contextlib.closing(db), contextlib.suppress(sqlite3.Error, Damage):
        db.execute("PRAGMA writable_schema=ON")
        (number,) = db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
        first, body = db.execute("SELECT seq, body FROM snapshot ORDER BY seq LIMIT 1").fetchone()
        Decoder(tables, unsealed(body, first), number).whole("State")
        # One at a time: Python's cursor looks a row ahead, and would lose the last good one.
        while row := db.execute("SELECT body FROM event WHERE seq = ?",
                                (first + len(good),)).fetchone():
            Decoder(tables, unsealed(row[0], first + len(good)), number).whole("EventRow")
            good.append(first + len(good))
    return good

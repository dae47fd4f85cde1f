"""docs/journal-format.md and docs/journal-state.md are true: what they say of the bytes is enough to read journals
that real agents wrote, to the last byte, and what is written by them the real program reads."""

import contextlib
import copy
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, "../..")
sys.path.insert(0, os.path.join(HERE, "../agent"))

from doc_tables import page, tables_of
from harness import LAIRCTL, Board, synthetic_task
from journal_reader import (FORMAT_NEWEST, MASK, Damage, Decoder, Encoder, JournalFile, digest,
                            salvage, schema, sealed, unsealed)
from samples import Sampler

TABLES = schema()
ONE_BOARD = os.path.join(TESTS, "replay/one_board.db")
EXAMPLE = os.path.join(TESTS, "unit/agent/journal/formats/format_4.db")
RECORDED = {ONE_BOARD: 7,
            os.path.join(TESTS, "unit/agent/journal/formats/format_1.db"): 1,
            os.path.join(TESTS, "unit/agent/journal/formats/format_2.db"): 2,
            os.path.join(TESTS, "unit/agent/journal/formats/format_3.db"): 3,
            EXAMPLE: 4,
            os.path.join(TESTS, "unit/agent/journal/formats/format_5.db"): 5,
            os.path.join(TESTS, "unit/agent/journal/formats/format_6.db"): 6}


def read_recorded(path):
    return JournalFile(TABLES, path, immutable=True)


def replay(path):
    done = subprocess.run([LAIRCTL, "replay", path], capture_output=True, text=True, timeout=120,
                          check=False)
    return done.stdout + done.stderr


def without_last_snapshot(journal, copy_path):
    """The bytes of a journal as it was before its agent stopped. Whether the snapshot of the end moves
    the first one to a page behind all others is a matter of its size, and such a file is lost with its
    end."""
    shutil.copyfile(journal, copy_path)
    with contextlib.closing(sqlite3.connect(copy_path)) as db:
        db.execute("PRAGMA journal_mode=DELETE")
        db.execute("DELETE FROM snapshot WHERE seq > (SELECT min(seq) FROM snapshot)")
        db.commit()
    with open(copy_path, "rb") as file:
        return file.read()


def example_seq():
    """The event of the recorded journal that the page takes apart."""
    return int(re.search(r"Event (\d+) of `tests/",
                         page("journal-format.md"))[1])


class Recorded(unittest.TestCase):
    """The journals in the source tree, of every format there ever was."""

    def test_every_row_of_every_format_decodes_to_its_last_byte(self):
        self.assertEqual(sorted(RECORDED.values()), list(range(1, FORMAT_NEWEST + 1)))
        for path, format_number in RECORDED.items():
            journal = read_recorded(path)
            self.assertEqual(journal.format, format_number)
            self.assertGreater(len(journal.rows), 100)
            self.assertEqual(len(journal.snapshots), 2)

    def test_the_digest_of_a_decoded_state_is_the_recorded_state_hash(self):
        for path in RECORDED:
            journal = read_recorded(path)
            hashes = {row.seq: row.state_hash for row in journal.rows}
            checked = [hashes[seq - 1] == value for seq, (_, value) in journal.snapshots.items()
                       if seq > 1]
            self.assertEqual(checked, [True], path)

    def test_a_ledger_is_in_a_state_and_its_messages_are_in_the_events(self):
        journal = read_recorded([path for path, number in RECORDED.items() if number == 2][0])
        state, _ = journal.snapshots[max(journal.snapshots)]
        self.assertEqual(state["fleet"]["ledger"]["self"]["incarnation"], 1)
        self.assertTrue(any(row.fields["messages"] for row in journal.rows
                            if row.kind == "peers-heard"))

    def test_a_changed_byte_anywhere_breaks_the_seal(self):
        seq = example_seq()
        db = sqlite3.connect(f"file:{EXAMPLE}?mode=ro&immutable=1", uri=True)
        with contextlib.closing(db):
            (body,) = db.execute("SELECT body FROM event WHERE seq = ?", (seq,)).fetchone()
        self.assertEqual(len(unsealed(body, seq)), 33)
        for at in range(len(body)):
            wrong = bytearray(body)
            wrong[at] ^= 1
            with self.assertRaises(Damage):
                unsealed(bytes(wrong), seq)
        with self.assertRaises(Damage):
            unsealed(body, seq + 1)

    def test_of_a_cut_file_as_much_is_read_as_by_the_program(self):
        some = cuts = 0
        with tempfile.TemporaryDirectory(prefix="laird-formats-", dir="/tmp") as folder:
            path = os.path.join(folder, "cut.db")
            whole = without_last_snapshot(ONE_BOARD, os.path.join(folder, "whole.db"))
            for size in range(5000, len(whole), 4099):
                with open(path, "wb") as file:
                    file.write(whole[:size])
                said = re.search(r"identical: (\d+) events", replay(path))
                self.assertEqual(len(salvage(TABLES, path)), int(said[1]) if said else 0, size)
                some += said is not None
                cuts += 1
        self.assertGreater(some, cuts // 2)

    def test_the_example_of_the_page_is_in_the_journal(self):
        examples = [rows[1:] for heading, rows in tables_of(page("journal-format.md"))
                    if heading == "An example by hand"]
        self.assertEqual(len(examples), 2)
        blobs = [bytes.fromhex("".join(row[0].strip("`") for row in rows)) for rows in examples]
        db = sqlite3.connect(f"file:{EXAMPLE}?mode=ro&immutable=1", uri=True)
        with contextlib.closing(db):
            seq = example_seq()
            (body,) = db.execute("SELECT body FROM event WHERE seq = ?", (seq,)).fetchone()
            commands, state_hash = db.execute(
                "SELECT commands, state_hash FROM outcome WHERE seq = ?", (seq,)).fetchone()
        self.assertEqual(blobs, [body, commands])
        self.assertIn(f"the state hash is {state_hash}:", page("journal-format.md"))
        event = Decoder(TABLES, unsealed(body, seq)).whole("EventRow")
        answer = Decoder(TABLES, unsealed(commands, seq ^ state_hash & MASK)).whole("CommandRow")
        values = {"at": event["at"], **event["body"][1]}
        told = {row[1].strip("`"): row[2] for row in examples[0]}
        for field, value in values.items():
            self.assertEqual(told[field].split(" ")[0], repr(value), field)
        self.assertIn(f"`{event['body'][0]}`", told["the kind"])
        told = {row[1].strip("`"): row[2] for row in examples[1]}
        self.assertEqual(told["at"].split(" ")[0], str(answer["commands"][0][1]["at"]))
        self.assertIn(f"`{answer['commands'][0][0]}`", told["the kind"])

    def test_the_tables_of_the_page_are_those_of_a_file(self):
        (rows,) = [rows[1:] for heading, rows in tables_of(page("journal-format.md"))
                   if heading == "Tables"]
        documented = [(r[0].strip("`"), r[1].strip("`"), r[2]) for r in rows]
        db = sqlite3.connect(f"file:{EXAMPLE}?mode=ro&immutable=1", uri=True)
        with contextlib.closing(db):
            names = [name for (name,) in db.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")]
            found = [(name, column[1], column[2]) for name in names
                     for column in db.execute(f"PRAGMA table_info({name})")]
        self.assertEqual(documented, found)


class Live(unittest.TestCase):
    """A journal that an agent writes while this test watches from outside."""

    def test_what_the_reader_finds_is_what_the_programs_say(self):
        with Board("formats", power={"source": "modelled", "every": "0.2s"}) as board:
            board.start()
            board.accept(synthetic_task("reached", target=100.0))
            board.accept(synthetic_task("spent", epochs=2))
            board.accept(synthetic_task("dropped", epochs=0))
            board.accept(synthetic_task("late", epochs=0, deadline="2s"))
            board.wait_for(lambda: board.tasks()["dropped"]["samples"] > 0, 20, "no progress")
            for command in (["pause", "dropped"], ["resume", "dropped"], ["cap", "set", "12W"],
                            ["cap", "clear"], ["cancel", "dropped"]):
                code, out, err = board.ctl(*command)
                self.assertEqual(code, 0, out + err)
            board.wait_ended("reached", "spent", "dropped", "late")
            code, out, err = board.ctl("drain", "--local", on_socket=True)
            self.assertEqual(code, 0, out + err)
            code, out, err = board.ctl("get", "tasks", "-o", "json")
            self.assertEqual(code, 0, err)
            listed = {task["name"]: task["state"] for task in json.loads(out)}
            self.assertEqual(board.terminate(), 0)
            code, text = board.replay()
            self.assertEqual(code, 0, text)
            files = [JournalFile(TABLES, os.path.join(board.journal_folder, name))
                     for name in sorted(os.listdir(board.journal_folder)) if name.endswith(".db")]
        rows = [row for file in files for row in file.rows]
        said = re.search(r"identical: (\d+) events, (\d+) commands", text)
        self.assertEqual((len(rows), sum(len(row.commands) for row in rows)),
                         (int(said[1]), int(said[2])))
        self.assertEqual(self.outcomes(rows), listed)
        self.assertEqual(listed, {"reached": "succeeded", "spent": "exhausted",
                                  "dropped": "cancelled", "late": "missed"})
        kinds = {row.kind for row in rows}
        self.assertLessEqual({"booted", "submitted", "hold-requested", "release-requested",
                              "cancel-requested", "cap-requested", "drain-requested",
                              "trainer-ready", "trainer-progressed", "trainer-exited",
                              "power-sampled", "shutdown-requested"}, kinds)
        self.check_last_state(files[-1], listed)

    def outcomes(self, rows):
        """Names from what was submitted, in the order of the keys they got; outcomes from what was commanded."""
        names, outcomes = {}, {}
        for row in rows:
            for kind, command in row.commands:
                if row.kind == "submitted" and kind == "answer" and command["ok"]:
                    names[command["key"]] = row.fields["spec"]["name"]
                if kind == "task-changed" and command["state"] == "ended":
                    outcomes[command["task"]] = command["outcome"]
        return {names[key]: outcome for key, outcome in outcomes.items()}

    def check_last_state(self, file, listed):
        """The state at the end has the same tasks, and its digest is the last state hash."""
        state, value = file.snapshots[max(file.snapshots)]
        self.assertEqual({t["spec"]["name"]: t["outcome"] for t in state["ended"]}, listed)
        self.assertEqual(state["live"], [])
        self.assertEqual(value, file.rows[-1].state_hash)


class Written(unittest.TestCase):
    """Rows that are made from the page's tables, and lairctl's verdict on them."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="laird-formats-", dir="/tmp")
        cls.addClassCleanup(subprocess.run, ["rm", "-r", cls.folder], check=False)
        journal = read_recorded(ONE_BOARD)
        cls.seq = max(journal.snapshots)
        cls.state, _ = journal.snapshots[cls.seq]
        cls.state_bytes = cls.encoded("State", cls.state, policy=cls.state["policy"])

    @staticmethod
    def encoded(structure, value, policy=None):
        """What its policy remembers stands in a State, and is no type of its own."""
        fields = TABLES.structures[structure]
        at = [f[1] for f in fields].index(("opt", ("policy", None))) if policy is not None else 0
        encoder = Encoder(TABLES)
        if policy is not None:
            encoder.put_fields(value, fields[:at])
            encoder.out.append(1)
            PolicyEncoder.put_into(encoder, value["config"]["policy"], policy)
            fields = fields[at + 1:]
        encoder.put_fields(value, fields)
        return bytes(encoder.out)

    def write(self, name, state=None, event=None, commands=None, format_number=FORMAT_NEWEST):
        """A journal with one state and at most one event, written by hand."""
        rows = [] if event is None else [(event, commands)]
        return self.write_rows(name, rows, state or self.state_bytes, format_number)

    def write_rows(self, name, rows, state, format_number=FORMAT_NEWEST):
        path = os.path.join(self.folder, name)
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
        db = sqlite3.connect(path)
        with contextlib.closing(db), db:
            db.execute("PRAGMA synchronous=OFF")
            db.execute("CREATE TABLE meta(key TEXT PRIMARY KEY, value)")
            db.execute("CREATE TABLE snapshot(seq INTEGER PRIMARY KEY, body BLOB NOT NULL)")
            db.execute("CREATE TABLE event(seq INTEGER PRIMARY KEY, at_ns INTEGER NOT NULL,"
                       " kind TEXT NOT NULL, body BLOB NOT NULL)")
            db.execute("CREATE TABLE outcome(seq INTEGER PRIMARY KEY, commands BLOB NOT NULL,"
                       " state_hash INTEGER NOT NULL)")
            db.execute("INSERT INTO meta VALUES('format', ?)", (format_number,))
            db.execute("INSERT INTO snapshot VALUES(?, ?)",
                       (self.seq, sealed(state, self.seq)))
            for seq, (event, commands) in enumerate(rows, self.seq):
                db.execute("INSERT INTO event VALUES(?, 0, '', ?)", (seq, sealed(event, seq)))
                if commands is not None:
                    db.execute("INSERT INTO outcome VALUES(?, ?, 1)",
                               (seq, sealed(commands, seq ^ 1)))
        return path

    def event_bytes(self, body):
        encoder = Encoder(TABLES).put(("name", "i64"), self.state["now"] + 1)
        return bytes(encoder.put(("choice", "Event"), body).out)

    def command_bytes(self, *commands):
        return bytes(Encoder(TABLES).put(("list", ("choice", "Command"), 9), commands).out)

    def verdict_on_event(self, event):
        """What lairctl says of an event with a wrong answer: it decodes, and then differs or is refused."""
        text = replay(self.write("event.db", event=event, commands=self.command_bytes()))
        decodes = "an event does not decode" not in text
        if decodes:
            self.assertRegex(text, rf"(different at event {self.seq} |event {self.seq}: )")
        return decodes, text

    def verdict_on_commands(self, commands):
        text = replay(self.write("commands.db", event=self.event_bytes(("ticked", {})),
                                 commands=commands))
        decodes = f"different at event {self.seq} " in text
        if not decodes:
            self.assertIn("unverified: 1 events", text)
        return decodes, text

    def assert_told(self, text, prefix, kind, fields):
        """lairctl describes it by this name, and with these values where it gives any."""
        line = re.search(rf"^  {prefix}: +(\S+)(.*)$", text, re.M)
        self.assertEqual(line[1], kind, text)
        # Of a command that holds a request only the first value of a name is its own.
        told = dict(reversed([word.split("=", 1) for word in line[2].split()]))
        shown = {name: value for name, value in fields.items()
                 if name in told and not isinstance(value, (list, dict, tuple))}
        for name, value in shown.items():
            if isinstance(value, float):
                self.assertEqual(float(told[name]), value, text)
                continue
            value = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
            value = len(value) if isinstance(value, bytes) else value
            self.assertEqual(told[name], str(value), text)
        return len(shown)

    def test_every_event_of_the_page_is_read_by_the_program_and_told_alike(self):
        told, kinds_told = 0, {row.kind for path in RECORDED for row in read_recorded(path).rows}
        for kind, _ in TABLES.choices["Event"].values():
            for bare in (False, True):
                sampler = Sampler(TABLES, bare=bare, forced={"Event": kind})
                body = sampler.value(("choice", "Event"))
                if kind == "plan-changed":
                    body[1]["plan"]["epoch"] = 0  # no fleet: else a made-up plan contradicts itself
                event = self.event_bytes(body)
                decodes, text = self.verdict_on_event(event)
                self.assertTrue(decodes, (kind, text))
                if "different" in text:
                    told += self.assert_told(text, "event", kind, body[1])
                    kinds_told.add(kind)
                for wrong in (event[:-1], event + b"\0"):
                    self.assertFalse(self.verdict_on_event(wrong)[0], (kind, wrong))
        self.assertGreater(told, 50)
        self.assertEqual(kinds_told, {kind for kind, _ in TABLES.choices["Event"].values()})

    def test_every_request_of_an_operator_is_read(self):
        events = dict(TABLES.choices["Event"].values())
        requests = dict(TABLES.choices["OperatorRequest"].values())
        self.assertEqual(set(requests) - set(events), {"config-requested"})
        self.assertEqual({name: events[name] for name in requests if name in events},
                         {name: fields for name, fields in requests.items() if name in events})
        for kind, _ in TABLES.choices["OperatorRequest"].values():
            sampler = Sampler(TABLES, forced={"Event": "commanded", "OperatorRequest": kind})
            event = self.event_bytes(sampler.value(("choice", "Event")))
            self.assertTrue(self.verdict_on_event(event)[0], kind)
            self.assertFalse(self.verdict_on_event(event[:-1])[0], kind)

    def test_every_command_of_the_page_is_read_and_told_alike(self):
        told = 0
        for kind, _ in TABLES.choices["Command"].values():
            sampler = Sampler(TABLES, forced={"Command": kind})
            command = sampler.value(("choice", "Command"))
            commands = self.command_bytes(command)
            decodes, text = self.verdict_on_commands(commands)
            self.assertTrue(decodes, (kind, text))
            told += self.assert_told(text, "recorded", kind, command[1])
            for wrong in (commands[:-1], commands + b"\0"):
                self.assertFalse(self.verdict_on_commands(wrong)[0], (kind, wrong))
        self.assertGreater(told, 20)

    def test_no_kind_is_missing_from_the_page(self):
        """The number after the last, followed by any count of zeros, is damage everywhere: no such kind exists."""
        start = self.event_bytes(("ticked", {}))[:-1]
        commanded = self.event_bytes(Sampler(TABLES, bare=True, forced={
            "Event": "commanded", "OperatorRequest": "cancel-requested"}).value(("choice", "Event")))
        # A request of an operator: its number stands before its own request and the length of its task's name.
        in_command = commanded[:-13]
        self.assertEqual(commanded[-13], 1)
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            count = 0
            for prefix, name in ((start, "Event"), (in_command, "OperatorRequest")):
                for zeros in range(300):
                    count += 1
                    event = prefix + bytes([len(TABLES.choices[name])]) + bytes(zeros)
                    self.write(f"{os.path.basename(folder)}/journal-{count:06}-20260101.db",
                               event=event)
            text = replay(folder)
            self.assertEqual(text.count("an event does not decode"), count, text[:500])
        ticked = self.event_bytes(("ticked", {}))
        beyond = b"\1\0\0\0" + bytes([len(TABLES.choices["Command"])])
        rows = [(ticked, beyond + bytes(zeros)) for zeros in range(300)]
        text = replay(self.write_rows("beyond.db", rows, self.state_bytes))
        self.assertIn("unverified: 300 events", text)

    def test_every_word_of_an_enumeration_is_the_programs_and_none_is_missing(self):
        told = 0
        for enumeration, words in TABLES.enumerations.items():
            kinds = [(choice, kind) for choice in ("Event", "Command")
                     for kind, fields in TABLES.choices[choice].values()
                     if self.uses(fields, enumeration)]
            for choice, kind in kinds:
                for word in words:
                    decodes, text, fields = self.with_word(TABLES, choice, kind, enumeration, word)
                    self.assertTrue(decodes, (kind, word, text))
                    if "different" in text:
                        prefix = "event" if choice == "Event" else "recorded"
                        told += self.assert_told(text, prefix, kind, fields)
                more = copy.deepcopy(TABLES)
                more.enumerations[enumeration].append("beyond")
                self.assertFalse(self.with_word(more, choice, kind, enumeration, "beyond")[0],
                                 (kind, enumeration))
        self.assertGreater(told, 50)

    def with_word(self, tables, choice, kind, enumeration, word):
        sampler = Sampler(tables, forced={choice: kind, enumeration: word})
        body = sampler.value(("choice", choice))
        encoder = Encoder(tables)
        if choice == "Event":
            encoder.put(("name", "i64"), self.state["now"] + 1).put(("choice", "Event"), body)
            return (*self.verdict_on_event(bytes(encoder.out)), body[1])
        encoder.put(("list", ("choice", "Command"), 9), [body])
        return (*self.verdict_on_commands(bytes(encoder.out)), body[1])

    def uses(self, fields, name):
        return any(self.type_uses(kind, name) for _, kind, _ in fields)

    def type_uses(self, kind, name):
        if kind[0] in ("list", "opt", "part", "array"):
            return self.type_uses(kind[1], name)
        return kind == ("name", name) or (
            kind[0] == "name" and kind[1] in TABLES.structures
            and self.uses(TABLES.structures[kind[1]], name))

    def test_every_limit_is_the_programs(self):
        checked = 0
        for kind, _ in TABLES.choices["Event"].values():
            plain = Sampler(TABLES, forced={"Event": kind, "OperatorRequest": "submitted"})
            plain.value(("choice", "Event"))
            for place in range(plain.places):
                for over in (0, 1):
                    sampler = Sampler(TABLES, stretch=place, over=over,
                                      forced={"Event": kind, "OperatorRequest": "submitted"})
                    event = self.event_bytes(sampler.value(("choice", "Event")))
                    self.assertEqual(self.verdict_on_event(event)[0], over == 0, (kind, place))
                    checked += 1
        self.assertGreater(checked, 80)

    def test_the_memory_of_every_policy_is_read(self):
        for policy in TABLES.policies:
            state = copy.deepcopy(self.state)
            state["config"]["policy"] = policy
            memory = PolicySampler(TABLES).make_policy(policy)
            blob = self.encoded("State", state, policy=memory)
            self.assertIn("identical: 0 events", replay(self.write("state.db", state=blob)), policy)
            self.assertIn("does not decode", replay(self.write("state.db", state=blob + b"\0")))
            self.assertIn("does not decode", replay(self.write("state.db", state=blob[:-1])))

    def filled_state(self, sampler):
        """The real state, with made-up things in all the lists that are empty in it, and with a ledger."""
        state = copy.deepcopy(self.state)
        plan = {"rev": 1, "epoch": 1, "founders": ["demo"],
                "members": [{"id": "demo", "floor": [0, 0, 0]}], "budget": [-1, -1, 1000],
                "power_mw_for_now": -1, "power_for_now_until_wall": 0}
        state["fleet"].update(plan=plan)
        for place, field, structure in (
                (state["lanes"][0], "running", "Lane"), (state["lanes"][0]["gate"], "turn", "LaneGate"),
                (state, "live", "State"), (state, "ended", "State"), (state, "wanted", "State"),
                (state["meter"], "tasks", "Meter"), (state["meter"], "rails", "Meter"),
                (state["meter"], "running", "Meter"), (state["fleet"], "seen", "Fleet"),
                (state["fleet"], "ledger", "Fleet")):
            kinds = {name: kind for name, kind, _ in TABLES.structures[structure]}
            place[field] = sampler.value(kinds[field])
        for window in ("window_mw", "window_at"):
            state["power"]["governor"][window] = [10, 20]
        for task in state["live"] + state["ended"]:
            for trace in (task["forecast"]["trace"], task["forecast"]["recalled"]):
                trace["count"] = len(trace["points"])
                for nth, point in enumerate(trace["points"]):
                    point["samples"] = nth + 1.0
        return state

    def verdict_on_state(self, blob):
        """Whether the program decodes it. Made-up values contradict each other, which is another complaint."""
        text = replay(self.write("state.db", state=blob))
        self.assertRegex(text, r"(does not decode|the snapshot's |identical: 0 events)")
        return "does not decode" not in text

    def test_every_structure_of_a_state_is_read(self):
        for seed in range(4):
            state = self.filled_state(Sampler(TABLES, seed))
            blob = self.encoded("State", state, policy=state["policy"])
            self.assertTrue(self.verdict_on_state(blob))
            for wrong in (blob[:-1], blob + b"\0"):
                self.assertFalse(self.verdict_on_state(wrong))

    def test_every_limit_in_a_state_is_the_programs(self):
        plain = Sampler(TABLES)
        self.filled_state(plain)
        self.assertGreater(plain.places, 50)
        for place in range(plain.places):
            for over in (0, 1):
                state = self.filled_state(Sampler(TABLES, stretch=place, over=over))
                blob = self.encoded("State", state, policy=state["policy"])
                self.assertEqual(self.verdict_on_state(blob), over == 0, place)

    def test_a_state_that_is_decoded_and_written_again_is_the_same(self):
        blob = sqlite3.connect(f"file:{ONE_BOARD}?mode=ro&immutable=1", uri=True).execute(
            "SELECT body FROM snapshot WHERE seq = ?", (self.seq,)).fetchone()[0]
        self.assertEqual(self.state_bytes, unsealed(blob, self.seq))
        decoder = Decoder(TABLES, self.state_bytes)
        decoder.whole("State")
        self.assertEqual(digest(decoder.words), read_recorded(ONE_BOARD).snapshots[self.seq][1])

    def test_the_newest_format_of_the_page_is_the_programs(self):
        (rows,) = [rows[1:] for heading, rows in tables_of(page("journal-format.md"))
                   if heading == "Formats"]
        self.assertEqual([int(row[0]) for row in rows], list(range(1, FORMAT_NEWEST + 1)))
        self.assertIn("identical", replay(self.write("now.db")))
        newer = replay(self.write("newer.db", format_number=FORMAT_NEWEST + 1))
        self.assertIn(f"reads 1 to {FORMAT_NEWEST}", newer)


class PolicyEncoder:
    """Fields of a policy may be another policy's."""

    @staticmethod
    def put_into(encoder, policy, memory):
        for name, kind, _ in TABLES.policies[policy]:
            if kind[0] == "policy":
                PolicyEncoder.put_into(encoder, kind[1], memory[name])
            else:
                encoder.put(kind, memory[name])


class PolicySampler(Sampler):
    """What a policy keeps by lane it keeps for all eight; what it keeps by task ascends."""

    def make_list(self, element, limit):
        return [self.value(element) for _ in range(8 if limit == 8 else 1)]


if __name__ == "__main__":
    unittest.main(verbosity=2)

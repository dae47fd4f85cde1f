"""The tables of a format's page as a schema. A page defines, in markdown tables told apart by the name of their
first column:

  structure | fields        a row each: `Name`, then `field: type` for each field
  field | type              under a heading that is the `Name` of one long structure
  number | name | fields    under a heading that is the `Name` of a choice
  enumeration | values      a row each: `Name`, then `0 word` for each value
  policy | fields           a row each: the memory of a policy

Other tables are for people, or are asked for by rows(). A page that cannot be read so is an error here."""

import os
import re

DOCS = os.environ.get("LAIRD_DOCS") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "../../../docs")

NEWEST = 1 << 30  # no format has that number

HEADING = re.compile(r"^#+ +(.*)$")
NAME = re.compile(r"^`([^`]+)`$")
QUOTED = re.compile(r"`([^`]+)`")


def page(name):
    with open(os.path.join(DOCS, name), encoding="utf-8") as text:
        return text.read()


def tables_of(text):
    """(heading above it, rows of cells; the first row is the head) of each table, in order."""
    out, heading, rows, fenced = [], "", [], False
    for line in text.split("\n") + [""]:
        if line.startswith("```"):
            fenced = not fenced
        if not fenced and line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
            continue
        if rows:
            assert len(rows) > 2 and set("".join(rows[1])) <= set("-: "), (heading, rows[:2])
            out.append((heading, [rows[0], *rows[2:]]))
            rows = []
        found = HEADING.match(line)
        if found and not fenced:
            heading = found[1]
    return out


def inside(text, word):
    """The part of `word(part)`, or None."""
    return text[len(word) + 1:-1] if text.startswith(word + "(") and text.endswith(")") else None


def parse_type(text):
    """A type as a tuple: ("list", "some" or "short", element, limit), ("opt" or "part", element), ("array", element, count),
    ("text", "bytes" or "varint", limit), ("choice", name), ("policy", name or None), or ("name", a primitive, a structure
    or an enumeration)."""
    text = text.strip()
    for word in ("list", "some", "short"):
        if (part := inside(text, word)) is not None:
            element, limit = part.rsplit(",", 1)
            return (word, parse_type(element), int(limit))
    for word in ("opt", "part"):
        if (part := inside(text, word)) is not None:
            return (word, parse_type(part))
    for word in ("text", "bytes", "varint"):
        if (part := inside(text, word)) is not None:
            return (word, int(part))
    for word in ("choice", "policy"):
        if (part := inside(text, word)) is not None:
            return (word, part)
    if text == "policy":
        return ("policy", None)
    if (array := re.match(r"^(.+) x (\d+)$", text)):
        return ("array", parse_type(array[1]), int(array[2]))
    assert re.match(r"^[A-Za-z]\w*$", text), f"not a type: {text!r}"
    return ("name", text)


def parse_field(name, text):
    """(name, type, the formats that have it). `u32 until 3` and `u64 since 4` under one name: it was widened."""
    text, _, until = text.partition(" until ")
    text, _, since = text.partition(" since ")
    return (name, parse_type(text), range(int(since or 1), int(until or NEWEST) + 1))


def in_newest(formats):
    return NEWEST in formats


def parse_fields(cell):
    """Of a cell with `name: type` for each field, and nothing else but commas."""
    assert not QUOTED.sub("", cell).strip(" ,"), f"fields stand in backticks: {cell!r}"
    return [parse_field(*quoted.split(": ", 1)) for quoted in QUOTED.findall(cell)]


class Schema:
    """What one or more pages define."""

    def __init__(self, *pages):
        self.structures, self.choices, self.enumerations, self.policies = {}, {}, {}, {}
        for name in pages:
            for heading, rows in tables_of(page(name)):
                self.take(heading, rows[0], rows[1:])
        self.check()

    def take(self, heading, head, rows):
        if head[:2] == ["structure", "fields"]:
            for row in rows:
                self.put(self.structures, NAME.match(row[0])[1], parse_fields(row[1]))
        elif head[:2] == ["field", "type"]:
            fields = [parse_field(NAME.match(r[0])[1], NAME.match(r[1])[1]) for r in rows]
            self.put(self.structures, NAME.match(heading)[1], fields)
        elif head[:3] == ["number", "name", "fields"]:
            kinds = {int(r[0]): (NAME.match(r[1])[1], parse_fields(r[2])) for r in rows}
            assert list(kinds) == list(range(len(rows))), f"numbers of {heading} have a gap"
            self.put(self.choices, NAME.match(heading)[1], kinds)
        elif head[:2] == ["enumeration", "values"]:
            for row in rows:
                values = dict(quoted.split(" ", 1) for quoted in QUOTED.findall(row[1]))
                assert list(values) == [str(i) for i in range(len(values))], row
                self.put(self.enumerations, NAME.match(row[0])[1], list(values.values()))
        elif head[:2] == ["policy", "fields"]:
            for row in rows:
                self.put(self.policies, NAME.match(row[0])[1], parse_fields(row[1]))

    @staticmethod
    def put(where, name, value):
        assert name not in where, f"{name} is defined twice"
        where[name] = value

    def check(self):
        """Every type that a table uses is defined, or is one that the reader knows."""
        for fields in [*self.structures.values(), *self.policies.values(),
                       *(f for kinds in self.choices.values() for _, f in kinds.values())]:
            for name, kind, _ in fields:
                self.check_type(name, kind)

    def check_type(self, field, kind):
        if kind[0] in ("list", "some", "short", "opt", "part", "array"):
            self.check_type(field, kind[1])
        elif kind[0] == "choice":
            assert kind[1] in self.choices, f"{field}: no choice {kind[1]}"
        elif kind[0] == "policy":
            assert kind[1] is None or kind[1] in self.policies, f"{field}: no policy {kind[1]}"
        elif kind[0] == "name" and kind[1][0].isupper():
            assert kind[1] in self.structures or kind[1] in self.enumerations, \
                f"{field}: no structure {kind[1]}"

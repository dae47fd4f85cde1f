"""Made-up values of a schema's types, so that a real program can be asked whether it reads what the page says."""

import random

from doc_tables import in_newest

BYTES_OF_NUMBER = {"u8": 1, "u16": 2, "u32": 4, "u64": 4, "i32": 4, "i64": 4}


class Sampler:
    """Values in which every list and text has something and every option is there, or, with `bare`, nothing. Counts the
    places that have a limit while it goes: `stretch` names one of them, which becomes `over` longer than its limit."""

    def __init__(self, tables, seed=1, bare=False, stretch=None, over=0, forced=None):
        self.tables, self.random = tables, random.Random(seed)
        self.bare, self.stretch, self.over = bare, stretch, over
        self.forced = forced or {}  # the value of an enumeration, or the kind of a choice
        self.places = 0

    def size(self, limit, usual):
        """How long a thing with that limit becomes."""
        self.places += 1
        if self.places - 1 == self.stretch:
            return limit + self.over
        return 0 if self.bare else usual

    def value(self, kind):
        return getattr(self, "make_" + kind[0])(*kind[1:])

    def make_name(self, name):
        if name in BYTES_OF_NUMBER:
            return self.random.randrange(1, 1 << (8 * BYTES_OF_NUMBER[name] - 1))
        if name in ("f64", "f32"):
            return self.random.randrange(1, 1000) / 64
        if name == "bool":
            return self.random.random() < 0.5
        if name in self.tables.enumerations:
            return self.forced.get(name) or self.random.choice(self.tables.enumerations[name])
        return self.fields(self.tables.structures[name])

    def make_text(self, limit):
        return "".join(self.random.choice("abcxyz-") for _ in range(self.size(limit, 3)))

    def make_bytes(self, limit):
        return self.random.randbytes(self.size(limit, 5))

    def make_opt(self, element):
        return None if self.bare else self.value(element)

    def make_part(self, element):
        return self.value(element)

    def make_list(self, element, limit):
        count = self.size(limit, min(limit, 2))
        # One element made anew and then repeated: the longest lists are long.
        return [self.value(element) for _ in range(min(count, 1))] * count

    def make_array(self, element, count):
        return [self.value(element) for _ in range(count)]

    def make_choice(self, name):
        kinds = dict(self.tables.choices[name].values())
        kind = self.forced.get(name) or self.random.choice(sorted(kinds))
        return (kind, self.fields(kinds[kind]))

    def make_policy(self, name):
        return self.fields(self.tables.policies[name])

    def fields(self, fields):
        return {name: self.value(kind) for name, kind, formats in fields if in_newest(formats)}

"""The units hold only what every systemd from JetPack 4's to JetPack 7's takes, or ignores without harm."""

import glob
import os
import unittest

import unit_directives

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGING = os.path.join(TOP, "packaging")


def lines_of(text):
    """(directive, value) of each line of a unit; a line that ends in a backslash goes on in the next."""
    for line in text.replace("\\\n", " ").splitlines():
        if line and line[0] not in "#;[":
            directive, _, value = line.partition("=")
            yield directive.strip(), value.strip()


def complaints(text):
    found = (unit_directives.complaint(*line) for line in lines_of(text))
    return [line for line in found if line]


class Units(unittest.TestCase):

    def units(self):
        paths = [p for kind in ("service", "socket", "slice", "path") for p in glob.glob(PACKAGING + "/*." + kind)]
        self.assertGreater(len(paths), 5)
        return paths

    def test_every_directive_is_known_and_breaks_no_board(self):
        for path in self.units():
            with open(path, encoding="utf-8") as file:
                self.assertEqual(complaints(file.read()), [], path)

    def test_the_table_lists_nothing_that_no_unit_uses(self):
        used = set()
        for path in self.units():
            with open(path, encoding="utf-8") as file:
                used |= {directive for directive, _ in lines_of(file.read())}
        listed = set(unit_directives.SINCE) | set(unit_directives.IGNORED_BY_OLDER)
        self.assertEqual(listed - used, set())

    def test_what_came_later_than_the_oldest_board_is_listed_as_ignored_there(self):
        self.assertLessEqual(max(unit_directives.SINCE.values()), unit_directives.OLDEST)
        self.assertGreater(min(unit_directives.IGNORED_BY_OLDER.values()), unit_directives.OLDEST)

    def test_what_broke_boards_is_refused(self):
        for line, why in (("SystemCallFilter=@system-service", "exits with 127"),
                          ("SystemCallFilter=~@clock\nSystemCallFilter=@system-service", "exits with 127"),
                          ("ProtectClock=yes", "no GPU"), ("PrivateDevices=yes", "no GPU"),
                          ("DeviceAllow=/dev/null rw", "no GPU"), ("DevicePolicy=closed", "no GPU"),
                          ("ProtectEverything=yes", "not in the table")):
            found = complaints("[Service]\nType=notify\n" + line + "\n")
            self.assertEqual(len(found), 1, line)
            self.assertIn(why, found[0])

    def test_the_agent_and_its_cells_may_use_the_gpu(self):
        with open(os.path.join(PACKAGING, "laird.sysusers"), encoding="utf-8") as file:
            members = [line.split()[1:] for line in file if line.startswith("m ")]
        self.assertIn(["laird", "video"], members)
        self.assertIn(["laird-trainer", "video"], members)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""The check of the boards' programs refuses what it is for, by name."""

import os
import subprocess
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHECK = os.path.join(TOP, "packaging", "check_programs.py")

# One import of glibc 2.34, in a library: a program would also import its start-up code's.
NEWER = "int close_range(unsigned, unsigned, int);\nint planted(void) { return close_range(3, 4, 0); }\n"
OLD = "unsigned long strlen(const char*);\nunsigned long fine(const char* s) { return strlen(s); }\n"


class Gate(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="laird-gate-")
        self.addCleanup(subprocess.run, ["rm", "-rf", self.folder], check=True)
        os.makedirs(os.path.join(self.folder, "usr/bin"))

    def plant(self, name, text, *link):
        subprocess.run(["gcc", "-x", "c", "-", "-O1", "-fno-builtin", "-shared", "-fPIC",
                        "-o", os.path.join(self.folder, "usr/bin", name)] + list(link),
                       input=text, text=True, check=True, timeout=30)

    def check(self):
        done = subprocess.run([CHECK, self.folder], capture_output=True, text=True, check=False,
                              timeout=30)
        return done.returncode, done.stderr

    def test_passes_what_an_old_board_has(self):
        self.plant("fine", OLD)
        self.assertEqual(self.check(), (0, ""))

    def test_refuses_a_newer_symbol_and_names_program_and_symbol(self):
        self.plant("fine", OLD)
        self.plant("newer", NEWER)
        code, said = self.check()
        self.assertEqual(code, 1)
        self.assertEqual(said, "check_programs: usr/bin/newer: imports close_range@GLIBC_2.34; "
                               "the newest allowed is GLIBC_2.27\n")

    def test_refuses_a_foreign_library_and_names_it(self):
        self.plant("linked", OLD, "-Wl,--no-as-needed", "-lz")
        code, said = self.check()
        self.assertEqual(code, 1)
        self.assertEqual(said, "check_programs: usr/bin/linked: needs libz.so.1, "
                               "which is not part of glibc\n")

    def test_refuses_a_version_that_no_symbol_names(self):
        self.plant("packed", OLD, "-Wl,-z,pack-relative-relocs")
        with open(os.path.join(self.folder, "usr/bin/packed"), "rb") as file:
            if b"GLIBC_ABI_DT_RELR" not in file.read():
                self.skipTest("this linker does not pack relocations")
        code, said = self.check()
        self.assertEqual(code, 1)
        self.assertIn("usr/bin/packed: requires GLIBC_ABI_DT_RELR", said)

    def test_refuses_a_folder_without_programs(self):
        code, said = self.check()
        self.assertEqual(code, 1)
        self.assertIn("no program", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)

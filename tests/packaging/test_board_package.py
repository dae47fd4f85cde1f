"""The one package for every JetPack, made from the cross build: what it needs, how large it is, what is in it."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = os.path.abspath(os.environ["LAIRD_BIN"])
SYSROOT = os.path.abspath(os.environ["LAIRD_SYSROOT"])
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "packaging"))
import check_programs  # noqa: E402 (found by the line above)

PACKED_MAX = 6_000_000
INSTALLED_KIB_MAX = 21_000_000 // 1024


class BoardPackage(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="laird-board-deb-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.deb = cls.make("first")
        cls.root = os.path.join(cls.folder, "root")
        subprocess.run(["dpkg-deb", "-R", cls.deb, cls.root], check=True, timeout=60)

    @classmethod
    def make(cls, name):
        done = subprocess.run([os.path.join(TOP, "packaging", "build_deb.sh"), os.path.dirname(BIN),
                               os.path.join(cls.folder, name), SYSROOT],
                              stdout=subprocess.PIPE, check=True, timeout=300, text=True)
        return done.stdout.strip()

    def field(self, name):
        return subprocess.run(["dpkg-deb", "-f", self.deb, name], check=True, capture_output=True,
                              text=True).stdout.strip()

    def test_every_program_is_there_and_starts_on_the_oldest_board(self):
        programs = check_programs.elf_files(self.root)
        self.assertEqual(sorted(os.path.basename(p) for p in programs),
                         ["laird", "laird-cell", "laird-priv", "laird-promote", "laird-train", "liblaird_cuda.so"])
        for path in programs:
            name = os.path.basename(path)
            self.assertEqual(list(check_programs.findings(path, name)), [])
            print("%s: %.1f MB, GLIBC_%d.%d" % ((name, os.path.getsize(path) / 1e6) +
                                                check_programs.newest(path)))
            header = check_programs.readelf("-Wh", path)
            self.assertRegex(header, r"Machine:\s+AArch64")
            self.assertRegex(header, r"Type:\s+DYN")  # may lie at any address
            self.assertRegex(check_programs.readelf("-Wd", path), r"FLAGS_1.*NOW")
            self.assertRegex(check_programs.readelf("-Wl", path), r"GNU_STACK(\s+0x\S+){5}\s+RW\s")

    def test_laird_and_lairctl_are_one_file_that_knows_its_name(self):
        self.assertEqual(os.readlink(os.path.join(self.root, "usr/bin/lairctl")), "laird")
        for name in ("laird", "lairctl"):
            done = subprocess.run(["qemu-aarch64", "-L", SYSROOT, os.path.join(self.root, "usr/bin", name), "--version"],
                                  capture_output=True, text=True, check=True, timeout=60)
            self.assertTrue(done.stdout.startswith(name + " "), done.stdout)

    def test_no_path_of_the_build_machine_is_in_a_program(self):
        for path in check_programs.elf_files(self.root):
            with open(path, "rb") as file:
                self.assertNotIn(TOP.encode(), file.read(), path)

    def test_it_depends_on_an_old_glibc_and_adduser_alone(self):
        self.assertEqual(self.field("Depends"), "libc6 (>= 2.27), adduser")
        self.assertEqual(self.field("Architecture"), "arm64")

    def test_it_is_small_and_packed_with_xz(self):
        packed, installed = os.path.getsize(self.deb), int(self.field("Installed-Size"))
        print("%.2f MB packed, %.1f MB installed" % (packed / 1e6, installed * 1024 / 1e6))
        self.assertLessEqual(packed, PACKED_MAX)
        self.assertLessEqual(installed, INSTALLED_KIB_MAX)
        members = subprocess.run(["ar", "t", self.deb], check=True, capture_output=True, text=True)
        self.assertEqual(members.stdout.split(), ["debian-binary", "control.tar.xz", "data.tar.xz"])

    def test_it_names_each_component_its_version_and_its_licence(self):
        doc = os.path.join(self.root, "usr/share/doc/laird")
        with open(os.path.join(doc, "components.tsv"), encoding="utf-8") as table:
            rows = [line.rstrip("\n").split("\t") for line in table][1:]
        names = {row[0] for row in rows}
        for name in ("OpenSSL", "SQLite", "Eclipse Paho C", "Eclipse Paho C++", "zlib", "spdlog", "fmt", "CLI11",
                     "tl::expected", "JSON for Modern C++", "Eigen", "libstdc++ and libgcc"):
            self.assertIn(name, names)
        for component, version, licence, source in rows:
            self.assertRegex(version, r"^(\d+:)?\d+\.\d+", component)
            self.assertTrue(licence, component)
            text = os.path.join(doc, "licences", source + ".copyright")
            self.assertGreater(os.path.getsize(text), 500, component)
        # The version that is named is the one that is inside.
        version = re.match(r"[\d.]+", next(row[1] for row in rows if row[0] == "OpenSSL"))[0]
        with open(os.path.join(self.root, "usr/bin/laird"), "rb") as file:
            self.assertIn(b"OpenSSL " + version.encode() + b" ", file.read())

    def test_the_same_build_packs_to_the_same_bytes(self):
        with open(self.deb, "rb") as first, open(self.make("second/deeper"), "rb") as second:
            self.assertEqual(first.read(), second.read())

    @unittest.skipUnless(shutil.which("lintian"), "lintian is not installed")
    def test_lintian_finds_nothing(self):
        done = subprocess.run(["lintian", "--allow-root", "--tag-display-limit", "0", "--fail-on", "error,warning",
                               self.deb], capture_output=True, text=True, check=False, timeout=200)
        self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)

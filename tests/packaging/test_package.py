"""The Debian package as a board gets it: built from this build, unpacked, looked at."""

import glob
import json
import os
import shutil
import stat
import subprocess
import tempfile
import unittest

BIN = os.path.abspath(os.environ.get("LAIRD_BIN", "build/release/bin"))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = ("laird", "lairctl", "laird-train", "laird-promote", "laird-priv", "laird-cell")


@unittest.skipUnless(shutil.which("dpkg-shlibdeps") and shutil.which("dpkg-deb"),
                     "dpkg-dev is not installed")
@unittest.skipUnless(all(os.path.exists(os.path.join(BIN, p)) for p in PROGRAMS),
                     "not every program is built")
class Package(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="laird-deb-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        done = subprocess.run([os.path.join(TOP, "packaging", "build_deb.sh"), os.path.dirname(BIN),
                               cls.folder], stdout=subprocess.PIPE, check=True, timeout=120)
        cls.deb = done.stdout.decode().strip()
        cls.root = os.path.join(cls.folder, "root")
        subprocess.run(["dpkg-deb", "-R", cls.deb, cls.root], check=True, timeout=60)

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def test_every_file_is_there(self):
        for path in ("usr/bin/laird", "usr/bin/lairctl", "usr/bin/laird-train", "usr/bin/laird-promote",
                     "usr/libexec/laird/laird-priv", "usr/libexec/laird/laird-cell", "usr/lib/laird/liblaird_cuda.so",
                     "usr/lib/systemd/system/laird.service", "usr/lib/systemd/system/laird-cell.socket",
                     "usr/lib/systemd/system/laird-cell@.service",
                     "usr/lib/sysusers.d/laird.conf", "usr/share/man/man1/lairctl.1.gz",
                     "usr/share/man/man5/laird.json.5.gz", "usr/share/man/man8/laird.8.gz",
                     "usr/share/bash-completion/completions/lairctl",
                     "usr/share/zsh/vendor-completions/_lairctl",
                     "usr/share/fish/vendor_completions.d/lairctl.fish",
                     "usr/share/laird/grafana/laird.json",
                     "usr/share/doc/laird/examples/laird.json", "usr/share/doc/laird/copyright"):
            self.assertTrue(os.path.exists(self.path(path)), path)
        for installed, source in (("schema", "docs/schema"), ("boards", "board_configs")):
            names = {os.path.basename(p) for p in glob.glob(os.path.join(TOP, source, "*.json"))}
            self.assertGreater(len(names), 5)
            self.assertEqual(set(os.listdir(self.path("usr/share/laird", installed))), names)
        for path in glob.glob(self.path("usr/share/laird/*/*.json")):
            with open(path, encoding="utf-8") as file:
                if "/boards/" not in path:  # those have comments
                    json.load(file)

    def test_nobody_but_root_can_change_what_is_installed(self):
        for folder, _, files in os.walk(self.path("usr")):
            for name in files:
                info = os.lstat(os.path.join(folder, name))
                self.assertFalse(info.st_mode & 0o022, name)
                self.assertFalse(info.st_mode & (stat.S_ISUID | stat.S_ISGID), name)
        listed = subprocess.run(["dpkg-deb", "-c", self.deb], stdout=subprocess.PIPE, check=True)
        for line in listed.stdout.decode().splitlines():
            self.assertIn(" root/root ", line)

    def test_scripts_are_plain_shell_and_the_programs_run(self):
        for script in ("postinst", "prerm", "postrm"):
            subprocess.run(["sh", "-n", self.path("DEBIAN", script)], check=True)
        for program in ("laird", "lairctl"):
            done = subprocess.run([self.path("usr/bin", program), "--version"],
                                  stdout=subprocess.PIPE, check=True, timeout=10)
            self.assertTrue(done.stdout.decode().startswith(program + " "))
        with open(self.path("DEBIAN/control"), encoding="utf-8") as file:
            control = file.read()
        for part in ("libssl3", "libpaho-mqtt", "adduser", "Version: "):
            self.assertIn(part, control)
        for blank in ("@VERSION@", "@ARCH@", "@SIZE@", "@DEPENDS@", "@MAINTAINER@"):
            self.assertNotIn(blank, control)


if __name__ == "__main__":
    unittest.main(verbosity=2)

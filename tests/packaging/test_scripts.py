"""The package's maintainer scripts, run as a tool for root folders runs them: on this machine, for another."""

import os
import shutil
import subprocess
import tempfile
import unittest

import fake_rootfs
from fake_rootfs import host_state, snapshot


@unittest.skipUnless(os.getuid() == 0, "not root: dpkg installs only for root")
@unittest.skipUnless(shutil.which("systemd-sysusers"), "systemd is not installed")
class Scripts(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="laird-scripts-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = fake_rootfs.make_rootfs(os.path.join(self.folder, "root"), os.path.join(self.folder, "marker"))
        self.deb = fake_rootfs.make_package(self.folder)
        self.host = host_state()

    def tearDown(self):
        self.assertEqual(host_state(), self.host)

    def dpkg(self, *args):
        return subprocess.run(["dpkg", "--root=" + self.root, "--force-architecture", "--force-script-chrootless",
                               "--no-triggers", "--log=" + self.root + "/var/log/dpkg.log"] + list(args),
                              capture_output=True, text=True, check=False, timeout=60)

    def test_a_life_in_a_root_folder_changes_nothing_here(self):
        before = snapshot(self.root)
        done = self.dpkg("-i", self.deb)
        self.assertEqual(done.returncode, 0, done.stderr)
        users = [line.split(":")[0] for line in self.lines("etc/passwd")]
        self.assertEqual(users, ["root", "laird", "laird-trainer"])
        fake_rootfs.write(self.root + "/var/lib/laird/journal", "x\n")
        wants = self.root + "/etc/systemd/system/multi-user.target.wants"
        os.makedirs(wants)
        os.symlink("/usr/lib/systemd/system/laird.service", wants + "/laird.service")
        self.assertEqual(self.dpkg("-i", self.deb).returncode, 0)
        self.assertEqual(self.dpkg("-r", "laird").returncode, 0)
        self.assertTrue(os.path.exists(self.root + "/var/lib/laird/journal"))
        self.assertEqual(self.dpkg("-P", "laird").returncode, 0)
        left = {path for path in set(snapshot(self.root)) - set(before)
                if not path.startswith(fake_rootfs.RECORDS)}
        self.assertEqual(left, {"etc/systemd/system/multi-user.target.wants"})

    def lines(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read().splitlines()

    def test_a_folder_that_is_a_link_is_refused(self):
        elsewhere = os.path.join(self.folder, "elsewhere")
        os.makedirs(elsewhere)
        os.symlink(elsewhere, self.root + "/etc/laird")
        done = self.dpkg("-i", self.deb)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("/etc/laird is a link", done.stderr)
        self.assertEqual(os.listdir(elsewhere), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)

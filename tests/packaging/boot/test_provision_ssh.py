"""lairctl provision --ssh on a board that runs: a container with its own systemd and dpkg. `ssh` and `scp` are scripts
that enter it."""

import os
import subprocess
import tempfile

from place import DEB, Stepwise, boot

LAIRCTL = os.path.join(os.path.abspath(os.environ.get("LAIRD_BIN", "build/release/bin")), "lairctl")
SCRIPTS = {
    "ssh": 'exec nsenter --target "$LEADER" --all --wdns=/root env -i HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin '
           'sh -c "$3"\n',
    "scp": 'while [ "$1" != -- ]; do shift; done\n'
           'exec nsenter --target "$LEADER" --all --wdns=/root sh -c "cat > \'${3#*:}\'" < "$2"\n',
}


class OverSsh(Stepwise):

    @classmethod
    def setUpClass(cls):
        cls.board = boot(arguments=["--private-network"])
        cls.addClassCleanup(cls.board.close)
        cls.board.run("printf '#!/bin/sh\\nexec \"$@\"\\n' > /usr/local/bin/sudo; chmod +x /usr/local/bin/sudo", code=0)
        folder = tempfile.TemporaryDirectory(prefix="laird-ssh-")
        cls.addClassCleanup(folder.cleanup)
        cls.bin = folder.name
        for name, text in SCRIPTS.items():
            path = os.path.join(cls.bin, name)
            with open(path, "w", encoding="utf-8") as out:
                out.write("#!/bin/sh\n" + text)
            os.chmod(path, 0o755)

    def provision(self, *more, code=0, package=True):
        words = ["--package", DEB] if package else []
        done = subprocess.run(
            [LAIRCTL, "provision", "--ssh", "user@board", *words, *more], capture_output=True, text=True, timeout=300,
            stdin=subprocess.DEVNULL, check=False,
            env={**os.environ, "PATH": self.bin + ":" + os.environ["PATH"], "LEADER": str(self.board._leader())})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_01_a_dry_run_says_what_would_be_done_and_does_nothing(self):
        said = self.provision("--dry-run")
        self.assertIn("would run: scp", said)
        self.assertIn("systemctl enable --now laird.service laird-cell.socket", said)
        self.assertNotEqual(self.board.run("dpkg -s laird").code, 0)
        self.assertIn("laird is not installed", self.provision("--verify", package=False, code=1))

    def test_02_it_is_installed_and_starts_with_the_board(self):
        said = self.provision("--upgrades")
        self.assertIn("user@board has laird ", said)
        for unit in ("laird.service", "laird-cell.socket", "laird-upgrade.path"):
            self.assertEqual(self.board.run("systemctl is-enabled " + unit), "enabled")
        self.assertEqual(self.board.run("ls -A /root | grep laird"), "")

    def test_03_a_second_run_changes_nothing(self):
        before = self.board.run("stat -c '%n %y' /usr/bin/laird /var/lib/dpkg/status", code=0)
        self.assertIn("nothing to do", self.provision("--upgrades"))
        self.assertEqual(self.board.run("stat -c '%n %y' /usr/bin/laird /var/lib/dpkg/status"), before)

    def test_04_a_changed_file_is_found_and_mended(self):
        self.assertIn("as the package left it", self.provision("--verify", package=False))
        self.board.run("echo x >> /usr/share/doc/laird/copyright", code=0)
        self.assertIn("/usr/share/doc/laird/copyright is not as", self.provision("--verify", package=False, code=1))
        self.provision("--upgrades")
        self.assertIn("as the package left it", self.provision("--verify", package=False))

    def test_05_undone_it_leaves_the_user_alone(self):
        self.assertIn("no laird any more", self.provision("--undo", package=False))
        self.assertNotEqual(self.board.run("test -e /usr/bin/laird").code, 0)
        self.board.run("getent passwd laird", code=0)
        self.assertIn("nothing to do", self.provision("--undo", package=False))


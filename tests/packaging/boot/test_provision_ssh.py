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
    "scp": 'while [ "$1" != -- ]; do shift; done\nto=${3#*:}\n'
           'enter() { nsenter --target "$LEADER" --all --wdns=/root sh -c "$1"; }\n'
           'if [ -d "$2" ]; then tar -C "$2" -c . | enter "mkdir -p \'$to\' && tar -C \'$to\' -x"\n'
           'else enter "cat > \'$to\'" < "$2"; fi\n',
}


class OverSsh(Stepwise):

    @classmethod
    def setUpClass(cls):
        cls.board = boot(arguments=["--private-network"])
        cls.addClassCleanup(cls.board.close)
        cls.board.run("printf '#!/bin/sh\\n[ \"$1\" = -n ] && shift\\nexec \"$@\"\\n' > /usr/local/bin/sudo; chmod +x /usr/local/bin/sudo", code=0)
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

    def test_05_documentation_that_the_board_leaves_out_is_not_brought_again_and_again(self):
        self.board.run("printf 'path-exclude=/usr/share/doc/*\\npath-exclude=/usr/share/man/*\\n' > "
                       "/etc/dpkg/dpkg.cfg.d/no-documentation", code=0)
        self.board.run("rm -r /usr/share/doc/laird /usr/share/man/man8/laird.8.gz", code=0)
        self.assertIn("nothing to do", self.provision("--upgrades"))
        self.assertIn("as the package left it", self.provision("--verify", package=False))

    def test_06_a_board_that_was_admitted_is_left_as_it_is(self):
        with tempfile.TemporaryDirectory(prefix="laird-join-") as join:
            for name in ("ca.crt", "join.crt", "join.key", "join.json"):
                with open(os.path.join(join, name), "w", encoding="utf-8") as out:
                    out.write(name + "\n")
            self.provision("--join", join)
            self.assertEqual(self.board.run("stat -c '%A %U %G' /etc/laird/join/join.key"), "-rw-r----- root laird")
            self.assertIn("nothing to do", self.provision("--join", join))
            # As an installed answer leaves it.
            self.board.run("systemctl stop laird-join && rm /etc/laird/join/* && echo {} > /etc/laird/laird.json", code=0)
            self.assertIn("nothing to do", self.provision("--join", join))
            # And one that has a config and never asked is refused.
            self.board.run("systemctl disable laird-join.service", code=0)
            self.assertIn("would never ask", self.provision("--join", join, code=4))
            self.board.run("rm /etc/laird/laird.json", code=0)

    def test_07_undone_it_leaves_the_user_alone(self):
        self.assertIn("no laird any more", self.provision("--undo", package=False))
        self.assertNotEqual(self.board.run("test -e /usr/bin/laird").code, 0)
        self.board.run("getent passwd laird", code=0)
        self.assertIn("nothing to do", self.provision("--undo", package=False))


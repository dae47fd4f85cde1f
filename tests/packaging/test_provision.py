"""lairctl provision: laird in a board's root folder, and nothing changed on the machine that does it."""

import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import fake_rootfs
from fake_rootfs import host_state, snapshot

LAIRCTL = os.path.join(os.path.abspath(os.environ.get("LAIRD_BIN", "build/release/bin")), "lairctl")
KILLS = int(os.environ.get("LAIRD_PROVISION_KILLS", "10"))


@unittest.skipUnless(os.getuid() == 0, "not root: dpkg installs only for root")
@unittest.skipUnless(shutil.which("systemd-sysusers"), "systemd is not installed")
class Provision(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="laird-provision-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.marker = os.path.join(self.folder, "a trigger script ran on this machine")
        self.root = fake_rootfs.make_rootfs(os.path.join(self.folder, "root fs"), self.marker)
        self.deb = fake_rootfs.make_package(self.folder)
        self.host = host_state()

    def tearDown(self):
        now = host_state()
        self.assertEqual([what for what in now if now[what] != self.host[what]], [])
        self.assertFalse(os.path.exists(self.marker), self.marker)

    def lairctl(self, *args):
        return subprocess.run([LAIRCTL, "provision"] + list(args), capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=60)

    def asked(self, answer, *args):
        """With somebody at the terminal, who gives that answer."""
        return at_a_terminal(answer, [LAIRCTL, "provision", *args])

    def provision(self, *more):
        done = self.lairctl(self.root, "--package", self.deb, *more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def refused(self, why, *args):
        before = snapshot(self.root)
        done = self.lairctl(*args)
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertIn(why, done.stderr)
        self.assertEqual(snapshot(self.root), before)

    def number_of(self, user):
        with open(self.root + "/etc/passwd", encoding="utf-8") as file:
            fields = next(line.split(":") for line in file if line.startswith(user + ":"))
        return int(fields[2]), int(fields[3])

    def test_installs_makes_users_and_folders_and_enables_the_agent(self):
        self.provision()
        uid, gid = self.number_of("laird")
        self.number_of("laird-trainer")
        for path, owner in (("etc/laird", 0), ("etc/laird/tls", 0), ("var/lib/laird", uid)):
            info = os.lstat(os.path.join(self.root, path))
            self.assertEqual((oct(info.st_mode), info.st_uid, info.st_gid), ("0o40750", owner, gid), path)
        self.assertEqual(os.readlink(self.root + "/etc/systemd/system/multi-user.target.wants/laird.service"),
                         "/usr/lib/systemd/system/laird.service")
        self.assertTrue(os.path.islink(self.root + "/etc/systemd/system/sockets.target.wants/laird-cell.socket"))
        self.assertFalse(os.path.lexists(self.root + "/etc/systemd/system/sockets.target.wants/laird-priv.socket"))
        with open(self.root + "/etc/group", encoding="utf-8") as file:
            groups = {line.split(":")[0]: line.strip().split(":")[3].split(",") for line in file}
        for group in ("video", "render"):
            self.assertEqual(sorted(groups[group]), ["laird", "laird-trainer"])
        done = subprocess.run(["dpkg-query", "--admindir=" + self.root + "/var/lib/dpkg", "-W", "-f", "${Status}",
                               "laird"], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "install ok installed")

    def test_a_second_run_changes_no_byte(self):
        self.provision()
        before = snapshot(self.root)
        self.assertIn("nothing to do", self.provision().stdout)
        self.assertEqual(snapshot(self.root), before)

    def test_a_dry_run_changes_no_byte_and_says_what_would_be_done(self):
        before = snapshot(self.root)
        said = self.provision("--dry-run").stdout
        self.assertIn("would install laird 9.9 for arm64", said)
        self.assertIn("would enable laird.service", said)
        self.assertEqual(snapshot(self.root), before)

    def test_power_control_is_enabled_when_asked_for(self):
        self.provision()
        self.provision("--power-control")
        self.assertTrue(os.path.islink(self.root + "/etc/systemd/system/sockets.target.wants/laird-priv.socket"))

    def test_upgrades_are_enabled_when_asked_for(self):
        wants = self.root + "/etc/systemd/system/multi-user.target.wants/"
        self.provision()
        self.assertFalse(os.path.lexists(wants + "laird-upgrade.path"))
        self.provision("--upgrades")
        for unit in ("laird-upgrade.path", "laird-upgrade-back.service"):
            self.assertEqual(os.readlink(wants + unit), "/usr/lib/systemd/system/" + unit)
        self.lairctl(self.root, "--undo")
        self.assertFalse(os.path.lexists(wants + "laird-upgrade.path"))

    def test_another_build_of_the_same_version_and_a_newer_one_are_installed(self):
        self.provision()
        other = os.path.join(self.folder, "other")
        os.mkdir(other)
        self.deb = fake_rootfs.make_package(other, word="mended")
        self.assertIn("install laird 9.9", self.provision().stdout)
        with open(self.root + "/usr/bin/laird", encoding="utf-8") as file:
            self.assertIn("mended", file.read())
        self.deb = fake_rootfs.make_package(self.folder, version="10.0")
        self.assertIn("install laird 10.0", self.provision().stdout)
        self.assertEqual(self.lairctl(self.root, "--verify").returncode, 0)

    def test_verify_finds_each_changed_byte_and_a_second_run_mends_it(self):
        self.provision()
        self.assertEqual(self.lairctl(self.root, "--verify").returncode, 0)
        for path in ("usr/bin/laird", "usr/lib/systemd/system/laird.service", "usr/share/man/man8/laird.8"):
            with open(os.path.join(self.root, path), "r+b") as file:
                file.seek(3)
                file.write(b"~")
            done = self.lairctl(self.root, "--verify")
            self.assertEqual((done.returncode, done.stdout),
                             (1, "/%s differs from the package, or is gone\n" % path))
            self.provision()
            self.assertEqual(self.lairctl(self.root, "--verify").returncode, 0)

    def test_verify_finds_a_missing_file_a_disabled_unit_an_open_folder_and_a_lost_user(self):
        self.assertIn("not installed", self.lairctl(self.root, "--verify").stdout)
        self.provision()
        os.remove(self.root + "/usr/bin/laird")
        os.remove(self.root + "/etc/systemd/system/multi-user.target.wants/laird.service")
        os.remove(self.root + "/etc/systemd/system/sockets.target.wants/laird-cell.socket")
        os.chmod(self.root + "/etc/laird/tls", 0o755)
        fake_rootfs.write(self.root + "/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n")
        done = self.lairctl(self.root, "--verify")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines(), [
            "/usr/bin/laird differs from the package, or is gone", "/etc/laird/tls does not have the mode 0750",
            "/etc/passwd has no user laird", "/etc/passwd has no user laird-trainer",
            "laird.service does not start with the board", "laird-cell.socket does not start with the board"])

    def test_missing_documentation_is_no_difference_and_is_not_brought_again(self):
        self.provision()
        os.remove(self.root + "/usr/share/man/man8/laird.8")
        before = snapshot(self.root)
        done = self.lairctl(self.root, "--verify")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn("nothing to do", self.provision().stdout)
        self.assertEqual(snapshot(self.root), before)

    def test_undo_asks_at_a_terminal_unless_told_not_to(self):
        self.provision()
        before = snapshot(self.root)
        code, said = self.asked("n", self.root, "--undo")
        self.assertEqual(code, 1, said)
        self.assertIn("every checkpoint in /var/lib/laird? [y/N]", said)
        self.assertIn("nothing was done", said)
        self.assertEqual(snapshot(self.root), before)
        code, said = self.asked("n", self.root, "--undo", "--yes")
        self.assertEqual((code, os.path.exists(self.root + "/usr/bin/laird")), (0, False), said)
        self.provision()
        code, said = self.asked("y", self.root, "--undo")
        self.assertEqual((code, os.path.exists(self.root + "/usr/bin/laird")), (0, False), said)

    def test_undo_leaves_the_users_alone(self):
        before = snapshot(self.root)
        self.provision("--power-control")
        done = self.lairctl(self.root, "--undo")
        self.assertEqual(done.returncode, 0, done.stderr)
        after = snapshot(self.root)
        changed = {path for path in set(before) | set(after) if before.get(path) != after.get(path)}
        self.assertEqual({path for path in changed if not path.startswith(fake_rootfs.RECORDS)}, set())
        self.number_of("laird")
        self.assertEqual(self.lairctl(self.root, "--undo").returncode, 0)

    def test_undo_keeps_a_config_and_keys(self):
        self.provision()
        fake_rootfs.write(self.root + "/etc/laird/laird.json", "{}\n")
        self.assertEqual(self.lairctl(self.root, "--undo").returncode, 0)
        self.assertTrue(os.path.exists(self.root + "/etc/laird/laird.json"))

    def join_folder(self, **more):
        """As `lairctl join image` makes it, for all that provision looks at."""
        folder = os.path.join(self.folder, "join")
        for name in ("ca.crt", "join.crt", "join.key", "join.json"):
            fake_rootfs.write(os.path.join(folder, name), more.get(name, name + "\n"), 0o600)
        return folder

    def test_join_brings_what_the_boards_ask_with_and_the_units(self):
        folder = self.join_folder()
        self.assertIn("would copy " + folder, self.provision("--join", folder, "--dry-run").stdout)
        self.provision("--join", folder)
        _, gid = self.number_of("laird")
        for name, mode in (("", 0o40750), ("join.key", 0o100640), ("ca.crt", 0o100644)):
            info = os.lstat(os.path.join(self.root, "etc/laird/join", name))
            self.assertEqual((oct(info.st_mode), info.st_uid, info.st_gid), (oct(mode), 0, gid), name)
        for unit in ("laird-join.service", "laird-join-install.path"):
            self.assertEqual(os.readlink(self.root + "/etc/systemd/system/multi-user.target.wants/" + unit),
                             "/usr/lib/systemd/system/" + unit)
        before = snapshot(self.root)
        self.assertIn("nothing to do", self.provision("--join", folder).stdout)
        self.assertEqual(snapshot(self.root), before)
        self.join_folder(**{"join.crt": "a later one\n"})
        self.assertIn("copy " + folder, self.provision("--join", folder).stdout)
        self.assertEqual(self.lairctl(self.root, "--undo").returncode, 0)
        self.assertFalse(os.path.lexists(self.root + "/etc/laird"))

    def test_join_refuses_a_folder_with_other_secrets_and_a_root_that_is_somebody(self):
        folder = self.join_folder()
        fake_rootfs.write(os.path.join(folder, "ca.key"), "the authority's\n", 0o600)
        self.refused("holds ca.key", self.root, "--package", self.deb, "--join", folder)
        os.remove(os.path.join(folder, "ca.key"))
        fake_rootfs.write(self.root + "/etc/laird/laird.json", "{}\n")
        self.refused("would not ask", self.root, "--package", self.deb, "--join", folder)
        os.remove(folder + "/join.key")
        self.assertEqual(self.lairctl(self.root, "--package", self.deb, "--join", folder).returncode, 3)

    def test_refuses_this_machines_root_by_any_name(self):
        self.refused("own root", "/", "--package", self.deb)
        link = os.path.join(self.folder, "link")
        os.symlink("/", link)
        self.refused("own root", link, "--package", self.deb)

    def test_refuses_what_is_no_root_folder(self):
        done = self.lairctl(self.folder, "--package", self.deb)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no root folder of a board", done.stderr)

    def test_refuses_a_foreign_architecture(self):
        self.refused("is for amd64", self.root, "--package", fake_rootfs.make_package(self.folder, arch="amd64"))

    def test_refuses_too_old_a_glibc(self):
        self.root = fake_rootfs.make_rootfs(os.path.join(self.folder, "old"), self.marker, libc="2.23-0ubuntu11.3")
        self.refused("libc6 2.23-0ubuntu11.3 is too old, at least 2.27", self.root, "--package", self.deb)

    def test_refuses_a_package_of_another_name(self):
        done = self.lairctl(self.root, "--package", fake_rootfs.make_package(self.folder, name="other"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("not of laird", done.stderr)

    def test_refuses_a_root_with_something_mounted_in_it(self):
        os.makedirs(self.root + "/proc")
        script = "mount -t tmpfs none \"$1/proc\" && \"$2\" provision \"$1\" --package \"$3\""
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", self.root, LAIRCTL, self.deb],
                              capture_output=True, text=True, check=False, timeout=60)
        if "unshare:" in done.stderr or "mount:" in done.stderr:
            self.skipTest("this machine does not let us mount: " + done.stderr)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("/proc is mounted", done.stderr)

    def test_refuses_links_that_lead_to_this_machine(self):
        elsewhere = os.path.join(self.folder, "elsewhere")
        os.makedirs(elsewhere)
        for name in ("usr/share", "etc/laird", "etc/systemd/system", "var/log"):
            root = fake_rootfs.make_rootfs(os.path.join(self.folder, name.replace("/", "-")), self.marker)
            path = os.path.join(root, name)
            if os.path.isdir(path):
                shutil.rmtree(path)
            os.symlink(elsewhere, path)
            self.root = root
            self.refused("is a link to " + elsewhere, root, "--package", self.deb)
        self.assertEqual(os.listdir(elsewhere), [])

    def test_sees_the_first_boot_dialogue_and_an_identity_and_says_what_to_do(self):
        self.assertEqual(self.provision("--dry-run").stderr, "")
        os.symlink("/lib/systemd/system/nv-oem-config.target", self.root + "/etc/systemd/system/default.target")
        fake_rootfs.write(self.root + "/etc/laird/tls/node.key", "secret\n", 0o600)
        said = self.provision("--dry-run").stderr
        self.assertIn("l4t_create_default_user.sh", said)
        self.assertIn("every board flashed from it", said)

    def test_the_next_run_heals_what_a_killed_one_left(self):
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        began = time.monotonic()
        self.provision()
        whole = time.monotonic() - began
        self.lairctl(self.root, "--undo")
        for kill in range(KILLS):
            run = subprocess.Popen([LAIRCTL, "provision", self.root, "--package", self.deb],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0, whole))
            run.send_signal(signal.SIGKILL)
            run.wait()
            time.sleep(0.2)  # a script that dpkg started ends by itself
            if kill % 3 == 2:
                self.provision()
                self.assertEqual(self.lairctl(self.root, "--verify").returncode, 0, "seed %d" % seed)
                self.lairctl(self.root, "--undo")
        self.provision()
        done = self.lairctl(self.root, "--verify")
        self.assertEqual(done.returncode, 0, "seed %d\n%s" % (seed, done.stdout + done.stderr))
        left = [path for path in snapshot(self.root) if path.endswith((".dpkg-new", ".dpkg-tmp"))]
        self.assertEqual(left, [], "seed %d" % seed)


class OverSsh(unittest.TestCase):
    """An ssh and a sudo of our own: what is asked of a board, and what is made of the answer. What provision does on a
    board, boot/test_provision_ssh.py shows."""
    ANSWER = ("laird-probe 1\narchitecture arm64\nglibc 2.31\ninstalled aaaa\nenabled laird.service\n"
              "enabled laird-cell.socket\nlaird-probe end\n")

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="laird-ssh-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.log = os.path.join(self.folder, "log")
        self.environment = {**os.environ, "PATH": self.folder + ":" + os.environ["PATH"]}

    def program(self, name, text):
        fake_rootfs.write(os.path.join(self.folder, name), "#!/bin/sh\n" + text, 0o755)

    def provision(self, *args):
        return subprocess.run([LAIRCTL, "provision", "--ssh", "user@board", *args], capture_output=True, text=True,
                              check=False, timeout=60, stdin=subprocess.DEVNULL, env=self.environment)

    def a_board_that_answers(self, answer):
        fake_rootfs.write(os.path.join(self.folder, "answer"), answer)
        self.program("ssh", "case $3 in *laird-probe*) cat '%s/answer' ;; *) echo \"$3\" >> '%s' ;; esac\n" % (
            self.folder, self.log))

    def test_a_board_whose_sudo_wants_a_password_is_said_and_nothing_is_made_of_its_answer(self):
        self.program("ssh", "exec sh -c \"$3\"\n")
        self.program("sudo", "echo sudo: a password is required >&2\nexit 1\n")
        done = self.provision("--verify")
        self.assertEqual(done.returncode, 124, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn("`ssh user@board sudo -n true`", done.stderr)
        self.assertIn("without a password", done.stderr)

    def test_the_probe_is_answered_to_its_end_by_a_shell(self):
        self.program("ssh", "exec sh -c \"$3\"\n")
        self.program("sudo", "[ \"$1\" = -n ] && shift\nexec \"$@\"\n")
        self.program("dpkg-query", "exit 1\n")  # laird may be installed on the machine of the test
        done = self.provision("--verify")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "laird is not installed\n", ""))

    def test_missing_documentation_is_no_difference_whatever_word_dpkg_has_for_it(self):
        fake_rootfs.write(os.path.join(self.folder, "laird.md5sums"), "sums\n")
        self.program("ssh", "exec sh -c \"$(printf '%%s' \"$3\" | sed 's|/var/lib/dpkg/info|%s|')\"\n" % self.folder)
        self.program("sudo", "[ \"$1\" = -n ] && shift\nexec \"$@\"\n")
        self.program("dpkg-query", "echo installed\n")
        self.program("systemctl", "echo enabled\n")
        for mark in ("missing  ", "??5??????"):
            self.program("dpkg", "case $1 in --verify) echo '%s   /usr/share/doc/laird-nowhere/copyright'\n"
                         "echo '??5??????   /bin/sh' ;; *) echo arm64 ;; esac\n" % mark)
            done = self.provision("--verify")
            self.assertEqual((done.returncode, done.stdout), (1, "/bin/sh is not as the package has it\n"), done.stderr)

    def test_verify_names_each_unit_that_does_not_start_with_the_board(self):
        self.a_board_that_answers(self.ANSWER)
        done = self.provision("--verify")
        self.assertEqual((done.returncode, done.stdout), (0, "user@board is as the package left it\n"))
        done = self.provision("--verify", "--upgrades")
        self.assertEqual((done.returncode, done.stdout), (1, "laird-upgrade.path does not start with the board\n"
                                                          "laird-upgrade-back.service does not start with the board\n"))
        self.a_board_that_answers(self.ANSWER.replace("enabled laird-cell.socket\n", ""))
        done = self.provision("--verify")
        self.assertEqual((done.returncode, done.stdout), (1, "laird-cell.socket does not start with the board\n"))

    def test_undo_asks_at_a_terminal_unless_told_not_to(self):
        self.a_board_that_answers(self.ANSWER)
        undo = [LAIRCTL, "provision", "--ssh", "user@board", "--undo"]
        code, said = at_a_terminal("n", undo, self.environment)
        self.assertEqual(code, 1, said)
        self.assertIn("Remove laird from user@board, with the journal and every checkpoint", said)
        self.assertFalse(os.path.exists(self.log))
        code, said = at_a_terminal("n", undo + ["--dry-run"], self.environment)
        self.assertEqual(code, 0, said)
        self.assertNotIn("[y/N]", said)
        self.assertFalse(os.path.exists(self.log))
        for answer, more in (("y", []), ("n", ["--yes"])):
            code, said = at_a_terminal(answer, undo + more, self.environment)
            self.assertEqual(code, 0, said)
            with open(self.log, encoding="utf-8") as file:
                self.assertIn("apt-get purge -y laird", file.read())
            os.remove(self.log)


def at_a_terminal(answer, command, environment=None):
    """Runs it with somebody at the terminal who types that; exit code, and all that it said."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, (answer + "\n").encode())
        done = subprocess.run(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=60, env=environment)
        return done.returncode, done.stdout
    finally:
        os.close(ours)
        os.close(theirs)


def among_own_mounts():
    """Begins anew where no other program's mounts are seen to come and go: the tests compare the list of them."""
    inside = "LAIRD_OWN_MOUNTS"
    if os.getuid() != 0 or inside in os.environ:
        return
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0:
        os.environ[inside] = "yes"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, "-B", *sys.argv])


if __name__ == "__main__":
    if not os.path.exists(LAIRCTL):
        sys.exit("build lairctl first")
    among_own_mounts()
    unittest.main(verbosity=2)

"""Boards whose laird is a package in a root folder of their own: the real dpkg and the real apt with their paths, and
what systemd would do with laird.service and laird-upgrade.path. Needs root: dpkg installs for nobody else."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../packaging"))

import fake_rootfs  # noqa: E402
from boards import LAIRD, Board  # noqa: E402
from harness import LAIRCTL  # noqa: E402

OLD = b"0.1.0\0"


def own_version():
    with open(LAIRD, "rb") as file:
        assert OLD in file.read(), "the version of laird is not in its program as it was"
    return OLD[:-1].decode()


def program(version):
    """This laird, which says that it is another version."""
    with open(LAIRD, "rb") as file:
        return file.read().replace(OLD, version.encode().ljust(len(OLD), b"\0"))


def package(folder, version, content, arch):
    root = os.path.join(folder, "laird_%s_%s" % (version, arch))
    os.makedirs(root + "/usr/bin")
    with open(root + "/usr/bin/laird", "wb") as out:
        out.write(content)
    os.chmod(root + "/usr/bin/laird", 0o755)
    fake_rootfs.write(root + "/DEBIAN/control", "Package: laird\nVersion: %s\nArchitecture: %s\n"
                      "Maintainer: nobody <nobody@localhost>\nDescription: a test\n" % (version, arch))
    subprocess.run(["dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "--build", root, root + ".deb"], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.rmtree(root)
    return root + ".deb"


class PackagedBoard(Board):
    """A board that runs the laird of its own root folder."""

    def __init__(self, test, node, members, deb, **fleet):
        super().__init__(test, node, members, **fleet)
        self.rootfs = os.path.join(self.root, "rootfs")
        self.bin = os.path.join(self.root, "bin")
        self.own = os.path.join(self.root, "laird-upgrade")
        self.stop = threading.Event()
        self.service = None
        self.wanted = False
        self.lock = threading.Lock()
        self.test = test
        self.rc = []
        self.make_programs()
        done = subprocess.run([self.bin + "/dpkg", "--install", deb], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        with open(self.config_path, "w", encoding="utf-8") as out:
            json.dump(self.config, out)

    def make_programs(self):
        """What `laird upgrade` calls: real programs with this board's paths, and a service manager of one service."""
        os.makedirs(self.bin)
        for place in ("updates", "info", "triggers", "parts"):
            os.makedirs(os.path.join(self.rootfs, "var/lib/dpkg", place))
        for name in ("status", "available"):
            fake_rootfs.write(os.path.join(self.rootfs, "var/lib/dpkg", name), "")
        # The cells of trainers, which the packages of this test leave out.
        os.makedirs(self.rootfs + "/usr/bin")
        os.symlink(os.path.join(os.path.dirname(LAIRD), "laird-cell"), self.rootfs + "/usr/bin/laird-cell")
        apt = os.path.join(self.root, "apt")
        for place in ("none", "sources.list.d", "state/lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(apt, place))
        fake_rootfs.write(apt + "/sources.list.d/laird.list",
                          "deb [signed-by=%s/laird.gpg] file:%s stable main\n" % (self.test.repo, self.test.repo))
        fake_rootfs.write(apt + "/apt.conf", "\n".join('%s "%s";' % pair for pair in (
            ("Dir::Etc", apt), ("Dir::State", apt + "/state"), ("Dir::State::status", self.rootfs + "/var/lib/dpkg/status"),
            ("Dir::Cache", apt + "/cache"), ("APT::Sandbox::User", "root"), ("Debug::NoLocking", "true"))) + "\n")
        log = "--log=" + self.root + "/dpkg.log"
        scripts = {
            "dpkg": 'exec /usr/bin/dpkg --root="%s" --force-script-chrootless %s "$@"' % (self.rootfs, log),
            "dpkg-query": 'exec /usr/bin/dpkg-query --admindir="%s/var/lib/dpkg" "$@"' % self.rootfs,
            "apt-get": 'APT_CONFIG="%s/apt.conf" exec /usr/bin/apt-get "$@"' % apt,
            "lairctl": 'exec "%s" "$@"' % LAIRCTL,
            "systemctl": '[ "$*" = "restart laird.service" ] || exit 1\ntouch "%s/restart"\n'
                         'while [ -e "%s/restart" ]; do sleep 0.05; done' % (self.root, self.root),
        }
        for name, text in scripts.items():
            fake_rootfs.write(os.path.join(self.bin, name), "#!/bin/sh\n" + text + "\n", 0o755)

    def environment(self):
        return {"PATH": self.bin + ":/usr/sbin:/usr/bin:/sbin:/bin", "HOME": self.root, "LC_ALL": "C"}

    # systemd: laird.service with Restart=always, and the units of the upgrade.

    def start(self):
        self.wanted = True
        self.thread = threading.Thread(target=self.manage, daemon=True)
        self.thread.start()
        return self

    def start_agent(self):
        with open(self.log_path, "ab") as log:
            try:
                self.process = subprocess.Popen(
                    [self.rootfs + "/usr/bin/laird", "run", "--config", self.config_path, "--view", "none"],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            except OSError:  # in the middle of an installation there is none
                self.process = None

    def manage(self):
        again = 0.0
        while not self.stop.wait(0.05):
            with self.lock:
                if os.path.exists(self.root + "/restart"):
                    if self.process is not None:
                        self.process.terminate()
                        with contextlib.suppress(subprocess.TimeoutExpired):
                            self.process.wait(20)
                    self.start_agent()
                    os.remove(self.root + "/restart")
                elif (self.process is None or self.process.poll() is not None) and time.monotonic() > again:
                    again = time.monotonic() + 1
                    self.start_agent()
                self.upgrade_units()

    def upgrade_units(self):
        if self.service is not None and self.service.poll() is not None:
            self.rc.append(self.service.returncode)
            self.service = None
            if self.rc[-1] != 0 and os.path.exists(self.own + "/trying.json"):
                self.run_service([self.own + "/laird"], "--back")
        if self.service is None and os.path.exists(self.state + "/upgrade/request.json"):
            self.run_service([self.rootfs + "/usr/bin/laird"])

    def run_service(self, argv, *more):
        with open(self.root + "/upgrade.log", "ab") as log:
            self.service = subprocess.Popen(
                [*argv, "upgrade", "--config", self.config_path, "--folder", self.own, "--health",
                 self.test.health, "--steady", "1s", *more],
                env=self.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def cut_power(self):
        """All processes of the board end at once; at the next boot laird-upgrade-back.service looks first."""
        with self.lock:
            for process in (self.service, self.process):
                if process is not None:
                    process.send_signal(signal.SIGKILL)
                    process.wait(10)
            self.service = None
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.root + "/restart")
            if os.path.exists(self.own + "/trying.json"):
                self.run_service([self.own + "/laird"], "--back")

    def upgrade_log(self):
        with contextlib.suppress(FileNotFoundError), open(self.root + "/upgrade.log", encoding="utf-8") as log:
            return log.read()
        return ""

    def installed(self):
        return subprocess.run([self.bin + "/dpkg-query", "-W", "-f", "${Version}", "laird"], capture_output=True,
                              text=True, check=False).stdout

    def kill(self):
        self.stop.set()
        if self.wanted:
            self.thread.join(30)
        if self.service is not None and self.service.poll() is None:
            self.service.kill()
            self.service.wait(10)
        super().kill()



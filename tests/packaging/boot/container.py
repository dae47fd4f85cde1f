"""A container with systemd as its first process: quick, with this machine's kernel and cgroups."""

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
import time

from machine import Said, repeat_until


class Container:
    """Boots what lies over a root folder with systemd-nspawn. Needs root."""
    kind = "container"
    patience = 1

    def __init__(self, root, arguments=(), environment=None):
        self.folder = tempfile.mkdtemp(prefix="laird-boot-", dir="/tmp")
        self.root = os.path.join(self.folder, "root")
        self._arguments = list(arguments)
        self._environment = dict(os.environ, **(environment or {}))
        for name in ("root", "upper", "work"):
            os.mkdir(os.path.join(self.folder, name))
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                        "lowerdir={0},upperdir={1}/upper,workdir={1}/work".format(
                            os.path.abspath(root), self.folder), self.root], check=True)
        self._nspawn = None
        atexit.register(self.close)
        self._boot()

    def _boot(self):
        command = ["systemd-nspawn", "--quiet", "--boot", "--directory", self.root,
                   "--machine", os.path.basename(self.folder).replace("_", "x"),
                   "--console=pipe"]
        if not os.path.isdir("/run/systemd/system"):
            command += ["--register=no", "--keep-unit"]  # nobody here to register with
        with open(os.path.join(self.folder, "console.log"), "ab") as console:
            self._nspawn = subprocess.Popen(command + self._arguments, stdin=subprocess.DEVNULL,
                                            stdout=console, stderr=console, env=self._environment,
                                            preexec_fn=self._enter_group)
        until = time.monotonic() + 60
        while True:
            try:
                if self.run("systemctl is-system-running --wait").code in (0, 1):
                    return
            except LookupError:
                pass
            if time.monotonic() > until or self._nspawn.poll() is not None:
                with open(os.path.join(self.folder, "console.log"), encoding="utf-8") as console:
                    raise RuntimeError("the container does not start:\n" + console.read()[-2000:])
            time.sleep(0.2)

    def _enter_group(self):
        """Without a systemd outside nobody gives each container a control group of its own."""
        for tree in groups_here():
            group = os.path.join(tree, os.path.basename(self.folder))
            os.makedirs(group, exist_ok=True)
            with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as procs:
                procs.write(str(os.getpid()))

    def _leader(self):
        """The first process inside, as numbered out here: a child of nspawn's, or of its child."""
        pid = self._nspawn.pid
        for child in children(pid):
            with open("/proc/%d/comm" % child, encoding="ascii") as comm:
                if comm.read().strip() == "systemd":
                    return child
            for grandchild in children(child):
                return grandchild
        raise LookupError("no first process yet")

    def network(self):
        """Where another container finds this one's network, to share it."""
        return "/proc/%d/ns/net" % self._leader()

    def run(self, text, stdin=None, wait_s=60, code=None):
        """Runs a line of shell as root in the container. `code`: what it must exit with."""
        done = subprocess.run(
            ["nsenter", "--target", str(self._leader()), "--all", "--wdns=/root", "env", "-i",
             "HOME=/root", "LANG=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "SYSTEMD_COLORS=0",
             "SYSTEMD_PAGER=cat", "timeout", str(wait_s), "sh", "-c", text],
            input=(stdin or "").encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            check=False)
        out = Said(done.stdout.decode(errors="replace").rstrip("\n"))
        out.code = done.returncode
        if code is not None and out.code != code:
            raise AssertionError("%s\nexited with %d:\n%s" % (text, out.code, out))
        return out

    def until(self, text, wait_s=30, holds=lambda said: said.code == 0):
        return repeat_until(self, text, wait_s, holds)

    def reboot(self):
        self._stop()
        self._boot()

    def cut_power(self):
        """Every process is killed at once; what they wrote stays, unlike in a machine."""
        self._kill()
        self._boot()

    def _kill(self):
        try:
            os.kill(self._leader(), signal.SIGKILL)  # and with the first process all the others
        except LookupError:
            self._nspawn.kill()
        self._nspawn.wait(60)

    def _stop(self):
        try:
            self.run("systemctl poweroff")
        except LookupError:
            pass
        self._nspawn.wait(120)

    def close(self):
        if not os.path.isdir(self.folder):
            return
        if self._nspawn is not None and self._nspawn.poll() is None:
            self._kill()
        for tree in groups_here():
            remove_group(os.path.join(tree, os.path.basename(self.folder)))
        subprocess.run(["umount", "--lazy", self.root], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


def groups_here():
    """The trees that nspawn looks for its own group in, where no systemd manages them."""
    if os.path.isdir("/run/systemd/system"):
        return []
    top = "/sys/fs/cgroup"
    if os.path.exists(os.path.join(top, "cgroup.controllers")):
        return [top]
    return [tree for tree in (top + "/systemd", top + "/unified") if os.path.isdir(tree)]


def remove_group(group):
    for folder, folders, _ in os.walk(group, topdown=False):
        for name in folders:
            os.rmdir(os.path.join(folder, name))
    if os.path.isdir(group):
        os.rmdir(group)


def children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []

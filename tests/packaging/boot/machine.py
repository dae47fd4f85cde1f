"""A machine with systemd as its first process: qemu, Debian's kernel, a disk that is forgotten."""

import atexit
import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

ARCH = "x86_64"


def has_virtualisation():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        flags = file.read().split()
    return ("vmx" in flags or "svm" in flags) and os.access("/dev/kvm", os.R_OK | os.W_OK)


class Said(str):
    """What a command printed, with its exit code."""
    code = 0


class Machine:

    def __init__(self, image, cores=1, memory_mb=1536):
        self.folder = tempfile.mkdtemp(prefix="laird-boot-", dir="/tmp")
        self.console = os.path.join(self.folder, "console.log")
        self._ids = 0
        self._pending = b""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.path.join(self.folder, "port"))
        listener.listen(1)
        monitor = socket.socket(socket.AF_UNIX)
        monitor.bind(os.path.join(self.folder, "monitor"))
        monitor.listen(1)
        # The processor's own virtualisation where it has it, else emulation: slow, but the same.
        accelerated = has_virtualisation()
        self.kind = "kvm" if accelerated else "emulation"
        self.patience = 1 if accelerated else 10
        self._qemu = subprocess.Popen([
            "qemu-system-" + ARCH, "-accel", "kvm" if accelerated else "tcg",
            "-cpu", "host" if accelerated else "Nehalem", "-smp", str(cores), "-m", str(memory_mb),
            "-nodefaults", "-no-user-config", "-display", "none", "-nic", "none",
            "-kernel", os.path.join(image, "vmlinuz"), "-initrd", os.path.join(image, "initrd.img"),
            "-append", "root=/dev/vda rw console=ttyS0 systemd.show_status=1 panic=-1",
            "-drive", "if=virtio,format=raw,snapshot=on,file=" + os.path.join(image, "root.ext4"),
            "-serial", "file:" + self.console, "-device", "virtio-serial",
            "-chardev", "socket,id=port,path=" + os.path.join(self.folder, "port"),
            "-device", "virtserialport,chardev=port,name=laird.boot",
            "-chardev", "socket,id=monitor,path=" + os.path.join(self.folder, "monitor"),
            "-mon", "chardev=monitor,mode=control"],
            env=dict(os.environ, TMPDIR=self.folder))
        atexit.register(self.close)
        for server, name in ((listener, "_port"), (monitor, "_monitor")):
            server.settimeout(30)
            setattr(self, name, server.accept()[0])
            server.close()
        self._monitor.sendall(b'{"execute":"qmp_capabilities"}\n')
        self.await_boot()

    def close(self):
        self._qemu.kill()
        self._qemu.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def await_boot(self):
        """Until the machine answers and its first process has nothing left to start."""
        until = time.monotonic() + 120 * self.patience
        while True:
            try:
                if self.run("true", wait_s=2).code == 0:
                    break
            except TimeoutError:
                if time.monotonic() > until or self._qemu.poll() is not None:
                    raise
        self.run("systemctl is-system-running --wait", wait_s=90)

    def cut_power(self):
        """As pulling the plug: what the machine had in memory is gone. It starts again at once."""
        before = self.boot_id()
        self._monitor.sendall(b'{"execute":"system_reset"}\n')
        self._await_other_boot(before)

    def reboot(self):
        before = self.boot_id()
        # A moment later, so that the command port is still there to answer this.
        self.run("(sleep 1; systemctl reboot) >/dev/null 2>&1 &")
        self._await_other_boot(before)

    def boot_id(self, **more):
        return self.run("cat /proc/sys/kernel/random/boot_id", **more)

    def _await_other_boot(self, before):
        until = time.monotonic() + 180 * self.patience
        while True:
            # Who goes down does not answer; what was asked meanwhile is answered after the start.
            with contextlib.suppress(TimeoutError):
                if self.boot_id(wait_s=2) not in (before, ""):
                    break
            if time.monotonic() > until:
                raise TimeoutError("the machine does not come back; its console: " + self.console)
        self.await_boot()

    def run(self, text, stdin=None, wait_s=60, code=None):
        """Runs a line of shell as root in the machine. `code`: what it must exit with."""
        self._ids += 1
        wait_s *= self.patience
        request = {"id": self._ids, "run": text, "stdin": stdin, "wait_s": wait_s}
        self._port.sendall((json.dumps(request) + "\n").encode())
        answer = self._await(self._ids, time.monotonic() + wait_s + 5)
        out = Said(answer["out"].rstrip("\n"))
        out.code = answer["code"]
        if code is not None and out.code != code:
            raise AssertionError("%s\nexited with %d:\n%s" % (text, out.code, out))
        return out

    def _await(self, wanted, until):
        while True:
            while b"\n" in self._pending:
                line, self._pending = self._pending.split(b"\n", 1)
                try:
                    answer = json.loads(line)
                except ValueError:
                    continue
                if answer.get("id") == wanted:
                    return answer
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError("the machine does not answer; its console: " + self.console)
            self._port.settimeout(left)
            try:
                block = self._port.recv(65536)
            except socket.timeout:
                continue
            if not block:
                raise RuntimeError("qemu ended; its console: " + self.console)
            self._pending += block

    def until(self, text, wait_s=30, holds=lambda said: said.code == 0):
        return repeat_until(self, text, wait_s, holds)


def repeat_until(place, text, wait_s, holds):
    """Runs the line again and again until it holds; the last thing it said."""
    end = time.monotonic() + wait_s * place.patience
    while True:
        said = place.run(text)
        if holds(said):
            return said
        if time.monotonic() > end:
            raise AssertionError("not within %d s: %s\n%s" % (wait_s, text, said))
        time.sleep(0.3)

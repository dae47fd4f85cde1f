"""A small image with this machine's own Python in it, made without a network, in a store of the
test's own."""

import glob
import io
import os
import re
import shutil
import subprocess
import tarfile

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../trainers/python")
PODMAN = shutil.which("podman")
IMAGE = "localhost/laird-test:1"
LEFT_OUT = re.compile(r"/(__pycache__|dist-packages|site-packages|test|idlelib|ensurepip|lib2to3|"
                      r"tkinter|distutils|config-3[^/]*)(/|$)")


def why_not(folder):
    """Why no container can be run here; empty when one can."""
    if PODMAN is None:
        return "podman is not installed (./dev test installs it)"
    if os.geteuid() != 0:
        return "only root's laird-cell runs containers"
    store = os.path.join(folder, "store")
    make_image(store)
    tried = subprocess.run(
        ["unshare", "--pid", "--mount", "--fork", "--mount-proc", "sh", "-c",
         "umount -l /sys/fs/cgroup/unified 2>/dev/null; exec \"$@\"", "sh", *engine(store), "run",
         "--cgroups", "disabled", "--network", "none", "--ulimit", "nofile=256:256", "--ulimit",
         "nproc=256:256", "--log-driver", "none", IMAGE, "python3", "-c", "print('runs')"],
        capture_output=True, text=True, timeout=120, check=False)
    if tried.stdout != "runs\n":
        return "podman runs no container here: " + tried.stderr.strip()[-300:]
    return ""


def engine(store):
    return [PODMAN, "--root", store, "--runroot", store + "-run", "--storage-driver", "vfs",
            "--cgroup-manager", "cgroupfs"]


def make_image(store):
    made = subprocess.run([*engine(store), "import", "-", IMAGE], input=rootfs(),
                          capture_output=True, timeout=300, check=False)
    if made.returncode != 0:
        raise AssertionError(made.stderr.decode()[-500:])


def rootfs():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        python = os.path.realpath("/usr/bin/python3")
        library = os.path.join("/usr/lib", os.path.basename(python))
        modules = glob.glob(library + "/lib-dynload/*.so")
        tar.add(python, "usr/bin/python3")
        tar.add(library, library[1:], filter=lambda info:
                None if LEFT_OUT.search("/" + info.name) else info)
        for path in libraries([python, *modules]):
            tar.add(os.path.realpath(path), path[1:])
        for name in ("laird_trainer.py", "laird_model.py"):
            tar.add(os.path.join(SOURCES, name), "opt/" + name)
        for folder in ("proc", "sys", "dev", "etc", "run", "tmp"):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
    return out.getvalue()


def libraries(programs):
    told = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    return sorted(set(re.findall(r"(/[^\s:]+\.so[^\s:]*) \(0x", told)))

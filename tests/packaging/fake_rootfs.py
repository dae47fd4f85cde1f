"""A board's root folder and a package of laird, small enough to make for every test.

The folder has what dpkg and systemd-sysusers look at, and a package whose trigger script must never run: it
would run on this machine. The package holds the real units and maintainer scripts, and a few bytes as program."""

import hashlib
import os
import shutil
import stat
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGING = os.path.join(TOP, "packaging")

# (name, architecture, version, more)
PACKAGES = (("dpkg", "{arch}", "1.19.7ubuntu3", ""), ("libc6", "{arch}", "{libc}", "Multi-Arch: same\n"),
            ("adduser", "all", "3.118ubuntu2", "Multi-Arch: foreign\n"), ("man-db", "{arch}", "2.9.1-1", ""))

# What dpkg and the user database write besides the package's own files.
RECORDS = ("var/lib/dpkg", "var/log/dpkg.log", "etc/passwd", "etc/passwd-", "etc/group", "etc/group-", "etc/shadow",
           "etc/shadow-", "etc/gshadow", "etc/gshadow-", "etc/.pwd.lock")


def status(arch, libc):
    """dpkg's list of what is installed."""
    return "\n".join("Package: %s\nStatus: install ok installed\nMaintainer: nobody <nobody@localhost>\n"
                     "Architecture: %s\n%sVersion: %s\nDescription: a test\n" % (name, where, more, version)
                     for name, where, version, more in PACKAGES).format(arch=arch, libc=libc)


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def make_rootfs(folder, marker, arch="arm64", libc="2.31-0ubuntu9.9"):
    """A root folder; the trigger script of its man-db makes the file `marker`."""
    write(folder + "/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n")
    write(folder + "/etc/group", "root:x:0:\nvideo:x:44:\nrender:x:109:\n")
    write(folder + "/etc/shadow", "root:*:18000:0:99999:7:::\n", 0o640)
    write(folder + "/etc/gshadow", "root:*::\nvideo:*::\nrender:*::\n", 0o640)
    admin = folder + "/var/lib/dpkg"
    write(admin + "/status", status(arch, libc))
    write(admin + "/available", "")
    write(admin + "/info/man-db.triggers", "interest-noawait /usr/share/man\n")
    write(admin + "/info/man-db.postinst", "#!/bin/sh\ntouch '%s'\n" % marker, 0o755)
    write(admin + "/info/man-db.list", "/.\n")
    write(admin + "/info/libc6:%s.list" % arch, "/.\n")
    write(admin + "/info/adduser.list", "/.\n")
    write(admin + "/info/dpkg.list", "/.\n")
    write(admin + "/triggers/File", "/usr/share/man man-db/noawait\n")
    write(admin + "/triggers/Unincorp", "")
    for place in ("updates", "parts"):
        os.makedirs(os.path.join(admin, place), exist_ok=True)
    for place in ("/var/log", "/etc/systemd/system"):
        os.makedirs(folder + place, exist_ok=True)
    # dpkg removes a folder with the last file in it.
    write(folder + "/usr/bin/true", "#!/bin/sh\n", 0o755)
    write(folder + "/usr/lib/systemd/system/ssh.service", "[Service]\n")
    return folder


def make_package(folder, arch="arm64", version="9.9", depends="libc6 (>= 2.27), adduser", name="laird", word="laird"):
    """laird_<version>_<arch>.deb in `folder`; its path."""
    root = os.path.join(folder, "%s_%s_%s" % (name, version, arch))
    write(root + "/usr/bin/laird", "#!/bin/sh\necho %s %s\n" % (word, version), 0o755)
    write(root + "/usr/share/man/man8/laird.8", "a page\n")
    units = root + "/usr/lib/systemd/system"
    os.makedirs(units)
    for unit in ("laird.service", "laird.slice", "laird-priv.socket", "laird-priv@.service", "laird-cell.socket",
                 "laird-cell@.service", "laird-join.service", "laird-join-install.path",
                 "laird-join-install.service", "laird-upgrade.path", "laird-upgrade.service",
                 "laird-upgrade-back.service"):
        shutil.copy(os.path.join(PACKAGING, unit), units)
    os.makedirs(root + "/usr/lib/sysusers.d")
    shutil.copy(os.path.join(PACKAGING, "laird.sysusers"), root + "/usr/lib/sysusers.d/laird.conf")
    write(root + "/DEBIAN/control", "Package: %s\nVersion: %s\nArchitecture: %s\nDepends: %s\n"
          "Maintainer: nobody <nobody@localhost>\nDescription: a test\n" % (name, version, arch, depends))
    for script in ("postinst", "prerm", "postrm"):
        shutil.copy(os.path.join(PACKAGING, "debian", script), root + "/DEBIAN/" + script)
        os.chmod(root + "/DEBIAN/" + script, 0o755)
    sums = subprocess.run("find usr -type f -print0 | sort -z | xargs -0 md5sum", shell=True, cwd=root,
                          check=True, capture_output=True, text=True).stdout
    write(root + "/DEBIAN/md5sums", sums)
    subprocess.run(["dpkg-deb", "-Zxz", "--root-owner-group", "--build", root, root + ".deb"], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.rmtree(root)
    return root + ".deb"


def snapshot(folder):
    """Every name below a folder with its kind, mode, owner and content."""
    out = {}
    for place, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(place, name)
            info = os.lstat(path)
            content = os.readlink(path) if stat.S_ISLNK(info.st_mode) else ""
            if stat.S_ISREG(info.st_mode):
                with open(path, "rb") as file:
                    content = hashlib.sha256(file.read()).hexdigest()
            out[os.path.relpath(path, folder)] = (oct(info.st_mode), info.st_uid, info.st_gid, content)
    return out


def host_state():
    """What a careless maintainer script or dpkg would have changed here."""
    out = {}
    for path in ("/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/var/log/dpkg.log", "/var/lib/dpkg/status",
                 "/proc/self/mountinfo"):
        if os.path.exists(path):
            with open(path, "rb") as file:
                out[path] = file.read()
    for path in ("/etc/laird", "/var/lib/laird", "/usr/bin/laird"):
        out[path] = os.path.lexists(path)
    out["units"] = snapshot("/etc/systemd/system")
    return out

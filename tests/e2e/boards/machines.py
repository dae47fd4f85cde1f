"""Machines of a test: mount namespaces with an /etc and a /var/lib of their own, so that real commands that
change a machine change none. They share the network and /tmp. `ssh` and `scp` between them are scripts that
enter the namespace; `sudo` and `systemctl` do what they would for the one service of the test. Needs root."""

import os
import shutil
import signal
import subprocess
import time

BIN = os.path.abspath(os.environ.get("LAIRD_BIN", "build/release/bin"))

OWN = """
set -e
mount -t tmpfs none "$1/over"
for place in etc var/lib; do
  mkdir -p "$1/over/$place/up" "$1/over/$place/work"
  mount -t overlay none -o "lowerdir=/$place,upperdir=$1/over/$place/up,workdir=$1/over/$place/work" "/$place"
done
echo 'laird:x:3990:' >> /etc/group
echo 'laird:x:3990:3990::/var/lib/laird:/usr/sbin/nologin' >> /etc/passwd
rm -rf /etc/laird /var/lib/laird
touch "$1/up"
exec sleep infinity
"""

SCRIPTS = {
    "sudo": 'exec "$@"\n',
    # Of a service manager, what the commands of the boards ask of it.
    "systemctl": 'case "$*" in "enable --now laird") ;; *) echo "systemctl: $*" >&2; exit 1 ;; esac\n'
                 '[ -f "$HOME/agent.pid" ] && kill "$(cat "$HOME/agent.pid")" 2>/dev/null && sleep 1\n'
                 'setsid laird run --config /etc/laird/laird.json --view none </dev/null '
                 '>>"$HOME/agent.log" 2>&1 &\necho $! > "$HOME/agent.pid"\n',
    # ssh -- USER@NAME COMMAND
    "ssh": 'name=${2#*@}; echo "ssh $name" >> "$MACHINES/$name/visits"\n'
           'cd "$MACHINES/$name/home" && HOME=$PWD exec nsenter --mount="/proc/$(cat "$MACHINES/$name/pid")'
           '/ns/mnt" --wd="$PWD" sh -c "$3"\n',
    # scp [-rp] -- FROM USER@NAME:TO
    "scp": 'while [ "$1" != -- ]; do shift; done\n'
           'to=${3#*@}; cp -r "$2" "$MACHINES/${to%%:*}/home/${to#*:}"\n',
}


class Machines:

    def __init__(self, folder, names):
        self.folder = folder
        self.holders = {}
        self.bin = os.path.join(folder, "bin")
        os.makedirs(self.bin)
        for name, text in SCRIPTS.items():
            path = os.path.join(self.bin, name)
            with open(path, "w", encoding="utf-8") as out:
                out.write("#!/bin/sh\n" + text)
            os.chmod(path, 0o755)
        for name in names:
            self.add(name)

    def add(self, name):
        home = os.path.join(self.folder, name, "home")
        os.makedirs(home)
        os.makedirs(os.path.join(self.folder, name, "over"))
        self.holders[name] = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", OWN, "sh", os.path.join(self.folder, name)],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        with open(os.path.join(self.folder, name, "pid"), "w", encoding="utf-8") as out:
            out.write(str(self.holders[name].pid))
        up = os.path.join(self.folder, name, "up")
        end = time.monotonic() + 20
        while not os.path.exists(up) and self.holders[name].poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        if not os.path.exists(up):
            raise OSError("no machine: " + self.holders[name].stderr.read().decode())

    def home(self, name):
        return os.path.join(self.folder, name, "home")

    def environment(self, name):
        return {"PATH": self.bin + ":" + BIN + ":/usr/sbin:/usr/bin:/sbin:/bin", "HOME": self.home(name),
                "LC_ALL": "C.UTF-8", "MACHINES": self.folder, "NO_COLOR": "1"}

    def inside(self, name, *command):
        return ["nsenter", "--mount=/proc/%d/ns/mnt" % self.holders[name].pid, "--wd=" + self.home(name), *command]

    def run(self, name, command, timeout=120):
        return subprocess.run(self.inside(name, "sh", "-c", command), env=self.environment(name), timeout=timeout,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def start(self, name, *command, log):
        with open(os.path.join(self.home(name), log), "ab") as out:
            return subprocess.Popen(self.inside(name, *command), env=self.environment(name), stdout=out, stderr=out,
                                    stdin=subprocess.DEVNULL)

    def close(self):
        """Ends what runs in the namespaces of these machines, and nothing else."""
        own = {os.readlink("/proc/%d/ns/mnt" % holder.pid) for holder in self.holders.values()
               if holder.poll() is None}
        for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
            try:
                if os.readlink("/proc/%s/ns/mnt" % pid) in own:
                    os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass
        for holder in self.holders.values():
            holder.wait(10)
            holder.stderr.close()
        shutil.rmtree(self.folder, ignore_errors=True)

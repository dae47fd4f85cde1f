"""A Jetson below a folder: its device tree, sensors, clocks and a tegrastats, made from its board file."""

import json
import os
import re
import stat
import threading
import time

BOARDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../board_configs")

# Prints what the sensors say when it is asked; the file beside it may make it lie.
TEGRASTATS = """#!/usr/bin/python3 -ISBu
import json, sys, time
every = int(sys.argv[sys.argv.index("--interval") + 1]) / 1000
with open(%(rails)r) as f:
    rails = json.load(f)
while True:
    line = "RAM 1866/7620MB (lfb 42x4MB) CPU [10%%@1344] GR3D_FREQ 50%%"
    for name, path in rails:
        with open(path) as f:
            mw = int(f.read() or 0) * 5 * %(lie)d // 1
        line += " %%s %%dmW/%%dmW" %% (name, mw, mw)
    print(line, flush=True)
    time.sleep(every)
"""


def board_files():
    return sorted(name for name in os.listdir(BOARDS) if name != "generic.json")


def load(name):
    with open(os.path.join(BOARDS, name), encoding="utf-8") as file:
        return json.loads(re.sub(r"^\s*//.*$", "", file.read(), flags=re.M))


class FakeJetson:
    """Rail number n carries 1000 + 100 n mW until `set_total_mw` says otherwise."""

    def __init__(self, root, board_file, lie=1, without_rail=None):
        self.root, self.about = root, load(board_file)
        self.rails = []  # name, path of the file that holds a fifth of its milliwatts
        self.put("proc/device-tree/compatible",
                 "nvidia,p0000-0000+%s\0nvidia,%s\0" % (self.about["detect"]["modules"][0],
                                                      self.about["detect"]["soc"]))
        self.put("proc/meminfo", "MemTotal: 7802880 kB\n")
        self.put("etc/nv_tegra_release", "# R36 (release), REVISION: 4.7\n")
        for index, sensor in enumerate(self.about["power"]["sensors"]):
            self.sensor(index, sensor, without_rail)
        gpu = "sys/devices/platform/17000000.gpu/devfreq/17000000.gpu/"
        self.put(gpu + "available_frequencies", "306000000 408000000 510000000 612000000\n")
        self.put(gpu + "min_freq", "306000000\n")
        self.put(gpu + "max_freq", "612000000\n")
        self.put(gpu + "cur_freq", "612000000\n")
        os.makedirs(os.path.join(root, "sys/class/devfreq"))
        os.symlink("../../devices/platform/17000000.gpu/devfreq/17000000.gpu",
                   os.path.join(root, "sys/class/devfreq/17000000.gpu"))
        cpu = "sys/devices/system/cpu/cpu0/cpufreq/"
        for name, khz in (("cpuinfo_min_freq", 115200), ("cpuinfo_max_freq", 1344000),
                          ("scaling_max_freq", 1344000), ("scaling_cur_freq", 1344000)):
            self.put(cpu + name, "%d\n" % khz)
        zone = "sys/devices/virtual/thermal/thermal_zone0/"
        self.put(zone + "type", "cpu-thermal\n")
        self.put(zone + "temp", "41500\n")
        self.put("rails.json", json.dumps(self.rails))
        self.tegrastats = os.path.join(root, "bin/tegrastats")
        self.put("bin/tegrastats", TEGRASTATS % {"rails": os.path.join(root, "rails.json"), "lie": lie})
        os.chmod(self.tegrastats, stat.S_IRWXU)

    def put(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def sensor(self, index, sensor, without_rail):
        address = sensor.get("address") or "2-004%d" % (4 + index)
        chip = sensor["chip"]
        folder = ("sys/bus/i2c/drivers/ina3221x/%s/iio:device%d/" if chip == "ina3221x" else
                  "sys/bus/i2c/devices/%s/hwmon/hwmon%d/") % (address, index)
        self.put(folder + "name", chip + "\n")
        for channel, rail in enumerate(sensor["rails"]):
            mw = 1000 + 100 * len(self.rails)
            shadow = self.put("shadow/%d" % len(self.rails), "%d" % (mw // 5))
            if rail == without_rail:
                continue
            if chip == "ina3221x":
                self.put(folder + "rail_name_%d" % channel, rail + "\n")
                self.put(folder + "in_power%d_input" % channel, "%d\n" % mw)
            elif chip == "ina238":
                self.put(folder + "power1_input", "%d000\n" % mw)
            else:
                self.put(folder + "in%d_label" % (channel + 1), rail + "\n")
                self.put(folder + "in%d_input" % (channel + 1), "5000\n")
                shadow = self.put(folder + "curr%d_input" % (channel + 1), "%d\n" % (mw // 5))
            self.rails.append((rail, shadow))

    def set_mw(self, rail, mw):
        """Of a board whose chip gives currents, so that sysfs and tegrastats see the same."""
        for name, path in self.rails:
            if name != rail:
                continue
            # In place and at once: readers keep such files open.
            file = os.open(path, os.O_WRONLY)
            os.pwrite(file, b"%06d\n" % (mw // 5), 0)
            os.close(file)

    def snapshot(self):
        """Every file of the board with its content."""
        out = {}
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    out[path] = file.read()
        return out


def children_of(pid):
    found = {pid}
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, encoding="utf-8") as file:
                    text = file.read()
            except OSError:
                continue
            parents[int(name)] = int(text[text.rindex(")") + 2:].split()[1])
    while True:
        more = {p for p, parent in parents.items() if parent in found} - found
        if not more:
            return found
        found |= more


def cpu_s(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as file:
            text = file.read()
        fields = text[text.rindex(")") + 2:].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return None


class Draw(threading.Thread):
    """The board draws power as the trainers below a process work."""

    def __init__(self, jetson, rail, idle_mw, dynamic_mw):
        super().__init__(daemon=True)
        self.jetson, self.rail, self.idle, self.dynamic = jetson, rail, idle_mw, dynamic_mw
        self.pid, self.over = None, False
        jetson.set_mw(rail, idle_mw)

    def run(self):
        before, at = {}, time.monotonic()
        while not self.over:
            time.sleep(0.2)
            now = {}
            for pid in children_of(self.pid) if self.pid else ():
                try:
                    if os.path.basename(os.readlink("/proc/%d/exe" % pid)) == "laird-train":
                        now[pid] = cpu_s(pid)
                except OSError:
                    continue
            then, at = at, time.monotonic()
            worked = sum(used - before[pid] for pid, used in now.items()
                         if used is not None and before.get(pid) is not None)
            self.jetson.set_mw(self.rail, int(self.idle + self.dynamic * min(1.0, worked / (at - then))))
            before = now

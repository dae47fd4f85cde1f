#!/usr/bin/env python3
"""Time laird's tegrastats parser as a program beside the ways scripts do it, on the same file.

Usage: compare.py BIN_FOLDER [CAPTURES_FOLDER]

Each contestant reads the file and adds up total power (by the same rule order); the sums must
agree. Programs are timed whole, start-up included, best of three, one after the other, by the processor
time they used: the machine may be busy with other things. Those not installed are left out and named.
"""
import pathlib, re, resource, shutil, subprocess, sys, tempfile

RULES = [["VDD_IN"], ["POM_5V_IN"], ["VIN"], ["VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"],
         ["VDD_GPU", "VDD_CPU_SOC_MSS", "VIN_SYS_5V0"],
         ["GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"]]

# What a regular-expression parser of tegrastats looks like: memory, cores, engines, zones, rails.
PYTHON = r'''
import re, sys
RULES = %r
RAM = re.compile(r"RAM (\d+)/(\d+)(\w)B ?\(lfb (\d+)x(\d+)(\w)B\)")
CPU = re.compile(r"(?i:cpu) \[(.*?)\]")
GPU = re.compile(r"GR3D(?:_FREQ)? (?:(\d+)%%)?@?\[?(\d+)?")
ZONE = re.compile(r"\b(\w+)@(-?[0-9.]+)C(?=[ /\n]|$)")
RAIL = re.compile(r"\b(\w+) (\d+)(?:mW)?/(\d+)(?:mW)?(?=[ /\n]|$)")
total = lines = 0
for line in open(sys.argv[1]):
    ram = RAM.search(line); cores = CPU.search(line).group(1).split(","); gpu = GPU.search(line)
    zones = {n: float(t) for n, t in ZONE.findall(line)}
    rails = {}
    for n, now, mean in RAIL.findall(line): rails.setdefault(n, int(now))
    for rule in RULES:
        if all(r in rails for r in rule):
            total += sum(rails[r] for r in rule)
            break
    lines += 1
print(total)
''' % (RULES,)

JQ = r'''
def rules: %s;
reduce (inputs | [scan("([A-Z0-9_]+) ([0-9]+)(?:mW)?/[0-9]+(?:mW)?(?=[ /]|$)") | {key: .[0], value: (.[1] | tonumber)}]
  | reverse | from_entries) as $r (0;
  . + ([rules[] | select(all(.[]; $r[.] != null)) | map($r[.]) | add] | first // 0))
''' % (str(RULES).replace("'", '"'))


def spent():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def best_of_three(command, stdin=None):
    times, out = [], b""
    for _ in range(3):
        start = spent()
        out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stdin=stdin and open(stdin)).stdout
        times.append(spent() - start)
    return min(times), max(times), out


def main():
    tools = pathlib.Path(sys.argv[1])
    lines = []
    if len(sys.argv) > 2:
        for log in sorted(pathlib.Path(sys.argv[2]).glob("*.log")):
            lines += log.read_text().splitlines()
    if not lines:
        print("no captures given: lines made here", file=sys.stderr)
        lines = ["RAM %d/7620MB (lfb 28x4MB) CPU [1%%@1344,2%%@729] GR3D_FREQ 40%%@[306] cpu@40.5C "
                 "VDD_IN %dmW/5216mW VDD_SOC 1402mW/1402mW" % (1000 + i % 500, 5000 + i % 700)
                 for i in range(10000)]
    with tempfile.TemporaryDirectory() as folder:
        def write(name, copies):
            path = pathlib.Path(folder) / name
            path.write_text(("\n".join(lines) + "\n") * copies)
            return path
        small, large = write("small.log", 1), write("large.log", 40)
        script = pathlib.Path(folder) / "regex_parser.py"
        script.write_text(PYTHON)
        rows = []

        def row(name, command, path, stdin=None, check=None):
            low, high, out = best_of_three(command, stdin)
            size = path.stat().st_size
            count = len(lines) * (40 if path == large else 1)
            rows.append((name, size / low / 1e6, count / low, (high - low) / low * 100, check and check(out)))

        sum_of = lambda out: sum(map(int, re.findall(rb'"total_mw":(\d+)', out)))
        laird = str(tools / "laird")
        row("laird power parse --json", [laird, "power", "parse", str(large), "--json"], large,
            check=lambda out: sum_of(out) // 40)
        row("laird power metrics (energy only)", [laird, "power", "metrics", str(large)], large)
        row("python3, re", ["python3", str(script), str(small)], small, check=lambda out: int(out))
        for tool, command in (("jq", ["jq", "-nR", JQ]),):
            if shutil.which(tool):
                row(tool + ", scan", command, small, stdin=str(small), check=lambda out: int(float(out)))
            else:
                print(tool + " is not installed: left out", file=sys.stderr)
        base = next(r[1] for r in rows if r[0].startswith("python3"))
        print("%-36s %9s %12s %8s %9s  %s" % ("", "MB/s", "lines/s", "spread", "x python", "sum of totals, mW"))
        for name, rate, count, spread, check in rows:
            print("%-36s %9.1f %12.0f %7.0f%% %9.1f  %s" % (name, rate, count, spread, rate / base, check or "-"))
        sums = {r[4] for r in rows if r[4]}
        if len(sums) > 1:
            sys.exit("the sums differ: someone misread the file")


main()

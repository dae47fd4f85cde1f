#!/usr/bin/python3
"""Refuses PTX whose arithmetic could differ from the CPU's in a single bit.

    check_ptx.py FILE...     exit 1 and one line for each finding

Allowed on floating point are add, sub, mul, div, rcp and sqrt, each rounded to nearest (.rn) and without
.ftz, and what only moves or compares numbers. So there is no fma, nothing approximate, and no flushing
of subnormal numbers."""

import re
import sys

ARITHMETIC = {"add", "sub", "mul", "div", "rcp", "sqrt"}
MOVES = {"ld", "st", "mov", "setp", "selp"}


def findings(text):
    counts = {}
    for number, raw in enumerate(text.splitlines(), 1):
        match = re.match(r"\s*(?:@!?%p\d+\s+)?([a-z][\w.]*)\s", raw.partition("//")[0] + " ")
        if not match:
            continue
        part = match[1].split(".")
        if not any(re.fullmatch(r"(b?f(16|16x2|32|64)|f16x2)", p) for p in part[1:]):
            continue
        exact = part[0] in ARITHMETIC and part[1:] in (["rn", "f32"], ["rn", "f64"])
        moves = part[0] in MOVES and not {"ftz", "sat", "approx"} & set(part)
        if exact:
            counts[part[0]] = counts.get(part[0], 0) + 1
        elif not moves:
            yield "line %d: %s" % (number, match[1])
    if not counts:
        yield "no arithmetic at all"
    print("  ".join("%s.rn %d" % item for item in sorted(counts.items())))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    bad = 0
    for path in sys.argv[1:]:
        with open(path, encoding="ascii") as file:
            for finding in findings(file.read()):
                print("check_ptx: %s: %s" % (path, finding), file=sys.stderr)
                bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Prints laird.json(5) in mdoc, from the reference that `laird check --reference` writes.

    reference.py PATH_OF_LAIRD     or the words of a command that runs it"""

import re
import subprocess
import sys


def roff(text):
    """Text that no character of which means anything to roff."""
    text = text.replace("\\", "\\e").replace("`", "")
    text = re.sub(r"([.:]) (?=[A-Z])", r"\1\n", text)  # mdoc wants each sentence on its line
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    page = subprocess.run(sys.argv[1:] + ["check", "--reference"], check=True,
                          capture_output=True, text=True).stdout
    print(""".Dd November 16, 2026
.Dt LAIRD.JSON 5
.Os
.Sh NAME
.Nm laird.json
.Nd configuration of the scheduling agent laird
.Sh DESCRIPTION
The file is JSON; comments
.Pq Li // No and Li /* */
are allowed.
Durations, sizes and powers carry their unit: 90s, 512MB, 15W.
An unknown key is an error that names the nearest known one; a key
.Li comment
is allowed everywhere and ignored.
.Ql laird check Ar file
tells every problem at once without running anything.""")
    in_list = False
    for line in page.splitlines():
        head = re.match(r"### (.*)", line)
        row = re.match(r"\| `([^`]+)` \| (.*) \| (.*) \| (.*) \| (.*) \|$", line)
        if (head or not line.startswith("|")) and in_list:
            print(".El")
            in_list = False
        if head:
            print(".Sh %s" % roff(head.group(1)).upper())
        elif row:
            if not in_list:
                print(".Bl -tag -width Ds")
                in_list = True
            name, kind, default, extent, why = (roff(part.strip()) for part in row.groups())
            facts = [kind] + (["default %s" % default] if default not in ("none", "required")
                              else [default.replace("none", "optional")])
            facts += [extent] if extent else []
            print(".It Sy %s\n%s\n.br\n%s" % (name, roff("; ".join(facts)), why))
        elif line and not line.startswith(("|", "#")) and "check" not in line \
                and not line.startswith(("`", "error that", "Files", "This page")):
            print(roff(line))
    if in_list:
        print(".El")
    print(""".Sh FILES
.Pa /etc/laird/laird.json
.Sh SEE ALSO
.Xr lairctl 1 ,
.Xr laird 8""")


if __name__ == "__main__":
    main()

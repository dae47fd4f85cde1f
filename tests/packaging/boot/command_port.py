#!/usr/bin/python3
"""Inside the machine: runs each command that comes through the port, and answers with what it says.

A request is a line of JSON: id, run (text for sh), stdin (text or null), wait_s. The answer has the
id, code (of the exit; 124: it did not end in time) and out, standard output and error together.
"""

import json
import os
import signal
import subprocess

PORT = "/dev/virtio-ports/laird.boot"


def carry_out(request):
    with subprocess.Popen(["/bin/sh", "-c", request["run"]], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          start_new_session=True, cwd="/root") as child:
        try:
            out, _ = child.communicate((request.get("stdin") or "").encode(), request["wait_s"])
            code = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, _ = child.communicate()
            code = 124
    return {"id": request["id"], "code": code, "out": out.decode(errors="replace")}


def main():
    os.environ.update(HOME="/root", LANG="C.UTF-8", PATH="/usr/sbin:/usr/bin:/sbin:/bin",
                      SYSTEMD_COLORS="0", SYSTEMD_PAGER="cat")
    with open(PORT, "r+b", buffering=0) as port:
        pending = b""
        while True:
            block = port.read(65536)
            if not block:
                return  # nobody on the other side; systemd starts us again
            pending += block
            while b"\n" in pending:
                line, pending = pending.split(b"\n", 1)
                try:
                    request = json.loads(line)
                except ValueError:
                    continue  # the rest of something said before the machine was started
                answer = (json.dumps(carry_out(request)) + "\n").encode()
                while answer:
                    answer = answer[port.write(answer):]


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Draws docs/pictures/lairctl-top.svg: what `lairctl top` shows of a real fleet, in a real terminal.

    PYTHONPATH=tests/e2e/fleet LAIRD_BIN=build/release/bin tests/e2e/lairctl/record_top.py docs/pictures/lairctl-top.svg

Starts a broker and agents with modelled power, gives them tasks, runs `lairctl top` on a
pseudo-terminal, and turns the screen it drew into a picture. Nothing in it is made up."""

import fcntl
import html
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from boards import Board, OperatedFleet, task
from harness import LAIRCTL

COLUMNS, ROWS = 112, 24
MODELS = {"n-1": "nano-4gb", "n-2": "nano-4gb", "n-3": "xavier-nx-8gb", "n-4": "orin-nx-16gb"}
COLOURS = {"31": "#f14c4c", "32": "#23d18b", "33": "#e5e510", "2": "#7f8c98", "1": "#ffffff"}
CELL_W, CELL_H = 8.4, 18


class Terminal:
    """As much of a terminal as lairctl uses: cursor placing, clearing, colours."""

    def __init__(self, columns=COLUMNS, rows=ROWS):
        self.columns, self.rows = columns, rows
        self.modes = set()
        self.clear()

    def clear(self):
        self.cells = [[(" ", "")] * self.columns for _ in range(self.rows)]
        self.row = self.column = 0
        self.style = ""

    def feed(self, text):
        for part in re.findall(r"\x1b\[[?0-9;]*[A-Za-z]|[^\x1b]", text):
            if part.startswith("\x1b["):
                self.escape(part[2:-1], part[-1])
            elif part == "\n":
                self.row += 1
            elif part == "\r":
                self.column = 0
            elif self.row < self.rows and self.column < self.columns:
                self.cells[self.row][self.column] = (part, self.style)
                self.column += 1

    def escape(self, arguments, kind):
        if kind == "H":
            row, column = (arguments or "1;1").split(";")
            self.row, self.column = int(row) - 1, int(column) - 1
        elif kind == "J":
            self.clear()
        elif kind == "K":
            for at in range(self.column, self.columns):
                self.cells[self.row][at] = (" ", "")
        elif kind == "m":
            self.style = "" if arguments == "0" else arguments
        elif kind in "hl" and arguments.startswith("?"):
            (self.modes.add if kind == "h" else self.modes.discard)(arguments)

    def lines(self):
        return ["".join(c for c, _ in row).rstrip() for row in self.cells]

    def svg(self, title):
        width, height = self.columns * CELL_W + 32, self.rows * CELL_H + 60
        out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" '
               'font-family="ui-monospace,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" '
               'font-size="14">' % (width, height),
               "<title>%s</title>" % html.escape(title),
               '<rect width="100%" height="100%" rx="8" fill="#14181d"/>',
               '<g fill="#5b6672"><circle cx="20" cy="18" r="6"/><circle cx="40" cy="18" r="6"/>'
               '<circle cx="60" cy="18" r="6"/></g>',
               '<text x="84" y="23" fill="#8b98a5">%s</text>' % html.escape(title)]
        for number, row in enumerate(self.cells):
            y = 54 + number * CELL_H
            start = 0
            while start < self.columns:
                end = start
                while end < self.columns and row[end][1] == row[start][1]:
                    end += 1
                text = "".join(c for c, _ in row[start:end])
                if text.strip():
                    style = row[start][1]
                    out.append('<text x="%.1f" y="%d" xml:space="preserve" textLength="%.1f" '
                               'fill="%s"%s>%s</text>' % (
                                   16 + start * CELL_W, y, len(text) * CELL_W,
                                   COLOURS.get(style, "#d3dae1"),
                                   ' font-weight="bold"' if style == "1" else "",
                                   html.escape(text)))
                start = end
        return "\n".join(out + ["</svg>"]) + "\n"


class TopRun:
    """`lairctl top` on a pseudo-terminal of its own."""

    def __init__(self, environment, *args, columns=COLUMNS, rows=ROWS):
        self.terminal = Terminal(columns, rows)
        self.written = 0
        self.master, slave = pty.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        environment = {**environment, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        environment.pop("NO_COLOR", None)
        self.process = subprocess.Popen([LAIRCTL, "top", *args], stdin=slave, stdout=slave,
                                        stderr=slave, env=environment, start_new_session=True)

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self.master, keys.encode())

    def watch(self, seconds, until=lambda lines: False):
        deadline = time.monotonic() + seconds
        rest = b""
        while time.monotonic() < deadline:
            if not select.select([self.master], [], [], 0.1)[0]:
                if until(self.terminal.lines()):
                    return True
                continue
            block = os.read(self.master, 65536)
            self.written += len(block)
            rest += block
            # A cut character or sequence waits for its end.
            cut = max(rest.rfind(b"\x1b"), len(rest) - 3)
            try:
                text, rest = rest.decode(), b""
            except UnicodeDecodeError:
                text, rest = rest[:cut].decode(errors="ignore"), rest[cut:]
            self.terminal.feed(text)
        return until(self.terminal.lines())

    def is_restored(self):
        return (termios.tcgetattr(self.slave) == self.before
                and "?1049" not in self.terminal.modes and "?7" in self.terminal.modes
                and "?25" in self.terminal.modes)

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(5)
        os.close(self.master)
        os.close(self.slave)


class Recording(OperatedFleet):
    boards = nodes = tuple(MODELS)
    fleet_options = {"budget": {"power": "40W", "cpu": 8.0}}

    @classmethod
    def setUpClass(cls):
        plain = Board.start

        def start(board):
            board.config["board"] = {"name": MODELS[board.node], "memory": "1GB",
                                     "lanes": [{"name": "cpu0", "kind": "cpu", "cores": 1}]}
            board.config["power"] = {"source": "modelled"}
            return plain(board)
        Board.start = start
        super().setUpClass()

    def record(self, path):
        data = {"format": "synthetic", "rows": 60000, "features": 64}
        for number, (name, target, deadline, rate) in enumerate([
                ("night-run", 0.10, "20m", 6e-8), ("camera-3", 0.08, "90s", 5e-8),
                ("gait", 0.06, "10m", 2e-7), ("wheel-slip", 0.12, "5m", 1e-7),
                ("anomaly", 0.001, "60s", 2e-6), ("warm-up", 100.0, "2m", 1e-3)]):
            node = self.boards[number % len(self.boards)]
            self.submit(task(name, target=target, deadline=deadline, seed=number + 1,
                             planned_samples=24000000, report_every=5000,
                             params={"data": data, "epochs": 400, "batch": 50,
                                     "learning_rate": rate}), "--node", node)
        run = TopRun(self.environment())
        self.addCleanup(run.close)
        assert run.watch(40, until=lambda lines: sum("%" in line for line in lines) >= 5)
        run.watch(8)
        with open(path, "w", encoding="utf-8") as out:
            out.write(run.terminal.svg("lairctl top"))
        print("\n".join(run.terminal.lines()))
        run.press("q")
        run.process.wait(5)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    recording = Recording()
    try:
        Recording.setUpClass()
        recording.record(sys.argv[1])
    finally:
        recording.doCleanups()
        Recording.doClassCleanups()

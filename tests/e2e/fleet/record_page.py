#!/usr/bin/python3
"""Draws docs/pictures/demo-page.png: the upper part of the page that the demo makes, in a real browser.

    ./dev demo --quick                        # names its page at the end
    tests/e2e/fleet/record_page.py PAGE docs/pictures/demo-page.png

Needs Debian's package chromium. Nothing in the picture is made up."""

import os
import subprocess
import sys
import tempfile

WIDTH, HEIGHT = 1080, 1300
BYTES_MAX = 300_000


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    page, picture = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
                        "--hide-scrollbars", "--user-data-dir=" + profile,
                        "--window-size=%d,%d" % (WIDTH, HEIGHT), "--screenshot=" + picture,
                        "file://" + page], check=True, timeout=120, stderr=subprocess.DEVNULL)
    size = os.path.getsize(picture)
    if size > BYTES_MAX:
        sys.exit("%s has %d bytes, more than %d: make it smaller" % (picture, size, BYTES_MAX))
    print("%s: %d bytes" % (picture, size))


if __name__ == "__main__":
    main()

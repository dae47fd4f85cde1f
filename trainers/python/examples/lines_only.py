#!/usr/bin/env python3
"""A trainer that cannot cooperate: it takes no orders, it only prints how far it is.

The agent reads lines `laird: samples=N loss=X` from its standard output, holds it back by freezing
its process, and cannot ask it for a checkpoint: killed, it begins again. It fits a straight line to
made-up points by gradient descent, one point at a time.
"""

import random
import sys
import time

SAMPLES = 200000
REPORT_EVERY = 2000
PAUSE_S = 0.01  # at each report, so that the example lasts about as long as a real one


def main():
    rng = random.Random(1)
    slope = offset = 0.0
    total = 0.0
    for n in range(1, SAMPLES + 1):
        x = rng.uniform(-1.0, 1.0)
        error = slope * x + offset - (3.0 * x - 1.0 + rng.gauss(0.0, 0.1))
        total += error * error
        slope -= 0.001 * error * x
        offset -= 0.001 * error
        if n % REPORT_EVERY == 0:
            print("laird: samples=%d loss=%.6g" % (n, total / REPORT_EVERY))
            sys.stdout.flush()
            total = 0.0
            time.sleep(PAUSE_S)


if __name__ == "__main__":
    main()

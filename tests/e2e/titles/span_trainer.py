"""A trainer that writes down when it works, by the machine's clock, so that a test can see whether two
boards of one machine ever worked on one task at the same time. `params.rows` is how much its
checkpoint holds; its loss falls from 1 to 0 over `params.steps`."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../../trainers/python"))
import laird_trainer  # noqa: E402

STEP_S = 0.02


def main():
    with laird_trainer.connect() as trainer:
        done = {"steps": 0}

        def save(path):
            with open(path, "w", encoding="utf-8") as out:
                out.write("%d\n" % done["steps"] + "x" * int(trainer.params.get("bytes", 10)))

        def load(path):
            with open(path, encoding="utf-8") as saved:
                done["steps"] = int(saved.readline())

        trainer.resume(save=save, load=load, planned_samples=10 ** 9)
        # In a folder: only the plain files of a task's folder travel with it.
        os.makedirs("spans", exist_ok=True)
        with open("spans/log", "a", encoding="utf-8", buffering=1) as log:
            log.write("begins %d\n" % done["steps"])
            for _ in trainer.batches(lambda epoch: range(10 ** 6)):
                began = time.monotonic()
                time.sleep(STEP_S)
                done["steps"] += 1
                log.write("%.6f %.6f %d\n" % (began, time.monotonic(), done["steps"]))
                loss = max(1.0 - done["steps"] / trainer.params["steps"], 0.0)
                trainer.report(samples=1, loss=loss)


if __name__ == "__main__":
    main()

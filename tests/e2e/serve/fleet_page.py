"""A real fleet with modelled power, `lairctl serve` beside it, and its page in a real browser."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../fleet"), os.path.join(HERE, "../report")]

from boards import OperatedFleet, task
from serving import Serve

MODELS = {"n-1": "orin-nano-8gb", "n-2": "nano-4gb", "n-10": "xavier-nx-8gb"}
DATA = {"format": "synthetic", "rows": 60000, "features": 64}


def slow_task(name, target, deadline, rate, seed=1):
    """One that takes a while and has a curve."""
    return task(name, target=target, deadline=deadline, seed=seed, planned_samples=24000000,
                report_every=5000, params={"data": DATA, "epochs": 400, "batch": 50,
                                           "learning_rate": rate})


class PagedFleet(OperatedFleet):
    boards = nodes = tuple(MODELS)
    fleet_options = {"budget": {"power": "30W"}}

    @classmethod
    def configure(cls, board):
        board.config["board"] = {"name": MODELS[board.node], "memory": "1GB",
                                 "lanes": [{"name": "cpu0", "kind": "cpu", "cores": 1}]}
        board.config["power"] = {"source": "modelled"}

    def serve(self, *args):
        return Serve(self, *args)

    def open(self, browser, serve, width=1440, scheme="light"):
        browser.open(serve.address, width, scheme=scheme)
        live = "document.querySelector('#link.live') && !document.querySelector('#main').hidden"
        self.assertTrue(browser.wait_for(live), browser.says("document.body.innerText"))
        browser.settle()
